"""Loads session logs: one, or several in parallel processes."""

from __future__ import annotations

import gc
import glob
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from functools import cached_property
from pathlib import Path
from typing import Any

import msgspec
from msgspec import Struct

from nbtools.core.errors import TraceError
from nbtools.core.extension_points import extension
from nbtools.traces.model import Call, Event, FileChange, Origin, Problem, Row, Session
from nbtools.traces.query.facts import facts_of
from nbtools.traces.query.search import Hit, Searcher
from nbtools.traces.query.sql import Database, QueryResult, open_database
from nbtools.traces.reader import NO_KNOWN_STEPS, LogFile, open_log
from nbtools.traces.rows import Rows


class _RowBatch(Struct, array_like=True):
    """Rows by type, for transfer between processes: pickling rows takes longer than reading the log again."""

    sessions: list[Session] = []
    events: list[Event] = []
    calls: list[Call] = []
    changes: list[FileChange] = []
    problems: list[Problem] = []


def open_logs(paths: str | Path | Iterable[str | Path]) -> list[LogFile]:
    """Opens each log once, in the given order. A path that occurs twice, or belongs to another of the logs, is not opened again.

    Raises ``TraceError`` for a path that cannot be opened or is in no known format, unless it belongs to another log.
    """
    logs: dict[Path, LogFile | TraceError] = {}
    for path in _expand(paths) if isinstance(paths, str | Path) else paths:
        here = Path(path).expanduser()
        if here.resolve() not in logs:
            logs[here.resolve()] = _open_or_error(here)
    owners: dict[Path, Path] = {}
    for path, log in logs.items():
        if path not in owners and isinstance(log, LogFile):
            owners |= dict.fromkeys((file.resolve() for file in log.source.files[1:]), path)
    return [_raise_error(log) for path, log in logs.items() if path not in owners]


def read_in_processes(workers: int, logs: Sequence[LogFile]) -> Iterator[Iterable[Row]]:
    """Yields the rows of each log, in the given order, read by ``workers`` processes. Rows of one type are in reading order."""
    from concurrent.futures import BrokenExecutor, ProcessPoolExecutor  # noqa: PLC0415 - only needed with several processes
    from multiprocessing import get_all_start_methods, get_context  # noqa: PLC0415 - as above

    method = "forkserver" if "forkserver" in get_all_start_methods() else "spawn"
    with ProcessPoolExecutor(min(workers, len(logs)), get_context(method)) as pool:
        largest = sorted(logs, key=lambda log: -sum(file.stat().st_size for file in log.source.files if file.is_file()))
        results = {log.source.path: pool.submit(_read, log.source.path) for log in largest}
        for log in logs:
            try:
                data = results.pop(log.source.path).result()
            except BrokenExecutor as error:
                raise TraceError(
                    "A process that was reading logs died. In a script, call load_many below `if __name__ == '__main__':`."
                ) from error
            yield log.rows() if data is None else _rows(data, log)


def _read(path: Path) -> bytes | None:
    """Reads a log in a worker process. Returns None where a row contains a value that cannot be sent."""
    batch = _RowBatch()
    lists: dict[type, list[Any]] = {
        Session: batch.sessions,
        Event: batch.events,
        Call: batch.calls,
        FileChange: batch.changes,
        Problem: batch.problems,
    }
    for row in open_log(path).rows():
        lists[type(row)].append(row)
    try:
        return msgspec.msgpack.encode(batch, enc_hook=lambda _: None)
    except (msgspec.MsgspecError, UnicodeError, OverflowError, TypeError, ValueError):
        return None


def _rows(data: bytes, origin: Origin) -> Iterator[Row]:
    batch = msgspec.msgpack.decode(data, type=_RowBatch, dec_hook=lambda *_: origin)
    for rows in (batch.sessions, batch.events, batch.calls, batch.changes, batch.problems):
        yield from rows


def _open_or_error(path: Path) -> LogFile | TraceError:
    try:
        return open_log(path)
    except TraceError as error:
        return error


def _raise_error(log: LogFile | TraceError) -> LogFile:
    if isinstance(log, TraceError):
        raise log
    return log


def _expand(pattern: str | Path) -> list[str]:
    """Returns the paths that match a pattern. An existing path is returned as it is, even if it looks like a pattern."""
    expanded = Path(pattern).expanduser()
    return [str(expanded)] if expanded.exists() else sorted(glob.glob(str(expanded), recursive=True))  # noqa: PTH207 - it may be absolute


@contextmanager
def gc_paused() -> Iterator[None]:
    """Pauses garbage collection of reference cycles: rows are in none, and scanning millions of them repeatedly is slow."""
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()


class Trace:
    """Session logs loaded into memory. Lists are in reading order; ``problems`` are the bytes that could not be read."""

    def __init__(self, readings: Sequence[LogFile], rows: Iterable[Iterable[Row]] | None = None) -> None:
        """``rows`` are the rows of each log, where they have been read already."""
        self.readings = tuple(readings)
        self.sessions: Rows[Session] = Rows(Session)
        self.events: Rows[Event] = Rows(Event)
        self.calls: Rows[Call] = Rows(Call)
        self.file_changes: Rows[FileChange] = Rows(FileChange)
        self.problems: Rows[Problem] = Rows(Problem)
        add: dict[type, Any] = {
            Session: self.sessions.append,
            Event: self.events.append,
            Call: self.calls.append,
            FileChange: self.file_changes.append,
            Problem: self.problems.append,
        }
        with gc_paused():
            for log, log_rows in zip(self.readings, rows or map(LogFile.rows, self.readings), strict=True):
                first = len(self.calls)
                for row in log_rows:
                    add[type(row)](row)
                self.calls[first:] = sorted(self.calls[first:], key=lambda call: call.seq)
                for table in self._tables.values():
                    table.assign_log_file(log)

    def facts(self) -> dict[str, Any]:
        """Returns counts for a single log, by the names and rules of its format. Raises ``TraceError`` for several logs."""
        if len(self.readings) != 1:
            raise TraceError(f"facts() counts a single log, and this trace has {len(self.readings)}. Load each log by itself.")
        return facts_of(self, Trace([self.readings[0].strict()]) if self.problems else self)

    def sql(self, query: str) -> QueryResult:
        """Runs a DuckDB query over the tables ``sessions events calls file_changes problems``; ``tables.COLUMNS`` lists their columns.

        Raises ``TraceError`` for an invalid query, and where DuckDB or pyarrow is not installed.
        """
        return self._database.query(query)

    def search(self, text: str, limit: int = 50) -> tuple[Hit, ...]:
        """Returns the first events and calls that contain these words, in reading order. Text that looks like code is matched literally.

        ``"two words"`` matches a phrase, ``begin*`` the beginning of a word. Case is ignored.
        """
        return self.searcher.find(text, limit)

    def to_notebook(self, path: str | Path) -> Path:
        """Writes a notebook of the trace: each call is a cell that can be run, with the recorded result as its output.

        Returns its path. An existing file is never overwritten; the next free name beside it is used.
        """
        written: Path = extension("traces.write_notebook")(self, path)
        return written

    @cached_property
    def _database(self) -> Database:
        return open_database(self._tables)

    @cached_property
    def searcher(self) -> Searcher:
        """The search index over events and calls; it is filled on the first search."""
        return Searcher(self.events, self.calls)

    @property
    def _tables(self) -> dict[str, Rows[Any]]:
        names = ("sessions", "events", "calls", "file_changes", "problems")
        return {name: getattr(self, name) for name in names}

    def __repr__(self) -> str:
        return f"<Trace of {len(self.sessions)} sessions, {len(self.calls)} calls>"


def load(path: str | Path) -> Trace:
    """Loads the log at ``path`` with the files that belong to it.

    Raises ``TraceError`` where it cannot be opened, its format is not known, or it contains nothing that the reader of its format knows.
    """
    trace = Trace([open_log(Path(path).expanduser())])
    if any(problem.why == NO_KNOWN_STEPS for problem in trace.problems):
        raise TraceError(
            f"{path} is read as {trace.readings[0].format.name}, but {NO_KNOWN_STEPS}. It may be empty, or of another version."
        )
    return trace


def load_many(paths: str | Path | Iterable[str | Path], *, workers: int = 1) -> Trace:
    """Loads several logs as one trace: paths, or a glob pattern (``**`` matches folders at any depth).

    A file that belongs to another log is not loaded twice.

    ``workers`` is the number of processes that read; more than one pays off from some hundred megabytes on. A script must then call this
    below ``if __name__ == "__main__":``.
    """
    found = open_logs(paths)
    return Trace(found, read_in_processes(workers, found) if min(workers, len(found)) > 1 else None)


def stream(path: str | Path) -> Iterator[Row]:
    """Yields the same rows one by one without storing them, for a log that is larger than memory. Calls come when their result is known."""
    return open_log(Path(path).expanduser()).rows()
