"""The same work on many files: in this process, in a pool of processes, on a cluster that is handed in.

Work and files travel between processes, so both are pickled: work is a function of a module or a dataclass that can be called.  A failure
is of one file and stops no other; where a process dies, its files are taken up again one by one, and only the one that kills it fails.
"""

from __future__ import annotations

import os
import signal
import uuid
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from concurrent.futures import BrokenExecutor, Future
from contextlib import contextmanager
from dataclasses import dataclass
from queue import SimpleQueue
from typing import Any, Generic, Protocol, TypeVar

from nbtools.core.errors import TraceError
from nbtools.traces.libraries import library

F = TypeVar("F", bound="Sized")
T = TypeVar("T")
TASK = 50 << 20
"""Bytes of files that make one task: on a cluster a task costs some milliseconds."""
_OURS = 4 << 20
"""The same for our own pool, where one costs next to nothing: none waits long for the last, and progress is told often."""

_MAIN = "in a script, ingest below `if __name__ == '__main__':`."


class Sized(Protocol):
    @property
    def size(self) -> int: ...


@dataclass(frozen=True)
class Failed:
    """Work on a file that raised, or killed its process."""

    why: str


@dataclass(frozen=True)
class _Task(Generic[F, T]):
    """Several files, one after the other.  ``token`` makes each task another: clusters remember what they did."""

    work: Callable[[F], T]
    files: Sequence[F]
    token: str

    def __call__(self) -> list[T | Failed]:
        return [self.done(file) for file in self.files]

    def done(self, file: F) -> T | Failed:
        try:
            return self.work(file)
        except Exception as error:  # noqa: BLE001 - one file that cannot be read is told and stops no other
            return Failed(f"{type(error).__name__}: {error}")


def map_files(files: Iterable[F], work: Callable[[F], T], client: Any = None, *, task: int = TASK) -> Generator[tuple[F, T | Failed]]:
    """Each file with what ``work`` made of it, as they are done.

    ``client``: what has ``submit`` as executors and ``dask.distributed.Client`` do, or ``map``; it gets ``task`` bytes at a time.  Without
    one, a pool of as many processes as this one may use processors; what fits one task is done here.
    """
    waiting = list(files)
    total = sum(file.size for file in waiting)
    if client is None and total <= task:
        here = _Task(work, waiting, "")
        yield from ((file, here.done(file)) for file in waiting)
        return
    size = min(task, _OURS) if client is None else task
    tasks = [_Task(work, batch, uuid.uuid4().hex) for batch in batches(waiting, size)]
    lost: list[F] = []
    with _given(client, len(tasks)) as executor:
        for one, outcome in _outcomes(executor, tasks):
            if isinstance(outcome, BaseException):
                lost += one.files
            else:
                yield from zip(one.files, outcome, strict=True)
    yield from _one_by_one(lost, work, client)


@contextmanager
def connected(client: Any) -> Iterator[Any]:
    """The client of a scheduler whose address is given, for as long as it is wanted; anything else as it is."""
    if not isinstance(client, str):
        yield client
        return
    with library("distributed").Client(client) as made:
        yield made


def batches(files: Iterable[F], size: int) -> Iterator[list[F]]:
    """The largest first, so that none of them is waited for alone at the end."""
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


def _run(task: _Task[F, T]) -> list[T | Failed]:
    return task()


def _outcomes(executor: Any, tasks: Sequence[_Task[F, T]]) -> Iterator[tuple[_Task[F, T], list[T | Failed] | BaseException]]:
    """Who stops asking, or is interrupted, takes back what has not begun."""
    if not hasattr(executor, "submit"):
        yield from zip(tasks, executor.map(_run, tasks), strict=True)
        return
    done: SimpleQueue[tuple[_Task[F, T], Any]] = SimpleQueue()
    futures = []
    try:
        for task in tasks:
            future = _submitted(executor, task)
            futures.append(future)
            future.add_done_callback(lambda future, task=task: done.put((task, future)))
        for _ in tasks:
            task, future = done.get()
            yield task, _outcome(future)
    finally:
        for future in futures:
            future.cancel()


def _submitted(executor: Any, task: _Task[F, T]) -> Any:
    """The future of the task; one that has failed where a process died while tasks were still handed over."""
    try:
        return executor.submit(_run, task)
    except BrokenExecutor as error:
        broken: Future[list[T | Failed]] = Future()
        broken.set_exception(error)
        return broken


def _outcome(future: Any) -> Any:
    try:
        return future.result()
    except Exception as error:  # noqa: BLE001 - a dead process or worker; what of its files is to blame is found out one by one
        return error


def _one_by_one(files: Sequence[F], work: Callable[[F], T], client: Any) -> Iterator[tuple[F, T | Failed]]:
    for file in files:
        with _given(client, 1) as executor:
            ((_, outcome),) = _outcomes(executor, [_Task(work, [file], uuid.uuid4().hex)])
        if isinstance(outcome, BrokenExecutor):
            yield file, Failed("the process that read it died.")
        elif isinstance(outcome, BaseException):
            yield file, Failed(f"{type(outcome).__name__}: {outcome}")
        else:
            yield file, outcome[0]


@contextmanager
def _given(client: Any, tasks: int) -> Iterator[Any]:
    """The client, or a pool of our own.  Processes are never forked: a notebook's kernel has threads, whose locks a fork would copy."""
    if client is not None:
        yield client
        return
    from concurrent.futures import ProcessPoolExecutor  # noqa: PLC0415 - of no use where logs are few, and not small
    from multiprocessing import get_all_start_methods, get_context  # noqa: PLC0415 - as above

    method = "forkserver" if "forkserver" in get_all_start_methods() else "spawn"
    with ProcessPoolExecutor(min(processors(), tasks), get_context(method), _uninterrupted) as pool:
        try:
            _started(pool)
            yield pool
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            for process in list((pool._processes or {}).values()):  # noqa: SLF001 - Python 3.14 has terminate_workers(); a large log may take minutes
                process.terminate()
            raise


def _started(pool: Any) -> None:
    """Where no process starts, no file is to blame, and to try with each of them would take long."""
    try:
        pool.submit(os.getpid).result()
    except BrokenExecutor as error:
        raise TraceError(f"no process could be started: {_MAIN}") from error


def _uninterrupted() -> None:
    """Ctrl-C reaches all processes of a terminal; the one that asked for the work ends the others."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)


def processors() -> int:
    """How many this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
