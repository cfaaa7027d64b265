"""The rules of a session, its layers and its grants on real tools and files."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from nbtools import Policy, Session
from nbtools.core.confirmation import Answer, Confirmation, ToolConfirmationOutcome, ToolConfirmationPayload
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


async def test_what_may_not_be_read_is_not_found_either(root: Path) -> None:
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
        root, policy=Policy("dont_ask", allow=("edit(src/**)", "edit(/link)"), deny=("read(/secrets/**)", "read(/open)"))
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
        ("cat 'src/no\ud800'", ("ask", "what cannot be read whole asks")),
        ("mytool src/key", ("ask", "read(/secrets/**)")),
        ("mytool --file=src/key", ("ask", "read(/secrets/**)")),
        ("mytool src/own", ("allow", "shell(mytool:*)")),
        ("grep -r x src/up", ("ask", "read(/secrets/**)")),
        ("echo x > src/hook", ("ask", "protected paths ask")),
        ("cp src/a.py src/hook", ("ask", "protected paths ask")),
        ("echo x > src/out", ("ask", "commands ask")),
        ("echo x > src/own", ("allow", "shell(echo:*), edit(src/**)")),
        ("echo x > sub/in", ("ask", "commands ask")),
    ],
)
async def test_a_link_opens_nothing_to_a_command(root: Path, command: str, decided: tuple[str, str]) -> None:
    links = {"key": "../secrets/key", "up": "..", "own": "b.py", "loop": "loop", "hook": "../.git/hooks/x", "out": "../../elsewhere"}
    for name, target in links.items():
        (root / "src" / name).symlink_to(target)
    (root / "sub" / "in").symlink_to("../src/b.py")
    allowed = ("shell(mytool:*)", "shell(cat:*)", "shell(cd:*)", "shell(grep:*)", "shell(echo:*)", "shell(cp:*)", "edit(src/**)")
    async with Session(root, policy=Policy(allow=allowed, deny=("read(/secrets/**)",))) as session:
        decision = session.decide("shell", {"command": command})
        assert (decision.action, decision.rule) == decided


async def test_commands_start_in_their_folder(root: Path) -> None:
    async with Session(root, policy=Policy("yolo", deny=("read(/sub/secrets/**)", "edit(/src/a.py)"))) as session:
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


async def test_nobody_there_to_confirm_is_told_without_advice_that_would_not_help(root: Path) -> None:
    async with Session(root, policy=Policy("yolo")) as session:
        result = await session.call("write", {"path": ".git/config", "content": "y\n"})
        assert result.error is not None
        assert result.error.code == "confirmation_required"
        assert "each time" in result.error.message
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
    async with Session(root, policy=Policy("yolo", deny=("edit(/sub/secrets/key)", "edit(*.lock)"))) as session:
        assert session.decide("delete", {"path": "sub"}).action == "deny"
        assert session.decide("move", {"path": "sub", "to": "elsewhere"}).action == "deny"
        assert session.decide("delete", {"path": "src"}).action == "ask"
        assert session.decide("delete", {"path": "src/a.py"}).action == "allow"
        assert session.decide("delete", {"path": "."}).action in ("ask", "deny")
        replaced = {"pattern": "1", "replacement": "2", "apply": True}
        assert session.decide("replace_in_files", replaced).action == "deny"
        assert session.decide("replace_in_files", {**replaced, "path": "src"}).action == "ask"


async def test_the_persons_memory_is_not_written_unasked(root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    async with Session(root, policy=Policy("auto_edit")) as session:
        assert session.decide("memory", {"text": "x", "scope": "user"}).action == "ask"
        assert session.decide("memory", {"text": "x"}).action == "allow"
        session.allow("memory")
        assert session.decide("memory", {"text": "x", "scope": "user"}).action == "allow"


async def test_what_was_denied_or_asked_of_nobody_is_in_the_history_with_its_decision(root: Path) -> None:
    async with Session(root, policy=Policy(deny=("shell(rm:*)",))) as session:
        denied = await session.call("shell", {"command": "true && rm -rf src"})
        asked = await session.call("write", {"path": "src/a.py", "content": ""})
        assert (denied.error.code, asked.error.code) == ("policy_violation", "confirmation_required")
        decided = [call.last.plan.decision for call in session.history]
        assert [(one.action, one.rule, one.part) for one in decided] == [
            ("deny", "shell(rm:*)", "rm -rf src"),
            ("ask", "edits ask", ""),
        ]


async def test_yes_to_a_tool_is_no_yes_to_every_command(root: Path) -> None:
    whole = Answer(ToolConfirmationOutcome.PROCEED_ALWAYS_TOOL)
    async with Session(root, confirmer=ScriptedConfirmer(whole)) as session:
        assert (await session.call("shell", {"command": "uname -s"})).ok
        assert session.grants == ("shell(uname:*)",)


async def test_yes_to_what_is_always_asked_allows_nothing_more(root: Path) -> None:
    whole = Answer(ToolConfirmationOutcome.PROCEED_ALWAYS_TOOL)
    async with Session(root, confirmer=ScriptedConfirmer(whole)) as session:
        assert (await session.call("write", {"path": ".envrc", "content": "x"})).ok
        assert session.grants == ()


async def test_what_cannot_be_kept_is_allowed_for_the_session_and_said(root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async with Session(root, confirmer=ScriptedConfirmer(Answer(ToolConfirmationOutcome.PROCEED_ALWAYS, save=True))) as session:
        (tmp_path / "blocked").write_text("")
        monkeypatch.setenv("NBTOOLS_STATE", str(tmp_path / "blocked"))
        with pytest.warns(UserWarning, match=r"shell\(uname:\*\) is allowed for this session only"):
            await session.call("shell", {"command": "uname -s"})
        assert session.grants == ("shell(uname:*)",)
        assert session.decide("shell", {"command": "uname -a"}).action == "allow"
