"""Limits what runs at the same time: several read-only calls, or one that changes something, in order.

A call may make calls itself.  Such nested calls run within the slot of the outer call; queueing behind it
would be a deadlock, because it waits for them.  Among themselves nested calls obey the same limit, and a call
within a read-only call must be read-only.
"""

from __future__ import annotations

import asyncio
from collections import deque
from contextvars import ContextVar

from nbtools.core.errors import ErrorCode, ToolFailure


class ConcurrencyLimiter:
    """Lets at most ``limit`` calls run at once; entering a free slot does not yield to the loop."""

    def __init__(self, limit: int = 5) -> None:
        self.limit = limit
        self._running = 0
        self._exclusive = False
        self._waiting: deque[tuple[asyncio.Future[None], bool]] = deque()

    def enclosing_slot(self) -> Slot | None:
        """Returns the nearest enclosing running call's slot, also in its tasks and threads."""
        slot = _CURRENT.get()
        while slot is not None and not (slot.limiter is self and slot.running):
            slot = slot.outer
        return slot

    def ensure_allowed(self, exclusive: bool) -> None:
        """Raises ``ToolFailure`` (``policy_violation``) for a change within a read-only call."""
        host = self.enclosing_slot()
        if exclusive and host is not None and not host.exclusive:
            raise ToolFailure(ErrorCode.POLICY_VIOLATION, _CHANGE_IN_READ_ONLY_CALL)

    async def enter(self, exclusive: bool) -> Slot:
        """Waits until the call may run; returns its slot, to ``leave`` afterwards in the same task.

        Cancelling the wait leaves the queue.  Raises ``ToolFailure`` as ``check`` does.
        """
        current = _CURRENT.get()
        if current is not None and (host := self.enclosing_slot()) is not None:
            self.ensure_allowed(exclusive)
            await host.enter_nested(exclusive)
            return Slot(self, exclusive, current, host)
        await self.acquire(exclusive)
        return Slot(self, exclusive, current, None)

    def enter_at_once(self, exclusive: bool) -> Slot | None:
        """Returns the slot of a call that need not wait and is not nested; None: it has to ``enter``."""
        if self._waiting or not self._is_free(exclusive) or _CURRENT.get() is not None:
            return None
        self._take(exclusive)
        return Slot(self, exclusive, None, None)

    async def acquire(self, exclusive: bool) -> None:
        """Waits like ``enter``, for nested calls; ``release`` ends it."""
        if self._waiting or not self._is_free(exclusive):
            admission: asyncio.Future[None] = asyncio.get_running_loop().create_future()
            self._waiting.append((admission, exclusive))
            try:
                await admission
            except asyncio.CancelledError:
                if admission.done() and not admission.cancelled():
                    self.release()
                self._admit()
                raise
        else:
            self._take(exclusive)

    def release(self) -> None:
        """Ends one call and admits those that wait."""
        self._running -= 1
        self._exclusive = False
        if self._waiting:
            self._admit()

    def _is_free(self, exclusive: bool) -> bool:
        return not self._running if exclusive else not self._exclusive and self._running < self.limit

    def _take(self, exclusive: bool) -> None:
        self._running += 1
        self._exclusive = exclusive

    def _admit(self) -> None:
        while self._waiting:
            admission, exclusive = self._waiting[0]
            if not admission.done() and not self._is_free(exclusive):
                return
            self._waiting.popleft()
            if not admission.done():
                self._take(exclusive)
                admission.set_result(None)


class Slot:
    """A running call's slot, free again when it and every call that it started have ended."""

    __slots__ = ("_holders", "_host", "_nested", "_token", "exclusive", "limiter", "outer", "running")

    def __init__(
        self, limiter: ConcurrencyLimiter, exclusive: bool, outer: Slot | None, host: Slot | None
    ) -> None:
        self.running = True
        self._holders = 1
        self._nested: ConcurrencyLimiter | None = None
        self.limiter = limiter
        self.exclusive = exclusive
        self.outer = outer if outer is None else _nearest_running(outer)
        self._host = host
        self._token = _CURRENT.set(self)

    async def enter_nested(self, exclusive: bool) -> None:
        """Waits until a nested call may run; ``release_nested`` ends it."""
        if self._nested is None:
            self._nested = ConcurrencyLimiter(self.limiter.limit)
        self._holders += 1
        try:
            await self._nested.acquire(exclusive)
        except BaseException:
            self._drop_holder()
            raise

    def leave(self) -> None:
        """Ends the call; nested calls that it did not wait for keep the slot until they end."""
        self.running = False
        _CURRENT.reset(self._token)
        if self._holders == 1 and self._host is None:
            self.limiter.release()
        else:
            self._drop_holder()

    def _drop_holder(self) -> None:
        self._holders -= 1
        if self._holders:
            return
        if self._host is None:
            self.limiter.release()
        else:
            self._host.release_nested()

    def release_nested(self) -> None:
        """Ends a nested call."""
        if self._nested is not None:
            self._nested.release()
        self._drop_holder()


_CHANGE_IN_READ_ONLY_CALL = (
    "This call would change something, but it was made by a tool that is declared read-only. "
    "Nothing was changed. Declare that tool with the kind of what it does, or `other`."
)
_CURRENT: ContextVar[Slot | None] = ContextVar("nbtools_slot", default=None)


def _nearest_running(slot: Slot | None) -> Slot | None:
    # A task may outlive the call that started it and make calls;
    # slots of ended calls must not be referenced for ever.
    while slot is not None and not slot.running:
        slot = slot.outer
    return slot
