"""The rules of a session, its layers and its grants on real tools and files."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import permutations
from pathlib import Path

import pytest

from nbtools import Policy, Session
from nbtools.core.confirmation import Answer, Confirmation, ToolConfirmationOutcome, ToolConfirmationPayload
from nbtools.core.errors import ToolFailure
from nbtools.policy.layers import Layer
from nbtools.testing import ScriptedConfirmer, temporary_workspace


@pytest.fixture
def root() -> Iterator[Path]:
    files = {
        "src/a.py": "x = 1\n",
        "src/b.py": "y = 1\n",
        "secrets/key": "x = hidden\n",
        "sub/secrets/key": "x = too\n",
        ".git/config": "x\n",
    }
    with temporary_workspace(files) as folder:
        yield folder


@dataclass
class Person:
    """Says always, for the folder where that is offered."""

    narrow: bool = False
    asked: list[Confirmation] = field(default_factory=list)

    async def ask(self, confirmation: Confirmation) -> Answer:
        self.asked.append(confirmation)
        rules = confirmation.narrower if self.narrow else ()
        return Answer(ToolConfirmationOutcome.PROCEED_ALWAYS, ToolConfirmationPayload(rules=rules))


async def test_files_that_may_not_be_read_are_not_found_either(root: Path) -> None:
    async with Session(root, policy=Policy(deny=("read(/secrets/**)",))) as session:
        assert session.workspace.hidden == ("/secrets/**",)
        found = (await session.call("grep", {"pattern": "x = "})).llm_content
        assert "src/a.py" in found
        assert "hidden" not in found
        assert not (await session.call("read", {"path": "secrets/key"})).ok
        assert (await session.call("read", {"path": "sub/secrets/key"})).ok
        session.policy = Policy()
        assert session.workspace.hidden == ()
        assert (await session.call("read", {"path": "secrets/key"})).ok


async def test_a_link_hides_nothing(root: Path) -> None:
    (root / "link").symlink_to("secrets/key")
    (root / "open").symlink_to("src/a.py")
    async with Session(
        root,
        policy=Policy(
            "dont_ask", allow=("edit(src/**)", "edit(/link)"), deny=("read(/secrets/**)", "read(/open)")
        ),
    ) as session:
        assert session.decide("read", {"path": "link"}).rule == "read(/secrets/**)"
        assert session.decide("read", {"path": "open"}).rule == "read(/open)"
        assert session.decide("write", {"path": "link", "content": ""}).action == "deny"


@pytest.mark.parametrize(
    ("command", "decided"),
    [
        ("cat src/key", ("deny", "read(/secrets/**)")),
        ("cd src && cat key", ("deny", "read(/secrets/**)")),
        ("cat src/up/secrets/key", ("deny", "read(/secrets/**)")),
        ("cat src/own", ("allow", "shell(cat:*)")),
        ("cat src/loop", ("allow", "shell(cat:*)")),
        ("cat 'src/no\ud800'", ("ask", "commands that cannot be fully analysed need approval")),
        ("mytool src/key", ("ask", "read(/secrets/**)")),
        ("mytool --file=src/key", ("ask", "read(/secrets/**)")),
        ("mytool src/own", ("allow", "shell(mytool:*)")),
        ("grep -r x src/up", ("ask", "read(/secrets/**)")),
        ("echo x > src/hook", ("ask", "protected paths need approval")),
        ("cp src/a.py src/hook", ("ask", "protected paths need approval")),
        ("echo x > src/out", ("ask", "commands need approval")),
        ("echo x > src/own", ("allow", "shell(echo:*), edit(src/**)")),
        ("echo x > sub/in", ("ask", "commands need approval")),
    ],
)
async def test_a_link_opens_nothing_to_a_command(root: Path, command: str, decided: tuple[str, str]) -> None:
    links = {
        "key": "../secrets/key",
        "up": "..",
        "own": "b.py",
        "loop": "loop",
        "hook": "../.git/hooks/x",
        "out": "../../elsewhere",
    }
    for name, target in links.items():
        (root / "src" / name).symlink_to(target)
    (root / "sub" / "in").symlink_to("../src/b.py")
    allowed = (
        "shell(mytool:*)",
        "shell(cat:*)",
        "shell(cd:*)",
        "shell(grep:*)",
        "shell(echo:*)",
        "shell(cp:*)",
        "edit(src/**)",
    )
    async with Session(root, policy=Policy(allow=allowed, deny=("read(/secrets/**)",))) as session:
        decision = session.decide("shell", {"command": command})
        assert (decision.action, decision.rule) == decided


async def test_commands_start_in_their_folder(root: Path) -> None:
    async with Session(
        root, policy=Policy("yolo", deny=("read(/sub/secrets/**)", "edit(/src/a.py)"))
    ) as session:
        assert session.decide("shell", {"command": "cat secrets/key"}).action == "allow"
        assert session.decide("shell", {"command": "cat secrets/key", "path": "sub"}).action == "deny"
        assert session.decide("shell", {"command": "echo > a.py", "path": "src"}).action == "deny"
        assert session.decide("shell", {"command": f"cat {root}/sub/secrets/key"}).action == "deny"


async def test_an_always_for_the_folder_is_for_the_folder(root: Path) -> None:
    person = Person(narrow=True)
    async with Session(root, confirmer=person) as session:
        assert (await session.call("edit", {"path": "src/a.py", "old": "1", "new": "2"})).ok
        assert person.asked[0].offers == ("edit",)
        assert session.grants == ("edit(src/**)",)
        assert session.decide("write", {"path": "src/new.py", "content": ""}).source == "grant"
        assert session.decide("write", {"path": "new.py", "content": ""}).action == "ask"
        assert session.revoke("edit(src/**)")
        assert session.decide("write", {"path": "src/new.py", "content": ""}).action == "ask"


async def test_an_always_for_a_command_is_for_its_parts(root: Path) -> None:
    person = Person()
    async with Session(root, confirmer=person) as session:
        assert (await session.call("shell", {"command": "ls src && echo a > out.txt"})).ok
        assert session.grants == ("shell(ls:*)", "shell(echo:*)", "edit(/out.txt)")
        assert session.decide("shell", {"command": "echo b > out.txt; ls"}).action == "allow"
        assert session.decide("shell", {"command": "echo b > other.txt"}).action == "ask"


async def test_no_always_is_offered_where_it_would_change_nothing(root: Path) -> None:
    person = Person()
    async with Session(root, policy=Policy("yolo", ask=("shell(git:*)",)), confirmer=person) as session:
        await session.call("write", {"path": ".git/config", "content": "y\n"})
        await session.call("shell", {"command": "git --version"})
        assert [(one.offers, one.narrower) for one in person.asked] == [((), ()), ((), ())]
        assert session.grants == ()


async def test_a_denial_without_a_confirmer_gives_no_advice_that_would_not_help(root: Path) -> None:
    async with Session(root, policy=Policy("yolo")) as session:
        result = await session.call("write", {"path": ".git/config", "content": "y\n"})
        assert result.error is not None
        assert result.error.code == "confirmation_required"
        assert "every time" in result.error.message
        assert "%tools allow" not in result.error.message
        assert (root / ".git/config").read_text() == "x\n"


async def test_layers_are_judged_and_may_be_set(root: Path) -> None:
    user = Layer("user", Policy("auto_edit", deny=("Bash(git push:*)",)))
    async with Session(root, layers=[user]) as session:
        assert session.mode == "auto_edit"
        assert session.decide("shell", {"command": "git push"}).source == "user"
        assert session.decide("write", {"path": "src/a.py", "content": ""}).action == "allow"
        session.policy = Policy("default")
        assert session.mode == "default"
        session.layers = ()
        assert session.decide("shell", {"command": "git push"}).action == "ask"


async def test_a_folder_is_not_removed_with_what_must_stay_in_it(root: Path) -> None:
    async with Session(
        root, policy=Policy("yolo", deny=("edit(/sub/secrets/key)", "edit(*.lock)"))
    ) as session:
        assert session.decide("delete", {"path": "sub"}).action == "deny"
        assert session.decide("move", {"path": "sub", "to": "elsewhere"}).action == "deny"
        assert session.decide("delete", {"path": "src"}).action == "ask"
        assert session.decide("delete", {"path": "src/a.py"}).action == "allow"
        assert session.decide("delete", {"path": "."}).action in ("ask", "deny")
        replaced = {"pattern": "1", "replacement": "2", "apply": True}
        assert session.decide("replace_in_files", replaced).action == "deny"
        assert session.decide("replace_in_files", {**replaced, "path": "src"}).action == "ask"


async def test_the_persons_memory_is_not_written_unasked(
    root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    async with Session(root, policy=Policy("auto_edit")) as session:
        assert session.decide("memory", {"text": "x", "scope": "user"}).action == "ask"
        assert session.decide("memory", {"text": "x"}).action == "allow"
        session.allow("memory")
        assert session.decide("memory", {"text": "x", "scope": "user"}).action == "allow"


async def test_denied_calls_are_in_the_history_with_their_decision(root: Path) -> None:
    async with Session(root, policy=Policy(deny=("shell(rm:*)",))) as session:
        denied = await session.call("shell", {"command": "true && rm -rf src"})
        asked = await session.call("write", {"path": "src/a.py", "content": ""})
        assert (denied.error.code, asked.error.code) == ("policy_violation", "confirmation_required")
        decided = [call.last.plan.decision for call in session.history]
        assert [(one.action, one.rule, one.part) for one in decided] == [
            ("deny", "shell(rm:*)", "rm -rf src"),
            ("ask", "edits need approval", ""),
        ]


async def test_yes_to_a_tool_is_no_yes_to_every_command(root: Path) -> None:
    whole = Answer(ToolConfirmationOutcome.PROCEED_ALWAYS_TOOL)
    async with Session(root, confirmer=ScriptedConfirmer(whole)) as session:
        assert (await session.call("shell", {"command": "uname -s"})).ok
        assert session.grants == ("shell(uname:*)",)


async def test_approval_of_a_call_that_always_needs_it_allows_no_other_call(root: Path) -> None:
    whole = Answer(ToolConfirmationOutcome.PROCEED_ALWAYS_TOOL)
    async with Session(root, confirmer=ScriptedConfirmer(whole)) as session:
        assert (await session.call("write", {"path": ".envrc", "content": "x"})).ok
        assert session.grants == ()


async def test_a_grant_that_cannot_be_stored_holds_for_the_session_and_is_reported(
    root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with Session(
        root, confirmer=ScriptedConfirmer(Answer(ToolConfirmationOutcome.PROCEED_ALWAYS, save=True))
    ) as session:
        (tmp_path / "blocked").write_text("")
        monkeypatch.setenv("NBTOOLS_STATE", str(tmp_path / "blocked"))
        with pytest.warns(UserWarning, match=r"shell\(uname:\*\) is allowed for this session only"):
            await session.call("shell", {"command": "uname -s"})
        assert session.grants == ("shell(uname:*)",)
        assert session.decide("shell", {"command": "uname -a"}).action == "allow"


@pytest.mark.parametrize(
    "command",
    [
        "cd {}",
        "command cd {}",
        "builtin cd {}",
        "time cd {}",
        "time -p command -p -- builtin cd {}",
        "$X cd {}",
    ],
)
async def test_a_folder_is_another_one_however_it_is_gone_to(root: Path, command: str) -> None:
    there = command.format("src")
    async with Session(root, policy=Policy("yolo", deny=("edit(/src/a.py)",))) as session:
        assert session.decide("shell", {"command": f"{there} && rm a.py"}).action != "allow"
        assert session.decide("shell", {"command": f"{there} && ./run"}).action == "ask"
        assert session.decide("shell", {"command": f"{command.format('..')}; git status"}).action == "ask"
        assert (
            session.decide("shell", {"command": f"git init lib; {command.format('lib')}; git status"}).action
            == "ask"
        )
        assert (
            session.decide("shell", {"command": f"{there}; git status"}).action == "ask"
        ) is command.startswith("$")
        (root / "src" / ".git").mkdir()
        assert session.decide("shell", {"command": f"{there}; git status"}).action == "ask"


@pytest.mark.parametrize(
    "command", ["git status", "env git log", "./run", "sh -c 'git status'", "x=1; bin/run"]
)
async def test_a_folder_given_as_path_is_another_one_too(root: Path, command: str) -> None:
    async with Session(root, policy=Policy("yolo", allow=("shell",))) as session:
        assert session.decide("shell", {"command": command}).action == "allow"
        assert session.decide("shell", {"command": command, "path": "."}).action == "allow"
        assert (session.decide("shell", {"command": command, "path": "src"}).action == "ask") is (
            "run" in command
        )
        assert session.decide("shell", {"command": "ls && make", "path": "src"}).action == "allow"
        (root / "src" / ".git").mkdir()
        assert session.decide("shell", {"command": command, "path": "src"}).action == "ask"


async def test_a_command_runs_in_the_folder_that_was_judged(root: Path) -> None:
    (root / "link").symlink_to("src")
    async with Session(root) as session:
        invocation = session.tools["shell"].build({"command": "touch mark", "path": "link"})
        (root / "link").unlink()
        (root / "link").symlink_to("sub")
        with pytest.raises(ToolFailure) as caught:
            await invocation.execute()
        assert caught.value.code == "conflict"
        assert not [*root.rglob("mark")]


@pytest.mark.parametrize("order", [*permutations(("HEAD", "objects/x", "refs/x", "config"))])
async def test_a_repository_cannot_be_written_file_by_file(root: Path, order: tuple[str, ...]) -> None:
    async with Session(root, policy=Policy("auto_edit", allow=("shell(git status)",))) as session:
        done = [
            (await session.call("write", {"path": f"docs/{name}", "content": "x\n"})).ok for name in order
        ]
        assert not all(done)
        assert not all((root / "docs" / name).exists() for name in ("HEAD", "objects", "refs"))


@pytest.mark.parametrize(
    "command",
    [
        "mkdir -p docs/objects docs/refs; echo x > docs/HEAD",
        "mkdir docs && cd docs && mkdir objects refs && touch HEAD",
        "cp a docs/HEAD; echo .. > docs/commondir",
        "echo x > bare/config",
        "echo x > bare/hooks/post-checkout",
        "rm bare/config",
    ],
)
async def test_nor_by_commands(root: Path, command: str) -> None:
    for folder in ("objects", "refs"):
        (root / "bare" / folder).mkdir(parents=True)
    (root / "bare" / "HEAD").write_text("x")
    async with Session(root, policy=Policy("yolo", allow=("shell",))) as session:
        decision = session.decide("shell", {"command": command})
        assert (decision.action, decision.rule) == ("ask", "protected paths need approval")
        assert (
            session.decide(
                "shell", {"command": "mkdir -p docs/objects; echo x > docs/HEAD; echo x > docs/config"}
            ).action
            == "allow"
        )


@pytest.mark.parametrize(
    "command",
    [
        "rm -rf {root}",
        "rm -rf {root}/",
        "rm -rf {root}/.",
        "rm -rf {root}/*",
        "rm -rf {root}/{{*,.*}}",
        "rm -rf {parent}",
        "rm -rf {parent}/{start}*",
        "rm -rf ../{name}",
        "rm -rf ../{start}*",
        "rm -rf src/../../{name}",
        "rm -rf link/../{name}",
        "rm -rf link/src/..",
        "rm -rf link",
        "rm -rf link/*",
        "rm -rf {parent}/{{{name},x}}",
        "rm -rf up",
        "cd .. && rm -rf {name}",
        "cd / && rm -rf .{root}",
        "command cd .. && rm -rf {name}",
        "rm -rf /proc/self/cwd",
        "rmdir {root}",
        "shred -u {root}/*",
        "find {root} -delete",
        "find {root} -exec rm -rf {{}} +",
        "find . -maxdepth 1 -exec rm -rf {{}} +",
        "find ../{name} -delete",
        "mv {root} /tmp/x",
        "mv ../{name} /tmp/x",
        "chmod -R 000 {root}",
        "pytest --basetemp={root}",
        "python -m pytest --basetemp ../{name}",
        "rsync -a --delete x/ {root}",
        "rsync -a --remove-source-files {root}/ /tmp/x",
        "tar cf /tmp/x.tar --remove-files {root}",
        "zip -rm /tmp/x.zip {root}",
        "git worktree remove --force ../{name}",
        "sh -c 'rm -rf {root}'",
        "rm -rf {home}",
        "rm -rf {home}/*",
        "rm -rf ~/../{homename}",
        "rm -rf $HOME/../{homename}",
        'rm -rf "$HOME/work/.."',
        "rm -rf ~{homename}/work/..",
        'rm -rf "$(git rev-parse --show-toplevel)"',
        "cd .. && find . -name '*.py' -delete",
    ],
)
async def test_critical_removals_are_judged_by_where_a_path_leads(
    root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, command: str
) -> None:
    home = tmp_path / "somebody"
    (home / "work").mkdir(parents=True)
    monkeypatch.setenv("HOME", str(home))
    (root / "link").symlink_to(root)
    (root / "up").symlink_to("..")
    places = {
        "root": root,
        "parent": root.parent,
        "name": root.name,
        "start": root.name[:-2],
        "home": home,
        "homename": home.name,
    }
    for policy in (Policy("yolo"), Policy(allow=("shell", "edit(**)"))):
        async with Session(root, policy=policy) as session:
            decision = session.decide("shell", {"command": command.format(**places)})
            assert (decision.action, decision.rule) == ("ask", "critical deletions need approval")


@pytest.mark.parametrize(
    "command",
    [
        "rm -rf {root}/src",
        "rm -rf {root}/src/*",
        "rm -rf ../{name}/src",
        "rm -rf ../other",
        "rm -rf src/*",
        "rm -f *.pyc",
        "rm -f {root}/*.pyc",
        'rm -f "src/$X"',
        "find . -name '*.pyc' -delete",
        "cd src && find . -name '*.pyc' -delete",
        "find . -name '*.pyc' -exec rm {{}} +",
        "find . -name '*.pyc' | xargs rm -f",
        "fd -e pyc -x rm {{}}",
        "find {root}/src -delete",
        "mv {root}/src {root}/lib",
        "rm -rf ~/work/build",
        "rm -rf $HOME/work/build",
    ],
)
async def test_other_removals_are_not_critical(
    root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, command: str
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path / "somebody"))
    async with Session(root, policy=Policy("yolo")) as session:
        assert (
            session.decide("shell", {"command": command.format(root=root, name=root.name)}).action == "allow"
        )


async def test_changes_by_programs_that_git_starts_in_another_folder_can_be_undone(root: Path) -> None:
    (root / ".git" / "config").unlink()
    subprocess.run(["git", "init", "-q", "src"], cwd=root, check=True)
    subprocess.run(
        ["git", "config", "core.fsmonitor", "echo changed > a.py; false"], cwd=root / "src", check=True
    )
    async with Session(
        root, confirmer=ScriptedConfirmer(Answer(ToolConfirmationOutcome.PROCEED_ONCE))
    ) as session:
        assert (await session.call("shell", {"command": "git status", "path": "src"})).ok
        assert (root / "src/a.py").read_text() == "changed\n"
        await session.undo()
        assert (root / "src/a.py").read_text() == "x = 1\n"
