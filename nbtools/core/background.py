"""Work in the background: in a thread, or at once in a browser, where Python has no threads.

``run_sync`` waits for a coroutine in a thread of its own, also where an event loop is running.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from concurrent.futures import Executor, Future, ThreadPoolExecutor, wait
from contextlib import suppress
from threading import Thread
from typing import Any, ParamSpec, TypeVar

from nbtools.core.browser import IN_BROWSER

P = ParamSpec("P")
T = TypeVar("T")
_CLEANUP_SECONDS = 10.0
"""Time that interrupted work gets to clean up, in seconds."""


def run_in_background(work: Callable[[], T], name: str) -> Future[T]:
    """Runs ``work`` in a daemon thread of that name; in a browser at once.

    Whoever waits for the future gets what ``work`` raises, so that nobody waits for a thread that has failed.
    """
    future: Future[T] = Future()
    if IN_BROWSER:
        _run(future, work)
    else:
        Thread(target=_run, args=(future, work), name=name, daemon=True).start()
    return future


def _run(future: Future[T], work: Callable[[], T]) -> None:
    try:
        result = work()
    except BaseException as error:  # noqa: BLE001 - the future raises it in the thread that waits
        future.set_exception(error)
    else:
        future.set_result(result)


def wait_briefly(future: Future[Any], seconds: float) -> None:
    """Waits at most so long for the end of the work.  Raises what it has raised by then."""
    if wait([future], seconds).done:
        future.result()


def background_thread(name: str) -> Executor:
    """Returns an executor of one thread; in a browser, one that runs everything at once."""
    return _Immediate() if IN_BROWSER else ThreadPoolExecutor(1, thread_name_prefix=name)


class _Immediate(Executor):
    def submit(self, fn: Callable[P, T], /, *args: P.args, **kwargs: P.kwargs) -> Future[T]:
        future: Future[T] = Future()
        _run(future, lambda: fn(*args, **kwargs))
        return future


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

    thread = Thread(target=begin, name=thread_name, daemon=True)
    thread.start()
    try:
        return outcome.result()
    except KeyboardInterrupt:
        loop, task = started.result()
        with suppress(RuntimeError):  # the loop has just ended
            loop.call_soon_threadsafe(task.cancel)
        thread.join(_CLEANUP_SECONDS)
        raise
