"""Helpers of the tests of servers: how long the loop stood still, and which processes are left."""

from __future__ import annotations

import asyncio
import sys
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import psutil

from nbtools import Policy, Session
from nbtools.core.call import CallEvent, ExecutingCall, OutputEvent
from nbtools.core.result import ToolResult
from nbtools.mcp.config.entries import parse_server
from nbtools.workspace.processes.supervisor import supervisor
from tests.processes import words_of
from tests.waiting import until
from tests.warm_python import warm_python

SERVERS = Path(__file__).parents[1] / "mcp_servers"
WORK, STILL = 2.0, 30.0
"""Seconds that a loop may work at one thing, and stand still whatever else goes on;
people notice half a second.
"""


@asynccontextmanager
async def ticking() -> AsyncIterator[None]:
    """A law: while this goes on, the loop never stands still."""
    loop = asyncio.get_running_loop()
    gaps, works = [0.0], [0.0]

    async def tick() -> None:
        last, worked = loop.time(), time.thread_time()
        while True:
            await asyncio.sleep(0.005)
            now, work = loop.time(), time.thread_time()
            gaps.append(now - last)
            works.append(work - worked)
            last, worked = now, work

    task = asyncio.create_task(tick())
    try:
        yield
    finally:
        task.cancel()
    assert max(works) < WORK
    assert max(gaps) < STILL


@asynccontextmanager
async def serving(
    folder: Path, name: str, entry: dict[str, Any], call_seconds: float | None = None
) -> AsyncIterator[Session]:
    """A session connected to this one server;
    afterwards nothing of it is left, and the loop never stood still.

    ``call_seconds`` is the timeout of calls alone:
    an entry's ``timeout`` is that of the connection, too, which a busy machine delays.
    """
    before = set(psutil.Process().children(recursive=True))
    async with ticking():
        async with Session(folder, policy=Policy(mode="yolo")) as session:
            server = parse_server(name, entry, {})
            session.mcp.add([server.model_copy(update={"call_seconds": call_seconds or server.call_seconds})])
            await session.mcp.connect(name)
            yield session
        new = set(psutil.Process().children(recursive=True)) - before
        left = {one: words_of(one) for one in new if runs(one) and one.pid != supervisor()._process.pid}
        psutil.wait_procs(left, timeout=5)  # a child of a killed server takes a moment to end
        left = {one: words for one, words in left.items() if runs(one)}
        assert not left, left


def program(name: str, *arguments: str, **more: Any) -> dict[str, Any]:
    """The entry of a server of this folder, which does not have to import the SDK when it starts."""
    return {"command": warm_python(), "args": [str(Path(__file__).with_name(name)), *arguments], **more}


def bad(way: str, **more: Any) -> dict[str, Any]:
    """The entry of a server that misbehaves that way."""
    return {"command": sys.executable, "args": ["-S", str(SERVERS / "bad.py"), way], **more}


class Displays:
    """The displays of calls while they ran, and how many of them run or have run."""

    def __init__(self) -> None:
        self.seen: list[Any] = []
        self.begun = 0

    def notice(self, event: CallEvent) -> None:
        self.begun += isinstance(event, ExecutingCall)
        if isinstance(event, OutputEvent):
            self.seen.append(event.display)


async def under_way(session: Session, *calls: tuple[str, dict[str, Any]]) -> list[asyncio.Task[ToolResult]]:
    """Calls that have come as far as their tools."""
    shown = Displays()
    forget = session.observe(shown)
    tasks = [asyncio.create_task(session.call(name, arguments)) for name, arguments in calls]
    await until(lambda: shown.begun == len(calls))
    forget()
    return tasks


def runs(process: psutil.Process) -> bool:
    """Also where nobody has waited for it to end, it has."""
    try:
        return bool(process.is_running() and process.status() != psutil.STATUS_ZOMBIE)
    except psutil.NoSuchProcess:
        return False
