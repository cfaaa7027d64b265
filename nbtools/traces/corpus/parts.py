"""Writes logs as parts: Parquet files, one for each table with rows, and a search index.

A part has the rows of a batch of logs, not of one log: DuckDB opens every file of a table for every query,
which takes about 0.4 ms a log.
"""

from __future__ import annotations

import errno
import heapq
import os
import shutil
import uuid
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Self

from nbtools.core.errors import TraceError
from nbtools.traces.corpus.catalogue import PARTS, Log
from nbtools.traces.corpus.search_index import IndexWriter
from nbtools.traces.formats import open_log
from nbtools.traces.model import NOWHERE, ContextPart, Problem, Session
from nbtools.traces.optional_libraries import import_library
from nbtools.traces.query.tables import CORPUS_TABLES, TEXTS, record_batch, schema, texts_of
from nbtools.traces.reader import LogFile
from nbtools.traces.reviews.record_hashes import SessionStarts
from nbtools.traces.reviews.records import SessionStart, Signal
from nbtools.traces.reviews.signals import SignalBuilder
from nbtools.traces.usage.context import ContextBuilder

_ROWS = 1_000
_BUFFER_CHARACTERS = 8 << 20
"""Rows are buffered until there are this many, or until their texts have this many characters."""
_GROUP_BYTES = 16 << 20
"""Bytes of columns that are written as one group:
larger groups are read faster, but one must fit into memory.
"""
_DISK_FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EROFS)
_NAMES = {kind: name for name, kind in CORPUS_TABLES.items()}


@dataclass(frozen=True)
class PartWritten:
    """A part: its files with their sizes, the number of rows in each table by log,
    and the logs that could not be read, with the reason.
    """

    name: str
    files: Mapping[str, int]
    rows: Mapping[str, Mapping[str, int]]
    failures: Mapping[str, str]


@dataclass(frozen=True)
class NotStored:
    """The corpus cannot be written to, which is not the logs' fault."""

    why: str


@dataclass(frozen=True)
class Batch:
    """Logs that are written into one part."""

    logs: tuple[Log, ...]

    @property
    def size(self) -> int:
        return sum(log.size for log in self.logs)


@dataclass(frozen=True)
class WritePart:
    """Reads the logs of a batch and writes them as a part of the corpus in ``folder``."""

    folder: Path

    def __call__(self, batch: Batch) -> PartWritten | NotStored:
        name = uuid.uuid4().hex
        # The reverse of the order in which a search finds them.
        logs = sorted(batch.logs, key=lambda log: log.path, reverse=True)
        try:
            with _new_part(self.folder / PARTS, name) as folder:
                rows, failures = _write(logs, folder)
                files = {entry.name: entry.stat().st_size for entry in os.scandir(folder)}
        except TraceError as error:
            return NotStored(str(error))
        except OSError as error:
            if error.errno not in _DISK_FULL:
                raise
            return NotStored(f"{self.folder} cannot be written to: {error}.")
        return PartWritten(name, files, rows, failures)


@contextmanager
def _new_part(parts: Path, name: str) -> Iterator[Path]:
    """Yields a temporary folder, which becomes the part ``name`` at the end."""
    temporary = parts / f".{name}"
    try:
        temporary.mkdir(parents=True)
        yield temporary
        temporary.rename(parts / name)
    finally:
        shutil.rmtree(temporary, ignore_errors=True)


def _write(logs: Iterable[Log], folder: Path) -> tuple[dict[str, dict[str, int]], dict[str, str]]:
    rows: dict[str, dict[str, int]] = {}
    failures: dict[str, str] = {}
    with ExitStack() as stack:
        index = stack.enter_context(closing(IndexWriter(folder)))
        files = {kind: stack.enter_context(TableFile(folder, kind)) for kind in CORPUS_TABLES.values()}
        for log in logs:
            index.start_log(log.path)
            try:
                rows[log.path] = _write_log(open_log(Path(log.path)), files, index)
            except Exception as error:
                if isinstance(error, OSError) and error.errno in _DISK_FULL:
                    raise
                failures[log.path] = f"{type(error).__name__}: {error}"
    return rows, failures


def _write_log(log_file: LogFile, files: Mapping[type, TableFile], index: IndexWriter) -> dict[str, int]:
    tables = {kind: _Table(kind, log_file, files[kind], index) for kind in CORPUS_TABLES.values()}
    problems = tables[Problem]
    context, signals, starts = ContextBuilder(), SignalBuilder(log_file), SessionStarts(log_file)
    for row in log_file.rows():
        tables[type(row)].add(row, problems)
        for builder in (context, signals, starts):
            builder.add(row)
        if isinstance(row, Session):
            for part in context.take(row.id):
                tables[ContextPart].add(part, problems)
            for part_of_session in filter(None, (row.sample, *row.metrics)):
                tables[type(part_of_session)].add(part_of_session, problems)
    for start in starts.take():
        tables[SessionStart].add(start, problems)
    try:
        for signal in signals.take():
            tables[Signal].add(signal, problems)
    except Exception as error:  # noqa: BLE001 - the rows of the log are still good; reported
        problems.rows.append(
            Problem(NOWHERE, f"The signals of this log are incomplete: {type(error).__name__}: {error}")
        )
    for table in tables.values():
        table.flush(problems)
    problems.flush(problems)
    return {_NAMES[kind]: table.count for kind, table in tables.items() if table.count}


@dataclass
class TableFile:
    """A Parquet file that is being written in large groups; it is created with the first rows."""

    folder: Path
    kind: type
    _group: list[Any] = field(default_factory=list)
    _size: int = 0
    _writer: Any = None

    def add(self, rows: Any) -> None:
        """Adds a ``pyarrow.RecordBatch``."""
        self._group.append(rows)
        self._size += rows.nbytes
        if self._size >= _GROUP_BYTES:
            self._flush()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, error: object, *_: object) -> None:
        if error is None:
            self._flush()
        if self._writer is not None:
            self._writer.close()

    def _flush(self) -> None:
        if not self._group:
            return
        if self._writer is None:
            path = str(self.folder / f"{_NAMES[self.kind]}.parquet")
            self._writer = import_library("pyarrow.parquet").ParquetWriter(
                path, schema(self.kind), compression="zstd"
            )
        self._writer.write_table(import_library("pyarrow").Table.from_batches(self._group, schema(self.kind)))
        self._group, self._size = [], 0


@dataclass
class _Table:
    """The rows of one type of a log that is being read."""

    kind: type
    reading: LogFile
    file: TableFile
    index: IndexWriter
    count: int = 0
    characters: int = 0
    rows: list[Any] = field(default_factory=list)

    def add(self, row: Any, problems: _Table) -> None:
        self.rows.append(row)
        self.characters += getattr(row, "result_size", 0) + getattr(row, "size", 0)
        if len(self.rows) >= _ROWS or self.characters >= _BUFFER_CHARACTERS:
            self.flush(problems)

    def flush(self, problems: _Table) -> None:
        if not self.rows:
            return
        rows, self.rows, self.characters = self.rows, [], 0
        columns = record_batch(rows, self.kind, [self.reading] * len(rows), _TextReader(problems))
        self.file.add(columns)
        self.index.add(columns, self.kind)
        self.count += len(rows)


@dataclass(frozen=True)
class _TextReader:
    """Reads the texts of rows; a text that cannot be read is a problem of its row, not of the whole log."""

    problems: _Table

    def __call__(self, row: Any, read: LogFile | None) -> Sequence[str | None]:
        try:
            return texts_of(row, read)
        except Exception as error:  # noqa: BLE001 - concerns one row; reported with its position
            self.problems.rows.append(
                Problem(row.ref, f"The texts of this row cannot be read: {type(error).__name__}: {error}")
            )
            return [None] * len(TEXTS[type(row)])


_BATCH_BYTES = (16 << 20, 128 << 20)
"""Smallest and largest size of a batch: its part should not have to be renewed soon,
and an interrupted batch is lost.
"""
_BATCHES_PER_WORKER = 4


def plan_batches(logs: Iterable[Log], workers: int) -> list[Batch]:
    """Returns batches of about the same size, a multiple of the number of workers where there are several,
    the largest first.
    """
    pending = sorted(logs, key=lambda log: log.size, reverse=True)
    smallest, largest = _BATCH_BYTES
    total = sum(log.size for log in pending)
    number = max(-(-total // largest), min(_BATCHES_PER_WORKER * workers, -(-total // smallest)))
    number = number if number <= 1 else -(-number // workers) * workers
    filled: list[tuple[int, int, list[Log]]] = [
        (0, batch, []) for batch in range(min(max(number, 1), len(pending)))
    ]
    for log in pending:
        size, batch, chosen = filled[0]
        chosen.append(log)
        heapq.heapreplace(filled, (size + log.size, batch, chosen))
    return [Batch(tuple(batch)) for _, _, batch in sorted(filled, reverse=True)]
