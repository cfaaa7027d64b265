"""Runs a coroutine in a thread of its own and waits for it."""

from __future__ import annotations

import asyncio
import contextlib
import threading
from collections.abc import Coroutine
from concurrent.futures import Future
from typing import Any, TypeVar

T = TypeVar("T")
_CLEANUP_SECONDS = 10.0
"""Time that interrupted work gets to clean up, in seconds."""


def run_sync(work: Coroutine[Any, Any, T], thread_name: str = "nbtools-run") -> T:
    """Returns the result of ``work``, run in an event loop in its own thread;
    also usable where a loop is running, as in a notebook.

    An interrupt cancels ``work``, waits until it has cleaned up, and propagates.
    """
    started: Future[tuple[asyncio.AbstractEventLoop, asyncio.Task[T]]] = Future()
    outcome: Future[T] = Future()

    async def run() -> T:
        task = asyncio.ensure_future(work)
        started.set_result((asyncio.get_running_loop(), task))
        return await task

    def begin() -> None:
        try:
            outcome.set_result(asyncio.run(run()))
        except BaseException as error:  # noqa: BLE001 - raised again by the waiting thread
            outcome.set_exception(error)

    thread = threading.Thread(target=begin, name=thread_name, daemon=True)
    thread.start()
    try:
        return outcome.result()
    except KeyboardInterrupt:
        loop, task = started.result()
        with contextlib.suppress(RuntimeError):  # the loop has just ended
            loop.call_soon_threadsafe(task.cancel)
        thread.join(_CLEANUP_SECONDS)
        raise
