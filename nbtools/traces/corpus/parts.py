"""A log as Parquet files: a folder named after the log's key, one file a table that has rows."""

from __future__ import annotations

import errno
import os
import shutil
import uuid
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from nbtools.traces.corpus.documents import Documents
from nbtools.traces.corpus.planning import Log
from nbtools.traces.format import Reading, reading
from nbtools.traces.libraries import library
from nbtools.traces.model import Problem
from nbtools.traces.tables import TABLES, TEXTS, batch, schema, texts_of

_ROWS = 1_000
_CHARACTERS = 8 << 20
"""So many rows, or rows with so much text, are kept before they are written."""
_FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EROFS)
_NAMES = {kind: name for name, kind in TABLES.items()}


@dataclass(frozen=True)
class Written:
    """Rows of each table in the part of a log."""

    rows: Mapping[str, int]


@dataclass(frozen=True)
class Full:
    """There is no room for it: that is nothing of the log."""

    why: str


@dataclass(frozen=True)
class Write:
    """Reads a log and writes its part below ``folder``, beside it first: a part that has its name is whole."""

    folder: str

    def __call__(self, log: Log) -> Written | Full:
        try:
            with made(Path(self.folder), log.key) as beside:
                return _write(reading(Path(log.path)), beside)
        except OSError as error:
            if error.errno in _FULL:
                return Full(os.strerror(error.errno))
            raise


@contextmanager
def made(folder: Path, name: str) -> Iterator[Path]:
    """A folder beside that gets this name when all is written."""
    place = folder / name
    beside = folder / f".{name}-{uuid.uuid4().hex}"
    try:
        beside.mkdir(parents=True)
        yield beside
        shutil.rmtree(place, ignore_errors=True)  # left by an ingest that was stopped before it was noted
        beside.rename(place)
    finally:
        shutil.rmtree(beside, ignore_errors=True)


def swept(folder: Path, parts: Collection[str]) -> None:
    """Takes away what is no part of the corpus: left by what was stopped, and parts of what has changed or gone."""
    for entry in os.scandir(folder) if folder.is_dir() else ():
        if entry.name not in parts:
            shutil.rmtree(entry.path, ignore_errors=True)


def _write(read: Reading, folder: Path) -> Written:
    with ExitStack() as stack:
        documents = Documents(folder, stack)
        tables = {kind: _Table(kind, read, folder, stack, documents) for kind in TABLES.values()}
        problems = tables[Problem]
        for row in read.rows():
            tables[type(row)].add(row, problems)
        for table in tables.values():
            table.flush(problems)
        problems.flush(problems)
    return Written({_NAMES[kind]: table.count for kind, table in tables.items() if table.count})


@dataclass
class _Table:
    """A Parquet file on its way; it is made with the first row."""

    kind: type
    reading: Reading
    folder: Path
    stack: ExitStack
    documents: Documents
    count: int = 0
    characters: int = 0
    rows: list[Any] = field(default_factory=list)
    writer: Any = None

    def add(self, row: Any, problems: _Table) -> None:
        self.rows.append(row)
        self.characters += getattr(row, "result_size", 0) + getattr(row, "size", 0)
        if len(self.rows) >= _ROWS or self.characters >= _CHARACTERS:
            self.flush(problems)

    def flush(self, problems: _Table) -> None:
        if not self.rows:
            return
        if self.writer is None:
            path = str(self.folder / f"{_NAMES[self.kind]}.parquet")
            self.writer = self.stack.enter_context(parquet(path, self.kind))
        rows, self.rows, self.characters = self.rows, [], 0
        columns = batch(rows, self.kind, [self.reading] * len(rows), _Telling(problems))
        self.writer.write_batch(columns)
        self.documents.add(columns, self.kind)
        self.count += len(rows)


def parquet(path: str, kind: type) -> Any:
    """A ``pyarrow.parquet.ParquetWriter`` for rows of this type."""
    return library("pyarrow.parquet").ParquetWriter(path, schema(kind), compression="zstd")


@dataclass(frozen=True)
class _Telling:
    """Texts of rows; where they cannot be had, that is a problem of the row and not of the log."""

    problems: _Table

    def __call__(self, row: Any, read: Reading | None) -> Sequence[str | None]:
        try:
            return texts_of(row, read)
        except Exception as error:  # noqa: BLE001 - of one row; it is told with the bytes it was made of
            self.problems.rows.append(Problem(row.ref, f"its texts cannot be read: {type(error).__name__}: {error}"))
            return [None] * len(TEXTS[type(row)])
