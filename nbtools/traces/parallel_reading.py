"""Reads whole logs, several of them in parallel processes."""

from __future__ import annotations

import gc
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import msgspec
from msgspec import Struct

from nbtools.core.decoders import decoded_msgpack
from nbtools.core.errors import TraceError
from nbtools.traces.formats import open_log
from nbtools.traces.model import Call, Event, FileChange, Origin, Problem, RequestUsage, Row, Session
from nbtools.traces.reader import LogFile
from nbtools.traces.worker_pool import worker_pool


class RowBatch(Struct, array_like=True):
    """The rows of a log by type, in reading order."""

    sessions: list[Session] = []
    events: list[Event] = []
    calls: list[Call] = []
    file_changes: list[FileChange] = []
    problems: list[Problem] = []
    usage: list[RequestUsage] = []


def read_rows(log: LogFile) -> RowBatch:
    with gc_paused():
        return batch_of(log.rows())


def batch_of(rows: Iterable[Row]) -> RowBatch:
    batch = RowBatch()
    add: dict[type, Callable[[Any], None]] = {
        Session: batch.sessions.append,
        Event: batch.events.append,
        Call: batch.calls.append,
        FileChange: batch.file_changes.append,
        Problem: batch.problems.append,
        RequestUsage: batch.usage.append,
    }
    for row in rows:
        add[type(row)](row)
    batch.calls.sort(key=lambda call: call.seq)
    return batch


def read_in_processes(workers: int, logs: Sequence[LogFile]) -> Iterator[RowBatch]:
    """Yields the rows of each log, in the given order, read by ``workers`` processes, this one included.

    This process reads too, so its rows need not be sent.
    The others write theirs into a folder: sending them would interrupt its reading.
    """
    largest_first = sorted(range(len(logs)), key=lambda number: -_size(logs[number]))
    mine: dict[int, RowBatch] = {}
    with TemporaryDirectory(prefix="nbtools-rows-") as name:
        folder = Path(name)
        paths = {number: logs[number].source.path for number in largest_first}
        others = min(workers, len(logs)) - 1
        with worker_pool(others) as pool:
            tasks = [pool.submit(write_rows, paths, folder) for _ in range(others)]
            for number in _unclaimed(largest_first, folder):
                mine[number] = read_rows(logs[number])
            for task in tasks:
                task.result()
        for number, log in enumerate(logs):
            yield mine.get(number) or read_written_rows(folder / str(number), log) or read_rows(log)


def _size(log: LogFile) -> int:
    return sum(file.stat().st_size for file in log.source.files if file.is_file())


def _unclaimed(numbers: Iterable[int], folder: Path) -> Iterator[int]:
    """Yields each number that no other process has claimed, and claims it by a file."""
    for number in numbers:
        with suppress(FileExistsError):
            (folder / f"{number}.claim").touch(exist_ok=False)
            yield number


def write_rows(paths: Mapping[int, Path], folder: Path) -> None:
    """Reads logs in a worker process, as long as there are unclaimed ones.
    Of a log that cannot be read or sent, it writes nothing.
    """
    for number in _unclaimed(paths, folder):
        with suppress(TraceError, OSError, *_ENCODE_ERRORS):
            (folder / str(number)).write_bytes(
                msgspec.msgpack.encode(read_rows(open_log(paths[number])), enc_hook=lambda _: None)
            )


_ENCODE_ERRORS = (msgspec.MsgspecError, UnicodeError, OverflowError, TypeError, ValueError)


def read_written_rows(file: Path, origin: Origin) -> RowBatch | None:
    if not file.exists():
        return None
    with gc_paused():
        return decoded_msgpack(file.read_bytes(), RowBatch, lambda *_: origin)


@contextmanager
def gc_paused() -> Iterator[None]:
    """Pauses garbage collection of reference cycles:
    rows are in none, and scanning millions of them repeatedly is slow.
    """
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()
