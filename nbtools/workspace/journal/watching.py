"""Commands watched: what the files hold is kept before one starts, and what it changed is recorded when it has ended."""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import Awaitable, Callable, Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeVar

from nbtools.core.errors import ToolFailure
from nbtools.core.settings import Settings
from nbtools.shell import understand
from nbtools.workspace.journal.journal import Journal
from nbtools.workspace.journal.looking import Look, TooMuch
from nbtools.workspace.journal.snapshot import Snapshot

T = TypeVar("T")

_QUIET = 1.0
"""Seconds that keeping may take before it is told how far it is."""
_BELIEVED = 30.0
"""Seconds for which a workspace that has too much is not looked at again."""


@dataclass(slots=True)
class Watch:
    """One command.  ``note`` says where its changes cannot be undone, and why; ``end`` is awaited when it has ended."""

    note: str = ""
    entry: int = 0
    ended: Callable[[int], Awaitable[None]] | None = None

    async def end(self) -> None:
        if self.ended is not None and self.entry:
            entry, self.entry = self.entry, 0
            await self.ended(entry)


@dataclass(slots=True)
class Watching:
    """The commands of a session.  One snapshot at a time."""

    journal: Journal
    root: Path
    settings: Callable[[], Settings]
    _turn: asyncio.Lock = field(default_factory=asyncio.Lock)
    _running: set[int] = field(default_factory=set)
    _tasks: set[asyncio.Task[None]] = field(default_factory=set)
    _snapshot: Snapshot = field(init=False)
    _too_much: tuple[TooMuch, tuple[int, int], float] | None = None

    def __post_init__(self) -> None:
        self._snapshot = Snapshot(self.journal, self.root)

    async def begin(self, command: str, tell: Callable[[str], None] | None = None, *, moved: bool = False) -> Watch:
        """Keeps what is there, unless the command is known to change nothing.  Never fails: then its changes cannot be undone.

        ``moved``: it does not run in the workspace's own folder.
        """
        if not self.journal.enabled or _changes_nothing(command, moved=moved):
            return Watch()
        told = _teller(tell)
        try:
            async with self._turn:
                entry = await _to_its_end(lambda: self._kept(told))
        except ToolFailure as failure:
            return Watch(_lost(failure.message))
        return Watch(_lost(entry.why)) if isinstance(entry, TooMuch) else Watch("", entry, self._end)

    def warning(self, command: str, *, moved: bool = False) -> str:
        """Before a command is asked about, from the last look: that there is too much for undoing what it changes; else empty."""
        known = self._too_much
        if known is None or known[1] != self._limits() or not self.journal.enabled or _changes_nothing(command, moved=moved):
            return ""
        return _lost(known[0].why)

    def end_after(self, watch: Watch, over: Awaitable[object]) -> None:
        """Ends the watch when ``over`` is."""

        async def wait() -> None:
            await over
            await watch.end()

        task = asyncio.get_running_loop().create_task(wait())
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def settle(self, entries: Iterable[int]) -> None:
        """Records what commands that run, or were cut short, have changed so far; what they change from now on cannot be undone."""
        self._running.update(entries)
        for entry in entries:
            await self._end(entry)

    async def close(self) -> None:
        """When no command runs any more."""
        if self._tasks:
            await asyncio.wait(self._tasks)
        await self.settle(tuple(self._running))

    async def _end(self, entry: int) -> None:
        if entry not in self._running:
            return
        self._running.discard(entry)
        with contextlib.suppress(ToolFailure):
            async with self._turn:
                await _to_its_end(lambda: self._snapshot.end(entry, self._left()))

    def _kept(self, told: Callable[[int, int], None]) -> int | TooMuch:
        """The number of the entry for what comes."""
        now = self._look()
        if isinstance(now, TooMuch):
            return now
        entry = self._snapshot.begin(now, lambda done: told(done, len(now.files)))
        self._running.add(entry)  # also where nobody waits for it any more
        return entry

    def _left(self) -> Look:
        """What is there after a command; where that is too much by now, only files known before are looked at."""
        now = self._look()
        return Look({}, time.time_ns()) if isinstance(now, TooMuch) else now

    def _limits(self) -> tuple[int, int]:
        settings = self.settings()
        return settings.snapshot_files, settings.snapshot_bytes

    def _look(self) -> Look | TooMuch:
        limits = self._limits()
        known = self._too_much
        if known is not None and known[1] == limits and time.monotonic() < known[2]:
            return known[0]
        now = self._snapshot.look(*limits)
        self._too_much = (now, limits, time.monotonic() + _BELIEVED) if isinstance(now, TooMuch) else None
        return now


def _lost(why: str) -> str:
    return f"what it changes cannot be undone: {why}"


def _teller(tell: Callable[[str], None] | None) -> Callable[[int, int], None]:
    loop = asyncio.get_running_loop()
    quiet_until = loop.time() + _QUIET

    def told(done: int, count: int) -> None:
        if tell is not None and loop.time() > quiet_until:
            loop.call_soon_threadsafe(tell, f"Keeping what is there before the command, for undoing: {done:,} of {count:,} files")

    return told


async def _to_its_end(work: Callable[[], T]) -> T:
    """In a thread, which has ended also when the caller is cancelled: the next one must not meet it."""
    task = asyncio.ensure_future(asyncio.to_thread(work))
    try:
        return await asyncio.shield(task)
    except asyncio.CancelledError:
        await asyncio.wait([task])
        raise


def _changes_nothing(command: str, *, moved: bool) -> bool:
    acts = understand(command)
    return acts.harmless and not any(act.place and (moved or act.folders != ("",)) for act in acts.acts)
