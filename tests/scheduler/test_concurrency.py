"""Room: reads share, a change is exclusive, nobody jumps the queue, nobody is forgotten,
and no call waits for itself.
"""

from __future__ import annotations

import asyncio
from contextlib import suppress
from dataclasses import dataclass, field

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nbtools import Kind, Session, ToolFailure, tool
from nbtools.scheduler.concurrency import ConcurrencyLimiter
from tests.examples import examples


async def test_entering_a_room_with_space_does_not_wait() -> None:
    limiter = ConcurrencyLimiter(2)
    coroutine = limiter.enter(exclusive=False)
    try:
        coroutine.send(None)
    except StopIteration as entered:
        entered.value.leave()
        return
    raise AssertionError("entering took a trip through the loop")


@settings(max_examples=examples(60), deadline=None)
@given(
    jobs=st.lists(st.tuples(st.booleans(), st.integers(0, 3), st.booleans()), min_size=1, max_size=25),
    limit=st.integers(1, 5),
)
def test_laws_hold_for_any_mixture(jobs: list[tuple[bool, int, bool]], limit: int) -> None:
    asyncio.run(_run(jobs, limit))


async def _run(jobs: list[tuple[bool, int, bool]], limit: int) -> None:
    limiter, inside, order = ConcurrencyLimiter(limit), set[int](), list[int]()

    async def job(number: int, exclusive: bool, turns: int) -> None:
        slot = await limiter.enter(exclusive)
        try:
            order.append(number)
            inside.add(number)
            assert len(inside) <= limit
            assert not any(jobs[other][0] for other in inside) or len(inside) == 1
            for _ in range(turns):
                await asyncio.sleep(0)
        finally:
            inside.discard(number)
            slot.leave()

    tasks = [
        asyncio.create_task(job(number, exclusive, turns))
        for number, (exclusive, turns, _) in enumerate(jobs)
    ]
    await asyncio.sleep(0)
    for task, (_, _, cancelled) in zip(tasks, jobs, strict=True):
        if cancelled:
            task.cancel()
    for task in tasks:
        with suppress(asyncio.CancelledError):
            await asyncio.wait_for(task, 60)
    assert order == sorted(order)
    await _is_empty(limiter)


# --- calls that make calls
# ----------------------------------------------------------------------------------------------------------


@dataclass
class Job:
    """A call that makes others: waiting for them one by one, side by side, or not at all."""

    exclusive: bool
    turns: int = 0
    cancelled: bool = False
    how: str = "in turn"
    parts: list[Job] = field(default_factory=list)


async def test_cancelling_a_change_that_waits_lets_in_the_reads_behind_it() -> None:
    limiter = ConcurrencyLimiter(2)
    await limiter.acquire(exclusive=False)
    change, read = (asyncio.create_task(limiter.acquire(exclusive)) for exclusive in (True, False))
    await asyncio.sleep(0)
    assert not read.done()
    change.cancel()
    async with asyncio.timeout(30):
        await read


def _jobs(parts: st.SearchStrategy[list[Job]]) -> st.SearchStrategy[Job]:
    how = st.sampled_from(["in turn", "side by side", "left behind"])
    return st.builds(
        Job, st.booleans(), st.integers(0, 2), st.integers(0, 4).map(lambda n: n == 0), how, parts
    )


JOBS = st.recursive(_jobs(st.just([])), lambda job: _jobs(st.lists(job, max_size=3)), max_leaves=12)


class Storm:
    """Runs jobs and holds every moment against the law."""

    def __init__(self, limit: int) -> None:
        self.limiter = ConcurrencyLimiter(limit)
        self.limit = limit
        self.inside: list[tuple[Job, ...]] = []
        self.left: list[asyncio.Task[None]] = []
        self.refused = 0

    async def run(self, job: Job, above: tuple[Job, ...] = ()) -> None:
        try:
            slot = await self.limiter.enter(job.exclusive)
        except ToolFailure:
            assert job.exclusive
            assert above
            self.refused += 1
            return
        line = (*above, job)
        try:
            self.inside.append(line)
            self.check()
            for _ in range(job.turns):
                await asyncio.sleep(0)
            await self.parts(job, line)
        finally:
            self.inside.remove(line)
            slot.leave()

    async def parts(self, job: Job, line: tuple[Job, ...]) -> None:
        tasks = (
            [asyncio.create_task(self.run(part, line)) for part in job.parts] if job.how != "in turn" else []
        )
        if job.how == "left behind":
            self.left += tasks
        elif job.how == "side by side":
            await asyncio.gather(*tasks)
        else:
            for part in job.parts:
                await self.run(part, line)

    def check(self) -> None:
        """Only the calls that a change belongs to, or that it makes, run beside it."""
        for one in self.inside:
            beside = [other for other in self.inside if other is not one and not _related(one, other)]
            assert not (one[-1].exclusive and beside)
        roots = {id(line[0]) for line in self.inside}
        assert len(roots) <= self.limit or any(line[0].how == "left behind" for line in self.inside)


def _related(one: tuple[Job, ...], other: tuple[Job, ...]) -> bool:
    short, long = sorted((one, other), key=len)
    return all(a is b for a, b in zip(short, long, strict=False))


@settings(max_examples=examples(150), deadline=None)
@given(jobs=st.lists(JOBS, min_size=1, max_size=8), limit=st.integers(1, 4))
def test_calls_that_make_calls_never_wait_for_themselves(jobs: list[Job], limit: int) -> None:
    asyncio.run(_storm(jobs, limit))


async def _storm(jobs: list[Job], limit: int) -> None:
    storm = Storm(limit)
    tasks = [asyncio.create_task(storm.run(job)) for job in jobs]
    await asyncio.sleep(0)
    for task, job in zip(tasks, jobs, strict=True):
        if job.cancelled:
            task.cancel()
    for task in tasks:
        with suppress(asyncio.CancelledError):
            await asyncio.wait_for(task, 60)
    while storm.left:
        with suppress(asyncio.CancelledError):
            await asyncio.wait_for(storm.left.pop(), 60)
    await _is_empty(storm.limiter)


async def _is_empty(limiter: ConcurrencyLimiter) -> None:
    async with asyncio.timeout(60):
        (await limiter.enter(exclusive=True)).leave()
    assert limiter.enclosing_slot() is None


async def test_work_that_a_call_leaves_behind_keeps_its_slot() -> None:
    """A change goes on in a task that its call did not wait for: the next change waits for both."""
    limiter, go, order = ConcurrencyLimiter(), asyncio.Event(), list[str]()

    async def left_behind() -> None:
        slot = await limiter.enter(exclusive=True)
        await go.wait()
        order.append("left behind")
        slot.leave()

    slot = await limiter.enter(exclusive=True)
    behind = asyncio.create_task(left_behind())
    await asyncio.sleep(0)
    slot.leave()

    async def following() -> None:
        slot = await limiter.enter(exclusive=True)
        order.append("next")
        slot.leave()

    after = asyncio.create_task(following())
    await asyncio.sleep(0)
    go.set()
    await asyncio.wait_for(asyncio.gather(behind, after), 60)
    assert order == ["left behind", "next"]


async def test_a_task_that_outlives_its_call_queues_like_anybody() -> None:
    limiter, go = ConcurrencyLimiter(), asyncio.Event()

    async def later() -> None:
        await go.wait()
        slot = await limiter.enter(exclusive=True)
        assert slot.outer is None
        slot.leave()

    slot = await limiter.enter(exclusive=False)
    task = asyncio.create_task(later())
    await asyncio.sleep(0)
    slot.leave()
    go.set()
    await asyncio.wait_for(task, 60)


# --- the same through sessions
# ------------------------------------------------------------------------------------------------------


async def test_a_tool_calls_another_of_its_session(tmp_path) -> None:
    session = Session(tmp_path, confirmer=None)
    session.allow("*")

    @tool(kind=Kind.OTHER)
    async def make(name: str) -> str:
        """Writes a file and reads it."""
        await session.call("write", {"path": name, "content": "made\n"})
        return str((await session.call("read", {"path": name})).llm_content)

    @tool(kind="read")
    async def sly(name: str) -> str:
        """Says that it reads, and writes."""
        return str((await session.call("write", {"path": name, "content": "x"})).llm_content)

    session.tools.register(make)
    session.tools.register(sly)
    async with session, asyncio.timeout(60):
        made = await session.call("make", {"name": "a.txt"})
        assert made.ok
        assert "made" in made.llm_content
        told = await session.call("sly", {"name": "b.txt"})
        assert "declared read-only" in told.llm_content
        assert not (tmp_path / "b.txt").exists()


def test_a_plain_tool_calls_another_from_its_thread(tmp_path) -> None:
    with Session(tmp_path).sync() as session:
        session.session.allow("*")

        @tool(kind=Kind.OTHER)
        def make(name: str) -> str:
            """Writes a file."""
            return str(session.call("write", {"path": name, "content": "made\n"}).llm_content)

        session.tools.register(make)
        future = session.submit(session.session.call("make", {"name": "a.txt"}))
        assert future.result(60).ok
        assert (tmp_path / "a.txt").read_text() == "made\n"


@pytest.mark.parametrize("deep", [1, 5, 30])
async def test_calls_go_as_deep_as_they_like_through_two_sessions(tmp_path, deep: int) -> None:
    sessions = [Session(tmp_path), Session(tmp_path)]

    @tool(kind=Kind.OTHER, confirm=False)
    async def down(left: int) -> int:
        """Calls itself in the other session."""
        if left == 0:
            return 0
        return int((await sessions[left % 2].call("down", {"left": left - 1})).data) + 1

    for session in sessions:
        session.tools.register(down)
    async with asyncio.timeout(60):
        assert (await sessions[0].call("down", {"left": deep})).data == deep
