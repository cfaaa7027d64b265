"""Telling of progress often enough to look alive and seldom enough to cost nothing."""

from __future__ import annotations

import asyncio
from collections.abc import Callable


class Pulse:
    """Calls ``beat`` soon after each ``touch``: at once when the last time was ``interval`` seconds ago, else then, once for all
    touches in between; not before ``first`` seconds have gone.

    Belongs to the running event loop.  ``stop`` it when there is nothing more to tell; ``flush`` it first where the last touches are to
    be told as well.
    """

    def __init__(self, beat: Callable[[], None], interval: float = 0.1, *, first: float = 0.0) -> None:
        self._beat = beat
        self._interval = interval
        self._loop = asyncio.get_running_loop()
        self._next = self._loop.time() + first
        self._timer: asyncio.TimerHandle | None = None

    def touch(self) -> None:
        if self._timer is not None:
            return
        if self._loop.time() >= self._next:
            self._now()
        else:
            self._timer = self._loop.call_at(self._next, self._now)

    def flush(self) -> None:
        """Tells at once what a beat to come would have told."""
        if self._timer is not None:
            self._timer.cancel()
            self._now()

    def stop(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _now(self) -> None:
        self._timer = None
        self._next = self._loop.time() + self._interval
        self._beat()
