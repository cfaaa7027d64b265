"""A server that means harm."""

from __future__ import annotations

import sys
from collections.abc import AsyncIterator
from pathlib import Path

import pytest_asyncio

from nbtools import Policy, Session
from nbtools.sources.mcp.settings.entries import settings_of

SERVER = {"command": sys.executable, "args": [str(Path(__file__).parent / "hostile_server.py")]}


@pytest_asyncio.fixture
async def session(tmp_path: Path) -> AsyncIterator[Session]:
    async with Session(tmp_path, policy=Policy(mode="yolo")) as session:
        session.mcp.add([settings_of("hostile", SERVER, {})])
        await session.mcp.connect()
        yield session


async def test_an_answer_that_would_be_checked_for_ever_is_not(session: Session) -> None:
    result = await session.call("mcp__hostile__trap")
    assert "its answer is in another: a: 'aaa" in str(result.error)
