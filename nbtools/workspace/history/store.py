"""The journal's SQLite database: safe for several sessions at once, set aside if it is corrupt."""

from __future__ import annotations

import contextlib
import os
import sqlite3
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, TypeAlias

from nbtools.core.errors import ErrorCode, ToolFailure
from nbtools.storage.folder_lock import folder_lock
from nbtools.storage.state_folder import private_folder

DATABASE_NAME = "journal.sqlite"
_VERSION = 1
_TIMEOUT = 5.0
"""Seconds to wait for another session's transaction, which takes milliseconds."""
_MAX_CHECKED = 32_000_000
"""Databases up to this size in bytes are checked when opened; in others corruption shows on access."""
_CORRUPT_CODES = frozenset({sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB})
_SCHEMA = """
CREATE TABLE entries (
  id INTEGER PRIMARY KEY AUTOINCREMENT, call TEXT NOT NULL, session TEXT NOT NULL, tool TEXT NOT NULL,
    at REAL NOT NULL,
  status TEXT NOT NULL, undoes TEXT NOT NULL DEFAULT '', undone_by TEXT NOT NULL DEFAULT '');
CREATE INDEX entries_by_call ON entries (call);
CREATE TABLE steps (
  entry INTEGER NOT NULL, kind TEXT NOT NULL, path BLOB NOT NULL, place BLOB NOT NULL,
    before TEXT NOT NULL, after TEXT NOT NULL,
  delta BLOB, mode INTEGER NOT NULL, bytes INTEGER NOT NULL, folders BLOB NOT NULL);
CREATE INDEX steps_by_entry ON steps (entry);
CREATE INDEX steps_by_content ON steps (before);
CREATE TABLE blobs (key TEXT PRIMARY KEY, packed INTEGER NOT NULL, stored INTEGER NOT NULL, data BLOB);
CREATE TABLE files (
  path BLOB PRIMARY KEY, size INTEGER NOT NULL, mtime INTEGER NOT NULL, ctime INTEGER NOT NULL,
    inode INTEGER NOT NULL,
  mode INTEGER NOT NULL, key TEXT NOT NULL) WITHOUT ROWID;
CREATE INDEX files_by_content ON files (key);
CREATE TABLE facts (name TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
"""


class JournalStore:
    """A lazily opened database.  ``notices`` are warnings for a person: corruption, dropped entries."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.notices: list[str] = []
        self._lock = threading.RLock()
        self._connection: sqlite3.Connection | None = None
        self._inode = 0
        self._changes = 0

    @property
    def exists(self) -> bool:
        return self._connection is not None or (self.folder / DATABASE_NAME).exists()

    @property
    def version(self) -> object:
        """A value that changes when another process may have written, or a corrupt database was set aside.

        The store's own transactions do not change it.
        """
        data = self.query("PRAGMA data_version")
        return self._changes, data

    def forget(self) -> None:
        """Changes the version."""
        self._changes += 1

    @contextlib.contextmanager
    def transaction(self, *, durable: bool = True) -> Iterator[sqlite3.Connection]:
        """Opens a transaction: on the disk when it ends, or rolled back. Raises ``ToolFailure``.

        Not ``durable``: a power cut may revert it, with everything later; ``kill -9`` does not.
        """
        with self._lock, translate_errors(), self._synchronous(durable=durable):
            connection = self._begin()
            try:
                yield connection
                connection.execute("COMMIT")
            except BaseException as error:
                with contextlib.suppress(sqlite3.Error):
                    connection.execute("ROLLBACK")
                if _is_corrupt(error):
                    self._set_aside()
                raise

    def query(self, query: str, values: Sequence[Any] = ()) -> list[Any]:
        """Returns all rows; none from a corrupt database, which is set aside.  Raises ``ToolFailure``."""
        with self._lock, translate_errors(_unusable):
            for _ in range(2):
                try:
                    return self._open().execute(query, values).fetchall()
                except sqlite3.DatabaseError as error:
                    if not _is_corrupt(error):
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
        self._open().execute("PRAGMA synchronous = NORMAL")
        try:
            yield
        finally:
            if self._connection is not None:  # a corrupt one is closed
                self._connection.execute("PRAGMA synchronous = FULL")

    def _begin(self) -> sqlite3.Connection:
        for last in (False, True):
            connection = self._open()
            try:
                connection.execute("BEGIN IMMEDIATE")
                connection.execute("SELECT 1 FROM entries LIMIT 1").fetchall()
            except sqlite3.DatabaseError as error:
                if last or not _is_corrupt(error):
                    raise
                self._set_aside()
            else:
                return connection
        raise AssertionError

    def _open(self) -> sqlite3.Connection:
        """Returns the open database; reopens it if its file was deleted or set aside."""
        if self._connection is not None and _inode(self.folder / DATABASE_NAME) == self._inode:
            return self._connection
        self.close()
        with folder_lock(private_folder(self.folder)):
            try:
                self._connection = self._connect()
            except sqlite3.DatabaseError as error:
                if not _is_corrupt(error):
                    raise
                self._rename_corrupt()
                self._connection = self._connect()
            self._inode = _inode(self.folder / DATABASE_NAME)
            self._changes += 1
        return self._connection

    def _connect(self) -> sqlite3.Connection:
        path = self.folder / DATABASE_NAME
        if not path.exists():
            os.close(os.open(path, os.O_CREAT | os.O_RDWR | os.O_CLOEXEC, 0o600))
        connection = sqlite3.connect(path, timeout=_TIMEOUT, isolation_level=None, check_same_thread=False)
        with contextlib.ExitStack() as on_failure:
            on_failure.callback(connection.close)
            if path.stat().st_size == 0:
                connection.execute("PRAGMA auto_vacuum = INCREMENTAL")
            # Without shared memory, as on network file systems,
            # SQLite itself falls back to its older journal mode.
            connection.execute("PRAGMA journal_mode = WAL")
            connection.execute("PRAGMA synchronous = FULL")
            self._create_schema(connection)
            if (
                path.stat().st_size <= _MAX_CHECKED
                and connection.execute("PRAGMA quick_check(1)").fetchone()[0] != "ok"
            ):
                error = sqlite3.DatabaseError("database disk image is malformed")
                error.sqlite_errorcode = sqlite3.SQLITE_CORRUPT
                raise error
            on_failure.pop_all()
        return connection

    def _create_schema(self, connection: sqlite3.Connection) -> None:
        version = connection.execute("PRAGMA user_version").fetchone()[0]
        if version == 0:
            connection.executescript(f"BEGIN IMMEDIATE; {_SCHEMA} PRAGMA user_version = {_VERSION}; COMMIT;")
        elif version != _VERSION:
            reason = (
                f"The journal of this workspace ({self.folder / DATABASE_NAME}) has format {version}; this"
                f" nbtools reads format {_VERSION}."
            )
            raise ToolFailure(
                ErrorCode.FILE_WRITE_FAILURE,
                f"{reason} Use the nbtools that wrote it, or turn the journal off: {HOW_TO_TURN_OFF}.",
            )

    def _set_aside(self) -> None:
        self.close()
        with folder_lock(self.folder):
            self._rename_corrupt()

    def _rename_corrupt(self) -> None:
        name = f"broken-{time.time_ns()}.sqlite"
        for end in ("", "-wal", "-shm"):
            with contextlib.suppress(FileNotFoundError):
                (self.folder / f"{DATABASE_NAME}{end}").rename(self.folder / f"{name}{end}")
        self.notices.append(
            f"The journal was corrupt and has been set aside as {self.folder / name}. Earlier changes cannot"
            " be undone."
        )


HOW_TO_TURN_OFF = (
    "%tools set journal off, in Python session.settings = dataclasses.replace(session.settings,"
    " journal=False)"
)


def _inode(path: Path) -> int:
    try:
        return path.stat().st_ino
    except OSError:
        return 0


def _is_corrupt(error: BaseException) -> bool:
    return (
        isinstance(error, sqlite3.DatabaseError)
        and getattr(error, "sqlite_errorcode", 0) & 0xFF in _CORRUPT_CODES
    )


@contextlib.contextmanager
def translate_errors(make_failure: Callable[[str, ErrorCode], ToolFailure] | None = None) -> Iterator[None]:
    """Translates errors of the database into a ``ToolFailure`` by ``make_failure`` or ``cannot_store``."""
    make_failure = make_failure or cannot_store
    try:
        yield
    except sqlite3.Error as error:
        full = getattr(error, "sqlite_errorcode", 0) & 0xFF == sqlite3.SQLITE_FULL
        raise make_failure(
            str(error), ErrorCode.NO_SPACE_LEFT if full else ErrorCode.FILE_WRITE_FAILURE
        ) from None
    except OSError as error:
        raise make_failure(
            f"{error.filename}: {error.strerror}" if error.filename else str(error),
            ErrorCode.FILE_WRITE_FAILURE,
        ) from None


def cannot_store(reason: str, code: ErrorCode = ErrorCode.FILE_WRITE_FAILURE) -> ToolFailure:
    """Returns the failure for changes that are not made because the previous content cannot be stored."""
    message = f"Nothing was changed, because the previous content cannot be stored for undo ({reason})."
    return ToolFailure(code, f"{message} Solve that problem, or turn the journal off: {HOW_TO_TURN_OFF}.")


def _unusable(reason: str, code: ErrorCode) -> ToolFailure:
    message = (
        f"The journal of this workspace cannot be used ({reason}). Nothing was changed, and nothing can be"
        " undone."
    )
    return ToolFailure(code, f"{message} Solve that problem, or turn the journal off: {HOW_TO_TURN_OFF}.")


StepKind: TypeAlias = Literal[
    "write", "move", "trash", "restore", "lost", "folder", "unfolder", "mode", "link", "cells", "unsaved"
]
"""``unsaved``: a command may have changed more than was saved, for the reason ``after``."""
Status: TypeAlias = Literal["intended", "running", "made", "partly"]
"""``unsaved``: a command may have changed more than was saved, for the reason ``after``."""


@dataclass(frozen=True, slots=True)
class Record:
    """One operation, as far as undoing it needs.

    ``before`` is the key of the previous content, empty if there was none; ``after`` is a fingerprint of the
    new content, empty if there is none.  ``delta`` turns the old content into the new one; ``place`` is the
    other path of a move, or where a deleted file is stored.  ``folders`` are those that were missing before,
    outermost first; ``bytes`` is the size of what is stored.
    """

    kind: StepKind
    path: Path
    place: Path | None = None
    before: str = ""
    after: str = ""
    delta: bytes | None = None
    mode: int = 0
    bytes: int = 0
    folders: tuple[Path, ...] = ()


@dataclass(frozen=True, slots=True)
class Entry:
    """One change by a call: all of ``records`` or none. ``undoes`` and ``undone_by`` are calls, or empty.

    ``unsaved`` says why the call, a command, may have changed more than the records undo;
    empty if it is known that it did not.
    """

    id: int
    call: str
    session: str
    tool: str
    at: float
    status: Status
    undoes: str
    undone_by: str
    records: tuple[Record, ...]
    unsaved: str = ""

    @property
    def can_be_undone(self) -> bool:
        """Whether it has saved changes, or is a command that may still make some."""
        return bool(self.records) or self.status == "running"


@dataclass(frozen=True, slots=True)
class JournalEntry:
    """The changes of one call, for a person: ``files`` relative to the workspace, ``bytes`` stored for undo.

    ``at`` is in seconds since the epoch; ``undone_by`` is the call that has undone it, ``undoes`` the call
    that this one has undone, empty if there is none.  ``of_this_session``: whether this session made the
    call.  ``partly``: it failed and was not completely reverted; undo restores what did change.  ``unsaved``
    says why the call, a command, may have changed more than undo restores; empty if it did not.
    """

    id: str
    tool: str
    at: float
    files: tuple[str, ...]
    bytes: int
    undone_by: str
    undoes: str
    of_this_session: bool
    partly: bool = False
    unsaved: str = ""

    @property
    def undone(self) -> bool:
        return bool(self.undone_by)
