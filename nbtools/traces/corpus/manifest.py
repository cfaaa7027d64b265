"""What is in a corpus: which logs, from which bytes, in which parts.  A part that is not in it is not there."""

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
from nbtools.traces import text_index
from nbtools.traces.corpus.planning import Log

VERSION = 2
"""Of these tables and of what is in a part; another one is another corpus."""
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
"""``rows``: how many there are in each table, of this log.  ``dead``: logs whose rows are still in a part that others are in, too.
``documents``: what the numbers of the search index stand for; a number is never given twice, because the index keeps those of texts that
are gone.  ``texts``: what was indexed, packed."""


@dataclass(frozen=True)
class Part:
    """A folder below ``parts``: the bytes of the logs it was made of, its tables, and the logs whose rows in it are of no use."""

    name: str
    logs: tuple[str, ...]
    size: int
    tables: frozenset[str]
    dead: tuple[str, ...]


@contextmanager
def _alone(folder: Path) -> Iterator[None]:
    """Lets one process at a time open the database in ``folder``, where the file system has locks.

    SQLite's own timeout is not enough: two that make a new database fail at once when both change its journal mode.
    """
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        with suppress(OSError):
            fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        os.close(descriptor)


class Manifest:
    """The database ``corpus.sqlite``, with the search index in it.  Where it cannot be written to, it is only read.

    Raises ``TraceError`` where it is no database, or one of another version.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        try:
            with _alone(folder):
                self.connection = self._opened(folder / "corpus.sqlite")
        except sqlite3.Error as error:
            raise TraceError(f"{folder} cannot be used as a corpus: {error}.") from error

    def _opened(self, file: Path) -> sqlite3.Connection:
        connection = sqlite3.connect(file, timeout=60, isolation_level=None, check_same_thread=False)
        try:
            self._prepare(connection)
        except sqlite3.OperationalError:
            connection.close()
            if not file.exists() or _writable(file):
                raise
            connection = sqlite3.connect(f"{file.as_uri()}?immutable=1", uri=True, isolation_level=None, check_same_thread=False)
            self._known(connection)
        except BaseException:
            connection.close()
            raise
        return connection

    def _prepare(self, connection: sqlite3.Connection) -> None:
        connection.execute("pragma journal_mode = wal")
        connection.execute("pragma synchronous = normal")
        connection.execute("pragma wal_autocheckpoint = 10000")  # pages: an ingest writes much and waits for the disk seldom
        connection.execute("pragma cache_size = -64000")  # KiB: the index is merged in memory
        connection.execute("begin immediate")  # two that make it at once wait for each other
        try:
            self._known(connection)
            for statement in _TABLES.split(";\n"):
                connection.execute(statement)
            connection.execute(f"pragma user_version = {VERSION}")
        finally:
            connection.execute("commit")
        text_index.prepare(connection)

    def _known(self, connection: sqlite3.Connection) -> None:
        version = connection.execute("pragma user_version").fetchone()[0]
        empty = connection.execute("select count(*) from sqlite_master").fetchone()[0] == 0
        if version != VERSION and not (version == 0 and empty):
            age = "a newer" if version > VERSION else "an older"
            message = f"{self._folder} is a corpus of {age} nbtools, whose tables are others; ingest the logs into a new folder."
            raise TraceError(message)

    def logs(self) -> dict[str, Log]:
        return {log.path: log for log, _, _ in self._all()}

    def counts(self) -> tuple[int, int]:
        """Of logs that are in it, and of their bytes."""
        number, size = self.connection.execute("select count(*), coalesce(sum(size), 0) from logs where part != ''").fetchone()
        return int(number), int(size)

    def parts(self) -> dict[str, Part]:
        """By their names."""
        dead: dict[str, list[str]] = {}
        for part, path in self.connection.execute("select part, path from dead order by path"):
            dead.setdefault(part, []).append(path)
        found: dict[str, list[tuple[Log, Mapping[str, int]]]] = {}
        for log, rows, part in self._all():
            if part:
                found.setdefault(part, []).append((log, rows))
        return {name: _part(name, logs, dead.get(name, ())) for name, logs in found.items()}

    def has(self, path: str) -> bool:
        return self.connection.execute("select 1 from logs where path = ?", (path,)).fetchone() is not None

    def has_rows(self, path: str) -> bool:
        return self.connection.execute("select 1 from logs where path = ? and part != ''", (path,)).fetchone() is not None

    def place(self, key: str) -> tuple[str, str] | None:
        """Path and part of the log that has this key."""
        found = self.connection.execute("select path, part from logs where key = ?", (key,)).fetchone()
        return None if found is None else (str(found[0]), str(found[1]))

    def version(self) -> tuple[int, ...]:
        """Another one after every change, whoever made it."""
        return (*self.connection.execute("pragma data_version").fetchone(), self.connection.total_changes)

    @contextmanager
    def change(self) -> Iterator[sqlite3.Connection]:
        """All of it or nothing."""
        self.connection.execute("begin immediate")
        try:
            yield self.connection
            self.connection.execute("commit")
        except BaseException:
            if self.connection.in_transaction:  # sqlite has ended it itself where the disk is full
                self.connection.execute("rollback")
            raise

    def put(self, log: Log, rows: Mapping[str, int], part: str) -> None:
        """Inside of a ``change``: the log and the part its rows are in, instead of what was known of it."""
        self.drop([log.path])
        values = (log.path, json.dumps(log.files), log.key, log.size, log.format, log.why, json.dumps(rows), part)
        self.connection.execute("insert into logs values (?, ?, ?, ?, ?, ?, ?, ?)", values)
        self.connection.execute("delete from dead where part = ? and path = ?", (part, log.path))

    def drop(self, paths: Sequence[str]) -> None:
        """Inside of a ``change``."""
        for path in paths:
            self.connection.execute("insert or ignore into dead select part, path from logs where path = ? and part != ''", (path,))
            mine = "key in (select key from logs where path = ?)"
            self.connection.execute(f"delete from texts where id in (select id from documents where {mine})", (path,))  # noqa: S608 - words of ours
            self.connection.execute(f"delete from documents where {mine}", (path,))  # noqa: S608 - as above
            self.connection.execute("delete from logs where path = ?", (path,))

    def move(self, paths: Iterable[str], part: str) -> None:
        """Inside of a ``change``: the rows of these logs are in another part now."""
        self.connection.executemany("update logs set part = ? where path = ?", ((part, path) for path in paths))

    def tidy(self) -> None:
        """Inside of a ``change``: what is told of parts that are no more."""
        self.connection.execute("delete from dead where part not in (select part from logs)")

    def settle(self) -> None:
        """What was written beside the database goes into it, as far as nobody is reading."""
        self.connection.execute("pragma wal_checkpoint(truncate)")

    def close(self) -> None:
        self.connection.close()

    def _all(self) -> Iterator[tuple[Log, Mapping[str, int], str]]:
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
