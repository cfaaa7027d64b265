"""Measures a step of an agent: a scripted model and a no-op tool,
against bare pydantic-ai with a plain function.

python bench/agent.py
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Awaitable, Callable

import pydantic_ai
from dispatch import NoOpTool
from pydantic_ai.messages import ModelMessage
from pydantic_ai.models.function import AgentInfo, DeltaToolCall, FunctionModel
from report import Figure, alternate, table

from nbtools import Agent, Limits, Policy, Session
from nbtools.agents.toolset import SessionToolset

STEPS, ROUNDS = 20, 7
WORDS = ("I ", "look ", "at ", "it. ") * 3


async def _steps(
    messages: list[ModelMessage], info: AgentInfo
) -> AsyncIterator[str | dict[int, DeltaToolCall]]:
    """Some words and a call, until it has made enough of them."""
    for word in WORDS:
        yield word
    if len(messages) < 2 * STEPS:
        yield {
            1: DeltaToolCall(
                "noop", '{"path": "src", "pattern": "x", "limit": 3}', tool_call_id=str(len(messages))
            )
        }


MODEL = FunctionModel(stream_function=_steps)


def noop(path: str, pattern: str, limit: int) -> str:
    """Does nothing."""
    return "done"


async def bare(tools: list[Callable[..., str]], toolsets: list[SessionToolset]) -> None:
    """Streams a run as pydantic-ai's documentation does."""
    agent = pydantic_ai.Agent(MODEL, tools=tools, toolsets=toolsets)
    async with agent.run_stream_events(
        "go", usage_limits=pydantic_ai.UsageLimits(request_limit=None)
    ) as events:
        async for _ in events:
            pass


async def ours(session: Session, *, log: bool) -> None:
    answer = await Agent(session, MODEL, limits=Limits(steps=STEPS + 1), log=log).run("go")
    assert answer.usage.calls == STEPS, answer


def timed(run: Callable[[], Awaitable[None]], loop: asyncio.AbstractEventLoop) -> Callable[[], float]:
    def once() -> float:
        start = time.perf_counter()
        loop.run_until_complete(run())
        return (time.perf_counter() - start) / STEPS * 1e6

    return once


def main() -> None:
    loop = asyncio.new_event_loop()
    session = Session(".", tools=[NoOpTool()], policy=Policy(mode="yolo"))
    taken = alternate(
        ROUNDS,
        floor=timed(lambda: bare([noop], []), loop),
        toolset=timed(lambda: bare([], [SessionToolset(session)]), loop),
        agent=timed(lambda: ours(session, log=False), loop),
        logged=timed(lambda: ours(session, log=True), loop),
    )
    table(
        f"agent: µs a step (a streamed answer of {len(WORDS)} words and a call), {STEPS} steps a run, {ROUNDS} rounds",
        [
            Figure("pydantic-ai, a plain function (floor)", taken["floor"], "µs"),
            Figure("pydantic-ai, a session's toolset", taken["toolset"], "µs", "≤ 1.3 x"),
            Figure("nbtools.Agent, not recorded", taken["agent"], "µs", "≤ 1.3 x"),
            Figure("nbtools.Agent", taken["logged"], "µs", "≤ 1.5 x"),
        ],
    )


if __name__ == "__main__":
    main()
