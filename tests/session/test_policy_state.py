"""Rules that outlast a session: from files into what is decided, and answers that are saved."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from nbtools import (
    Answer,
    Layer,
    Policy,
    PolicyError,
    Session,
    ToolConfirmationOutcome,
    ToolFailure,
    policy_layers,
)
from nbtools.policy.importers.claude import read_claude_settings
from nbtools.policy.importers.gemini_policies import read_gemini_policies
from nbtools.policy.store import Trust
from nbtools.session.policy_state import policy_store
from nbtools.testing import ScriptedConfirmer


@pytest.fixture(autouse=True)
def folders(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """The person's folders, for this test alone."""
    monkeypatch.setenv("NBTOOLS_STATE", str(tmp_path / "state"))
    monkeypatch.setenv("NBTOOLS_CONFIG", str(tmp_path / "config"))
    return


@pytest.fixture
def root(tmp_path: Path) -> Path:
    folder = tmp_path / "project"
    folder.mkdir()
    (folder / "a.txt").write_text("a\n", encoding="utf-8")
    for name in ("src", "docs"):
        (folder / name).mkdir()
    return folder


def put(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")


def decided(session: Session, command: str) -> tuple[str, str]:
    decision = session.decide("shell", {"command": command})
    return decision.action.value, decision.source


async def test_code_has_no_layers_unless_it_asks(tmp_path: Path, root: Path) -> None:
    put(tmp_path / "config" / "policy.toml", "allow = ['shell(make:*)']")
    async with Session(root) as plain, Session(root, layers=policy_layers(root)) as layered:
        assert decided(plain, "make test") == ("ask", "")
        assert decided(layered, "make test") == ("allow", "user")


async def test_a_project_only_tightens_until_it_is_trusted(root: Path) -> None:
    put(
        root / ".nbtools" / "policy.toml",
        "mode = 'auto_edit'\nallow = ['shell(make:*)']\ndeny = ['shell(curl:*)']",
    )
    store = policy_store(root)
    async with Session(root, layers=policy_layers(root)) as session:
        assert decided(session, "make test") == ("ask", "")
        assert decided(session, "curl x") == ("deny", "project")
        assert session.mode == "default"
        store.set_trust(store.project().digest)
        session.layers = policy_layers(root)
        assert decided(session, "make test") == ("allow", "project")
        assert session.mode == "auto_edit"
    put(root / ".nbtools" / "policy.toml", "allow = ['shell(make:*)', 'shell(curl:*)']")
    assert store.trust() is Trust.CHANGED
    async with Session(root, layers=policy_layers(root)) as session:
        assert decided(session, "curl x") == ("ask", "")


async def test_a_stricter_mode_of_a_project_counts_at_once(root: Path) -> None:
    put(root / ".nbtools" / "policy.toml", "mode = 'plan'")
    async with Session(root, layers=policy_layers(root)) as session:
        assert session.decide("write", {"path": "b.txt", "content": "b"}).action == "deny"


async def test_a_broken_file_is_reported_and_every_call_needs_approval(tmp_path: Path, root: Path) -> None:
    put(tmp_path / "config" / "policy.toml", "deny = ['shell'")
    with pytest.warns(UserWarning, match="every call needs approval") as told:
        layers = policy_layers(root)
    assert str(tmp_path / "config" / "policy.toml") in str(told[0].message)
    async with Session(root, layers=layers, policy=Policy(mode="yolo", allow=("*",))) as session:
        assert session.decide("read", {"path": "a.txt"}).action == "ask"
        assert decided(session, "ls")[0] == "ask"


async def test_a_saved_grant_holds_in_later_sessions_here_and_nowhere_else(
    tmp_path: Path, root: Path
) -> None:
    async with Session(root) as session:
        session.allow("shell(make:*)", save=True, by="shell make test")
        assert decided(session, "make test") == ("allow", "saved")
        assert (session.grants, session.saved_grants) == ((), ("shell(make:*)",))
    async with Session(root, layers=policy_layers(root)) as session:
        assert decided(session, "make test") == ("allow", "saved")
        (grant,) = session.granted
        assert (grant.rule, grant.saved, grant.by) == ("shell(make:*)", True, "shell make test")
    other = tmp_path / "other"
    other.mkdir()
    assert policy_layers(other) == ()


async def test_a_grant_is_for_the_session_and_can_be_saved_later(root: Path) -> None:
    async with Session(root) as session:
        session.allow("shell(make:*)", by="shell make")
        at = session.granted[0].at
        assert policy_layers(root) == ()
        session.allow("shell(make:*)", save=True)
        assert [(grant.by, grant.saved, int(grant.at)) for grant in session.granted] == [
            ("shell make", True, int(at))
        ]
        assert session.grants == ()


async def test_revoking_takes_a_saved_grant_off_the_disk(root: Path) -> None:
    async with Session(root) as session:
        session.allow("shell(make:*)", save=True)
        session.allow("grep")
        assert session.revoke("shell(make:*)") is True
        assert session.revoke("shell(make:*)") is False
        assert decided(session, "make") == ("ask", "")
        assert session.grants == ("grep",)
    assert policy_layers(root) == ()


async def test_revoking_ends_a_grant_of_the_session_at_once(root: Path) -> None:
    async with Session(root) as session:
        session.allow("shell(make:*)")
        session.allow("shell(tox:*)")
        assert session.revoke("shell(make:*)") is True
        assert (decided(session, "make"), decided(session, "tox")[0]) == (("ask", ""), "allow")
        assert session.grants == ("shell(tox:*)",)
        assert session.revoke("shell(make:*)") is False


async def test_a_second_saved_grant_keeps_the_first(root: Path) -> None:
    async with Session(root) as session:
        for rule in ("shell(make:*)", "shell(tox:*)", "shell(make:*)"):
            session.allow(rule, save=True)
        assert decided(session, "make test") == decided(session, "tox") == ("allow", "saved")
        assert (
            sorted(session.saved_grants)
            == sorted(grant.rule for grant in session.granted)
            == ["shell(make:*)", "shell(tox:*)"]
        )


async def test_saving_one_grant_brings_no_others_into_a_session(root: Path) -> None:
    async with Session(root) as one, Session(root) as other:
        one.allow("shell(make:*)", save=True)
        other.allow("shell(tox:*)", save=True)
        assert other.saved_grants == ("shell(tox:*)",)
        assert decided(other, "make") == ("ask", "")
        assert {grant.rule for grant in other.store.grants()} == {"shell(make:*)", "shell(tox:*)"}


@pytest.mark.parametrize("save", [True, False])
async def test_a_grant_is_stored_in_the_scope_that_the_person_chose(root: Path, save: bool) -> None:
    always = Answer(ToolConfirmationOutcome.PROCEED_ALWAYS, save=save)
    async with Session(root, confirmer=ScriptedConfirmer(always)) as session:
        assert (await session.call("shell", {"command": "printf %s hello"})).ok
        (grant,) = session.granted
        assert (grant.rule, grant.saved) == ("shell(printf:*)", save)
        assert grant.by.startswith("shell printf")
    assert [layer.name for layer in policy_layers(root)] == (["saved"] if save else [])


async def test_the_call_that_a_grant_answers_is_stored_without_its_secrets(root: Path) -> None:
    token = f"ghp_{'a1B2c3' * 6}"
    always = Answer(ToolConfirmationOutcome.PROCEED_ALWAYS, save=True)
    async with Session(root, confirmer=ScriptedConfirmer(always)) as session:
        assert (await session.call("shell", {"command": f"printf %s {token}"})).ok
        assert token not in session.granted[0].by


async def test_a_grant_that_cannot_be_saved_changes_nothing(root: Path, tmp_path: Path) -> None:
    async with Session(root) as session:
        with pytest.raises(PolicyError, match="is not a rule"):
            session.allow("edit(", save=True)
        put(tmp_path / "blocked", "")
        os.environ["NBTOOLS_STATE"] = str(tmp_path / "blocked")
        with pytest.raises(ToolFailure, match="blocked"):
            session.allow("edit", save=True)
        assert session.decide("write", {"path": "b.txt", "content": ""}).action == "ask"


CLAUDE = {
    "allow": ["Bash(make test:*)", "Bash(git * main)", "Edit(./src/**)", "WebFetch(domain:*.python.org)"],
    "ask": ["Bash(git push:*)"],
    "deny": ["Read(./.env)", "Bash(curl:*)", "Bash(git push * prod)", "Bash(run_in_background:true)"],
}


@pytest.mark.parametrize(
    ("name", "arguments", "action"),
    [
        ("shell", {"command": "make test"}, "allow"),
        ("shell", {"command": "make test && curl x"}, "deny"),
        ("shell", {"command": "make test && whoami"}, "ask"),
        ("shell", {"command": "make test", "background": True}, "deny"),
        ("shell", {"command": "git checkout main"}, "allow"),
        ("shell", {"command": "git checkout mainly"}, "ask"),
        ("shell", {"command": "git push origin main"}, "ask"),
        ("shell", {"command": "git push origin prod"}, "deny"),
        ("shell", {"command": "cat .env"}, "deny"),
        ("shell", {"command": "cat < .env"}, "deny"),
        ("read", {"path": ".env"}, "deny"),
        ("grep", {"pattern": "x", "path": ".env"}, "deny"),
        ("read", {"path": "a.txt"}, "allow"),
        ("write", {"path": "src/b.py", "content": "b"}, "allow"),
        ("write", {"path": "src/../b.py", "content": "b"}, "ask"),
        ("fetch", {"urls": ["https://docs.python.org/3/"]}, "allow"),
        ("fetch", {"urls": ["https://python.org/"]}, "ask"),
    ],
)
async def test_permissions_of_claude_decide_here(
    root: Path, name: str, arguments: dict[str, object], action: str
) -> None:
    (root / ".env").write_text("KEY=1\n", encoding="utf-8")
    async with Session(root) as session:
        imported = read_claude_settings(json.dumps({"permissions": CLAUDE}), session.tool_named)
        session.layers = (Layer("user", imported.policy),)
        assert imported.not_carried == ()
        assert session.decide(name, arguments).action == action


async def test_policies_of_gemini_decide_here(root: Path) -> None:
    text = """
        [[rule]]
        toolName = "write_file"
        argsPattern = '"file_path":"docs/'
        decision = "allow"
        priority = 5
        [[rule]]
        toolName = "run_shell_command"
        commandRegex = "rm\\\\s"
        decision = "deny"
        priority = 5
        denyMessage = "Use the trash."
    """
    async with Session(root) as session:
        session.layers = (Layer("user", read_gemini_policies(text, session.tool_named).policy),)
        assert session.decide("write", {"path": "docs/a.md", "content": ""}).action == "allow"
        assert session.decide("write", {"path": "docs/../a.md", "content": ""}).action == "ask"
        denied = session.decide("shell", {"command": "ls && rm a.txt"})
        assert denied.action == "deny"
        assert "Use the trash." in denied.reason


async def test_a_deny_of_any_layer_beats_a_saved_grant(tmp_path: Path, root: Path) -> None:
    put(tmp_path / "config" / "policy.toml", "deny = ['shell(rm:*)']")
    async with Session(root, layers=policy_layers(root)) as session:
        session.allow("shell(rm x)", save=True)
        assert decided(session, "rm x") == ("deny", "user")
