"""Timeouts of requests to a server, which can be paused and restarted, and back-off after failures."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Coroutine, Iterator
from contextlib import contextmanager
from typing import Any, Protocol, TypeAlias, TypeVar

T = TypeVar("T")
ProgressListener: TypeAlias = Callable[[float, float | None, str | None], None]
"""Called with progress, total (None if unknown) and a message."""


class ProgressCallback(Protocol):
    """The ``progress_callback`` of ``mcp.Client``."""

    async def __call__(self, progress: float, total: float | None, message: str | None) -> None: ...


_FIRST_WAIT = 2.0
_LONGEST_WAIT = 60.0
_STABLE_SECONDS = 30.0
"""Seconds of operation after which an end does not count as a failed start."""


class _PausableTimeout:
    """The remaining time of a request; can be restarted, paused and resumed."""

    def __init__(self, limit: asyncio.Timeout, seconds: float) -> None:
        self._limit = limit
        self._seconds = self._left = seconds
        self._pausing = False

    def restart(self) -> None:
        self._left = self._seconds
        if not self._pausing:
            self._end(_now() + self._left)

    def pause(self) -> None:
        self._left = max((self._limit.when() or 0.0) - _now(), 0.0)
        self._pausing = True
        self._end(None)

    def resume(self) -> None:
        self._pausing = False
        self._end(_now() + self._left)

    def _end(self, when: float | None) -> None:
        if not self._limit.expired():
            self._limit.reschedule(when)


def _now() -> float:
    return asyncio.get_running_loop().time()


class RequestTimeouts:
    """The running requests to one server."""

    def __init__(self) -> None:
        self._running: set[asyncio.Task[Any]] = set()
        self._timeouts: set[_PausableTimeout] = set()
        self._callbacks_running = 0

    async def run(
        self,
        send: Callable[[ProgressCallback], Coroutine[Any, Any, T]],
        seconds: float,
        on_progress: ProgressListener | None = None,
    ) -> T:
        """Runs a request.  Raises ``TimeoutError``; each progress notification restarts the timeout.

        Cancelling it returns at once; the server is notified in the background, because it may not respond.
        """
        async with asyncio.timeout(seconds) as limit:
            timeout = _PausableTimeout(limit, seconds)

            async def progress_callback(progress: float, total: float | None, message: str | None) -> None:
                if not task.done():
                    timeout.restart()
                    if on_progress is not None:
                        on_progress(progress, total, message)

            task = asyncio.create_task(send(progress_callback))
            self._running.add(task)
            task.add_done_callback(self._done)
            try:
                with self._timed(timeout):
                    return await asyncio.shield(task)
            finally:
                task.cancel()

    @contextmanager
    def _timed(self, timeout: _PausableTimeout) -> Iterator[None]:
        self._timeouts.add(timeout)
        if self._callbacks_running:
            timeout.pause()
        try:
            yield
        finally:
            self._timeouts.discard(timeout)

    def pausing_timeouts(self, callback: Callable[..., Awaitable[T]]) -> Callable[..., Awaitable[T]]:
        """Wraps a callback so that the timeouts of all requests of this server are paused while it runs.

        All, because not every server says for which request it calls back.
        """

        async def pausing_callback(*arguments: Any) -> T:
            with self._pausing():
                return await callback(*arguments)

        return pausing_callback

    @contextmanager
    def _pausing(self) -> Iterator[None]:
        self._callbacks_running += 1
        if self._callbacks_running == 1:
            for timeout in self._timeouts:
                timeout.pause()
        try:
            yield
        finally:
            self._callbacks_running -= 1
            if not self._callbacks_running:
                for timeout in self._timeouts:
                    timeout.resume()

    async def wait_until_done(self) -> None:
        """Waits until all requests have ended, as they do when the server disconnects."""
        if self._running:
            await asyncio.wait(self._running)

    def _done(self, task: asyncio.Task[Any]) -> None:
        self._running.discard(task)
        if not task.cancelled():
            task.exception()  # marks the exception as retrieved: the caller may have been cancelled


class Backoff:
    """Delays restarts of a server that repeatedly ends soon after its start."""

    def __init__(self) -> None:
        self._wait = 0.0
        self._not_before = 0.0

    def seconds_left(self, now: float) -> float:
        """Returns the seconds until the server may be started again; 0 if it may."""
        return max(self._not_before - now, 0.0)

    def record_end(self, now: float, lived: float) -> None:
        """Records an end after ``lived`` seconds; each early end after the first doubles the delay."""
        self._not_before = now + (0.0 if lived > _STABLE_SECONDS else self._wait)
        self._wait = 0.0 if lived > _STABLE_SECONDS else min(max(self._wait * 2, _FIRST_WAIT), _LONGEST_WAIT)

    def reset(self) -> None:
        """Removes the delay, for an explicit attempt."""
        self._wait = self._not_before = 0.0
