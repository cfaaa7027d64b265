"""Rules about reading and writing hold for every tool and for what commands read and write."""

from __future__ import annotations

import pytest

from nbtools import Session
from nbtools.core.tool import Kind
from nbtools.policy.decide import Policy, PolicyEngine
from nbtools.policy.grants import offered_grants
from nbtools.policy.path_rules import PathContext
from tests.policy.some_tools import EDIT, GREP, SHELL, AnyTool

GROUNDS = PathContext("/home/me/work", ("/home/me",))
READ, DELETE, MOVE = (AnyTool(kind.value, kind) for kind in (Kind.READ, Kind.DELETE, Kind.MOVE))
PATCH, MINE, FETCH = (
    AnyTool("patch", Kind.EDIT),
    AnyTool("mine", Kind.OTHER),
    AnyTool("fetch", Kind.FETCH, asks=True),
)
SECRETS = Policy("yolo", deny=("read(secrets/**)",))


def action(policy: Policy, tool: AnyTool, *paths: str, command: str = "") -> str:
    params = {"command": command} if command else {"paths": paths}
    return PolicyEngine(policy, grounds=GROUNDS).decide(tool, tool.build(params)).action


@pytest.mark.parametrize("tool", [READ, GREP, EDIT, PATCH, DELETE, MOVE, MINE], ids=lambda tool: tool.name)
def test_a_file_that_may_not_be_read_is_closed_to_every_tool(tool: AnyTool) -> None:
    for path in (
        "secrets/key",
        "secrets",
        "/home/me/work/secrets/key",
        "~/work/secrets/key",
        "src/../secrets/key",
    ):
        assert action(SECRETS, tool, "a", path) == "deny"
    assert action(SECRETS, tool, "src/a") == "allow"


def test_a_file_that_may_not_be_written_may_be_read() -> None:
    policy = Policy("yolo", deny=("edit(*.lock)",), ask=("edit(/src/**)",))
    assert [action(policy, tool, "a/b.lock") for tool in (READ, GREP, EDIT, PATCH, DELETE)] == [
        "allow",
        "allow",
        "deny",
        "deny",
        "deny",
    ]
    assert [action(policy, tool, "src/b") for tool in (READ, GREP, EDIT, PATCH, DELETE)] == [
        "allow",
        "allow",
        "ask",
        "ask",
        "ask",
    ]


def test_a_rule_about_writing_allows_edits_and_reading_but_no_removal() -> None:
    policy = Policy("dont_ask", allow=("edit(src/**)",), ask=("read",))
    assert [action(policy, tool, "src/a") for tool in (EDIT, PATCH, GREP, DELETE, MOVE, MINE)] == [
        "allow",
        "allow",
        "allow",
        "deny",
        "deny",
        "deny",
    ]
    assert action(policy, EDIT, "src/a", "b") == "deny"
    assert action(Policy(allow=("edit",)), PATCH, "a") == "ask"
    assert action(Policy(allow=("delete(build/**)",)), DELETE, "build/a") == "allow"


def test_an_allow_needs_the_link_and_where_it_leads_a_deny_either() -> None:
    policy = Policy(allow=("edit(src/**)",), deny=("edit(src/kept)",))
    assert action(policy, EDIT, "src/real", "src/link") == "allow"
    assert action(policy, EDIT, "lib/real", "src/link") == "ask"
    assert action(policy, EDIT, "src/kept", "src/link") == "deny"
    assert action(policy, EDIT, "lib/real", "src/kept") == "deny"


def test_removing_a_folder_removes_the_files_in_it() -> None:
    policy = Policy("yolo", deny=("edit(a/b/key)", "edit(*.pem)"))
    assert action(policy, DELETE, "a/") == "deny"
    assert action(policy, MOVE, "a", "c") == "deny"
    assert action(policy, DELETE, "other/") == "ask"
    assert action(policy, DELETE, "other") == "allow"
    assert action(policy, SHELL, command="rm -r a") == "deny"


def test_a_search_needs_approval_where_reading_a_part_of_the_folder_does() -> None:
    policy = Policy(ask=("read(a/b/**)",))
    assert [action(policy, GREP, path) for path in (".", "a", "a/b", "c")] == ["ask", "ask", "ask", "allow"]
    assert action(SECRETS, GREP, ".") == "allow"


def test_a_search_needs_approval_where_a_protected_file_may_be_in_the_folder() -> None:
    policy = Policy("yolo", ask=("read(*.pem)",))
    assert [action(policy, GREP, path) for path in (".", "src", "a.pem", "src/", "src/a.py")] == [
        "ask",
        "ask",
        "ask",
        "ask",
        "allow",
    ]
    decision = PolicyEngine(policy).decide(GREP, GREP.build({"paths": ["src"]}))
    assert (decision.rule, decision.part) == ("read(*.pem)", "src")
    assert action(policy, READ, "src") == "allow"


@pytest.mark.parametrize("tool", [READ, GREP], ids=["read", "grep"])
def test_reading_is_not_credited_to_a_grant_for_edits(tool: AnyTool) -> None:
    """The mode allows reading; a rule for reading is named."""

    def decided(by_tool: AnyTool, *allow: str) -> tuple[str, str]:
        engine = PolicyEngine(Policy("default", allow=allow), ("edit(src/**)",), grounds=GROUNDS)
        decision = engine.decide(by_tool, by_tool.build({"paths": ("src/a",)}))
        return decision.rule, decision.source

    assert decided(tool) == ("reading changes nothing" if tool is READ else "searching changes nothing", "")
    assert decided(tool, "read(src/**)") == ("read(src/**)", "session")
    assert decided(EDIT) == ("edit(src/**)", "grant")


def test_looking_at_names_alone_is_not_asked() -> None:
    policy = Policy("yolo", ask=("read(*.pem)",))
    with Session(policy=policy).sync() as session:
        decided = {name: session.decide(name, arguments).action for name, arguments in _SEARCHES.items()}
    assert decided == {"ls": "allow", "tree": "allow", "glob": "allow", "grep": "ask"}


_SEARCHES = {"ls": {}, "tree": {}, "glob": {"pattern": "**"}, "grep": {"pattern": "x"}}


@pytest.mark.parametrize(
    ("command", "expected"),
    [
        ("cat secrets/key", "deny"),
        ("cat ./secrets/../secrets/key", "deny"),
        ("cat < secrets/key", "deny"),
        ("grep -r x secrets", "deny"),
        ("cd src; cat secrets/key", "deny"),
        ("bash -c 'cat secrets/key'", "deny"),
        ("echo x > secrets/key", "deny"),
        ("cat ~/work/secrets/key", "deny"),
        ("cat /home/me/work/secrets/key", "deny"),
        ("cat sec*/key", "ask"),
        ("cat $FILE", "ask"),
        ("grep -r x .", "ask"),
        ("tar c ..", "ask"),
        ("ls", "allow"),
        ("ls secrets", "deny"),
        ("find . -name x", "allow"),
        ("find . -name x -exec cat {} +", "ask"),
        ("cat README.md", "allow"),
        ("echo secrets/key", "allow"),
    ],
)
def test_commands_keep_to_rules_about_paths(command: str, expected: str) -> None:
    assert action(SECRETS, SHELL, command=command) == expected


@pytest.mark.parametrize(
    ("allow", "command", "expected"),
    [
        (("shell(echo:*)",), "echo x > out/a", "ask"),
        (("shell(echo:*)", "edit(out/**)"), "echo x > out/a", "allow"),
        (("shell(echo:*)", "edit(out/**)"), "echo x > out/../a", "ask"),
        (("shell(echo:*)", "edit(out/**)"), "echo x > $OUT", "ask"),
        (("shell(echo:*)", "edit(out/**)"), "echo x > /etc/passwd", "ask"),
        (("shell(echo:*)", "edit"), "echo x > a", "allow"),
        (("shell(echo:*)", "edit"), "echo x > /tmp/a", "ask"),
        (("shell(echo:*)", "edit(//tmp/**)"), "echo x > /tmp/a", "allow"),
        (("shell(echo:*)",), "echo x > /dev/null", "allow"),
        (("shell(echo:*)",), "echo x 2>&1", "allow"),
        (("shell(touch:*)",), "touch a", "allow"),
        (("shell(touch:*)",), "touch ../a", "ask"),
        (("shell(touch:*)",), "touch .git/config", "ask"),
        (("shell(touch:*)",), 'touch "$X"', "ask"),
        (("shell(sed:*)",), "sed -i s/a/b/ a", "ask"),
        (("shell(sed -i:*)",), "sed -i s/a/b/ a", "allow"),
        (("shell(ruff check --fix:*)",), "ruff check --fix src", "allow"),
        (("shell(sort:*)",), "sort -o a a", "ask"),
        (("shell(sort -o:*)",), "sort -o a a", "ask"),
        (("shell(sort:*)", "edit"), "sort -o a a", "allow"),
        (("shell(touch a)",), "touch a", "allow"),
        (("shell(touch:*)", "edit"), "touch a", "allow"),
        (("shell(ls:*)",), "nice timeout 5 ls -l", "allow"),
        (("shell(ls:*)",), "nice rm -r a", "ask"),
        (("edit(out/**)",), "> out/a", "ask"),
    ],
)
def test_a_write_of_a_command_needs_a_rule_of_its_own(
    allow: tuple[str, ...], command: str, expected: str
) -> None:
    assert action(Policy(allow=allow), SHELL, command=command) == expected


def test_rules_about_commands_forbid_them_to_every_tool_that_runs_some() -> None:
    terminal = AnyTool("terminal_run", Kind.EXECUTE)
    assert action(Policy("yolo", deny=("shell(rm:*)",)), terminal, command="rm x") == "deny"
    assert action(Policy(allow=("shell(ls:*)",)), terminal, command="ls") == "ask"


def test_hosts() -> None:
    policy = Policy(allow=("fetch(domain:*.example.org)",), deny=("fetch(domain:bad.example.org)",))
    assert [action(policy, FETCH, host) for host in ("a.example.org", "example.org", "BAD.example.org.")] == [
        "allow",
        "ask",
        "deny",
    ]
    assert action(policy, FETCH, "a.example.org", "other.net") == "ask"


def test_files_that_may_not_be_read_are_hidden() -> None:
    policy = Policy(
        deny=("read(secrets/**)", "read(./.env)", "edit(*.lock)", "grep(x)", "read(~/.ssh/**)", "shell"),
        ask=("read(asked)",),
    )
    assert PolicyEngine(policy).hidden_patterns == ("secrets/**", ".env", "~/.ssh/**")


@pytest.mark.parametrize(
    ("paths", "offered"),
    [
        (["src/a/b.py"], ("edit(src/a/**)",)),
        (["src/a", "lib/b"], ("edit(src/**)", "edit(lib/**)")),
        (["top"], ()),
        (["/etc/x"], ()),
        (["../a/x"], ()),
        (["a/../b/x"], ()),
        (["so[me]/x"], ()),
        ([".nbtools/memory.md"], ()),
        (["src/.git/hooks/x"], ()),
    ],
)
def test_an_always_may_be_for_the_folder(paths: list[str], offered: tuple[str, ...]) -> None:
    invocation = EDIT.build({"paths": paths})
    assert offered_grants(EDIT, invocation).folders == offered
    if offered:
        assert PolicyEngine(Policy(), offered).decide(EDIT, invocation).action == "allow"
    assert offered_grants(DELETE, DELETE.build({"paths": paths})).folders == ()
