"""Sessions in opencode's database: each is a log whose path is that of the database and the session's id,
``opencode.db/ses_…``, and whose content is that of ``opencode export``.

The agent's files are only copied, without a lock: opencode writes into the log beside the database, which an
immutable database would not show, and SQLite would take locks to read. The copy is read, and deleted at once.
"""

from __future__ import annotations

import contextlib
import errno
import io
import os
import shutil
import sqlite3
import stat
import tempfile
import time
import weakref
from collections import OrderedDict
from collections.abc import Iterator, Sequence
from contextlib import suppress
from functools import lru_cache
from pathlib import Path
from threading import RLock
from typing import IO, Any, NamedTuple

import msgspec

from nbtools.core.errors import TraceError
from nbtools.traces.json_access import integer_of, mapping, string
from nbtools.traces.source import DECODE_ERRORS

STORING_AGENT = "opencode"
"""The agent whose database is read."""
_TABLES = {
    "session": ("id",),
    "message": ("id", "session_id", "time_created", "data"),
    "part": ("id", "message_id", "session_id", "time_updated", "data"),
}
"""The columns without which nothing is read."""
_INFO = {"id": "id", "project_id": "projectID", "parent_id": "parentID", "slug": "slug"} | {
    name: name for name in ("directory", "title", "version")
}
"""Columns of a session, and their names in an export."""
_MAX_BYTES = 4 << 30
_MAX_TEXT = 512 << 20
"""Bytes that a query may return: a value that is a column's default takes no space in each row."""
_LAST_TIME = 9 * 10**12
"""The latest time, in milliseconds since the epoch, that is believed: 2255."""
_MAX_SESSIONS = 100_000
_SECONDS = 60.0
"""Seconds that a query may take: a database is data of others, and its schema may be made to be slow."""
_PAUSE, _PAUSE_FACTOR = 1.0, 20
"""Seconds until a database that has changed is copied again, and how many times as long as copying took."""
_MAX_DOCUMENTS = 4
_MAX_SNAPSHOTS = 4


class StoredSession(NamedTuple):
    """A session in a database: ``changed`` is in nanoseconds since the epoch, ``size`` in characters."""

    id: str
    size: int
    changed: int


class StoredPath(type(Path())):  # type: ignore[misc]
    """The path of a session in a database, which is opened and looked at like that of a file."""

    def open(self, *_: Any, **__: Any) -> IO[bytes]:
        return io.BytesIO(self._document())

    def stat(self, **_: Any) -> os.stat_result:
        """Returns size and time of the session, and the rest of the database."""
        document, found = self._document(), os.stat(self.parent)  # noqa: PTH116 - not this method
        changed = _snapshot(str(self.parent)).changed(self.name)
        times = (changed // 10**9,) * 3
        whole = (found.st_mode, found.st_ino, found.st_dev, 1, found.st_uid, found.st_gid, len(document))
        exact = {"st_mtime_ns": changed, "st_atime_ns": changed, "st_ctime_ns": changed}
        return os.stat_result((*whole, *times), exact)

    def exists(self, **_: Any) -> bool:
        return self.is_file()

    def is_file(self, **_: Any) -> bool:
        try:
            return bool(self._document())
        except OSError:
            return False

    def _document(self) -> bytes:
        try:
            return _snapshot(str(self.parent)).document(self.name)
        except (sqlite3.Error, TraceError) as error:
            raise OSError(errno.EINVAL, str(error).rstrip("."), str(self)) from error


def stored_path(path: Path) -> Path:
    """Returns the path of a session in a database as one that can be opened; others as they are."""
    with suppress(OSError):
        if path.suffix == "" and stat.S_ISREG(path.parent.stat().st_mode):
            return StoredPath(path)
    return path


def stored_sessions(database: str | Path) -> list[StoredSession]:
    """Returns the sessions in a database. Raises ``TraceError`` where it cannot be read."""
    try:
        return _snapshot(str(database)).sessions
    except (OSError, sqlite3.Error) as error:
        raise TraceError(f"{database} cannot be read: {error}.") from error


class _Snapshot:
    """A database as it was when it was copied. Thread-safe."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection
        self._lock = RLock()
        self._documents: OrderedDict[str, bytes] = OrderedDict()
        weakref.finalize(self, connection.close)
        self._columns = {name: self._columns_of(name) for name in _TABLES}
        if any(not self._columns[name].issuperset(needed) for name, needed in _TABLES.items()):
            raise TraceError("It does not have the tables of opencode.")
        self._changed: dict[str, int] = {}
        self.sessions = list(self._sessions())

    def _columns_of(self, table: str) -> set[str]:
        """Returns the columns of a table; none of a view, of a virtual table, and of a table with columns
        that are computed, which may be as slow and as large as their author likes.
        """
        kinds = self._rows("select type from sqlite_master where name = ? and rootpage > 0", (table,))
        columns = self._rows("select name, hidden from pragma_table_xinfo(?)", (table,))
        is_plain = kinds == [("table",)] and not any(hidden for _, hidden in columns)
        return {name for name, _ in columns} if is_plain else set()

    def changed(self, session: str) -> int:
        return self._changed.get(session, 0)

    def document(self, session: str) -> bytes:
        """Returns the session as ``opencode export`` writes it. Raises ``FileNotFoundError``."""
        with self._lock:
            if session not in self._documents:
                self._documents[session] = self._export(session)
                if len(self._documents) > _MAX_DOCUMENTS:
                    self._documents.popitem(last=False)
            self._documents.move_to_end(session)
            return self._documents[session]

    def _sessions(self) -> Iterator[StoredSession]:
        sums = {
            name: (size, changed)
            for name, size, changed in self._rows(
                "select session_id, sum(length(data)), max(time_updated) from part group by session_id"
            )
        }
        for row in self._records("session", ("id", "time_updated"), "limit ?", _MAX_SESSIONS):
            name = string(row["id"])
            size, changed = sums.get(name, (0, None))
            times = [
                integer_of(one) or 0
                for one in (changed, row.get("time_updated"))
                if 0 < (integer_of(one) or 0) < _LAST_TIME
            ]
            self._changed[name] = max(times, default=0) * 1_000_000
            if name and "/" not in name:
                yield StoredSession(name, integer_of(size) or 0, self._changed[name])

    def _export(self, session: str) -> bytes:
        about = (*_INFO, "time_created", "time_updated")
        found = next(self._records("session", about, "where id = ?", session), None)
        if found is None:
            raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), session)
        own = "where session_id = ? order by"
        parts: dict[Any, list[Any]] = {}
        for row in self._records("part", ("id", "message_id", "data"), f"{own} id", session):
            ids = {"id": row["id"], "sessionID": session, "messageID": row["message_id"]}
            parts.setdefault(row["message_id"], []).append(_data(row) | ids)
        messages = [
            {"info": _data(row) | {"id": row["id"], "sessionID": session}, "parts": parts.get(row["id"], [])}
            for row in self._records("message", ("id", "data"), f"{own} time_created, id", session)
        ]
        return msgspec.json.encode({"info": _info(found), "messages": messages})

    def _records(self, table: str, wanted: Sequence[str], rest: str, value: Any) -> Iterator[dict[str, Any]]:
        """Yields the rows of a table with those of the ``wanted`` columns that it has."""
        names = [name for name in wanted if name in self._columns[table]]
        query = f"select {', '.join(names)} from {table} {rest}"  # noqa: S608 - names of this module
        yield from (dict(zip(names, row, strict=True)) for row in self._rows(query, (value,)))

    def _rows(self, query: str, values: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
        """Returns the rows of a query. Raises ``OSError`` where they are too large."""
        rows, size = list[tuple[Any, ...]](), 0
        with self._lock:
            for row in self._limited().execute(query, values):
                size += sum(map(_size, row))
                if size > _MAX_TEXT:
                    raise OSError(errno.EFBIG, f"Its records are larger than {_MAX_TEXT >> 20} MB")
                rows.append(tuple(map(_text, row)))
        return rows

    def _limited(self) -> sqlite3.Connection:
        end = time.monotonic() + _SECONDS
        self._connection.set_progress_handler(lambda: time.monotonic() > end, 10_000)
        return self._connection


def _info(row: dict[str, Any]) -> dict[str, Any]:
    """Returns the session as an export has it."""
    info = {new: row[old] for old, new in _INFO.items() if row.get(old) is not None}
    return info | {"time": {"created": row.get("time_created"), "updated": row.get("time_updated")}}


def _data(row: dict[str, Any]) -> dict[str, Any]:
    """Returns the JSON of a message or a part; what is no object is kept as its text."""
    text = string(row.get("data"))
    try:
        return dict(mapping(msgspec.json.decode(text))) or {"type": "invalid", "text": text}
    except DECODE_ERRORS:
        return {"type": "invalid", "text": text}


def _text(value: Any) -> Any:
    return value.decode("utf-8", "replace") if isinstance(value, bytes) else value


def _size(value: Any) -> int:
    return len(value) if isinstance(value, bytes) else 8


class _Copy(NamedTuple):
    """The last attempt to copy a database. What failed is tried again after a while, too."""

    state: tuple[Any, ...]
    snapshot: _Snapshot | None
    problem: str = ""
    until: float = 0.0


class _Copies:
    """The snapshots of databases; one that has changed is copied again after a while."""

    def __init__(self) -> None:
        self._known: OrderedDict[str, _Copy] = OrderedDict()
        self._lock = RLock()

    def of(self, database: str) -> _Snapshot:
        with self._lock:
            known, now, state = self._known.get(database), time.monotonic(), _state(database)
            if known is None or (now >= known.until and (known.state != state or known.problem)):
                known = self._new_copy(database, state, None if known is None else known.snapshot)
                took = time.monotonic() - now
                known = known._replace(until=now + took + max(_PAUSE, _PAUSE_FACTOR * took))
                self._known[database] = known
                self._known.move_to_end(database)
                if len(self._known) > _MAX_SNAPSHOTS:
                    self._known.popitem(last=False)
            if known.snapshot is None:
                raise TraceError(known.problem)
            return known.snapshot

    def _new_copy(self, database: str, state: tuple[Any, ...], last: _Snapshot | None) -> _Copy:
        try:
            return _Copy(state, _Snapshot(_copied(database)))
        except TraceError as error:
            return _Copy(state, None, str(error))
        except (OSError, sqlite3.Error, MemoryError) as error:
            if last is not None:  # it was changed while it was copied, again and again
                return _Copy(state, last)
            return _Copy(state, None, f"{database} cannot be read: {error or 'it is too large'}.")


@lru_cache(maxsize=1)
def _copies() -> _Copies:
    return _Copies()


def _snapshot(database: str) -> _Snapshot:
    return _copies().of(database)


def _state(database: str) -> tuple[Any, ...]:
    """Returns sizes and times of the database and the log beside it. Raises ``OSError``."""
    states: list[tuple[int, int, int]] = []
    for path in (database, f"{database}-wal"):
        with suppress(FileNotFoundError):
            found = os.stat(path)  # noqa: PTH116 - two names of one file
            states.append((found.st_size, found.st_mtime_ns, found.st_ino))
    if sum(size for size, *_ in states) > _MAX_BYTES:
        raise OSError(errno.EFBIG, f"It is larger than {_MAX_BYTES >> 30} GB", database)
    return tuple(states)


def _copied(database: str) -> sqlite3.Connection:
    """Opens a copy of a database, whose files are deleted at once.
    Raises ``OSError`` and ``sqlite3.Error``.
    """
    with tempfile.TemporaryDirectory(prefix="nbtools-") as folder:
        copy = os.path.join(folder, "copy.db")  # noqa: PTH118 - a name for SQLite
        for _ in range(3):  # until no file has changed meanwhile
            before = _state(database)
            _copy_file(database, copy)
            with suppress(FileNotFoundError):
                _copy_file(f"{database}-wal", f"{copy}-wal")
            if _state(database) == before:
                break
        connection = sqlite3.connect(copy, isolation_level=None, check_same_thread=False)
        try:
            for pragma in ("trusted_schema = off", "locking_mode = exclusive", "mmap_size = 0"):
                connection.execute(f"pragma {pragma}")
            connection.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, _MAX_TEXT)
            connection.text_factory = bytes
            connection.execute("select count(*) from sqlite_master").fetchone()  # opens the log, too
            connection.execute("pragma query_only = on")
        except sqlite3.Error:
            connection.close()
            raise
    return connection


def _copy_file(source: str, target: str) -> None:
    descriptor = os.open(source, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC | os.O_NOCTTY)
    with contextlib.closing(os.fdopen(descriptor, "rb")) as opened:
        if not stat.S_ISREG(os.fstat(opened.fileno()).st_mode):
            raise OSError(errno.EINVAL, "Not a regular file", source)
        with open(target, "wb") as written:  # noqa: PTH123 - as above
            shutil.copyfileobj(opened, written, 1 << 20)
