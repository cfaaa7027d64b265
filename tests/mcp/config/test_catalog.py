"""Servers of files: which may start, and when they do."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from nbtools import Policy, Rule, Session
from nbtools.core.confirmation import Answer, Confirmation, ToolConfirmationOutcome, ToolConfirmationPayload
from nbtools.core.errors import ToolFailure
from nbtools.core.settings import Settings
from nbtools.mcp.config.catalog import TrustState
from nbtools.mcp.config.files import own_file
from tests.mcp.watching import program

ALLOWED = Policy(allow=[Rule("mcp__*")])


class Person:
    """Answers questions about trust, as long as there are answers."""

    def __init__(self, *answers: str) -> None:
        self.answers = list(answers)
        self.asked: list[str] = []

    async def ask(self, confirmation: Confirmation) -> Answer:
        assert confirmation.details.type == "ask"
        self.asked.append(confirmation.details.questions[0].text)
        return Answer(
            ToolConfirmationOutcome.PROCEED_ONCE, ToolConfirmationPayload(answers=(self.answers.pop(0),))
        )


class Forever:
    """Never answers."""

    async def ask(self, confirmation: Confirmation) -> Answer:
        await asyncio.Event().wait()
        raise AssertionError


@pytest.fixture(autouse=True)
def folders(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NBTOOLS_CONFIG", str(tmp_path / "config"))
    monkeypatch.setenv("NBTOOLS_STATE", str(tmp_path / "state"))


@pytest.fixture
def root(tmp_path: Path) -> Path:
    (tmp_path / "project").mkdir()
    return tmp_path / "project"


def declare(path: Path, **servers: Any) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps({"mcpServers": servers}), encoding="utf-8")


def opened(root: Path, confirmer: Any = None) -> Session:
    return Session(root, policy=ALLOWED, confirmer=confirmer, settings=Settings(servers=True))


async def echoed(session: Session) -> Sequence[Any]:
    result = await session.call("mcp__echo__echo", {"text": "hello"})
    return result.ok, result.llm_content if result.ok else str(result.error)


async def test_the_person_s_own_starts_when_one_of_its_tools_is_called(root: Path) -> None:
    declare(own_file(), echo=program("echo_server.py"), off={"command": "x", "disabled": True})
    async with opened(root) as session:
        assert session.mcp.connections["echo"].state == "disconnected"
        assert await echoed(session) == (True, "hello")
        assert (await session.call("mcp_echo_nothing")).error is not None
        off = await session.call("mcp__off__x")
        assert "%tools mcp enable off" in str(off.error)
        nearly = await session.call("mcp__eco__echo")
        assert "There is no MCP server 'eco'. Did you mean echo" in str(nearly.error)


async def test_without_the_setting_no_file_counts_before_it_is_loaded(root: Path) -> None:
    declare(own_file(), echo=program("echo_server.py"))
    async with Session(root, policy=ALLOWED) as session:
        assert "There is no tool" in (await echoed(session))[1]
        session.mcp.load()
        assert await echoed(session) == (True, "hello")


async def test_a_server_of_the_project_needs_approval_once(root: Path) -> None:
    declare(
        root / ".mcp.json",
        echo=program("echo_server.py", env={"LEVEL": "high", "API_KEY": "s3cr3tvalue", "HOME_OF": "${HOME}"}),
    )
    person = Person("yes")
    async with opened(root, person) as session:
        assert await echoed(session) == (True, "hello")
        assert await echoed(session) == (True, "hello")
        question = person.asked[0]
        assert all(
            part in question
            for part in (".mcp.json", "echo_server.py", "LEVEL=high", "API_KEY=…", "HOME_OF=${HOME}")
        )
        assert "s3cr3t" not in question
    async with opened(root) as session:
        assert await echoed(session) == (True, "hello")
    assert len(person.asked) == 1


async def test_a_changed_entry_needs_approval_again(root: Path) -> None:
    declare(root / ".mcp.json", echo=program("echo_server.py"))
    async with opened(root, Person("yes")) as session:
        assert await echoed(session) == (True, "hello")
    declare(root / ".mcp.json", echo=program("echo_server.py", env={"NODE_OPTIONS": "--require ./evil.js"}))
    person = Person("yes")
    async with opened(root, person) as session:
        named = session.mcp.catalogue.servers["echo"]
        assert session.mcp.catalogue.trust_state(named) is TrustState.CHANGED
        assert await echoed(session) == (True, "hello")
        assert "It has changed since you trusted it" in person.asked[0]
        assert session.mcp.catalogue.trust_state(named) is TrustState.TRUSTED


async def test_a_no_is_not_asked_again_and_nothing_starts(root: Path) -> None:
    declare(root / ".mcp.json", echo={"command": "touch", "args": ["started"]})
    person = Person("no")
    async with opened(root, person) as session:
        for _ in range(2):
            ok, why = await echoed(session)
            assert not ok
            assert "it is not trusted yet. %tools mcp trust echo" in why
        await session.mcp.connect()
        assert len(person.asked) == 1
    assert not (root / "started").exists()


async def test_with_nobody_to_ask_nothing_of_a_project_starts(root: Path) -> None:
    declare(root / ".cursor" / "mcp.json", echo={"command": "touch", "args": ["started"]})
    async with opened(root) as session:
        await session.mcp.connect()
        assert "not trusted yet" in session.mcp.connections["echo"].problem
        session.mcp.catalogue.trust(session.mcp.catalogue.get("echo"))
        await session.mcp.connect()
        assert "not trusted yet" not in session.mcp.connections["echo"].problem
    assert (root / "started").exists()


async def test_a_session_that_closes_waits_for_no_answer(root: Path) -> None:
    declare(root / ".mcp.json", echo=program("echo_server.py"))
    async with opened(root, Forever()) as session:
        connecting = asyncio.create_task(session.mcp.connect())
        while not session.active:
            await asyncio.sleep(0)
    await connecting


async def test_files_are_read_again(root: Path) -> None:
    declare(own_file(), echo={"command": "no-such-program"}, other=program("echo_server.py"))
    async with opened(root) as session:
        assert "there is no program" in (await echoed(session))[1].lower()
        await session.mcp.connect("other")
        declare(own_file(), echo=program("echo_server.py"))
        session.mcp.load()
        assert await echoed(session) == (True, "hello")
        assert session.mcp.connections["other"].state == "connected"
        await session.mcp.switch("echo", on=False)
        assert "is disabled in this workspace" in (await echoed(session))[1]
        await session.mcp.switch("echo", on=True)
        assert await echoed(session) == (True, "hello")
        with pytest.raises(ToolFailure, match="no MCP server 'nobody'"):
            session.mcp.catalogue.get("nobody")


async def test_the_question_names_what_of_the_person_s_goes_where(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GITHUB_TOKEN", "ghp_0123456789abcdefghij0123456789abcdef")
    monkeypatch.setenv("OTHER_KEY", "k")
    headers = {"X-Team": "${GITHUB_TOKEN}"}
    login = {
        "clientId": "me",
        "clientSecret": "%OTHER_KEY%",
        "grantType": "client_credentials",
        "issuer": "https://i.example",
    }
    declare(root / ".mcp.json", evil={"url": "http://127.0.0.1:9/mcp", "headers": headers, "oauth": login})
    person = Person("no")
    async with opened(root, person) as session:
        await session.mcp.connect("evil")
        assert "passes: your GITHUB_TOKEN, OTHER_KEY to 127.0.0.1" in person.asked[0]
        assert "logs in: as me, with client credentials, at https://i.example" in person.asked[0]
        assert "ghp_" not in person.asked[0]


async def test_an_entry_cannot_write_lines_of_the_question(root: Path) -> None:
    declare(
        root / ".mcp.json", evil={"command": "x", "args": ["\nreaches: https://good.example", "\r", "\u2028"]}
    )
    person = Person("no")
    async with opened(root, person) as session:
        await session.mcp.connect("evil")
        assert len(person.asked[0].splitlines()) == 2


async def test_names_that_rules_could_not_tell_apart_are_a_problem(root: Path) -> None:
    declare(own_file(), **{"a.b": program("echo_server.py"), "a_b": program("echo_server.py")})
    async with opened(root) as session:
        assert list(session.mcp.connections) == ["a.b"]
        says = "a_b: its tool names would clash with those of the server a.b. Rename one of them."
        assert [problem.text for problem in session.mcp.catalogue.problems] == [says]
        with pytest.raises(ToolFailure, match="its tool names would clash"):
            session.mcp.get("a_b")
        session.mcp.load()
        assert len(session.mcp.catalogue.problems) == 1
