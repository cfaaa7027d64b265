"""Rules with Claude Code's tool names, given to ``Policy`` and in policy files."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nbtools import Policy, Rule, Session
from nbtools.core.decision import Action
from nbtools.core.errors import PolicyError
from nbtools.core.tool import Kind
from nbtools.dialects import canonical_tool_name, dialect, dialect_names
from nbtools.dialects.mcp_names import canonical_rule_name
from nbtools.policy.claude_rules import claude_meaning
from nbtools.policy.decide import PolicyEngine
from nbtools.policy.importers.claude import read_claude_settings
from nbtools.policy.path_rules import PathContext
from nbtools.policy.policy_file import add_policy, read_policy
from nbtools.policy.rules import read_rule
from tests.policy.some_tools import EDIT, GREP, SHELL, AnyTool

GROUNDS = PathContext("/home/me/work", ("/home/me",))
READ = AnyTool("read", Kind.READ)
AGENT, QUERY = AnyTool("Agent", Kind.OTHER), AnyTool("mcp__db__query", Kind.OTHER)
VERBS = ("deny", "ask")


def named(name: str) -> str:
    return canonical_rule_name(canonical_tool_name(name, dialect("claude")))


def as_list(verb: str, rule: str) -> Policy:
    return Policy(**{verb: (rule,)})


def as_file(verb: str, rule: str) -> Policy:
    return read_policy(f"{verb} = [{json.dumps(rule)}]", "policy.toml")


def as_table(verb: str, rule: str) -> Policy:
    tool, _, spec = rule.removesuffix(")").partition("(")
    return read_policy(
        f"[[rule]]\ndecision = {verb!r}\ntool = {tool!r}\nspec = {json.dumps(spec)}", "policy.toml"
    )


def saved(verb: str, rule: str) -> Policy:
    return read_policy(add_policy("", as_list(verb, rule)), "policy.toml")


def imported(verb: str, rule: str) -> Policy:
    return read_claude_settings(json.dumps({"permissions": {verb: [rule]}}), named).policy


WAYS: tuple[Callable[[str, str], Policy], ...] = (as_list, as_file, as_table, saved, imported)


def action(policy: Policy, tool: AnyTool, arguments: dict[str, Any]) -> str:
    params = {"paths": [arguments["path"]]} if "path" in arguments else arguments
    return (
        PolicyEngine(policy, tool_named=named, grounds=GROUNDS)
        .decide(tool, tool.build(params), arguments)
        .action
    )


@pytest.mark.parametrize("way", WAYS, ids=lambda way: way.__name__)
@pytest.mark.parametrize(
    ("rule", "covered", "others"),
    [
        (
            "Read(secrets/**)",
            ["secrets/key", "pkg/secrets/key", "a/b/secrets/c/d"],
            ["secret/key", "pkg/secrets2/key", "x"],
        ),
        ("Read(sec*/**)", ["pkg/secrets/key"], ["x"]),
        ("Read(./secrets/**)", ["secrets/key"], ["pkg/secrets/key"]),
        ("Read(/secrets/**)", ["secrets/key"], ["pkg/secrets/key"]),
        ("Read(a/secrets/**)", ["a/secrets/key"], ["pkg/a/secrets/key"]),
        ("Read(**/a/secrets/**)", ["a/secrets/key", "pkg/a/secrets/key"], ["a/key"]),
        ("Read(secrets/)", ["secrets/key", "pkg/secrets/key"], ["x"]),
        ("Read(.env)", [".env", "pkg/.env"], [".envrc"]),
        ("Read(*.pem)", ["a.pem", "b/c.pem"], ["a.pem.txt"]),
        ("Read(src/*)", ["src/a"], ["pkg/src/a"]),
        ("Read(//etc/**)", ["/etc/passwd"], ["etc/passwd"]),
        ("Read(~/.ssh/**)", ["/home/me/.ssh/id", "~/.ssh/id"], [".ssh/id"]),
        ("Read(  secrets/**  )", ["pkg/secrets/key"], ["x"]),
        ("Read(geheim-ü/**)", ["pkg/geheim-ü/key"], ["pkg/geheim-u/key"]),
        ("Read(a[bc]/**)", ["ab/x", "pkg/ac/x"], ["ad/x"]),
        ("Read(#notes/**)", ["#notes/x", "pkg/#notes/x"], ["x"]),
        ("Edit(secrets/**)", [], ["secrets/key"]),
    ],
)
def test_a_path_rule_covers_what_it_covers_in_claude_code(
    way: Callable[[str, str], Policy], rule: str, covered: list[str], others: list[str]
) -> None:
    for verb in VERBS:
        policy = way(verb, rule)
        assert [action(policy, READ, {"path": path}) for path in covered] == [verb] * len(covered)
        assert [action(policy, READ, {"path": path}) for path in others] == ["allow"] * len(others)
        assert [action(policy, EDIT, {"path": path}) for path in covered if verb == "deny"] == ["deny"] * len(
            covered
        ) * (verb == "deny")


@pytest.mark.parametrize("way", WAYS, ids=lambda way: way.__name__)
@pytest.mark.parametrize("rule", ["Edit(docs/**)", "Edit(./docs/**)", "Edit(/docs/**)"])
def test_an_allow_of_a_folder_covers_only_the_one_in_the_workspace(
    way: Callable[[str, str], Policy], rule: str
) -> None:
    policy = way("allow", rule)
    assert [action(policy, EDIT, {"path": path}) for path in ("docs/a", "pkg/docs/a", "/docs/a")] == [
        "allow",
        "ask",
        "ask",
    ]


@pytest.mark.parametrize("way", WAYS, ids=lambda way: way.__name__)
@pytest.mark.parametrize("tool", ["Write", "NotebookEdit", "MultiEdit"])
def test_a_path_on_another_tool_that_writes_is_denied_to_all(
    way: Callable[[str, str], Policy], tool: str
) -> None:
    policy = way("deny", f"{tool}(gen/**)")
    assert action(policy, EDIT, {"path": "pkg/gen/a"}) == "deny"
    assert action(policy, READ, {"path": "pkg/gen/a"}) == "allow"


@pytest.mark.parametrize("way", WAYS, ids=lambda way: way.__name__)
@pytest.mark.parametrize("tool", ["Grep", "Glob", "LS", "NotebookRead"])
def test_a_path_on_another_tool_that_reads_is_denied_to_all(
    way: Callable[[str, str], Policy], tool: str
) -> None:
    policy = way("deny", f"{tool}(gen/**)")
    assert [action(policy, one, {"path": "pkg/gen/a"}) for one in (READ, GREP, EDIT)] == ["deny"] * 3


@pytest.mark.parametrize("way", WAYS, ids=lambda way: way.__name__)
@pytest.mark.parametrize(
    ("rule", "covered", "others"),
    [
        ("Bash(curl*)", ["curl", "curl -s x", "curlie x", "ls; curl x"], ["echo curl"]),
        ("Bash(curl *)", ["curl", "curl -s x"], ["curlie x"]),
        ("Bash(curl:*)", ["curl", "curl -s x"], ["curlie x"]),
        ("Bash(git * main)", ["git push origin main", "git checkout main"], ["git push main now"]),
        ("Bash(git * main:*)", ["git push origin main now"], ["git push origin mainly"]),
        ("Bash(* --version)", ["node --version", "echo a b --version"], ["node -v"]),
        ("Bash(npm run*test)", ["npm run my test", "npm run test"], ["npm test"]),
        ("Bash(rm -rf build)", ["rm -rf build"], ["rm -rf builds"]),
        ("Bash(timeout:*)", ["timeout 5 ls"], ["ls"]),
    ],
)
def test_a_star_in_a_command_matches_any_text(
    way: Callable[[str, str], Policy], rule: str, covered: list[str], others: list[str]
) -> None:
    policy = way("deny", rule)
    assert [action(policy, SHELL, {"command": line}) for line in covered] == ["deny"] * len(covered)
    assert "deny" not in [action(policy, SHELL, {"command": line}) for line in others]


@pytest.mark.parametrize("way", [as_list, as_file, as_table, saved], ids=lambda way: way.__name__)
@pytest.mark.parametrize(
    ("rule", "tool", "covered", "others"),
    [
        (
            "Bash(run_in_background:true)",
            SHELL,
            [{"command": "x", "background": True}],
            [{"command": "x", "background": False}, {"command": "x"}, {"command": "run_in_background:true"}],
        ),
        ("Bash(run_in_background:*)", SHELL, [{"command": "x", "background": True}], [{"command": "x"}]),
        (
            "Agent(model:opus)",
            AGENT,
            [{"model": "opus"}],
            [{"model": "opus-4"}, {"prompt": "opus"}, {}, {"a": {"model": "opus"}}],
        ),
        (
            "Agent(model:*opus*)",
            AGENT,
            [{"model": 'an "opus" 4'}, {"model": "opus"}],
            [{"model": ["opus"]}, {"model": {"a": "opus"}}],
        ),
        ("Agent(model:*)", AGENT, [{"model": "x"}, {"model": 5}], [{}, {"model": ["x"]}, {"Model": "x"}]),
        (
            "Agent(Explore)",
            AGENT,
            [{"subagent_type": "Explore"}],
            [{"subagent_type": "Explorer"}, {"prompt": "Explore"}],
        ),
        ("Agent(turns:5)", AGENT, [{"turns": 5}, {"turns": 5.0}, {"turns": "5"}], [{"turns": 50}]),
        ('Agent(name:a"b\\c)', AGENT, [{"name": 'a"b\\c'}], [{"name": "ab"}]),
        (
            "mcp__db__query(database:prod*)",
            QUERY,
            [{"database": "prod-2"}],
            [{"database": "test", "sql": "prod"}],
        ),
        ("mcp__db__*(database:prod)", QUERY, [{"database": "prod"}], [{"database": "test"}]),
        ("mcp__db(database:prod)", QUERY, [{"database": "prod"}], [{"database": "test"}]),
        ("deploy(stage:prod)", AnyTool("deploy", Kind.OTHER), [{"stage": "prod"}], [{"stage": "test"}, {}]),
    ],
)
def test_a_parameter_rule_matches_a_top_level_scalar(
    way: Callable[[str, str], Policy],
    rule: str,
    tool: AnyTool,
    covered: list[dict[str, Any]],
    others: list[dict[str, Any]],
) -> None:
    for verb in VERBS:
        policy = way(verb, rule)
        judge = PolicyEngine(Policy("yolo", ask=policy.ask, deny=policy.deny), tool_named=named)
        assert [judge.decide(tool, tool.build(arguments), arguments).action for arguments in covered] == [
            verb
        ] * len(covered)
        assert [judge.decide(tool, tool.build(arguments), arguments).action for arguments in others] == [
            "allow"
        ] * len(others)


@pytest.mark.parametrize("way", [as_list, as_file, as_table], ids=lambda way: way.__name__)
@pytest.mark.parametrize(
    ("verb", "rule"),
    [
        ("allow", "Bash(run_in_background:true)"),
        ("allow", "Agent(model:opus)"),
        ("allow", "Agent(Explore)"),
        ("allow", "Skill(commit)"),
        ("allow", "mcp__db__query(database:test)"),
        ("deny", "mcp__db__query(everything)"),
        ("deny", "Bash(timeout:600000)"),
        ("deny", "Bash(description:x*)"),
        ("deny", "Bash(command:rm *)"),
        ("deny", "Bash(dangerouslyDisableSandbox:true)"),
        ("deny", "Read(file_path:secrets/**)"),
        ("deny", "Read(limit:5)"),
        ("deny", "Edit(replace_all:true)"),
        ("deny", "Write(content:*)"),
        ("deny", "Grep(output_mode:content)"),
        ("deny", "WebFetch(url:https://x.org)"),
        ("deny", "NotebookEdit(edit_mode:delete)"),
        ("deny", "Read(!secrets/**)"),
        ("deny", "Read(a[/**)"),
        ("deny", "Read(a\\)"),
        ("deny", "Edit(a[b-a])"),
        ("deny", "read(a[/**)"),
        ("deny", "Read(a\0b)"),
        ("deny", "Read(a\nb)"),
    ],
)
def test_a_condition_that_cannot_be_matched_is_refused(
    way: Callable[[str, str], Policy], verb: str, rule: str
) -> None:
    with pytest.raises(PolicyError, match=r"(?i)rule|character"):
        way(verb, rule)


OPEN = [
    "mcp__*",
    "mcp__*__*",
    "mcp__*__search",
    "mcp__do*",
    "mcp__do*__x",
    "mcp_*",
    "mcp*",
    "m*",
    "*__search",
    "**",
    "mcp__?b__x",
    "mcp____*",
]


@pytest.mark.parametrize("way", [as_list, as_file], ids=lambda way: way.__name__)
@pytest.mark.parametrize("rule", OPEN)
def test_no_allow_rule_covers_every_server(way: Callable[[str, str], Policy], rule: str) -> None:
    with pytest.raises(PolicyError, match="every MCP server"):
        way("allow", rule)
    assert way("deny", rule).deny == way("ask", rule).ask == (rule,)


@pytest.mark.parametrize(
    "rule",
    ["mcp__docs", "mcp__docs__*", "mcp__docs__get_*", "mcp__docs__*_page", "mcp_docs_*", "mcp__docs__get"],
)
def test_an_allow_rule_covers_tools_of_the_server_that_it_names(rule: str) -> None:
    judge = PolicyEngine(Policy(allow=(rule,)), tool_named=named)
    decided = [
        judge.decide(tool, tool.build({})).action
        for tool in (
            AnyTool(name, Kind.OTHER)
            for name in ("mcp__docs__get_page", "mcp__docs__get", "mcp__documents__get_page")
        )
    ]
    assert decided == [
        "ask" if rule == "mcp__docs__get" else "allow",
        "ask" if rule.endswith(("get_*", "page")) else "allow",
        "ask",
    ]


def test_a_grant_may_be_for_every_server() -> None:
    tool = AnyTool("mcp__docs__get", Kind.OTHER)
    assert PolicyEngine(Policy(), ("mcp__*",)).decide(tool, tool.build({})).action == "allow"
    written = add_policy("", Policy(allow=(Rule("mcp__*"),)))
    assert read_policy(written, "policy.toml").allow == (Rule("mcp__*"),)


@pytest.mark.parametrize(
    ("name", "tool"),
    sorted(
        {
            (name, spellings[0].tool)
            for agent in dialect_names()
            for name, spellings in dialect(agent).by_name.items()
        }
    ),
)
def test_a_deny_by_any_agents_name_of_a_tool_denies_it(name: str, tool: str) -> None:
    denied = AnyTool(canonical_tool_name(name, dialect("claude")), Kind.OTHER)
    for policy in (as_list("deny", name), as_file("deny", name), as_table("deny", name)):
        assert action(policy, denied, {}) == "deny"
        assert action(policy, AnyTool(tool, Kind.OTHER), {}) == "deny" or denied.name != tool


@pytest.mark.parametrize(
    "name", ["read_file", "edit_file", "replace", "write_file", "Read", "Edit", "read", "edit"]
)
def test_a_path_with_any_agents_name_of_a_tool_is_denied_to_it(name: str) -> None:
    tool = AnyTool(named(name), Kind.READ if named(name) == "read" else Kind.EDIT)
    for way in (as_list, as_file, as_table, saved):
        assert action(way("deny", f"{name}(/secrets/**)"), tool, {"path": "secrets/key"}) == "deny"
        assert action(way("deny", f"{name}(/secrets/**)"), tool, {"path": "src/key"}) != "deny"


def test_in_a_session(tmp_path: Path) -> None:
    (tmp_path / "pkg/secrets").mkdir(parents=True)
    (tmp_path / "pkg/secrets/key").write_text("x")
    (tmp_path / "a").write_text("x")
    policy = Policy("yolo", deny=("Read(secrets/**)", "Bash(run_in_background:true)"))
    with Session(tmp_path, policy=policy, dialect="claude").sync() as session:
        assert session.decide("Read", {"file_path": f"{tmp_path}/pkg/secrets/key"}).action == "deny"
        assert session.decide("Bash", {"command": "cat pkg/secrets/key"}).action == "deny"
        assert session.decide("Bash", {"command": "ls", "run_in_background": True}).action == "deny"
        assert session.decide("Bash", {"command": "ls"}).action == "allow"
        found = session.call("Grep", {"pattern": "x"})
        assert "secrets" not in str(found.llm_content)


def test_a_grant_that_cannot_be_matched_is_refused(tmp_path: Path) -> None:
    session = Session(tmp_path)
    with pytest.raises(PolicyError):
        session.allow("Bash(run_in_background:true)")
    assert session.grants == ()


SEGMENTS = st.text(st.sampled_from("ab.*?[]!#\\ ~é\t"), min_size=1, max_size=4)
SPECS = st.builds(
    "{}{}{}".format,
    st.sampled_from(["", "/", "//", "~/", "./", "**/", "!"]),
    st.lists(SEGMENTS, min_size=1, max_size=3).map("/".join),
    st.sampled_from(["", "/", "/**", " "]),
)
PATHS = st.lists(
    st.text(st.sampled_from("ab.!#~é "), min_size=1, max_size=3).filter(lambda part: part.strip(". ")),
    min_size=1,
    max_size=4,
).map("/".join)


@given(spec=SPECS, path=PATHS)
def test_any_pattern_is_refused_or_decides_and_a_deny_is_as_wide_as_an_allow(spec: str, path: str) -> None:
    try:
        policies = [Policy("default", **{verb: (f"Edit({spec})",)}) for verb in ("allow", "deny")]
    except PolicyError:
        return
    allowed, denied = (action(policy, EDIT, {"path": path}) for policy in policies)
    assert allowed == "ask" or denied == "deny"


@given(spec=SPECS)
def test_a_converted_rule_is_stable(spec: str) -> None:
    try:
        rule = read_rule(f"Read({spec})")
    except PolicyError:
        return
    for verb in Action:
        once = claude_meaning(rule, verb)
        assert claude_meaning(once, verb) == once
