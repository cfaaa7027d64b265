"""Applies a function to many files: in this process, in a process pool, or on a given cluster.

Functions and files are pickled, so the function must be a module's function or a callable dataclass. A
failure concerns one file only and does not stop the others. Where a process dies, its files are tried again
one by one, and only the file that kills it fails.
"""

from __future__ import annotations

import os
import signal
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import BrokenExecutor, Executor, Future, as_completed
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Protocol, TypeVar

from nbtools.core.errors import TraceError
from nbtools.traces.optional_libraries import import_library
from nbtools.traces.parallel_reading import process_context

F = TypeVar("F", bound="Sized")
T = TypeVar("T")
TASK = 50 << 20
"""Bytes of files per task: on a cluster, a task costs some milliseconds."""
_POOL_TASK_BYTES = 4 << 20
"""Bytes of files per task in our own pool, where a task costs almost nothing:
small tasks balance the load and update progress often.
"""

_MAIN_GUARD = "In a script, call ingest below `if __name__ == '__main__':`."


class Sized(Protocol):
    @property
    def size(self) -> int: ...


@dataclass(frozen=True)
class TaskFailure:
    """The failure of the work on a file: it raised, or killed its process."""

    why: str


def map_files(
    files: Iterable[F], work: Callable[[F], T], client: Any = None, *, task: int = TASK
) -> Generator[tuple[F, T | TaskFailure]]:
    """Yields each file with the result of ``work`` on it, in order of completion.

    ``client``: an executor or a ``dask.distributed.Client``; it gets ``task`` bytes of files at a time.
    Without one, a pool uses as many processes as this process may use processors; files that fit into one
    task are processed here.
    """
    pending = list(files)
    if client is None and sum(file.size for file in pending) <= task:
        yield from ((file, _try(work, file)) for file in pending)
        return
    tasks = list(batches(pending, min(task, _POOL_TASK_BYTES) if client is None else task))
    lost_files: list[F] = []
    with _executor(client, len(tasks)) as executor:
        for batch, outcome in _outcomes(executor, work, tasks):
            if isinstance(outcome, BaseException):
                lost_files += batch
            else:
                yield from zip(batch, outcome, strict=True)
    for file in lost_files:
        with _executor(client, 1) as executor:
            ((_, outcome),) = _outcomes(executor, work, [[file]])
        if isinstance(outcome, BrokenExecutor):
            yield file, TaskFailure("The process that read this log died.")
        else:
            yield file, _failure(outcome) if isinstance(outcome, BaseException) else outcome[0]


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


def batches(files: Iterable[F], size: int) -> Iterator[list[F]]:
    """Groups files into batches of ``size`` bytes, the largest first,
    so that none of them is started last.
    """
    batch: list[F] = []
    total = 0
    for file in sorted(files, key=lambda file: file.size, reverse=True):
        if batch and total + file.size > size:
            yield batch
            batch, total = [], 0
        batch.append(file)
        total += file.size
    if batch:
        yield batch


def _run(work: Callable[[F], T], files: Sequence[F]) -> list[T | TaskFailure]:
    return [_try(work, file) for file in files]


def _try(work: Callable[[F], T], file: F) -> T | TaskFailure:
    try:
        return work(file)
    except Exception as error:  # noqa: BLE001 - one file's failure is reported and does not stop the others
        return _failure(error)


def _failure(error: BaseException) -> TaskFailure:
    return TaskFailure(f"{type(error).__name__}: {error}")


def _outcomes(
    executor: Executor, work: Callable[[F], T], tasks: Iterable[Sequence[F]]
) -> Iterator[tuple[Sequence[F], list[T | TaskFailure] | BaseException]]:
    """Yields finished tasks. Cancels the tasks that have not started when the caller stops iterating or is
    interrupted.
    """
    futures: dict[Future[list[T | TaskFailure]], Sequence[F]] = {}
    try:
        for files in tasks:
            futures[_submit(executor, work, files)] = files
        for future in as_completed(futures):
            yield futures[future], _result(future)
    finally:
        for future in futures:
            future.cancel()


def _submit(executor: Executor, work: Callable[[F], T], files: Sequence[F]) -> Future[list[T | TaskFailure]]:
    """Submits a task; returns a failed future where a process died during submission."""
    try:
        return executor.submit(_run, work, files)
    except BrokenExecutor as error:
        broken: Future[list[T | TaskFailure]] = Future()
        broken.set_exception(error)
        return broken


def _result(future: Future[list[T | TaskFailure]]) -> list[T | TaskFailure] | BaseException:
    try:
        return future.result()
    except Exception as error:  # noqa: BLE001 - a dead process or worker; its files are tried one by one afterwards
        return error


@contextmanager
def _executor(client: Any, tasks: int) -> Iterator[Executor]:
    """Yields the client's executor, or a pool of our own."""
    if client is not None:
        # Not pure: clusters would reuse the results of equal tasks.
        yield client.get_executor(pure=False) if hasattr(client, "get_executor") else client
        return
    from concurrent.futures import (  # noqa: PLC0415 - only needed for many logs; slow to import
        ProcessPoolExecutor,
    )

    with ProcessPoolExecutor(
        min(processors(), tasks), process_context(), _start_worker, (dict(os.environ),)
    ) as pool:
        try:
            _check_start(pool)
            yield pool
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            for process in list((pool._processes or {}).values()):  # noqa: SLF001 - Python 3.14 has terminate_workers(); a large log may take minutes
                process.terminate()
            raise


def _check_start(pool: Any) -> None:
    """Checks that a process can be started; otherwise every file would be tried and blamed."""
    try:
        pool.submit(os.getpid).result()
    except BrokenExecutor as error:
        raise TraceError(f"No process could be started. {_MAIN_GUARD}") from error


def _start_worker(environment: Mapping[str, str]) -> None:
    """Ignores Ctrl-C, which reaches all processes of a terminal: the main process ends the workers.

    The environment may have changed since the server that starts the workers was started,
    for example by credentials.
    """
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    os.environ.update(environment)


def worker_count(client: Any) -> int:
    """Returns the number of processes or threads that work for this client, as far as it tells."""
    if hasattr(client, "nthreads"):
        return int(sum(client.nthreads().values())) or 1
    return int(getattr(client, "_max_workers", 0)) or processors()


def processors() -> int:
    """Returns the number of processors that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
