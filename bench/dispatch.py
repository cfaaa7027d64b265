"""Measures a call: a no-op tool with three validated parameters,
against validating and calling in plain pydantic.

python bench/dispatch.py
"""

from __future__ import annotations

import asyncio
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict
from report import Figure, alternate, table

from nbtools import BaseDeclarativeTool, BaseToolInvocation, Kind, Policy, Session, ToolResult, tool
from nbtools.core.tool import UpdateOutput

CALLS, ROUNDS = 4000, 15
DEEP = tuple("abcdefghijkl")
ARGUMENTS = {"path": "src", "pattern": "x", "limit": 3}


class Params(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")
    path: str
    pattern: str
    limit: int


class NoOp(BaseToolInvocation[Params]):
    __slots__ = ()

    async def execute(self, update_output: UpdateOutput | None = None) -> ToolResult:
        return ToolResult("done", "done")


class NoOpTool(BaseDeclarativeTool[Params]):
    name = "noop"
    description = "Does nothing."
    kind = Kind.READ
    parameters = Params

    def create_invocation(self, params: Params) -> NoOp:
        return NoOp(params)


@tool(kind="read")
async def coroutine(path: str, pattern: str, limit: int) -> str:
    return "done"


@tool(kind="read")
def threaded(path: str, pattern: str, limit: int) -> str:
    return "done"


def plain(path: str, pattern: str, limit: int) -> str:
    return "done"


def floor() -> float:
    start = time.perf_counter()
    for _ in range(CALLS):
        checked = Params.model_validate(ARGUMENTS)
        plain(checked.path, checked.pattern, checked.limit)
    return (time.perf_counter() - start) / CALLS * 1e6


def timed(call: Callable[[], Any], loop: asyncio.AbstractEventLoop) -> Callable[[], float]:
    async def run() -> float:
        start = time.perf_counter()
        for _ in range(CALLS):
            await call()
        return (time.perf_counter() - start) / CALLS * 1e6

    return lambda: loop.run_until_complete(run())


class Watcher:
    def notice(self, event: object) -> None:
        return None


def main() -> None:
    loop, noop = asyncio.new_event_loop(), NoOpTool()
    bare = Session(".", tools=[noop])
    ruled = Session(
        ".",
        tools=[noop],
        policy=Policy(allow=("noop",), ask=("edit(src/**)",), deny=("shell(rm:*)",)),
        observers=[Watcher()],
    )
    with tempfile.TemporaryDirectory() as top, Session(".", tools=[noop]).sync() as blocking:
        folder = Path(top, *DEEP)
        folder.mkdir(parents=True)
        deep = Session(folder, tools=[noop])
        taken = alternate(
            ROUNDS,
            floor=floor,
            build=timed(lambda: noop.build(ARGUMENTS).execute(), loop),
            coroutine=timed(lambda: coroutine.build(ARGUMENTS).execute(), loop),
            threaded=timed(lambda: threaded.build(ARGUMENTS).execute(), loop),
            session=timed(lambda: bare.call("noop", ARGUMENTS), loop),
            deep=timed(lambda: deep.call("noop", ARGUMENTS), loop),
            ruled=timed(lambda: ruled.call("noop", ARGUMENTS), loop),
            blocking=lambda: _blocking(blocking),
        )
    table(
        f"dispatch: µs a call, {CALLS} calls a round, {ROUNDS} rounds",
        [
            Figure("validate and call (floor)", taken["floor"], "µs"),
            Figure("tool.build(…).execute()", taken["build"], "µs", "≤ 2 x"),
            Figure("… of a coroutine with @tool", taken["coroutine"], "µs", "≤ 2 x"),
            Figure("… of a plain function with @tool", taken["threaded"], "µs", "(a worker thread)"),
            Figure("await session.call(…)", taken["session"], "µs", "≤ 12 x"),
            Figure(f"… in a folder {len(DEEP)} levels deep", taken["deep"], "µs", "≤ 12 x"),
            Figure("… with rules and an observer", taken["ruled"], "µs", "≤ 13 x"),
            Figure("session.sync().call(…)", taken["blocking"], "µs", "(two thread hops)"),
        ],
    )


def _blocking(session: Any) -> float:
    start = time.perf_counter()
    for _ in range(CALLS // 20):
        session.call("noop", ARGUMENTS)
    return (time.perf_counter() - start) / (CALLS // 20) * 1e6


if __name__ == "__main__":
    main()
