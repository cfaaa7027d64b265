"""SQLite databases that several processes read and write."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


class OtherVersionError(sqlite3.DatabaseError):
    """The database has the tables of another version."""

    def __init__(self, version: int) -> None:
        super().__init__(f"version {version}")
        self.version = version


def open_database(file: Path | str, version: int, tables: str, timeout: float) -> sqlite3.Connection:
    """Opens a database, and creates the ``tables`` of an empty one, which another process may do, too.

    ``timeout`` is in seconds, for the transactions of others. Raises ``OtherVersionError``, and
    ``sqlite3.DatabaseError`` where the file is damaged.
    """
    connection = sqlite3.connect(file, timeout, isolation_level=None, check_same_thread=False)
    try:
        if connection.execute("select count(*) from sqlite_master").fetchone() == (0,):
            connection.executescript(f"begin immediate; {tables} pragma user_version = {version}; commit;")
        (found,) = connection.execute("pragma user_version").fetchone()
        if found != version:
            raise OtherVersionError(found)
    except sqlite3.Error:
        connection.close()
        raise
    return connection


@contextmanager
def transaction(connection: sqlite3.Connection) -> Iterator[None]:
    """Begins a transaction for writing; commits it, or rolls it back where the block raises."""
    connection.execute("begin immediate")
    try:
        yield
        connection.execute("commit")
    except BaseException:
        connection.rollback()
        raise
