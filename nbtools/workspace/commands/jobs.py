"""Commands that run in the background, and what has come of them."""

from __future__ import annotations

import asyncio
import contextlib
import itertools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from math import inf
from pathlib import Path
from typing import Literal, TypeAlias

from nbtools.core.errors import ErrorCode, ToolFailure
from nbtools.workspace.commands.output import OutputCollector
from nbtools.workspace.commands.process import Limits, Running, signal_name, start
from nbtools.workspace.commands.unread import News, Unread

Status: TypeAlias = Literal["running", "exited", "killed", "left"]
"""``killed``: by us or by a signal.  ``left``: it has exited, but processes that it started still run."""
UNLIMITED = Limits(inf, inf)
_MOST_ENDED = 100
"""Commands that have ended and can still be asked for."""


@dataclass(frozen=True, slots=True)
class Condition:
    """How a command is, looked at just now.  ``stopped`` names the limit that ended it, ``seconds`` is how long it has run."""

    status: Status
    exit_code: int | None
    signal: str
    stopped: Literal["", "time", "silence"]
    seconds: float

    @property
    def over(self) -> bool:
        """Whether nothing of it runs any more."""
        return self.status in ("exited", "killed")


class Job:
    """One command.  ``unread`` is what nobody has looked at."""

    def __init__(self, id: str, command: str, running: Running, collector: OutputCollector) -> None:  # noqa: A002 - as callers name it
        self.id = id
        self.command = command
        self.output = collector
        self.unread = Unread(collector)
        self._running = running
        self._killed = False
        self._stopped: Literal["", "time", "silence"] = ""
        self._seconds: float | None = None
        self._watch: asyncio.Task[None] | None = None
        self._turn = asyncio.Lock()
        self._news = asyncio.Event()
        collector.keep()
        running.receive = self._receive

    @property
    def pid(self) -> int:
        return self._running.process.pid

    def watch(self, limits: Limits) -> None:
        """Ends it at its limits, and lets go of what it held when it is over."""
        self._watch = asyncio.get_running_loop().create_task(self._until_over(limits))

    async def over(self) -> None:
        """Waits until it has ended, or is no longer watched."""
        if self._watch is not None:
            await asyncio.wait([self._watch])

    def condition(self) -> Condition:
        self._running.read_all()
        status = self._running.exit_status()
        settled = self._running.settled()
        if settled:
            self.output.close()
        if status is None:
            return Condition("running", None, "", "", self._lasted())
        number = -status if status < 0 else 0
        ended: Status = "killed" if self._killed or number else "exited"
        code = None if number else status
        return Condition(ended if settled else "left", code, signal_name(number) if number else "", self._stopped, self._lasted())

    async def read(self, limit: int, matches: Callable[[str], bool] | None, wait: float) -> tuple[News, Condition]:
        """What is new; where there is nothing, it waits so many seconds for something (that matches) or for the end.

        Once the command is told to be over, nothing is left unread.
        """
        end = asyncio.get_running_loop().time() + wait
        lines = 0
        while True:
            self._news.clear()
            condition = self.condition()
            news = await self._take(limit, matches, final=condition.over)
            lines += news.lines
            left = end - asyncio.get_running_loop().time()
            if news.text or condition.over or left <= 0:
                return News(news.text, lines), condition
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(left):  # not wait_for, as in Terminal
                    await self._news.wait()

    async def _take(self, limit: int, matches: Callable[[str], bool] | None, *, final: bool) -> News:
        async with self._turn:
            if matches is None:
                return self.unread.take(limit, final=final)
            return await asyncio.to_thread(self.unread.take_matching, matches, final=final)

    async def kill(self) -> None:
        """Ends everything that still runs of it."""
        if self._running.settled():
            return
        self._killed = self._running.exit_status() is None
        await self._running.stop()
        self._running.settled()
        self._lasted()

    async def close(self) -> None:
        if self._watch is not None:
            self._watch.cancel()
        await self.kill()
        self._running.close()
        self.output.close()

    def _receive(self, chunk: bytes) -> None:
        self.output.receive(chunk)
        self._news.set()

    def _lasted(self) -> float:
        if self._seconds is not None:
            return self._seconds
        seconds = round(self._running.lasted(), 3)
        if self._running.exit_status() is not None:
            self._seconds = seconds
        return seconds

    async def _until_over(self, limits: Limits) -> None:
        self._stopped = await self._running.exited(limits)
        self._lasted()
        self._news.set()
        if self._stopped:
            await self.kill()
        await asyncio.wait([self._running.silent])
        self.condition()
        self._news.set()


class Jobs:
    """The background commands of a session by id: ``1``, ``2``, …  The last 100 that have ended stay."""

    def __init__(self) -> None:
        self._jobs: dict[str, Job] = {}
        self._ids = map(str, itertools.count(1))

    def start(self, command: str, argv: Sequence[str], cwd: Path, env: Mapping[str, str], limits: Limits = UNLIMITED) -> Job:
        """Begins a command; ``limits`` end it.  Raises ``OSError``."""
        collector = OutputCollector()
        return self.adopt(command, start(argv, cwd=cwd, env=env, receive=collector.receive), collector, limits)

    def adopt(self, command: str, running: Running, collector: OutputCollector, limits: Limits = UNLIMITED) -> Job:
        """Has what runs already go on in the background."""
        self._forget_oldest()
        job = Job(next(self._ids), command, running, collector)
        self._jobs[job.id] = job
        job.watch(limits)
        return job

    def get(self, id: str) -> Job:  # noqa: A002 - as callers name it
        """By its id, or by its process id.  Raises ``ToolFailure`` that names those there are."""
        job = self._jobs.get(id) or next((job for job in self._jobs.values() if str(job.pid) == id), None)
        if job is None:
            known = ", ".join(self._jobs) if self._jobs else ""
            there = f"There are: {known}." if known else "None was started in this session; shell with background=true starts one."
            raise ToolFailure(ErrorCode.INVALID_TOOL_PARAMS, f"There is no background command {id!r}. {there}")
        return job

    def all(self) -> tuple[Job, ...]:
        """The oldest first."""
        return tuple(self._jobs.values())

    async def close(self) -> None:
        """Ends all of them, with everything they started."""
        jobs = self.all()
        self._jobs.clear()
        await asyncio.gather(*(job.close() for job in jobs))

    def _forget_oldest(self) -> None:
        if len(self._jobs) >= _MOST_ENDED:
            ended = [job for job in self.all() if job.condition().over]
            for job in ended[: len(self._jobs) - _MOST_ENDED + 1]:
                del self._jobs[job.id]
