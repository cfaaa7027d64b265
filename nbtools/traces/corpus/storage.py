"""The storage of a corpus: a folder.

Every file has a unique name, is written once and never changed,
so that processes that write at the same time need no lock.
"""

from __future__ import annotations

import glob
import os
import re
import shutil
import uuid
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from nbtools.core.errors import TraceError
from nbtools.traces.optional_libraries import import_library

MANIFEST = "manifest"
PARTS = "parts"
LABELS = "labels"
_PART_FILE = re.compile(PARTS + r"/[0-9a-f]{32}/")
DAMAGED = "A part of the corpus is damaged. Run ingest again: it reads the logs of damaged parts again."


class Stored(NamedTuple):
    """Size of a stored file in bytes, and the time at which it was written, in seconds since 1970."""

    size: int
    modified: float


@dataclass(frozen=True)
class Storage:
    """A corpus in a folder of this machine."""

    folder: Path

    @property
    def address(self) -> str:
        return str(self.folder)

    def create(self) -> None:
        """Creates the folder where it does not exist."""
        try:
            for name in (MANIFEST, PARTS, LABELS):
                (self.folder / name).mkdir(parents=True, exist_ok=True)
        except OSError as error:
            if not (self.folder / MANIFEST).is_dir():
                raise TraceError(f"{self.folder}: {error.strerror or error}.") from error

    def files(self, folder: str) -> dict[str, Stored]:
        return dict(_files(self.folder, folder))

    def read(self, name: str) -> bytes:
        return (self.folder / name).read_bytes()

    def write(self, name: str, data: bytes) -> None:
        target = self.folder / name
        temporary = target.with_name(f".{uuid.uuid4().hex}")
        try:
            with temporary.open("wb") as file:
                file.write(data)
                file.flush()
                os.fsync(file.fileno())
            temporary.rename(target)
        finally:
            temporary.unlink(missing_ok=True)

    @contextmanager
    def new_part(self, name: str) -> Iterator[Path]:
        temporary = self.folder / PARTS / f".{name}"
        try:
            temporary.mkdir(parents=True)
            yield temporary
            temporary.rename(self.folder / PARTS / name)
        finally:
            shutil.rmtree(temporary, ignore_errors=True)

    def delete(self, names: Iterable[str]) -> None:
        for name in names:
            path = self.folder / name
            if path.is_dir():
                shutil.rmtree(path, ignore_errors=True)  # another process may delete it too
            else:
                path.unlink(missing_ok=True)

    def relation(self, names: Sequence[str]) -> str:
        """Returns SQL for the rows of these Parquet files."""
        files = ", ".join(sql_literal(glob.escape(str(self.folder / name))) for name in names)
        return f"read_parquet([{files}], union_by_name = false)"


def explain_damage(error: str) -> str:
    """Adds what to do where the error message names a file of a part."""
    return f"{error}\n{DAMAGED}" if _PART_FILE.search(error) else error


def sql_literal(text: str) -> str:
    """Returns the text as an SQL string literal."""
    return "'" + text.replace("'", "''") + "'"


def _files(root: Path, folder: str) -> Iterator[tuple[str, Stored]]:
    try:
        entries = list(os.scandir(root / folder))
    except (FileNotFoundError, NotADirectoryError):
        return
    for entry in entries:
        name = f"{folder}/{entry.name}"
        if entry.is_dir(follow_symlinks=False):
            yield from _files(root, name)
            continue
        with suppress(FileNotFoundError):
            stat = entry.stat()
            yield name, Stored(stat.st_size, stat.st_mtime)


def read_rows(storage: Storage, name: str, values: Mapping[str, object]) -> list[dict[str, Any]]:
    """Returns the rows of a Parquet file that have these values."""
    filters = [(column, "==", value) for column, value in values.items()]
    table = import_library("pyarrow.parquet").read_table(
        storage.folder / name, filters=filters, partitioning=None
    )
    rows: list[dict[str, Any]] = table.to_pylist()
    return rows
