"""Recorded calls of an MCP server's tools:
they reach a real server, are approved like live ones, and differ where its answer does.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from nbtools import Agent, Policy, Session
from nbtools.agents.events import AgentEvent, Remark
from nbtools.lesson import RecordedModel
from nbtools.mcp.config.entries import parse_server
from nbtools.testing import ONCE, ScriptedConfirmer
from tests.mcp.test_real_servers import node, npm
from tests.replay.samples import log, shop

ECHO = ("mcp__all__echo", {"message": "hi"}, "Echo: hi", {})
SUM = ("mcp__all__get-sum", {"a": 2, "b": 3}, "The sum of 2 and 3 is 6.", {})
"""A wrong result, so that only a server that is really called gives another one."""


@pytest.fixture
def project(tmp_path: Path) -> Path:
    return shop(tmp_path / "shop")


@pytest.fixture
async def session(tmp_path: Path) -> AsyncIterator[Session]:
    async with Session(tmp_path, policy=Policy(), confirmer=ScriptedConfirmer(ONCE, ONCE)) as session:
        yield session


async def connect(session: Session) -> None:
    session.mcp.add([parse_server("all", {"command": node(), "args": npm("everything")}, {})])
    await session.mcp.connect()
    assert session.mcp.get("all").state == "connected", session.mcp.get("all").problem


def lesson(tmp_path: Path, project: Path, *calls: Any) -> RecordedModel:
    log(tmp_path / "lesson.jsonl", *calls)
    return RecordedModel(tmp_path / "lesson.jsonl", project=project)


async def played(agent: Agent, runs: int) -> tuple[Sequence[str], Sequence[Remark]]:
    remarks: list[Remark] = []

    def hear(event: AgentEvent) -> None:
        if isinstance(event, Remark) and event.about is not None:
            remarks.append(event)

    return [(await agent.run("", heard=hear)).stopped for _ in range(runs)], remarks


async def test_a_servers_tools_are_really_called_and_approved(
    tmp_path: Path, project: Path, session: Session
) -> None:
    await connect(session)
    agent = Agent(session, lesson(tmp_path, project, ECHO, SUM))
    stopped, (difference,) = await played(agent, 2)
    assert stopped == ["call 2 has another result than the recorded one", ""]
    assert "-The sum of 2 and 3 is 6." in difference.text
    assert "+The sum of 2 and 3 is 5." in difference.text
    confirmer = session.confirmer
    assert isinstance(confirmer, ScriptedConfirmer)
    assert [(asked.tool, asked.type, asked.can_save) for asked in confirmer.asked] == [
        ("mcp__all__echo", "mcp", False),
        ("mcp__all__get-sum", "mcp", False),
    ]
    assert [call.request.name for call in (await agent.open()).history] == [
        "mcp__all__echo",
        "mcp__all__get-sum",
    ]
    await agent.close()
    assert session.mcp.get("all").state == "connected"


async def test_without_its_server_a_call_repeats_its_recorded_result(
    tmp_path: Path, project: Path, session: Session
) -> None:
    agent = Agent(session, lesson(tmp_path, project, ECHO))
    assert await played(agent, 1) == ([""], [])
    (call,) = (await agent.open()).history
    assert (call.request.name, call.result.llm_content) == ("recorded_result", "Echo: hi")
