"""The storage of a corpus: a folder, or a prefix of an object store (``s3://bucket/prefix``).

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
from typing import Any, NamedTuple, Protocol

from nbtools.core.errors import TraceError
from nbtools.traces.optional_libraries import import_library
from nbtools.traces.query.sql import Database

MANIFEST = "manifest"
PARTS = "parts"
LABELS = "labels"
_PART_FILE = re.compile(PARTS + r"/[0-9a-f]{32}/")
DAMAGED = "A part of the corpus is damaged. Run ingest again: it reads the logs of damaged parts again."


class Stored(NamedTuple):
    """Size of a stored file in bytes, and the time at which it was written, in seconds since 1970."""

    size: int
    modified: float


class Storage(Protocol):
    """The files of a corpus, by names such as ``parts/4f…/calls.parquet``.
    Raises ``TraceError`` where the storage cannot be used.
    """

    @property
    def address(self) -> str:
        """The folder or URL, for messages."""

    def files(self, folder: str) -> dict[str, Stored]:
        """Returns the files below ``folder`` by name."""

    def read(self, name: str) -> bytes:
        """Returns the contents of a file. Raises ``FileNotFoundError`` where it no longer exists."""

    def write(self, name: str, data: bytes) -> None:
        """Writes a file, completely or not at all."""

    def new_part(self, name: str) -> Any:
        """Context manager that yields a temporary local folder,
        whose files become the part ``name`` at the end.
        """

    def delete(self, names: Iterable[str]) -> None:
        """Deletes those of these files and folders that exist."""

    def local_file(self, name: str) -> Path:
        """Returns the path of a local file with these contents.
        Raises ``FileNotFoundError`` where it no longer exists.
        """

    def drop_copies(self, names: Iterable[str]) -> None:
        """Deletes the local copies of other files than these."""

    def source(self, name: str) -> tuple[str, Any]:
        """Returns path and file system of a file, as ``pyarrow`` takes them."""

    def relation(self, db: Database, names: Sequence[str], kind: type) -> str:
        """Returns SQL for the rows of these Parquet files, which have ``schema(kind)``."""

    def explain(self, error: str) -> str:
        """Returns what to do about an error message of a query."""


@dataclass(frozen=True)
class FolderStorage:
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

    def local_file(self, name: str) -> Path:
        return self.folder / name

    def drop_copies(self, names: Iterable[str]) -> None:
        pass  # local_file makes none

    def source(self, name: str) -> tuple[str, Any]:
        return str(self.folder / name), None

    def relation(self, db: Database, names: Sequence[str], kind: type) -> str:
        files = ", ".join(sql_literal(glob.escape(str(self.folder / name))) for name in names)
        return f"read_parquet([{files}], union_by_name = false)"

    def explain(self, error: str) -> str:
        return explain_damage(error)


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
    path, file_system = storage.source(name)
    filters = [(column, "==", value) for column, value in values.items()]
    table = import_library("pyarrow.parquet").read_table(
        path, filters=filters, partitioning=None, filesystem=file_system
    )
    rows: list[dict[str, Any]] = table.to_pylist()
    return rows
