"""Background commands: their registry, state and unread output."""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import re
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from math import inf
from pathlib import Path
from typing import Literal, TypeAlias

from nbtools.core import terminal_text
from nbtools.core.call import CURRENT_CALL
from nbtools.core.errors import ErrorCode, ToolFailure
from nbtools.core.message import Advice, Message, ToolName
from nbtools.workspace.processes.output import OutputCollector
from nbtools.workspace.processes.process import Limits, RunningProgram, signal_name, start

_WINDOW = 320_000
"""Bytes of new output that are processed whole; of more, only the beginning and the end."""
_LONGEST = 80
"""Maximum length in bytes of an incomplete escape sequence; longer data is treated as text."""
_CHARACTER = re.compile(rb"[\xc0-\xff][\x80-\xbf]{0,2}\Z")
_SEQUENCE = re.compile(
    rb"\x1b(?:\[[0-?]*[ -/]*[@-~]|[\]PX^_][^\x07\x1b]*(?:\x07|\x1b\\)|[ -/]*[0-OQ-WYZ\\`-~])"
)
_STRINGS = (b"]", b"P", b"X", b"^", b"_")
_LENGTHS = ((0xF0, 4), (0xE0, 3), (0xC0, 2))


@dataclass(frozen=True, slots=True)
class NewOutput:
    """New output: the text without colours, and the number of new lines, omitted ones included."""

    text: str
    lines: int


class OutputCursor:
    """A cursor into a command's output; everything is returned once."""

    def __init__(self, collector: OutputCollector) -> None:
        self._collector = collector
        self._position = 0
        self._newlines = 0

    def __bool__(self) -> bool:
        return self._position < self._collector.bytes

    def skip(self) -> None:
        """Marks all output so far as read."""
        self._advance(self._collector.bytes, b"")

    def read(self, limit: int, *, final: bool) -> NewOutput:
        """Returns the new output, cut in the middle to ``limit`` characters. ``final``: it is complete."""
        first, last = self._collector.since(self._position, _WINDOW)
        incomplete = 0 if final else _incomplete_bytes(last or first)
        end = (last or first)[: len(last or first) - incomplete]
        lines = self._advance(self._collector.bytes - incomplete, end)
        text = _plain(first if last else end)
        if not last and len(text) <= limit:
            return NewOutput(text, lines)
        return NewOutput(self._collector.cut(text, _plain(end) if last else text, limit, lines), lines)

    def read_matching(self, matches: Callable[[str], bool], *, final: bool) -> NewOutput:
        """Returns the new lines that ``matches``; others count as read, an unfinished line is left for later.

        May take long, since it reads all new output.  If ``matches`` raises, nothing counts as read.
        """
        found: list[str] = []
        lines, position, newlines = 0, self._position, self._newlines
        for raw in self._collector.lines_from(position):
            if not final and not raw.endswith(b"\n"):
                break
            lines += 1
            position += len(raw)
            newlines += raw.endswith(b"\n")
            line = _plain(raw)
            if matches(line.removesuffix("\n")):
                found.append(line)
        self._position, self._newlines = position, newlines
        return NewOutput("".join(found), lines)

    def _advance(self, position: int, end: bytes) -> int:
        newlines = self._collector.newlines
        lines = newlines - self._newlines + bool(end and not end.endswith(b"\n"))
        self._position, self._newlines = position, newlines
        return lines


def _incomplete_bytes(data: bytes) -> int:
    """Returns the number of bytes at the end that belong to an incomplete character or escape sequence."""
    end = data[-_LONGEST:]
    escape = end.rfind(b"\x1b")
    before = end.rfind(b"\x1b", 0, max(escape, 0))
    if (
        escape == len(end) - 1
        and before >= 0
        and end[before + 1 : before + 2] in _STRINGS
        and not _SEQUENCE.match(end, before)
    ):
        escape = before  # may be the first half of a string terminator
    if escape >= 0 and b"\n" not in end[escape:] and not _SEQUENCE.match(end, escape):
        return len(end) - escape
    character = _CHARACTER.search(end)
    if character is None:
        return 0
    length = next(size for lowest, size in _LENGTHS if character[0][0] >= lowest)
    return len(character[0]) if len(character[0]) < length else 0


def _plain(data: bytes) -> str:
    return terminal_text.plain_text(data.decode("utf-8", "replace"))


Status: TypeAlias = Literal["running", "exited", "killed", "left"]
"""``killed``: by nbtools or a signal. ``left``: it has exited, but processes that it started still run."""
UNLIMITED = Limits(inf, inf)
_FIRST_CHECK, _LAST_CHECK = 0.05, 5.0
"""Seconds between checks whether processes without output have ended."""
_MOST_ENDED = 100
"""Maximum number of commands that are remembered after they have ended."""


@dataclass(frozen=True, slots=True)
class JobState:
    """A command's state and running time in ``seconds``; ``stopped`` names the limit that ended it."""

    status: Status
    exit_code: int | None
    signal: str
    stopped: Literal["", "time", "silence"]
    seconds: float

    @property
    def has_ended(self) -> bool:
        """Whether the command and all its processes have ended."""
        return self.status in ("exited", "killed")


class BackgroundCommand:
    """A background command.

    ``unread`` is the cursor into its output; ``left`` are the processes that an ended program left running;
    ``call`` is the call that started it, ``since`` when, in seconds since the epoch.  ``on_end`` is called
    when all its processes have ended, unless it is closed before.
    """

    def __init__(
        self,
        id: str,  # noqa: A002 - as callers name it
        command: str,
        running: RunningProgram,
        collector: OutputCollector,
        left: tuple[int, ...] = (),
        on_end: Callable[[BackgroundCommand], None] | None = None,
    ) -> None:
        request = CURRENT_CALL.get()
        self.id = id
        self.call = request.id if request else ""
        self.since = time.time()
        self._on_end = on_end
        self.left = left
        self.command = command
        self.output = collector
        self.unread = OutputCursor(collector)
        self._running = running
        self._killed = False
        self._stopped: Literal["", "time", "silence"] = ""
        self._seconds: float | None = None
        self._watch: asyncio.Task[None] | None = None
        self._read_lock = asyncio.Lock()
        self._changed = asyncio.Event()
        collector.write_to_file()
        running.receive = self._receive

    @property
    def pid(self) -> int:
        return self._running.process.pid

    @property
    def pids(self) -> tuple[int, ...]:
        """The ids by which a caller may know it: the program's, and those of processes it left running."""
        return (self.pid, *self.left)

    def watch(self, limits: Limits) -> None:
        """Starts a task that ends the command at ``limits`` and releases its resources when it has ended."""
        self._watch = asyncio.get_running_loop().create_task(self._until_over(limits))

    async def wait_until_ended(self) -> None:
        """Waits until the command has ended or is no longer watched."""
        if self._watch is not None:
            await asyncio.wait([self._watch])

    def state(self) -> JobState:
        self._running.read_all()
        status = self._running.exit_status()
        settled = self._running.check_ended()
        if settled:
            self.output.close()
        if status is None:
            return JobState("running", None, "", "", self._elapsed())
        number = -status if status < 0 else 0
        ended: Status = "killed" if self._killed or number else "exited"
        code = None if number else status
        return JobState(
            ended if settled else "left",
            code,
            signal_name(number) if number else "",
            self._stopped,
            self._elapsed(),
        )

    async def read(
        self, limit: int, matches: Callable[[str], bool] | None, wait: float
    ) -> tuple[NewOutput, JobState]:
        """Returns new output and the state; waits up to ``wait`` seconds for some (that matches) or the end.

        If the returned state ``has_ended``, all output has been returned.
        """
        end = asyncio.get_running_loop().time() + wait
        lines = 0
        while True:
            self._changed.clear()
            condition = self.state()
            news = await self._take_unread(limit, matches, final=condition.has_ended)
            lines += news.lines
            left = end - asyncio.get_running_loop().time()
            if news.text or condition.has_ended or left <= 0:
                return NewOutput(news.text, lines), condition
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(left):  # not wait_for, as in Terminal
                    await self._changed.wait()

    async def read_whole(self, limit: int, wait: float) -> tuple[NewOutput, JobState]:
        """Waits up to ``wait`` seconds for the end; returns all output, cut to ``limit``, and the state.

        All output then counts as read.
        """
        end = asyncio.get_running_loop().time() + wait
        while True:
            self._changed.clear()
            condition = self.state()
            left = end - asyncio.get_running_loop().time()
            if condition.has_ended or left <= 0:
                break
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(left):
                    await self._changed.wait()
        async with self._read_lock:
            self.unread.skip()
            return NewOutput(self.output.shortened(limit).text, self.output.lines), condition

    async def _take_unread(
        self, limit: int, matches: Callable[[str], bool] | None, *, final: bool
    ) -> NewOutput:
        async with self._read_lock:
            if matches is None:
                return self.unread.read(limit, final=final)
            return await asyncio.to_thread(self.unread.read_matching, matches, final=final)

    async def kill(self) -> None:
        """Ends all processes of the command."""
        if self._running.check_ended():
            return
        self._killed = self._running.exit_status() is None
        await self._running.stop()
        self._running.check_ended()
        self._elapsed()

    async def close(self) -> None:
        if self._watch is not None:
            self._watch.cancel()
        await self.kill()
        self._running.close()
        self.output.close()

    def _receive(self, chunk: bytes) -> None:
        self.output.receive(chunk)
        self._changed.set()

    def _elapsed(self) -> float:
        if self._seconds is not None:
            return self._seconds
        seconds = round(self._running.elapsed(), 3)
        if self._running.exit_status() is not None:
            self._seconds = seconds
        return seconds

    async def _until_over(self, limits: Limits) -> None:
        self._stopped = await self._running.wait_for_exit_or_limit(limits)
        self._elapsed()
        self._changed.set()
        if self._stopped:
            await self.kill()
        await asyncio.wait([self._running.output_ended])
        pause = _FIRST_CHECK
        while not self.state().has_ended:  # processes that have closed their output
            await asyncio.sleep(pause)
            pause = min(2 * pause, _LAST_CHECK)
        self._changed.set()
        if self._on_end is not None:
            self._on_end(self)


class BackgroundCommands:
    """The background commands of a session by id: ``1``, ``2``, …  The last 100 that have ended are kept.

    ``listeners`` are called with each command when it is registered and when it has ended;
    they must be quick and not raise.
    """

    def __init__(self, listeners: Sequence[Callable[[BackgroundCommand], None]] = ()) -> None:
        self._listeners = listeners
        self._jobs: dict[str, BackgroundCommand] = {}
        self._ids = map(str, itertools.count(1))

    def start(
        self, command: str, argv: Sequence[str], cwd: Path, env: Mapping[str, str], limits: Limits = UNLIMITED
    ) -> BackgroundCommand:
        """Starts a command, which is ended at ``limits``.  Raises ``OSError``."""
        collector = OutputCollector()
        return self.adopt(
            command, start(argv, cwd=cwd, env=env, receive=collector.receive), collector, limits
        )

    def adopt(
        self,
        command: str,
        running: RunningProgram,
        collector: OutputCollector,
        limits: Limits = UNLIMITED,
        left: tuple[int, ...] = (),
    ) -> BackgroundCommand:
        """Registers a running program, or the processes ``left`` by it, as a background command."""
        self._forget_oldest()
        job = BackgroundCommand(next(self._ids), command, running, collector, left, self._notify)
        self._jobs[job.id] = job
        job.watch(limits)
        self._notify(job)
        return job

    def _notify(self, job: BackgroundCommand) -> None:
        for listener in tuple(self._listeners):
            listener(job)

    def get(self, id: str) -> BackgroundCommand:  # noqa: A002 - as callers name it
        """Returns a command by its id or a process's. Raises ``ToolFailure`` with the known ids."""
        job = self._jobs.get(id) or next(
            (job for job in self._jobs.values() if id in map(str, job.pids)), None
        )
        if job is None:
            known = ", ".join(self._jobs)
            advice = (
                f" Background commands: {known}."
                if known
                else Advice(" Start one in the background with ", ToolName("shell"), ".")
            )
            raise ToolFailure(
                ErrorCode.INVALID_TOOL_PARAMS,
                Message.of(f"Background command {id!r} does not exist.", advice),
            )
        return job

    def all(self) -> tuple[BackgroundCommand, ...]:
        """Returns all commands, the oldest first."""
        return tuple(self._jobs.values())

    async def close(self) -> None:
        """Ends all commands and their processes."""
        jobs = self.all()
        self._jobs.clear()
        await asyncio.gather(*(job.close() for job in jobs))

    def _forget_oldest(self) -> None:
        if len(self._jobs) >= _MOST_ENDED:
            ended = [job for job in self.all() if job.state().has_ended]
            for job in ended[: len(self._jobs) - _MOST_ENDED + 1]:
                del self._jobs[job.id]
