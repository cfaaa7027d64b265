"""Cooperative cancellation for work that runs in a thread."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from typing import TypeVar

T = TypeVar("T")


class WorkCancelled(Exception):  # noqa: N818 - a signal, not an error
    """Raised in the worker thread to end cancelled work; ``run_in_thread`` never lets it reach the caller."""


class CancellationFlag:
    """A cancellation flag that work in a thread checks between two steps."""

    def __init__(self) -> None:
        self._cancelled = threading.Event()

    def cancel(self) -> None:
        self._cancelled.set()

    def raise_if_cancelled(self) -> None:
        """Raises ``WorkCancelled`` if the work has been cancelled."""
        if self._cancelled.is_set():
            raise WorkCancelled


async def run_in_thread(work: Callable[[CancellationFlag], T]) -> T:
    """Runs ``work`` in a thread and returns what it returns or raises what it raises.

    When cancelled, it cancels the work and waits until the thread has ended.
    """
    cancellation = CancellationFlag()
    task = asyncio.create_task(asyncio.to_thread(work, cancellation))
    try:
        return await asyncio.shield(task)
    except asyncio.CancelledError:
        cancellation.cancel()
        await asyncio.wait([task])
        task.exception()  # retrieved, so that asyncio does not log it as never retrieved
        raise
