"""Room for running calls: a few side by side that change nothing, or one alone that does; first come, first served."""

from __future__ import annotations

import asyncio
from collections import deque


class Room:
    """At most ``limit`` calls at once.  Entering when there is room costs no trip through the event loop."""

    def __init__(self, limit: int = 5) -> None:
        self._limit = limit
        self._inside = 0
        self._taken = False
        self._waiting: deque[tuple[asyncio.Future[None], bool]] = deque()

    async def enter(self, alone: bool) -> None:
        """Returns when the call may run.  Cancelled while it waits, it leaves the queue."""
        if not self._waiting and self._has_room(alone):
            self._take(alone)
            return
        turn: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiting.append((turn, alone))
        try:
            await turn
        except asyncio.CancelledError:
            if turn.done() and not turn.cancelled():
                self.leave()
            self._admit()
            raise

    def leave(self) -> None:
        """Gives the place back and lets in who waits."""
        self._inside -= 1
        self._taken = False
        if self._waiting:
            self._admit()

    def _has_room(self, alone: bool) -> bool:
        return not self._inside if alone else not self._taken and self._inside < self._limit

    def _take(self, alone: bool) -> None:
        self._inside += 1
        self._taken = alone

    def _admit(self) -> None:
        while self._waiting:
            turn, alone = self._waiting[0]
            if not turn.done() and not self._has_room(alone):
                return
            self._waiting.popleft()
            if not turn.done():
                self._take(alone)
                turn.set_result(None)
