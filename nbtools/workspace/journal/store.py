"""The file that the journal is in: SQLite, safe for several sessions at once, set aside when it is broken."""

from __future__ import annotations

import contextlib
import os
import sqlite3
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

from nbtools.core.errors import ErrorCode, ToolFailure
from nbtools.workspace.folder_lock import folder_lock
from nbtools.workspace.state import private_folder

FILE = "journal.sqlite"
_VERSION = 1
_PATIENCE = 5.0
"""Seconds to wait for another session's turn; a turn takes milliseconds."""
_CHECKED_WHOLE = 32_000_000
"""Bytes of a journal that is read through when it is opened; of a larger one damage shows when it is met."""
_BROKEN = frozenset({sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB})
_SCHEMA = """
CREATE TABLE entries (
  id INTEGER PRIMARY KEY AUTOINCREMENT, call TEXT NOT NULL, session TEXT NOT NULL, tool TEXT NOT NULL, at REAL NOT NULL,
  status TEXT NOT NULL, undoes TEXT NOT NULL DEFAULT '', undone_by TEXT NOT NULL DEFAULT '');
CREATE INDEX entries_by_call ON entries (call);
CREATE TABLE steps (
  entry INTEGER NOT NULL, kind TEXT NOT NULL, path BLOB NOT NULL, place BLOB NOT NULL, before TEXT NOT NULL, after TEXT NOT NULL,
  delta BLOB, mode INTEGER NOT NULL, bytes INTEGER NOT NULL, folders BLOB NOT NULL);
CREATE INDEX steps_by_entry ON steps (entry);
CREATE INDEX steps_by_content ON steps (before);
CREATE TABLE blobs (key TEXT PRIMARY KEY, packed INTEGER NOT NULL, stored INTEGER NOT NULL, data BLOB);
CREATE TABLE files (
  path BLOB PRIMARY KEY, size INTEGER NOT NULL, mtime INTEGER NOT NULL, ctime INTEGER NOT NULL, inode INTEGER NOT NULL,
  mode INTEGER NOT NULL, key TEXT NOT NULL) WITHOUT ROWID;
CREATE INDEX files_by_content ON files (key);
CREATE TABLE facts (name TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
"""


class Store:
    """Opened when it is first used.  ``notices`` says what a person should know of it: that it was broken, what was dropped."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.notices: list[str] = []
        self._lock = threading.RLock()
        self._connection: sqlite3.Connection | None = None
        self._inode = 0
        self._changes = 0

    @property
    def exists(self) -> bool:
        return self._connection is not None or (self.folder / FILE).exists()

    @property
    def version(self) -> object:
        """Another one when somebody else may have written since, or a broken journal was set aside; one's own transactions do not count."""
        data = self.read("PRAGMA data_version")
        return self._changes, data

    def forget(self) -> None:
        """Gives it another version."""
        self._changes += 1

    @contextlib.contextmanager
    def writing(self, *, durable: bool = True) -> Iterator[sqlite3.Connection]:
        """One transaction: on the disk when it ends, or nothing of it.  Raises ``ToolFailure`` where it cannot be kept.

        Not ``durable``: a power cut may take it back, with all that came later; ``kill -9`` does not.
        """
        with self._lock, told(), self._synchronous(durable=durable):
            connection = self._begun()
            try:
                yield connection
                connection.execute("COMMIT")
            except BaseException as error:
                with contextlib.suppress(sqlite3.Error):
                    connection.execute("ROLLBACK")
                if _is_broken(error):
                    self._set_aside()
                raise

    def read(self, question: str, values: Sequence[Any] = ()) -> list[Any]:
        """All rows.  A broken journal is set aside, and has none.  Raises ``ToolFailure``."""
        with self._lock, told(_unread):
            for _ in range(2):
                try:
                    return self._opened().execute(question, values).fetchall()
                except sqlite3.DatabaseError as error:
                    if not _is_broken(error):
                        raise
                    self._set_aside()
            return []

    def close(self) -> None:
        with self._lock:
            if self._connection is not None:
                with contextlib.suppress(sqlite3.Error):
                    self._connection.close()
                self._connection = None

    def __del__(self) -> None:
        self.close()

    @contextlib.contextmanager
    def _synchronous(self, *, durable: bool) -> Iterator[None]:
        if durable:
            yield
            return
        self._opened().execute("PRAGMA synchronous = NORMAL")
        try:
            yield
        finally:
            if self._connection is not None:  # a broken one is closed
                self._connection.execute("PRAGMA synchronous = FULL")

    def _begun(self) -> sqlite3.Connection:
        for last in (False, True):
            connection = self._opened()
            try:
                connection.execute("BEGIN IMMEDIATE")
                connection.execute("SELECT 1 FROM entries LIMIT 1").fetchall()
            except sqlite3.DatabaseError as error:
                if last or not _is_broken(error):
                    raise
                self._set_aside()
            else:
                return connection
        raise AssertionError

    def _opened(self) -> sqlite3.Connection:
        """The journal in its place: one that was deleted or set aside meanwhile is opened anew."""
        if self._connection is not None and _inode(self.folder / FILE) == self._inode:
            return self._connection
        self.close()
        with folder_lock(private_folder(self.folder)):
            try:
                self._connection = self._checked()
            except sqlite3.DatabaseError as error:
                if not _is_broken(error):
                    raise
                self._put_away()
                self._connection = self._checked()
            self._inode = _inode(self.folder / FILE)
            self._changes += 1
        return self._connection

    def _checked(self) -> sqlite3.Connection:
        path = self.folder / FILE
        if not path.exists():
            os.close(os.open(path, os.O_CREAT | os.O_RDWR | os.O_CLOEXEC, 0o600))
        connection = sqlite3.connect(path, timeout=_PATIENCE, isolation_level=None, check_same_thread=False)
        with contextlib.ExitStack() as unless_fine:
            unless_fine.callback(connection.close)
            if path.stat().st_size == 0:
                connection.execute("PRAGMA auto_vacuum = INCREMENTAL")
            # Where memory cannot be shared between processes, as on network file systems, SQLite stays with its older way by itself.
            connection.execute("PRAGMA journal_mode = WAL")
            connection.execute("PRAGMA synchronous = FULL")
            self._made(connection)
            if path.stat().st_size <= _CHECKED_WHOLE and connection.execute("PRAGMA quick_check(1)").fetchone()[0] != "ok":
                raise _corrupt()
            unless_fine.pop_all()
        return connection

    def _made(self, connection: sqlite3.Connection) -> None:
        version = connection.execute("PRAGMA user_version").fetchone()[0]
        if version == 0:
            connection.executescript(f"BEGIN IMMEDIATE; {_SCHEMA} PRAGMA user_version = {_VERSION}; COMMIT;")
        elif version != _VERSION:
            why = f"The journal of this workspace ({self.folder / FILE}) is another version's ({version})."
            raise ToolFailure(ErrorCode.FILE_WRITE_FAILURE, f"{why} Use that nbtools, or go on without: {WITHOUT}.")

    def _set_aside(self) -> None:
        self.close()
        with folder_lock(self.folder):
            self._put_away()

    def _put_away(self) -> None:
        name = f"broken-{time.time_ns()}.sqlite"
        for end in ("", "-wal", "-shm"):
            with contextlib.suppress(FileNotFoundError):
                (self.folder / f"{FILE}{end}").rename(self.folder / f"{name}{end}")
        self.notices.append(f"The journal was damaged and is set aside as {self.folder / name}: earlier changes cannot be undone.")


WITHOUT = "%tools set journal off, in Python session.settings = dataclasses.replace(session.settings, journal=False)"


def _inode(path: Path) -> int:
    try:
        return path.stat().st_ino
    except OSError:
        return 0


def _corrupt() -> sqlite3.DatabaseError:
    error = sqlite3.DatabaseError("database disk image is malformed")
    error.sqlite_errorcode = sqlite3.SQLITE_CORRUPT
    return error


def _is_broken(error: BaseException) -> bool:
    return isinstance(error, sqlite3.DatabaseError) and getattr(error, "sqlite_errorcode", 0) & 0xFF in _BROKEN


@contextlib.contextmanager
def told(worded: Callable[[str, ErrorCode], ToolFailure] | None = None) -> Iterator[None]:
    """What keeps the journal from working, as the caller reads it; ``worded``: otherwise than ``unkept``."""
    worded = worded or unkept
    try:
        yield
    except sqlite3.Error as error:
        full = getattr(error, "sqlite_errorcode", 0) & 0xFF == sqlite3.SQLITE_FULL
        raise worded(str(error), ErrorCode.NO_SPACE_LEFT if full else ErrorCode.FILE_WRITE_FAILURE) from None
    except OSError as error:
        raise worded(f"{error.filename}: {error.strerror}" if error.filename else str(error), ErrorCode.FILE_WRITE_FAILURE) from None


def unkept(why: str, code: ErrorCode = ErrorCode.FILE_WRITE_FAILURE) -> ToolFailure:
    """What to say where nothing is changed because what was there before cannot be kept."""
    told = f"Nothing was changed: what was there before cannot be kept for undoing ({why})."
    return ToolFailure(code, f"{told} Mend that, or go on without undo: {WITHOUT}.")


def _unread(why: str, code: ErrorCode) -> ToolFailure:
    told = f"The journal of this workspace cannot be used ({why}): nothing is changed, and nothing can be undone."
    return ToolFailure(code, f"{told} Mend that, or go on without undo: {WITHOUT}.")
