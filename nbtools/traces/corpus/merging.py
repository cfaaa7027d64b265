"""Parts of few logs, made one: a query opens every file, so there may not be as many of them as there are logs."""

from __future__ import annotations

import uuid
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from nbtools.traces.corpus.manifest import Part
from nbtools.traces.corpus.mapping import batches
from nbtools.traces.corpus.parts import made, parquet
from nbtools.traces.libraries import library
from nbtools.traces.tables import TABLES

LARGEST = 256 << 20
"""Bytes of logs in a part that is merged from others; with half of it a part is left as it is."""
MOST = 24
"""Parts that are smaller than that."""
_TEXT = 16 << 20
"""Bytes of columns that are written together: larger groups are read faster, and memory holds one."""
_ROWS = 1_000


@dataclass(frozen=True)
class Merged:
    """A part to be made of others.  ``size`` is what its logs are, in bytes."""

    parts: tuple[Part, ...]

    @property
    def size(self) -> int:
        return sum(part.size for part in self.parts)

    @property
    def logs(self) -> Iterator[str]:
        return (log for part in self.parts for log in part.logs)


@dataclass(frozen=True)
class Merge:
    """Writes the rows of parts below ``folder`` into a new one, without those of logs that have changed or gone; its name comes back."""

    folder: str

    def __call__(self, merged: Merged) -> str:
        name = uuid.uuid4().hex
        with made(Path(self.folder), name) as beside:
            for table, kind in TABLES.items():
                having = [part for part in merged.parts if table in part.tables]
                if having:
                    _write(beside / f"{table}.parquet", kind, (rows for part in having for rows in self._rows(part, table)))
        return name

    def _rows(self, part: Part, table: str) -> Iterator[Any]:
        with library("pyarrow.parquet").ParquetFile(Path(self.folder) / part.name / f"{table}.parquet") as file:
            for rows in file.iter_batches(_ROWS):
                yield _living(rows, part.dead) if part.dead else rows


def to_merge(parts: Mapping[str, Part]) -> list[Merged]:
    """What is to be made of these parts; nothing as long as few of them are small."""
    small = [part for part in parts.values() if part.size < LARGEST // 2 or _waste(part)]
    if len(small) <= MOST and not any(_waste(part) for part in small):
        return []
    return [Merged(tuple(batch)) for batch in batches(small, LARGEST) if len(batch) > 1 or _waste(batch[0])]


def _waste(part: Part) -> bool:
    """Most of its logs have changed or gone."""
    return len(part.dead) > len(part.logs)


def _living(rows: Any, dead: Sequence[str]) -> Any:
    pa = library("pyarrow")
    compute = library("pyarrow.compute")
    return rows.filter(compute.invert(compute.is_in(rows.column("source"), value_set=pa.array(dead, pa.string()))))


def _write(path: Path, kind: type, batches_of_rows: Iterable[Any]) -> None:
    with parquet(str(path), kind) as writer:
        for group in _groups(batches_of_rows):
            writer.write_table(library("pyarrow").Table.from_batches(group))


def _groups(batches_of_rows: Iterable[Any]) -> Iterator[list[Any]]:
    group: list[Any] = []
    size = 0
    for rows in batches_of_rows:
        group.append(rows)
        size += rows.nbytes
        if size >= _TEXT:
            yield group
            group, size = [], 0
    if group:
        yield group
