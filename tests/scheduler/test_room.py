"""Room: reads share, a change is alone, nobody jumps the queue and nobody is forgotten."""

from __future__ import annotations

import asyncio
from contextlib import suppress

from hypothesis import given, settings
from hypothesis import strategies as st

from nbtools.scheduler.room import Room


async def test_entering_a_room_with_space_does_not_wait() -> None:
    room = Room(2)
    coroutine = room.enter(alone=False)
    try:
        coroutine.send(None)
    except StopIteration:
        return
    raise AssertionError("entering took a trip through the loop")


@settings(max_examples=60, deadline=None)
@given(
    jobs=st.lists(st.tuples(st.booleans(), st.integers(0, 3), st.booleans()), min_size=1, max_size=25),
    limit=st.integers(1, 5),
)
def test_laws_hold_for_any_mixture(jobs: list[tuple[bool, int, bool]], limit: int) -> None:
    asyncio.run(_run(jobs, limit))


async def _run(jobs: list[tuple[bool, int, bool]], limit: int) -> None:
    room, inside, order = Room(limit), set[int](), list[int]()

    async def job(number: int, alone: bool, turns: int) -> None:
        await room.enter(alone)
        try:
            order.append(number)
            inside.add(number)
            assert len(inside) <= limit
            assert not any(jobs[other][0] for other in inside) or len(inside) == 1
            for _ in range(turns):
                await asyncio.sleep(0)
        finally:
            inside.discard(number)
            room.leave()

    tasks = [asyncio.create_task(job(number, alone, turns)) for number, (alone, turns, _) in enumerate(jobs)]
    await asyncio.sleep(0)
    for task, (_, _, cancelled) in zip(tasks, jobs, strict=True):
        if cancelled:
            task.cancel()
    for task in tasks:
        with suppress(asyncio.CancelledError):
            await asyncio.wait_for(task, 5)
    assert order == sorted(order)
    await asyncio.wait_for(room.enter(alone=True), 1)
