"""Limits how often a progress display is updated."""

from __future__ import annotations

import asyncio
from collections.abc import Callable


class Throttle:
    """Calls ``callback`` after each ``trigger``, but at most once every ``interval`` seconds.

    The first call comes no earlier than ``first`` seconds after the start; triggers within an interval share
    one call at its end.  Belongs to the running event loop.  ``stop`` it when there is nothing more to
    report, after a ``flush`` if the last triggers matter.
    """

    def __init__(self, callback: Callable[[], None], interval: float = 0.1, *, first: float = 0.0) -> None:
        self._callback = callback
        self._interval = interval
        self._loop = asyncio.get_running_loop()
        self._next = self._loop.time() + first
        self._timer: asyncio.TimerHandle | None = None

    def trigger(self) -> None:
        if self._timer is not None:
            return
        if self._loop.time() >= self._next:
            self._run()
        else:
            self._timer = self._loop.call_at(self._next, self._run)

    def flush(self) -> None:
        """Runs a pending callback at once."""
        if self._timer is not None:
            self._timer.cancel()
            self._run()

    def stop(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _run(self) -> None:
        self._timer = None
        self._next = self._loop.time() + self._interval
        self._callback()
