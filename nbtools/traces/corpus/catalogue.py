"""The catalogue of a corpus: an SQLite file that says which logs the corpus has, from which bytes,
and in which part their rows are.

A part is a folder under a new name whose files do not change. It is written first, then the rows of its logs
are changed in one transaction, then parts that no row names are deleted. So any number of processes may
ingest at once, and one that is killed leaves only parts that no row names.
"""

from __future__ import annotations

import fcntl
import os
import re
import shutil
import sqlite3
import time
import weakref
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from threading import RLock
from typing import Annotated

import msgspec
from msgspec import Meta, Struct
from msgspec.structs import astuple

from nbtools.core.decoders import converted
from nbtools.core.errors import TraceError
from nbtools.storage.database import OtherVersionError, open_database, transaction

VERSION = 3
"""Version of the tables and of the contents of parts; a corpus of another version cannot be opened."""
PARTS = "parts"
DAMAGED = "A part of the corpus is damaged. Run ingest again: it reads the logs of damaged parts again."
_FILE = "catalogue.sqlite"
_FORMER_FILES = ("corpus.sqlite", "manifest/*.json.gz")
"""Files of corpora of former versions."""
_TIMEOUT = 60.0
"""Seconds to wait for another process's transaction, which takes milliseconds."""
_PART = re.compile(r"\.?[0-9a-f]{32}")
_TABLES = """
create table if not exists logs(
  path text primary key, files text not null, key text not null, size integer not null, format text not null,
  why text not null, part text not null, read integer not null
) without rowid;
create table if not exists parts(
  name text primary key, logs text not null, files text not null
) without rowid;
"""
_PUT = """
insert into logs values (?, ?, ?, ?, ?, ?, ?, ?) on conflict (path) do update set
  files = excluded.files, key = excluded.key, size = excluded.size, format = excluded.format,
  why = excluded.why, part = excluded.part, read = excluded.read
where logs.read <= excluded.read and (excluded.key <> '' or logs.part = '')
"""
"""Of two readings of a log, the later one counts, whichever is stored first. One that failed, which has no
key, changes nothing where there are rows of an earlier one.
"""
_REMOVE = "update logs set key = '', why = '', part = '', read = ? where path = ? and read <= ?"
_UNUSED = "select name from parts where name not in (select part from logs)"


class Log(Struct, frozen=True, array_like=True):
    """A log: its files, itself first, and a key of their state; none where reading it failed. ``why`` is the
    reason why it cannot be read. ``part`` has its rows, from the reading that began at ``read`` (nanoseconds
    since 1970).
    """

    path: str
    files: tuple[str, ...]
    key: str
    size: int
    format: str
    why: str = ""
    # A catalogue may come from someone else, so no other name is read or deleted.
    part: Annotated[str, Meta(pattern=r"^([0-9a-f]{32})?\Z")] = ""
    read: int = 0


@dataclass(frozen=True)
class Part:
    """A part: the paths of the logs that it was written with, its files with their sizes in bytes,
    and the logs of which it has the current rows.
    """

    name: str
    paths: Sequence[str]
    files: Mapping[str, int]
    logs: Sequence[Log]

    @property
    def outdated(self) -> list[str]:
        """The paths of the logs of which it has rows that do not count any more."""
        return sorted(set(self.paths) - {log.path for log in self.logs})


class Catalogue:
    """The catalogue of the corpus in ``folder``, as ``refresh`` read it last. Thread-safe.

    Raises ``TraceError`` where it cannot be read, or is of another version.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.version = 0
        """Grows with every change that ``refresh`` has read."""
        self.logs: Mapping[str, Log] = {}
        self.parts: Mapping[str, Part] = {}
        """The parts that have current rows."""
        self._seen: object = None
        self._lock = RLock()
        self._connection: sqlite3.Connection | None = None
        self.refresh()

    def close(self) -> None:
        """Closes the file; it is opened again when it is needed."""
        with self._lock:
            if self._connection is not None:
                self._connection.close()
            self._connection = self._seen = None

    def refresh(self) -> None:
        """Reads what has changed, in this process or another. Raises ``TraceError``."""
        with self._lock, self._damage():
            connection = self._connected()
            # data_version changes with commits of other connections, total_changes with those of this one.
            seen = connection.total_changes, connection.execute("pragma data_version").fetchone()
            if seen == self._seen:
                return
            connection.execute("begin")
            try:
                rows = connection.execute("select * from logs where key <> '' or why <> ''").fetchall()
                parts = connection.execute("select * from parts").fetchall()
            finally:
                connection.rollback()
            logs = [
                converted((path, msgspec.json.decode(files, type=list[str]), *values), Log)
                for path, files, *values in rows
            ]
            by_part: dict[str, list[Log]] = {}
            for log in logs:
                by_part.setdefault(log.part, []).append(log)
            self.parts = {
                name: Part(
                    name,
                    msgspec.json.decode(paths, type=list[str]),
                    msgspec.json.decode(files, type=dict[str, int]),
                    by_part[name],
                )
                for name, paths, files in parts
                if name in by_part
            }
            self.logs = {log.path: log for log in logs}
            self._seen, self.version = seen, self.version + 1

    @property
    def sizes(self) -> list[int]:
        """The sizes in bytes of the logs with rows."""
        return [log.size for log in self.logs.values() if log.part]

    def put(
        self, logs: Iterable[Log], part: tuple[str, Sequence[str], Mapping[str, int]] | None = None
    ) -> None:
        """Adds or replaces logs; ``part`` are name, paths and files of a new part with their rows."""
        rows = [
            (path, msgspec.json.encode(files).decode(), *values)
            for path, files, *values in map(astuple, logs)
        ]
        with self._transaction() as connection:
            if part is not None:
                name, *contents = part
                texts = (msgspec.json.encode(one).decode() for one in contents)
                connection.execute("insert into parts values (?, ?, ?)", (name, *texts))
            connection.executemany(_PUT, rows)

    def remove(self, paths: Iterable[str], read: int) -> None:
        """Removes logs, unless another process has read them after ``read``."""
        # A row without key and reason stays until no process ingests: one that read the log earlier must not
        # add it again.
        with self._transaction() as connection:
            connection.executemany(_REMOVE, [(read, path, read) for path in paths])

    def remove_unused_parts(self) -> None:
        """Deletes the parts that have no current rows."""
        with self._transaction() as connection:
            names = [name for (name,) in connection.execute(_UNUSED)]
            connection.executemany("delete from parts where name = ?", [(name,) for name in names])
        for name in names:
            if _PART.fullmatch(name):
                shutil.rmtree(self.folder / PARTS / name, ignore_errors=True)

    @contextmanager
    def ingesting(self) -> Iterator[None]:
        """Marks that this process ingests.
        First removes the parts that killed processes left, if no other process ingests.
        """
        parts = self.folder / PARTS
        descriptor = os.open(parts, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            # A process with the shared lock may be writing parts that no row names yet.
            with suppress(OSError):  # another process ingests, or a file system without locks
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
                with self._transaction() as connection:
                    connection.execute("delete from logs where key = '' and why = ''")
                known = {name for (name,) in self._connected().execute("select name from parts")}
                for entry in os.scandir(parts):
                    if _PART.fullmatch(entry.name) and entry.name not in known:
                        shutil.rmtree(entry.path, ignore_errors=True)
            with suppress(OSError):
                fcntl.flock(descriptor, fcntl.LOCK_SH)
            yield
        finally:
            os.close(descriptor)

    def next_reading(self) -> int:
        """Returns the time now, later than every reading so far even where a clock was put back."""
        return max(time.time_ns(), max((log.read for log in self.logs.values()), default=0) + 1)

    def damaged_parts(self) -> set[str]:
        """Returns the parts that are not listed, or whose files are missing or have another size than when
        they were written. Files that others add, such as a file manager, are no damage.
        """
        damaged = {name for name in self._named_parts() if not self._is_whole(name)}
        if damaged:
            self.refresh()  # a part that another process has just replaced is no longer named
        return damaged & self._named_parts()

    def _named_parts(self) -> set[str]:
        return {log.part for log in self.logs.values() if log.part}

    def _is_whole(self, name: str) -> bool:
        return name in self.parts and self.parts[name].files.items() <= self._files(name).items()

    def _files(self, part: str) -> dict[str, int]:
        try:
            return {entry.name: entry.stat().st_size for entry in os.scandir(self.folder / PARTS / part)}
        except (FileNotFoundError, NotADirectoryError):
            return {}

    def _connected(self) -> sqlite3.Connection:
        if self._connection is not None:
            return self._connection
        if any(next(self.folder.glob(name), None) for name in _FORMER_FILES):
            raise _other_version(self.folder, "an older")
        try:
            (self.folder / PARTS).mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise TraceError(f"{self.folder}: {error.strerror or error}.") from error
        with self._damage():
            try:
                connection = open_database(self.folder / _FILE, VERSION, _TABLES, _TIMEOUT)
            except OtherVersionError as error:
                age = "a newer" if error.version > VERSION else "an older"
                raise _other_version(self.folder, age) from error
            # In a catalogue from someone else, a view could have endless rows.
            if connection.execute("select 1 from sqlite_master where type in ('view', 'trigger')").fetchone():
                connection.close()
                raise TraceError(f"{self.folder / _FILE} has views or triggers, which no ingest makes.")
        weakref.finalize(self, connection.close)
        self._connection = connection
        return connection

    @contextmanager
    def _transaction(self) -> Iterator[sqlite3.Connection]:
        # An OperationalError says that the folder cannot be written to.
        with self._lock, self._damage(sqlite3.OperationalError):
            connection = self._connected()
            with transaction(connection):
                yield connection

    @contextmanager
    def _damage(self, *others: type[Exception]) -> Iterator[None]:
        """Converts errors of the database but ``others``."""
        try:
            yield
        except others:
            raise
        except (sqlite3.Error, msgspec.MsgspecError) as error:
            raise TraceError(
                f"{self.folder / _FILE} cannot be read: {error}. If it is damaged, ingest the logs into a new"
                " folder."
            ) from error


def _other_version(folder: Path, age: str) -> TraceError:
    return TraceError(
        f"{folder} is a corpus of {age} nbtools with other tables. Ingest the logs into a new folder."
    )
