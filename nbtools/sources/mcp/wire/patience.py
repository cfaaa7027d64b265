"""How long a request may take, and leaving it at once."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Coroutine, Iterator
from contextlib import contextmanager
from typing import Any, Protocol, TypeAlias, TypeVar

T = TypeVar("T")
Progress: TypeAlias = Callable[[float, float | None, str | None], None]
"""How far it is, of how much where that is known, in which words."""


class Told(Protocol):
    """The ``progress_callback`` of ``mcp.Client``."""

    async def __call__(self, progress: float, total: float | None, message: str | None) -> None: ...


_FIRST_WAIT = 2.0
_LONGEST_WAIT = 60.0
_WELL = 30.0
"""Seconds after which a server that ends has not ended at once."""


class _Time:
    """What is left of the seconds that a request may take; it can be held, and go on."""

    def __init__(self, limit: asyncio.Timeout, seconds: float) -> None:
        self._limit = limit
        self._seconds = self._left = seconds
        self._held = False

    def begin_anew(self) -> None:
        self._left = self._seconds
        if not self._held:
            self._end(_now() + self._left)

    def hold(self) -> None:
        self._left = max((self._limit.when() or 0.0) - _now(), 0.0)
        self._held = True
        self._end(None)

    def go_on(self) -> None:
        self._held = False
        self._end(_now() + self._left)

    def _end(self, when: float | None) -> None:
        if not self._limit.expired():
            self._limit.reschedule(when)


def _now() -> float:
    return asyncio.get_running_loop().time()


class Requests:
    """Those under way at one server."""

    def __init__(self) -> None:
        self._under_way: set[asyncio.Task[Any]] = set()
        self._times: set[_Time] = set()
        self._asking = 0

    async def answer(self, ask: Callable[[Told], Coroutine[Any, Any, T]], seconds: float, heard: Progress | None = None) -> T:
        """Raises ``TimeoutError``; each progress begins the time anew.

        Cancelled, it is over at once: telling the server so, which may not listen, goes on by itself.
        """
        async with asyncio.timeout(seconds) as limit:
            time = _Time(limit, seconds)

            async def told(progress: float, total: float | None, message: str | None) -> None:
                if not task.done():
                    time.begin_anew()
                    if heard is not None:
                        heard(progress, total, message)

            task = asyncio.create_task(ask(told))
            self._under_way.add(task)
            task.add_done_callback(self._done)
            try:
                with self._timed(time):
                    return await asyncio.shield(task)
            finally:
                task.cancel()

    @contextmanager
    def _timed(self, time: _Time) -> Iterator[None]:
        self._times.add(time)
        if self._asking:
            time.hold()
        try:
            yield
        finally:
            self._times.discard(time)

    def held_by(self, callback: Callable[..., Awaitable[T]]) -> Callable[..., Awaitable[T]]:
        """The same callback; while the server waits for its answer, its own time stands still.

        Which request it asks for, not every server says: those of this server wait together.
        """

        async def asked(*of: Any) -> T:
            with self._held():
                return await callback(*of)

        return asked

    @contextmanager
    def _held(self) -> Iterator[None]:
        self._asking += 1
        if self._asking == 1:
            for time in self._times:
                time.hold()
        try:
            yield
        finally:
            self._asking -= 1
            if not self._asking:
                for time in self._times:
                    time.go_on()

    async def over(self) -> None:
        """Waits for all to have ended, as they do when their server has gone."""
        if self._under_way:
            await asyncio.wait(self._under_way)

    def _done(self, task: asyncio.Task[Any]) -> None:
        self._under_way.discard(task)
        if not task.cancelled():
            task.exception()  # who asked may have gone


class Backoff:
    """When a server that ends soon after each start may be started again; ``left`` is 0 where it may."""

    def __init__(self) -> None:
        self._wait = 0.0
        self._not_before = 0.0

    def left(self, now: float) -> float:
        return max(self._not_before - now, 0.0)

    def ended(self, now: float, lived: float) -> None:
        """Once is an accident: it may start again at once.  The next time, it waits, and longer each time."""
        self._not_before = now + (0.0 if lived > _WELL else self._wait)
        self._wait = 0.0 if lived > _WELL else min(max(self._wait * 2, _FIRST_WAIT), _LONGEST_WAIT)

    def forget(self) -> None:
        """The person wants it to be tried."""
        self._wait = self._not_before = 0.0
