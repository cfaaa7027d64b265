"""Servers that run: a session's tools, its questions, and what goes wrong with them."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import psutil
import pytest
import pytest_asyncio

from nbtools import Policy, Session
from nbtools.core.call import CallEvent, OutputEvent
from nbtools.core.confirmation import Answer, Confirmation, ToolConfirmationOutcome, ToolConfirmationPayload
from nbtools.core.errors import ToolFailure
from nbtools.core.result import Media
from nbtools.mcp.config.entries import parse_server
from tests.mcp.watching import bad, program, under_way, until
from tests.processes import words_of


class Answers:
    """Answers each question in turn; what is not a form gets a yes."""

    def __init__(self, *answers: tuple[str, ...]) -> None:
        self.answers = list(answers)
        self.asked: list[Confirmation] = []

    async def ask(self, confirmation: Confirmation) -> Answer:
        self.asked.append(confirmation)
        if confirmation.type == "ask":
            return Answer(
                ToolConfirmationOutcome.PROCEED_ONCE, ToolConfirmationPayload(answers=self.answers.pop(0))
            )
        return Answer(ToolConfirmationOutcome.PROCEED_ONCE)


@pytest.fixture
def answers() -> Answers:
    return Answers()


@pytest_asyncio.fixture
async def session(tmp_path: Path, answers: Answers) -> AsyncIterator[Session]:
    async with Session(tmp_path, policy=Policy(allow=["mcp__echo__*"]), confirmer=answers) as session:
        session.mcp.add([parse_server("echo", program("echo_server.py"), {})])
        await session.mcp.connect()
        yield session


async def test_tools_of_a_server_are_the_sessions(session: Session) -> None:
    assert {"mcp__echo__echo", "mcp__echo__add", "mcp__echo__steps"} <= set(session.tools.names())
    result = await session.call("mcp__echo__echo", {"text": "hello"})
    assert (result.ok, result.llm_content) == (True, "hello")
    assert (await session.call("mcp__echo__add", {"a": 1, "b": 2})).data == {"total": 3}
    wrong = await session.call("mcp__echo__add", {"a": "one"})
    assert wrong.error is not None
    assert wrong.error.code == "invalid_tool_params"


async def test_progress_streams_and_pictures_are_shown(session: Session) -> None:
    seen: list[Any] = []

    class Watch:
        def notice(self, event: CallEvent) -> None:
            if isinstance(event, OutputEvent):
                seen.append(event.display)

    session.observe(Watch())
    assert (await session.call("mcp__echo__steps", {"count": 3})).llm_content == "there"
    assert seen[-1] == "1 of 3 · step 1\n2 of 3 · step 2\n3 of 3 · step 3"
    picture = await session.call("mcp__echo__dot")
    assert isinstance(picture.return_display, Media)
    assert picture.return_display.mime_type == "image/png"


async def test_an_approval_request_names_the_server(tmp_path: Path, answers: Answers) -> None:
    async with Session(tmp_path, confirmer=answers) as session:
        session.mcp.add([parse_server("echo", program("echo_server.py"), {})])
        await session.mcp.connect("echo")
        assert (await session.call("mcp__echo__echo", {"text": "hi"})).ok
    (asked,) = answers.asked
    assert asked.type == "mcp"
    assert asked.details.title == "Let echo run echo?"


async def test_a_cancelled_call_leaves_the_server_well(session: Session) -> None:
    (task,) = await under_way(session, ("mcp__echo__sleep", {"seconds": 600}))
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert (await session.call("mcp__echo__echo", {"text": "still here"})).llm_content == "still here"


async def test_a_server_that_dies_says_so_and_comes_back_with_the_next_call(session: Session) -> None:
    died = await session.call("mcp__echo__die")
    assert died.error is not None
    assert died.error.code == "mcp_tool_error"
    assert "exit code 3: I am dying" in died.error.message
    await until(lambda: session.mcp.get("echo").state == "failed")
    assert "mcp__echo__echo" not in session.tools.names()
    await session.mcp.restart("echo")
    assert (await session.call("mcp__echo__echo", {"text": "again"})).ok


async def test_a_message_that_is_too_long_ends_the_server(session: Session) -> None:
    result = await session.call("mcp__echo__huge", {"megabytes": 40})
    assert result.error is not None
    assert "more than 32 MB" in result.error.message


async def test_a_call_takes_no_longer_than_it_may(tmp_path: Path) -> None:
    async with Session(tmp_path, policy=Policy(mode="yolo")) as session:
        session.mcp.add([parse_server("bad", bad("unknown"), {}).model_copy(update={"call_seconds": 1.5})])
        await session.mcp.connect()
        result = await session.call("mcp__bad__do")
        assert result.error is not None
        assert (result.error.code, "1.5 seconds" in result.error.message) == ("timeout", True)


async def test_one_that_fails_holds_up_nobody(tmp_path: Path) -> None:
    async with Session(tmp_path) as session:
        broken = [
            ("none", {"command": "/no/such"}),
            ("mute", {"command": "sleep", "args": ["60"], "timeout": 1_000}),
        ]
        session.mcp.add(
            [
                parse_server("echo", program("echo_server.py"), {}),
                *(parse_server(name, entry, {}) for name, entry in broken),
            ]
        )
        await session.mcp.connect()
        states = {name: (one.state, one.problem) for name, one in session.mcp.connections.items()}
        assert states["echo"] == ("connected", "")
        assert states["none"] == ("failed", "there is no program /no/such")
        assert states["mute"] == ("failed", "it did not answer in 1 seconds")
        with pytest.raises(ToolFailure, match="Did you mean"):
            session.mcp.get("ehco")


async def test_nothing_is_left_when_the_session_ends(tmp_path: Path) -> None:
    async with Session(tmp_path) as session:
        session.mcp.add([parse_server("echo", {**program("echo_server.py"), "command": sys.executable}, {})])
        await session.mcp.connect()
        children = [
            one
            for one in psutil.Process().children(recursive=True)
            if "echo_server.py" in " ".join(words_of(one))
        ]
        assert children
    assert [one for one in children if one.is_running() and one.status() != psutil.STATUS_ZOMBIE] == []
