"""Applies a function to many files: in this process, in a process pool, or on a given cluster.

Functions and files are pickled, so the function must be a module's function or a callable dataclass. A
failure concerns one file only and does not stop the others. Where a process dies, its files are tried again
one by one, and only the file that kills it fails.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Generator, Iterable, Iterator
from concurrent.futures import BrokenExecutor, Executor, Future, as_completed
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Protocol, TypeVar

from nbtools.traces.optional_libraries import import_library
from nbtools.traces.worker_pool import processors, worker_pool

F = TypeVar("F", bound="Sized")
T = TypeVar("T")
HERE = 50 << 20
"""Bytes of files that are processed in this process: others take some tenths of a second to start."""


class Sized(Protocol):
    @property
    def size(self) -> int: ...


@dataclass(frozen=True)
class TaskFailure:
    """The failure of the work on a file: it raised, or killed its process."""

    why: str


def map_files(
    files: Iterable[F], work: Callable[[F], T], client: Any = None, *, here: int = HERE
) -> Generator[tuple[F, T | TaskFailure]]:
    """Yields each file with the result of ``work`` on it, in order of completion.

    ``client``: an executor or a ``dask.distributed.Client``. Without one, a pool uses as many processes as
    this process may use processors; up to ``here`` bytes of files are processed in this process.
    """
    # The largest first, so that none of them is started last.
    pending = sorted(files, key=lambda file: file.size, reverse=True)
    if client is None and sum(file.size for file in pending) <= here:
        yield from ((file, _try(work, file)) for file in pending)
        return
    lost_files: list[F] = []
    with _executor(client, len(pending)) as executor:
        for file, outcome in _outcomes(executor, work, pending):
            if isinstance(outcome, BaseException):
                lost_files.append(file)
            else:
                yield file, outcome
    for file in lost_files:
        with _executor(client, 1) as executor:
            ((_, outcome),) = _outcomes(executor, work, [file])
        if isinstance(outcome, BrokenExecutor):
            yield file, TaskFailure("The process that read this log died.")
        else:
            yield file, _failure(outcome) if isinstance(outcome, BaseException) else outcome


@contextmanager
def connect(client: Any) -> Iterator[Any]:
    """Connects to the scheduler whose address is given, and disconnects at the end;
    any other client is returned as it is.
    """
    if not isinstance(client, str):
        yield client
        return
    with import_library("distributed").Client(client) as cluster:
        yield cluster


def worker_count(client: Any) -> int:
    """Returns the number of processes or threads that work for this client, as far as it tells."""
    if hasattr(client, "nthreads"):
        return int(sum(client.nthreads().values())) or 1
    return int(getattr(client, "_max_workers", 0)) or processors()


def _try(work: Callable[[F], T], file: F) -> T | TaskFailure:
    try:
        return work(file)
    except Exception as error:  # noqa: BLE001 - one file's failure is reported and does not stop the others
        return _failure(error)


def _failure(error: BaseException) -> TaskFailure:
    return TaskFailure(f"{type(error).__name__}: {error}")


def _outcomes(
    executor: Executor, work: Callable[[F], T], files: Iterable[F]
) -> Iterator[tuple[F, T | TaskFailure | BaseException]]:
    """Yields finished files; an exception where the process or worker died. Cancels the work that has not
    started when the caller stops iterating or is interrupted.
    """
    futures: dict[Future[T | TaskFailure], F] = {}
    try:
        for file in files:
            try:
                future = executor.submit(_try, work, file)
            except BrokenExecutor as error:  # a process died while the others were submitted
                future = Future()
                future.set_exception(error)
            futures[future] = file
        for future in as_completed(futures):
            try:
                outcome: T | TaskFailure | BaseException = future.result()
            except Exception as error:  # noqa: BLE001 - a dead process or worker, or one that a cluster cancelled
                outcome = error
            yield futures[future], outcome
    finally:
        for future in futures:
            future.cancel()


@contextmanager
def _executor(client: Any, tasks: int) -> Iterator[Executor]:
    """Yields the client's executor, or a pool of our own."""
    if client is None:
        with worker_pool(min(processors(), tasks)) as pool:
            # Raises where no process can be started; otherwise every file would be tried and blamed.
            pool.submit(os.getpid).result()
            yield pool
    else:
        # Not pure: clusters would reuse the results of equal tasks.
        yield client.get_executor(pure=False) if hasattr(client, "get_executor") else client
