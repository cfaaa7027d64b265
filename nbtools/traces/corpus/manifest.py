"""The manifest of a corpus: which logs it contains, from which bytes, in which parts.

A part that is not listed does not count.
"""

from __future__ import annotations

import fcntl
import json
import os
import sqlite3
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from nbtools.core.errors import TraceError
from nbtools.traces.corpus.plan import Log
from nbtools.traces.query import text_index

VERSION = 3
"""Version of these tables and of the contents of parts; a corpus of another version cannot be opened."""
_TABLES = """
create table if not exists logs(
  path text primary key, files text not null, key text not null, size integer not null, format text not null, why text not null,
  rows text not null, part text not null
);
create index if not exists logs_of_key on logs(key);
create table if not exists dead(part text not null, path text not null, primary key (part, path)) without rowid;
create table if not exists documents(
  id integer primary key autoincrement, key text not null, kind text not null, session text not null, seq integer not null
);
create index if not exists documents_of_key on documents(key);
create table if not exists texts(id integer primary key, text blob not null)
"""
"""``rows``: the number of rows in each table that come from this log. ``dead``: logs whose outdated rows are still in a part that they
share with others. ``documents``: what the numbers of the search index stand for; a number is never reused, because the index keeps the
numbers of removed texts. ``texts``: the indexed texts, compressed.
"""


@dataclass(frozen=True)
class Part:
    """A folder below ``parts``: its logs, their size in bytes, its tables, and the logs whose rows in it are outdated (``dead``)."""

    name: str
    logs: tuple[str, ...]
    size: int
    tables: frozenset[str]
    dead: tuple[str, ...]


@contextmanager
def _open_lock(folder: Path) -> Iterator[None]:
    """Locks ``folder`` so that one process at a time opens its database, where the file system supports locks.

    SQLite's own timeout is not enough: two processes that create a database fail when both change its journal mode.
    """
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        with suppress(OSError):
            fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        os.close(descriptor)


class Manifest:
    """The database ``corpus.sqlite``, which also has the search index. It is opened read-only where it cannot be written to.

    Raises ``TraceError`` where the file is not a database, or has another version.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        try:
            with _open_lock(folder):
                self.connection = self._open(folder / "corpus.sqlite")
        except sqlite3.Error as error:
            raise TraceError(f"{folder} cannot be used as a corpus: {error}.") from error

    def _open(self, file: Path) -> sqlite3.Connection:
        connection = sqlite3.connect(file, timeout=60, isolation_level=None, check_same_thread=False)
        try:
            self._prepare(connection)
        except sqlite3.OperationalError:
            connection.close()
            if not file.exists() or _writable(file):
                raise
            connection = sqlite3.connect(f"{file.as_uri()}?immutable=1", uri=True, isolation_level=None, check_same_thread=False)
            self._check_version(connection)
        except BaseException:
            connection.close()
            raise
        return connection

    def _prepare(self, connection: sqlite3.Connection) -> None:
        connection.execute("pragma journal_mode = wal")
        connection.execute("pragma synchronous = normal")
        connection.execute("pragma wal_autocheckpoint = 10000")  # pages: an ingest writes much and should rarely wait for the disk
        connection.execute("pragma cache_size = -64000")  # KiB: the index is merged in memory
        connection.execute("begin immediate")  # two processes that create it wait for each other
        try:
            self._check_version(connection)
            for statement in _TABLES.split(";\n"):
                connection.execute(statement)
            connection.execute(f"pragma user_version = {VERSION}")
        finally:
            connection.execute("commit")
        text_index.prepare(connection)

    def _check_version(self, connection: sqlite3.Connection) -> None:
        version = connection.execute("pragma user_version").fetchone()[0]
        empty = connection.execute("select count(*) from sqlite_master").fetchone()[0] == 0
        if version != VERSION and not (version == 0 and empty):
            age = "a newer" if version > VERSION else "an older"
            message = f"{self._folder} is a corpus of {age} nbtools with other tables. Ingest the logs into a new folder."
            raise TraceError(message)

    def logs(self) -> dict[str, Log]:
        return {log.path: log for log, _, _ in self._entries()}

    def counts(self) -> tuple[int, int]:
        """Returns the number of logs in the corpus, and their total size in bytes."""
        number, size = self.connection.execute("select count(*), coalesce(sum(size), 0) from logs where part != ''").fetchone()
        return int(number), int(size)

    def parts(self) -> dict[str, Part]:
        """Returns the parts by name."""
        dead: dict[str, list[str]] = {}
        for part, path in self.connection.execute("select part, path from dead order by path"):
            dead.setdefault(part, []).append(path)
        found: dict[str, list[tuple[Log, Mapping[str, int]]]] = {}
        for log, rows, part in self._entries():
            if part:
                found.setdefault(part, []).append((log, rows))
        return {name: _part(name, logs, dead.get(name, ())) for name, logs in found.items()}

    def has(self, path: str) -> bool:
        return self.connection.execute("select 1 from logs where path = ?", (path,)).fetchone() is not None

    def has_rows(self, path: str) -> bool:
        return self.connection.execute("select 1 from logs where path = ? and part != ''", (path,)).fetchone() is not None

    def locate(self, key: str) -> tuple[str, str] | None:
        """Returns path and part of the log with this key."""
        found = self.connection.execute("select path, part from logs where key = ?", (key,)).fetchone()
        return None if found is None else (str(found[0]), str(found[1]))

    def version(self) -> tuple[int, ...]:
        """Returns a value that is different after every change, by any process."""
        return (*self.connection.execute("pragma data_version").fetchone(), self.connection.total_changes)

    @contextmanager
    def transaction(self) -> Iterator[sqlite3.Connection]:
        """Runs its body as a transaction."""
        self.connection.execute("begin immediate")
        try:
            yield self.connection
            self.connection.execute("commit")
        except BaseException:
            if self.connection.in_transaction:  # SQLite ends it itself where the disk is full
                self.connection.execute("rollback")
            raise

    def put(self, log: Log, rows: Mapping[str, int], part: str) -> None:
        """Stores a log and the part that contains its rows, replacing its previous entry. Call within a ``transaction``."""
        self.drop([log.path])
        values = (log.path, json.dumps(log.files), log.key, log.size, log.format, log.why, json.dumps(rows), part)
        self.connection.execute("insert into logs values (?, ?, ?, ?, ?, ?, ?, ?)", values)
        self.connection.execute("delete from dead where part = ? and path = ?", (part, log.path))

    def drop(self, paths: Sequence[str]) -> None:
        """Removes logs and their texts. Call within a ``transaction``."""
        for path in paths:
            self.connection.execute("insert or ignore into dead select part, path from logs where path = ? and part != ''", (path,))
            of_log = "key in (select key from logs where path = ?)"
            self.connection.execute(f"delete from texts where id in (select id from documents where {of_log})", (path,))  # noqa: S608 - constant text
            self.connection.execute(f"delete from documents where {of_log}", (path,))  # noqa: S608 - as above
            self.connection.execute("delete from logs where path = ?", (path,))

    def move(self, paths: Iterable[str], part: str) -> None:
        """Records that the rows of these logs are in another part now. Call within a ``transaction``."""
        self.connection.executemany("update logs set part = ? where path = ?", ((part, path) for path in paths))

    def remove_unused_entries(self) -> None:
        """Removes the entries about parts that no longer exist. Call within a ``transaction``."""
        self.connection.execute("delete from dead where part not in (select part from logs)")

    def checkpoint(self) -> None:
        """Moves the contents of the write-ahead log into the database, as far as no other process is reading."""
        self.connection.execute("pragma wal_checkpoint(truncate)")

    def close(self) -> None:
        self.connection.close()

    def _entries(self) -> Iterator[tuple[Log, Mapping[str, int], str]]:
        query = "select path, files, key, size, format, why, rows, part from logs order by path"
        for path, files, key, size, name, why, rows, part in self.connection.execute(query):
            yield Log(path, tuple(json.loads(files)), key, size, name, why), json.loads(rows), part


def _part(name: str, logs: Sequence[tuple[Log, Mapping[str, int]]], dead: Iterable[str]) -> Part:
    tables = frozenset(table for _, rows in logs for table in rows)
    return Part(name, tuple(log.path for log, _ in logs), sum(log.size for log, _ in logs), tables, tuple(dead))


def _writable(file: Path) -> bool:
    try:
        with file.open("ab"):
            return True
    except OSError:
        return False
