"""Writes logs as parts: folders of Parquet files, one for each table with rows.

A log's own part is named after the log's key. Small parts are merged, because a query opens every file.
"""

from __future__ import annotations

import errno
import os
import shutil
import uuid
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from nbtools.traces.corpus.manifest import Part
from nbtools.traces.corpus.parallel import batches
from nbtools.traces.corpus.plan import Log
from nbtools.traces.corpus.search_index import DocumentWriter
from nbtools.traces.model import ContextPart, Problem, Session
from nbtools.traces.optional_libraries import import_library
from nbtools.traces.query.tables import TABLES, TEXTS, record_batch, schema, texts_of
from nbtools.traces.reader import LogFile, open_log
from nbtools.traces.usage.context import ContextBuilder

_ROWS = 1_000
_BUFFER_CHARACTERS = 8 << 20
"""Rows are buffered until there are this many, or until their texts have this many characters."""
_DISK_FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EROFS)
_NAMES = {kind: name for name, kind in TABLES.items()}


@dataclass(frozen=True)
class PartWritten:
    """The number of rows in each table of a log's part."""

    rows: Mapping[str, int]


@dataclass(frozen=True)
class DiskFull:
    """The disk is full or not writable, which is not the log's fault."""

    why: str


@dataclass(frozen=True)
class WritePart:
    """Reads a log and writes its part below ``folder``.

    The part is written under a temporary name first, so a part with its final name is complete.
    """

    folder: str

    def __call__(self, log: Log) -> PartWritten | DiskFull:
        try:
            with complete_folder(Path(self.folder), log.key) as temporary:
                return _write(open_log(Path(log.path)), temporary)
        except OSError as error:
            if error.errno in _DISK_FULL:
                return DiskFull(os.strerror(error.errno))
            raise


@contextmanager
def complete_folder(folder: Path, name: str) -> Iterator[Path]:
    """Yields a temporary folder, which gets its final name when everything is written."""
    target = folder / name
    temporary = folder / f".{name}-{uuid.uuid4().hex}"
    try:
        temporary.mkdir(parents=True)
        yield temporary
        shutil.rmtree(target, ignore_errors=True)  # left by an ingest that was stopped before it updated the manifest
        temporary.rename(target)
    finally:
        shutil.rmtree(temporary, ignore_errors=True)


def delete_unused_parts(folder: Path, parts: Collection[str]) -> None:
    """Deletes folders that are not part of the corpus: those of interrupted ingests, and parts of logs that have changed or gone."""
    for entry in os.scandir(folder) if folder.is_dir() else ():
        if entry.name not in parts:
            shutil.rmtree(entry.path, ignore_errors=True)


def _write(log_file: LogFile, folder: Path) -> PartWritten:
    with ExitStack() as stack:
        documents = DocumentWriter(folder, stack)
        tables = {kind: _Table(kind, log_file, folder, stack, documents) for kind in TABLES.values()}
        problems = tables[Problem]
        context = ContextBuilder()
        for row in log_file.rows():
            tables[type(row)].add(row, problems)
            context.add(row)
            for part in context.take(row.id) if isinstance(row, Session) else ():
                tables[ContextPart].add(part, problems)
        for table in tables.values():
            table.flush(problems)
        problems.flush(problems)
    return PartWritten({_NAMES[kind]: table.count for kind, table in tables.items() if table.count})


@dataclass
class _Table:
    """A Parquet file that is being written; it is created with the first row."""

    kind: type
    reading: LogFile
    folder: Path
    stack: ExitStack
    documents: DocumentWriter
    count: int = 0
    characters: int = 0
    rows: list[Any] = field(default_factory=list)
    writer: Any = None

    def add(self, row: Any, problems: _Table) -> None:
        self.rows.append(row)
        self.characters += getattr(row, "result_size", 0) + getattr(row, "size", 0)
        if len(self.rows) >= _ROWS or self.characters >= _BUFFER_CHARACTERS:
            self.flush(problems)

    def flush(self, problems: _Table) -> None:
        if not self.rows:
            return
        if self.writer is None:
            path = str(self.folder / f"{_NAMES[self.kind]}.parquet")
            self.writer = self.stack.enter_context(parquet_writer(path, self.kind))
        rows, self.rows, self.characters = self.rows, [], 0
        columns = record_batch(rows, self.kind, [self.reading] * len(rows), _TextReader(problems))
        self.writer.write_batch(columns)
        self.documents.add(columns, self.kind)
        self.count += len(rows)


def parquet_writer(path: str, kind: type) -> Any:
    """Returns a ``pyarrow.parquet.ParquetWriter`` for rows of this type."""
    return import_library("pyarrow.parquet").ParquetWriter(path, schema(kind), compression="zstd")


@dataclass(frozen=True)
class _TextReader:
    """Reads the texts of rows; a text that cannot be read is a problem of its row, not of the whole log."""

    problems: _Table

    def __call__(self, row: Any, read: LogFile | None) -> Sequence[str | None]:
        try:
            return texts_of(row, read)
        except Exception as error:  # noqa: BLE001 - concerns one row; reported with its position
            self.problems.rows.append(Problem(row.ref, f"The texts of this row cannot be read: {type(error).__name__}: {error}"))
            return [None] * len(TEXTS[type(row)])


LARGEST_PART = 256 << 20
"""Maximum bytes of logs in a merged part; a part with half of it is not merged again."""
MAX_SMALL_PARTS = 24
"""Number of small parts up to which nothing is merged."""
_GROUP_BYTES = 16 << 20
"""Bytes of columns that are written as one group: larger groups are read faster, but one must fit into memory."""


@dataclass(frozen=True)
class MergeJob:
    """A part to be merged from others. ``size`` is the total size of its logs in bytes."""

    parts: tuple[Part, ...]

    @property
    def size(self) -> int:
        return sum(part.size for part in self.parts)

    @property
    def logs(self) -> Iterator[str]:
        return (log for part in self.parts for log in part.logs)


@dataclass(frozen=True)
class MergeParts:
    """Writes the rows of parts below ``folder`` into a new part, without those of logs that have changed or gone, and returns its name."""

    folder: str

    def __call__(self, merged: MergeJob) -> str:
        name = uuid.uuid4().hex
        with complete_folder(Path(self.folder), name) as temporary:
            for table, kind in TABLES.items():
                with_table = [part for part in merged.parts if table in part.tables]
                if with_table:
                    _write_merged(temporary / f"{table}.parquet", kind, (rows for part in with_table for rows in self._rows(part, table)))
        return name

    def _rows(self, part: Part, table: str) -> Iterator[Any]:
        with import_library("pyarrow.parquet").ParquetFile(Path(self.folder) / part.name / f"{table}.parquet") as file:
            for rows in file.iter_batches(_ROWS):
                yield _without_dead(rows, part.dead) if part.dead else rows


def plan_merges(parts: Mapping[str, Part]) -> list[MergeJob]:
    """Returns the merges to do for these parts; none while there are few small ones."""
    small = [part for part in parts.values() if part.size < LARGEST_PART // 2 or _is_mostly_dead(part)]
    if len(small) <= MAX_SMALL_PARTS and not any(_is_mostly_dead(part) for part in small):
        return []
    return [MergeJob(tuple(batch)) for batch in batches(small, LARGEST_PART) if len(batch) > 1 or _is_mostly_dead(batch[0])]


def _is_mostly_dead(part: Part) -> bool:
    """Returns whether most of the part's rows are of logs that have changed or gone."""
    return len(part.dead) > len(part.logs)


def _without_dead(rows: Any, dead: Sequence[str]) -> Any:
    pa = import_library("pyarrow")
    compute = import_library("pyarrow.compute")
    return rows.filter(compute.invert(compute.is_in(rows.column("source"), value_set=pa.array(dead, pa.string()))))


def _write_merged(path: Path, kind: type, batches_of_rows: Iterable[Any]) -> None:
    with parquet_writer(str(path), kind) as writer:
        for group in _groups(batches_of_rows):
            writer.write_table(import_library("pyarrow").Table.from_batches(group))


def _groups(batches_of_rows: Iterable[Any]) -> Iterator[list[Any]]:
    group: list[Any] = []
    size = 0
    for rows in batches_of_rows:
        group.append(rows)
        size += rows.nbytes
        if size >= _GROUP_BYTES:
            yield group
            group, size = [], 0
    if group:
        yield group
