"""Work in the background: in a thread, or at once in a browser, where Python has no threads."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Executor, Future, ThreadPoolExecutor
from threading import Thread
from typing import ParamSpec, TypeVar

from nbtools.core.browser import IN_BROWSER

P = ParamSpec("P")
T = TypeVar("T")


def start_thread(work: Callable[[], object], name: str) -> Thread | None:
    """Runs ``work`` in a daemon thread, which it returns; in a browser at once."""
    if IN_BROWSER:
        work()
        return None
    thread = Thread(target=work, name=name, daemon=True)
    thread.start()
    return thread


def background_thread(name: str) -> Executor:
    """Returns an executor of one thread; in a browser, one that runs everything at once."""
    return _Immediate() if IN_BROWSER else ThreadPoolExecutor(1, thread_name_prefix=name)


class _Immediate(Executor):
    def submit(self, fn: Callable[P, T], /, *args: P.args, **kwargs: P.kwargs) -> Future[T]:
        future: Future[T] = Future()
        try:
            future.set_result(fn(*args, **kwargs))
        except Exception as error:  # noqa: BLE001 - the caller gets it from the future
            future.set_exception(error)
        return future
