"""Processes that read logs for this one."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from nbtools.core.errors import TraceError

if TYPE_CHECKING:
    from concurrent.futures import Executor


@contextmanager
def worker_pool(workers: int) -> Iterator[Executor]:
    """Yields a pool of so many processes, which are ended where an exception leaves the block.
    A ``BrokenExecutor`` that leaves it becomes a ``TraceError``.
    """
    from concurrent.futures import (  # noqa: PLC0415 - only needed for many logs; slow to import
        BrokenExecutor,
        ProcessPoolExecutor,
    )

    with ProcessPoolExecutor(workers, _process_context(), _start_worker, (dict(os.environ),)) as pool:
        try:
            yield pool
        except BaseException as error:
            pool.shutdown(wait=False, cancel_futures=True)
            for process in list((pool._processes or {}).values()):  # noqa: SLF001 - Python 3.14 has terminate_workers(); a large log may take minutes
                process.terminate()
            if isinstance(error, BrokenExecutor):
                raise TraceError(
                    "A process that reads logs died, or could not be started. In a script, call ingest and"
                    " load_many below `if __name__ == '__main__':`."
                ) from error
            raise


def processors() -> int:
    """Returns the number of processors that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _process_context() -> Any:
    """Returns how processes are started:
    not by a fork of this one, as a notebook's kernel has threads whose locks a fork would copy.

    Where the system can, a server starts them that has loaded the readers once.
    """
    from multiprocessing import get_all_start_methods, get_context  # noqa: PLC0415 - only needed here

    if "forkserver" not in get_all_start_methods():
        return get_context("spawn")
    context = get_context("forkserver")
    context.set_forkserver_preload(["__main__", "nbtools.traces.readers"])
    return context


def _start_worker(environment: Mapping[str, str]) -> None:
    """Ignores Ctrl-C, which reaches all processes of a terminal: the main process ends the workers.

    The environment may have changed since the server that starts the workers was started.
    """
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    os.environ.update(environment)
