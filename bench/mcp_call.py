"""Measures a call of an MCP server's tool through a session, against the bare SDK;
and the time to connect twenty servers.

python bench/mcp_call.py
"""

from __future__ import annotations

import asyncio
import sys
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager, closing, contextmanager
from pathlib import Path
from typing import Any, TypeVar

from mcp import Client, StdioServerParameters
from mcp.server.mcpserver import MCPServer
from report import Figure, alternate, table

from nbtools import Policy, Session
from nbtools.mcp.client import transport as mcp_client
from nbtools.mcp.config.entries import parse_server

CALLS, ROUNDS, SERVERS = 200, 9, 20
ARGUMENTS = {"text": "hello"}
T = TypeVar("T")


def echo() -> MCPServer:
    server = MCPServer("echo")

    @server.tool()
    async def echo(text: str) -> str:
        """Says it back."""
        return text

    return server


def timed(call: Callable[[], Awaitable[Any]], loop: asyncio.AbstractEventLoop) -> Callable[[], float]:
    async def run() -> float:
        start = time.perf_counter()
        for _ in range(CALLS):
            await call()
        return (time.perf_counter() - start) / CALLS * 1e6

    return lambda: loop.run_until_complete(run())


@contextmanager
def in_memory() -> Iterator[None]:
    """The SDK's client is given the server itself, and so is ours: the same wire for both."""
    opened = mcp_client.open_client

    @asynccontextmanager
    async def beside(
        server: Any, folder: Any, listener: Any, callbacks: dict[str, Any]
    ) -> AsyncIterator[Client]:
        async with Client(echo(), **callbacks) as client:
            mcp_client.bound_output_validation(client)
            yield client

    mcp_client.open_client = beside
    try:
        yield
    finally:
        mcp_client.open_client = opened


async def session_with(servers: int, argv: list[str]) -> Session:
    session = Session(".", policy=Policy(mode="yolo"))
    session.mcp.add(
        [parse_server(f"echo{n}", {"command": argv[0], "args": argv[1:]}, {}) for n in range(servers)]
    )
    return session


@asynccontextmanager
async def calls(
    bare: Any, argv: list[str], loop: asyncio.AbstractEventLoop
) -> AsyncIterator[dict[str, Callable[[], float]]]:
    session = await session_with(1, argv)
    await session.mcp.connect()
    connection = session.mcp.get("echo0")
    async with Client(bare) as client:
        await client.list_tools()
        yield {
            "sdk": timed(lambda: client.call_tool("echo", ARGUMENTS), loop),
            "connection": timed(lambda: connection.call("echo", ARGUMENTS), loop),
            "session": timed(lambda: session.call("mcp__echo0__echo", ARGUMENTS), loop),
        }
    await session.close()


@contextmanager
def held(entering: AbstractAsyncContextManager[T], loop: asyncio.AbstractEventLoop) -> Iterator[T]:
    """Entered and left in one task, as the SDK's client wants it."""
    ready, over = loop.create_future(), asyncio.Event()

    async def hold() -> None:
        async with entering as entered:
            ready.set_result(entered)
            await over.wait()

    task = loop.create_task(hold())
    loop.run_until_complete(asyncio.wait([ready, task], return_when=asyncio.FIRST_COMPLETED))
    if task.done():
        task.result()
    try:
        yield ready.result()
    finally:
        over.set()
        loop.run_until_complete(task)


def call_table(name: str, bare: Any, argv: list[str]) -> None:
    with closing(asyncio.new_event_loop()) as loop, held(calls(bare, argv, loop), loop) as contenders:
        taken = alternate(ROUNDS, **contenders)
    figures = [
        Figure("the SDK's client", taken["sdk"], "µs"),
        Figure("the connection", taken["connection"], "µs"),
        Figure("await session.call(…)", taken["session"], "µs", "≤ 1.3 x"),
    ]
    table(f"mcp call {name}: {CALLS} calls a round, {ROUNDS} rounds", figures)


def connecting(servers: int, argv: list[str]) -> Callable[[], float]:
    async def run() -> float:
        session = await session_with(servers, argv)
        start = time.perf_counter()
        await session.mcp.connect()
        taken = time.perf_counter() - start
        failed = [one.problem for one in session.mcp.connections.values() if one.state != "connected"]
        await session.close()
        if failed:
            raise RuntimeError(failed)
        return taken

    return lambda: asyncio.run(run())


def bare_clients(argv: list[str]) -> float:
    async def one(ready: asyncio.Semaphore, over: asyncio.Event) -> None:
        async with Client(StdioServerParameters(command=argv[0], args=argv[1:])) as client:
            await client.list_tools()
            ready.release()
            await over.wait()

    async def run() -> float:
        ready, over, start = asyncio.Semaphore(0), asyncio.Event(), time.perf_counter()
        async with asyncio.TaskGroup() as group:
            for _ in range(SERVERS):
                group.create_task(one(ready, over))
            for _ in range(SERVERS):
                await ready.acquire()
            taken = time.perf_counter() - start
            over.set()
        return taken

    return asyncio.run(run())


def connect_table(name: str, argv: list[str], rounds: int) -> None:
    taken = alternate(
        rounds,
        one=connecting(1, argv),
        sdk=lambda: bare_clients(argv),
        ours=connecting(SERVERS, argv),
    )
    figures = [
        Figure(f"{SERVERS} of the SDK's clients", taken["sdk"], "s"),
        Figure("one server alone", taken["one"], "s"),
        Figure(f"session.mcp.connect() with {SERVERS}", taken["ours"], "s", "≤ 1.2 x"),
    ]
    table(f"connect, {name}: {rounds} rounds", figures)


def main() -> None:
    """Prints both tables; with the argument ``call`` or ``connect`` only that one."""
    wanted = sys.argv[1:] or ["call", "connect"]
    program = [sys.executable, __file__, "serve"]
    light = [
        sys.executable,
        "-S",
        str(Path(__file__).parents[1] / "tests" / "mcp_servers" / "bad.py"),
        "steady",
    ]
    if "call" in wanted:
        with in_memory():
            call_table("in memory", echo(), program)
        call_table("over stdio", StdioServerParameters(command=program[0], args=program[1:]), program)
    if "connect" in wanted:
        connect_table("servers that start at once", light, rounds=5)
        connect_table("servers that take long to start (Python, SDK)", program, rounds=1)


if __name__ == "__main__":
    if sys.argv[1:] == ["serve"]:
        echo().run()
    else:
        main()
