"""What tests of servers share: how long the loop stood still, and which processes are left."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import psutil

from nbtools import Policy, Session
from nbtools.core.call import CallEvent, OutputEvent
from nbtools.sources.mcp.settings.entries import settings_of
from nbtools.workspace.commands.supervisor import supervisor

SERVERS = Path(__file__).parents[2] / "mcp_servers"
STILL = 3.0
"""Seconds that a loop may stand still at most, on a machine where much else goes on; people notice half a second."""


@asynccontextmanager
async def ticking() -> AsyncIterator[None]:
    """A law: while this goes on, the loop never stands still."""
    loop = asyncio.get_running_loop()
    gaps = [0.0]

    async def tick() -> None:
        last = loop.time()
        while True:
            await asyncio.sleep(0.005)
            now = loop.time()
            gaps.append(now - last)
            last = now

    task = asyncio.create_task(tick())
    try:
        yield
    finally:
        task.cancel()
    assert max(gaps) < STILL


@asynccontextmanager
async def serving(folder: Path, name: str, entry: dict[str, Any]) -> AsyncIterator[Session]:
    """A session with that one server, which it connects to; afterwards nothing of it is left, and the loop never stood still."""
    before = set(psutil.Process().children(recursive=True))
    async with ticking():
        async with Session(folder, policy=Policy(mode="yolo")) as session:
            session.mcp.add([settings_of(name, entry, {})])
            await session.mcp.connect(name)
            yield session
        left = [one for one in set(psutil.Process().children(recursive=True)) - before if runs(one)]
        assert [one.cmdline() for one in left if one.pid != supervisor()._process.pid] == []


def bad(way: str, **more: Any) -> dict[str, Any]:
    """The entry of a server that misbehaves that way."""
    return {"command": sys.executable, "args": ["-S", str(SERVERS / "bad.py"), way], **more}


class Shown:
    """What calls have shown while they ran."""

    def __init__(self) -> None:
        self.seen: list[Any] = []

    def notice(self, event: CallEvent) -> None:
        if isinstance(event, OutputEvent):
            self.seen.append(event.display)


async def until(true: Any) -> None:
    async with asyncio.timeout(30):
        while not true():
            await asyncio.sleep(0.01)


def runs(process: psutil.Process) -> bool:
    """Also where nobody has waited for it to end, it has."""
    try:
        return bool(process.is_running() and process.status() != psutil.STATUS_ZOMBIE)
    except psutil.NoSuchProcess:
        return False
