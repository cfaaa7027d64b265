"""The index of the session logs on this machine:
an SQLite database in the state folder that can be deleted at any time.

A log's row is valid for the path, size, time of change and inode that it was read with.
Several processes may read and write at once.
"""

from __future__ import annotations

import fcntl
import hashlib
import json
import os
import sqlite3
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from threading import RLock
from typing import Any, NamedTuple, TypeVar

from nbtools.core.browser import IN_BROWSER
from nbtools.storage.database import open_database, transaction
from nbtools.storage.state_folder import private_folder, state_path
from nbtools.traces.session_index.figures import LogFigures
from nbtools.traces.session_index.head import LogHead
from nbtools.traces.session_index.places import OTHER
from nbtools.traces.session_index.scan import LogStat
from nbtools.traces.usage.cost import log_cost, prices_name
from nbtools.traces.usage.usage_groups import LogUsage

T = TypeVar("T")
_VERSION = 11
_TIMEOUT = 20.0
COUNTS = (
    *("steps", "calls", "nested_calls", "failed_calls", "errors", "edits", "edited_files", "added_lines"),
    *("removed_lines", "input_tokens", "cache_read_tokens", "cache_write_tokens", "output_tokens"),
)
"""Those of ``LogCounts`` that are columns."""
_FIGURES = (*COUNTS, "doubtful", "repeats")
_TABLES = f"""
CREATE TABLE logs (
    number INTEGER PRIMARY KEY, path BLOB UNIQUE, size INTEGER, mtime INTEGER, inode INTEGER,
    agent TEXT, format TEXT, title TEXT, model TEXT, project TEXT, branch TEXT, started REAL, ended REAL,
    session TEXT, parent TEXT, first TEXT, problem TEXT, starts TEXT NOT NULL DEFAULT '',
    {", ".join(f"{name} INTEGER" for name in _FIGURES)},
    figured TEXT NOT NULL DEFAULT '', figured_at REAL NOT NULL DEFAULT 0,
    reading_seconds REAL NOT NULL DEFAULT 0, tries INTEGER NOT NULL DEFAULT 0,
    usage TEXT NOT NULL DEFAULT '', recorded_cost REAL,
    cost REAL, group_costs TEXT NOT NULL DEFAULT '', unpriced INTEGER NOT NULL DEFAULT 0,
    prices TEXT NOT NULL DEFAULT ''
);
CREATE INDEX by_time ON logs (mtime DESC);
CREATE INDEX by_first ON logs (first, mtime) WHERE first <> '';
CREATE INDEX by_session ON logs (session) WHERE session <> '';
CREATE VIRTUAL TABLE texts USING fts5(title, project, text, tokenize = "unicode61 remove_diacritics 2",
prefix = '2 3');
CREATE TABLE contents (
    number INTEGER PRIMARY KEY, state TEXT NOT NULL, read_at REAL NOT NULL, seconds REAL NOT NULL,
    problem TEXT NOT NULL
);
CREATE TABLE blocks (
    number INTEGER NOT NULL, position INTEGER NOT NULL, digest BLOB NOT NULL, steps BLOB NOT NULL,
    words BLOB, is_ascii_case INTEGER NOT NULL, texts BLOB NOT NULL, PRIMARY KEY (number, position)
);
"""
STATE = "size || ':' || mtime || ':' || inode"
"""The state of a log for which ``figured`` has its figures."""
_PAUSE = 10.0
"""Seconds before a log that grows is read again as a whole; longer if that takes long."""
_PAUSE_FACTOR = 30
MAX_TRIES = 3
_MAX_RELATED = 20
"""Logs that are read again with a log that begins like them: the oldest ones."""
_MIN_FREE = 32 << 20
"""Bytes of the database that are free before it is made smaller."""
_MIN_FREE_SHARE = 1 / 3
_LARGEST = 2**63


def index_path() -> Path:
    """Returns the path of the database, whether it exists or not."""
    return state_path() / "sessions.sqlite"


def number_of(path: str) -> int:
    """Returns the number of a log, a hash of its path: it stays the same when the index is rebuilt."""
    return int.from_bytes(hashlib.sha256(os.fsencode(path)).digest()[:7], "big")


def session_id(number: int) -> str:
    """Returns the id of the session whose log has this number."""
    return f"{number:014x}"


class IndexedCost(NamedTuple):
    """The cost of a log, as in the list of sessions. ``prices`` names the price lists, empty for a recorded
    cost. The cost is a lower bound where requests are ``unpriced`` or numbers of output tokens placeholders.
    """

    cost: float
    prices: str
    unpriced: int
    doubtful: bool

    @property
    def is_lower_bound(self) -> bool:
        return bool(self.unpriced or self.doubtful)


def indexed_cost(path: Path) -> IndexedCost | None:
    """Returns the cost of a log in the index; None where the index has none of the whole log as it is now, as
    of a fork, whose cost there is only what it does not repeat, or there is no index.
    """
    if not index_path().exists():
        return None
    index = SessionIndex()
    try:
        rows = index.read(
            "SELECT cost, CASE WHEN group_costs <> '' THEN prices ELSE '' END, unpriced, ifnull(doubtful, 0)"  # noqa: S608 - constants
            f" FROM logs WHERE number = ? AND cost IS NOT NULL AND figured = {STATE}"
            " AND ifnull(repeats, 0) = 0 AND size = ifnull(?, size)",
            (number_of(str(path)), path.stat().st_size if path.is_file() else None),
        )
    except (sqlite3.Error, OSError):
        return None
    finally:
        index.close()
    return IndexedCost(*rows[0]) if rows else None


class SessionIndex:
    """The database. A damaged one, or one of another version, is replaced by an empty one. Thread-safe."""

    def __init__(self, path: Path | None = None) -> None:
        self.path = path or index_path()
        self.lasting = not IN_BROWSER
        """False in a browser, and if the state folder cannot be written: the index is then in memory."""
        self._lock = RLock()
        self._connection: sqlite3.Connection | None = None
        self._inode = 0

    def close(self) -> None:
        with self._lock:
            if self._connection is not None:
                self._connection.close()
                self._connection = None

    def states(self) -> dict[str, tuple[int, int, int]]:
        """Returns size, time of change and inode of each indexed log, by path."""
        rows = self.read("SELECT path, size, mtime, inode FROM logs")
        return {os.fsdecode(path): (size, mtime, inode) for path, size, mtime, inode in rows}

    def read(self, query: str, values: Sequence[Any] | Mapping[str, Any] = ()) -> list[Any]:
        """Returns all rows of a query."""
        return self._run(lambda connection: connection.execute(query, values).fetchall())

    def starts(self, ids: Iterable[str]) -> dict[str, str]:
        """Returns how the sessions of logs begin (``decode_starts``), by the logs' ids;
        empty for a log that was not read as a whole yet.
        """
        numbers = json.dumps([int(one, 16) for one in ids])
        rows = self.read(
            "SELECT number, starts FROM logs WHERE number IN (SELECT value FROM json_each(?))", (numbers,)
        )
        return {session_id(number): starts for number, starts in rows}

    def put(self, heads: Sequence[tuple[LogStat, LogHead]], gone: Sequence[str] = ()) -> None:
        """Adds or replaces logs, and removes those whose paths are ``gone``.
        Figures stay until the log has been read again.
        """
        rows = [_row(log, head) for log, head in heads]
        numbered = json.dumps([row["number"] for row in rows])
        texts = [(_text(head.text), row["number"]) for row, (_, head) in zip(rows, heads, strict=True)]
        numbers = [(number_of(path),) for path in gone]

        def write(connection: sqlite3.Connection) -> None:
            connection.executemany(_COUNT_AGAIN_WITHOUT, numbers)
            connection.executemany("DELETE FROM texts WHERE rowid = ?", numbers)
            for table in ("logs", "contents", "blocks"):
                connection.executemany(f"DELETE FROM {table} WHERE number = ?", numbers)  # noqa: S608 - constants
            known = dict(connection.execute(_FIRSTS, (numbered,)))
            oldest: dict[str, int] = {}
            for row in rows:
                if row["first"] and known.get(row["number"]) != row["first"]:
                    oldest[row["first"]] = min(row["mtime"], oldest.get(row["first"], row["mtime"]))
            connection.executemany(_COUNT_AGAIN_WITH, oldest.items())
            connection.executemany(_PUT, rows)
            connection.executemany(f"{_PUT_TEXT} AND figured = ''", texts)

        self.write(write)

    def put_figures(self, path: str, state: str, figures: LogFigures, seconds: float) -> None:
        """Adds the figures of a log that was read as a whole in ``state``, which took ``seconds``."""
        values = {name: getattr(figures.counts, name, None) for name in (*COUNTS, "started", "ended")}
        values |= {name: getattr(figures, name) for name in _FROM_FIGURES}
        values |= {"number": number_of(path), "state": state, "reading_seconds": seconds, "now": time.time()}
        recorded = None if figures.counts is None else figures.counts.cost
        values |= {"usage": figures.usage.as_json(), "recorded": recorded}
        values |= _cost_values(figures.usage, recorded)
        values = {name: _storable(value) for name, value in values.items()}

        def write(connection: sqlite3.Connection) -> None:
            connection.execute(_PUT_FIGURES, values)
            connection.execute(_PUT_COST, values)
            connection.execute(_PUT_TEXT, (_text(figures.text), values["number"]))

        self.write(write)

    def update_costs(self, limit: int = 50) -> bool:
        """Prices logs whose costs are not by the current price lists; returns False if there are none."""
        rows = self.read(f"{_OUTDATED_COSTS} LIMIT ?", (prices_name(), limit))
        found = [
            {"number": number, "usage": usage, "recorded": recorded}
            | _cost_values(LogUsage.from_json(usage), recorded)
            for number, usage, recorded in rows
        ]
        self.write(lambda connection: connection.executemany(_PUT_COST, found))
        return bool(found)

    def has_outdated_costs(self) -> bool:
        return bool(self.read(f"{_OUTDATED_COSTS} LIMIT 1", (prices_name(),)))

    def begin_figures(self, path: str) -> None:
        """Notes that a log is read as a whole:
        one that ends its reader again and again is not read any more, until it changes.
        """
        self.write(
            lambda connection: connection.execute(
                "UPDATE logs SET tries = tries + 1 WHERE number = ?", (number_of(path),)
            )
        )

    def interrupt_figures(self, path: str) -> None:
        """Notes that reading a log was ended from outside, which is not because of the log."""
        self.write(
            lambda connection: connection.execute(
                "UPDATE logs SET tries = max(tries - 1, 0) WHERE number = ?", (number_of(path),)
            )
        )

    def outdated(self, limit: int = -1) -> list[tuple[str, str]]:
        """Returns path and state of logs whose figures are missing or outdated,
        those that changed last first.
        """
        rows = self.read(
            f"SELECT path, {STATE} FROM logs"  # noqa: S608 - constants
            f" WHERE figured <> {STATE} AND format <> '' AND tries < {MAX_TRIES}"
            f" AND (figured = '' OR ? - figured_at > max({_PAUSE}, {_PAUSE_FACTOR} * reading_seconds))"
            " ORDER BY mtime DESC LIMIT ?",
            (time.time(), limit),
        )
        return [(os.fsdecode(path), state) for path, state in rows]

    def related(self, path: str) -> list[str]:
        """Returns the paths of logs that begin with the same prompt as this one, at the same time:
        forks and their parents. Copies of this one, which have its session and its size, repeat nothing.
        """
        query = (
            "SELECT logs.path FROM logs, logs AS own WHERE own.number = :number AND logs.first = own.first"
            " AND logs.first <> '' AND logs.number <> :number"
            " AND NOT (logs.session = own.session AND logs.size = own.size AND own.session <> '')"
        )
        rows = self.read(f"{query} ORDER BY logs.mtime LIMIT {_MAX_RELATED}", {"number": number_of(path)})
        return [os.fsdecode(found) for (found,) in rows]

    def release_space(self) -> bool:
        """Makes the database smaller where much of it is free, as after many logs have gone; returns whether
        it was. Waits for the transactions of other processes.
        """
        ((free, pages, size),) = self.read(
            "SELECT * FROM pragma_freelist_count, pragma_page_count, pragma_page_size"
        )
        is_worth_it: bool = free * size >= _MIN_FREE and free >= pages * _MIN_FREE_SHARE
        if is_worth_it:
            self._run(lambda connection: connection.execute("VACUUM"))
        return is_worth_it

    def write(self, write: Callable[[sqlite3.Connection], object]) -> None:
        """Changes the database in one transaction."""

        def write_at_once(connection: sqlite3.Connection) -> None:
            with transaction(connection):
                write(connection)

        self._run(write_at_once)

    def _run(self, work: Callable[[sqlite3.Connection], T]) -> T:
        with self._lock:
            try:
                return work(self._open())
            except sqlite3.DatabaseError as error:
                if not _is_damage(error):
                    raise
            self._rebuild()
            return work(self._open())

    def _open(self) -> sqlite3.Connection:
        if self._connection is not None and (not self.lasting or _inode(self.path) == self._inode):
            return self._connection
        self.close()
        try:
            self._connection = self._open_file() if self.lasting else _connect(":memory:")
        except OSError:
            self.lasting, self._connection = False, _connect(":memory:")
        return self._connection

    def _open_file(self) -> sqlite3.Connection:
        private_folder(self.path.parent)
        with self._exclusive():
            self._inode = _create_file(self.path)
            return _connect(str(self.path))

    def _rebuild(self) -> None:
        """Deletes the database, which is damaged, unless another process has replaced it already."""
        self.close()
        if self.lasting:
            with self._exclusive():
                if _inode(self.path) == self._inode or not self._inode:
                    for ending in ("", "-journal"):
                        self.path.with_name(self.path.name + ending).unlink(missing_ok=True)

    @contextmanager
    def _exclusive(self) -> Iterator[None]:
        """Creates and replaces the database in one process at a time."""
        descriptor = os.open(self.path.with_suffix(".lock"), os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX)
            yield
        finally:
            os.close(descriptor)


def _create_file(path: Path) -> int:
    """Creates the file, readable only for this user, if it does not exist, and returns its inode.
    Raises ``OSError``.
    """
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        return os.fstat(descriptor).st_ino
    finally:
        os.close(descriptor)


def _connect(name: str) -> sqlite3.Connection:
    connection = open_database(name, _VERSION, _TABLES, _TIMEOUT)
    connection.execute("PRAGMA synchronous = OFF")  # what a power failure damages is rebuilt
    return connection


def _is_damage(error: sqlite3.DatabaseError) -> bool:
    """Returns whether the database cannot be used.
    Other errors are those of a full disk, or of another process that writes for long.
    """
    return not isinstance(error, sqlite3.OperationalError) or "no such" in str(error)


def _inode(path: Path) -> int:
    try:
        return path.stat().st_ino
    except OSError:
        return 0


def _cost_values(usage: LogUsage, recorded: float | None) -> dict[str, Any]:
    """Returns the columns of a log's cost: by price lists, or, where no model has a price, as recorded."""
    costs = log_cost(usage)
    by_group = costs.by_group or (None,) * len(usage.groups)
    priced = [cost for cost in by_group if cost is not None]
    missing = (
        group.requests or 1 for group, cost in zip(usage.groups, by_group, strict=True) if cost is None
    )
    return {
        "cost": sum(priced) if priced else recorded,
        "group_costs": json.dumps(costs.by_group) if priced else "",
        "unpriced": sum(missing) if priced or recorded is None else 0,
        "prices": costs.prices,
    }


def _storable(value: Any) -> Any:
    """Returns a value that SQLite can store; None for a number that does not fit."""
    if isinstance(value, str):
        return _text(value)
    return None if isinstance(value, int) and abs(value) >= _LARGEST else value


def _text(text: str) -> str:
    """Returns a text that SQLite can store."""
    return text.encode("utf-8", "replace").decode().replace("\0", "")


_COLUMNS = (
    *("number", "path", "size", "mtime", "inode", "agent", "format"),
    *("title", "model", "project", "branch", "started", "session", "parent", "first", "problem"),
)
_REPLACED = ("size", "mtime", "inode", "agent", "format", "branch", "session", "parent", "first", "problem")
_FILLED = ("title", "model", "project", "started")
"""Columns that keep their value if a later reading does not find one."""
_FROM_FIGURES = ("title", "model", "project", "doubtful", "repeats", "starts", "problem")
_PUT = (
    f"INSERT INTO logs ({', '.join(_COLUMNS)}) VALUES ({', '.join(':' + name for name in _COLUMNS)}) "  # noqa: S608 - constants
    f"ON CONFLICT (number) DO UPDATE SET {', '.join(f'{name} = excluded.{name}' for name in _REPLACED)},"
    " tries = 0, "
    + ", ".join(
        f"{name} = CASE WHEN ifnull(excluded.{name}, '') = '' THEN {name} ELSE excluded.{name} END"
        for name in _FILLED
    )
)
_FIRSTS = "SELECT number, first FROM logs WHERE number IN (SELECT value FROM json_each(?))"
_COUNT_AGAIN_WITH = (
    "UPDATE logs SET figured = '' WHERE first = ?1 AND first <> '' AND figured <> '' AND (SELECT count(*)"  # noqa: S608 - constants
    " FROM (SELECT 1 FROM logs AS older WHERE older.first = ?1 AND older.first <> '' AND older.mtime < ?2"
    f" LIMIT {_MAX_RELATED + 1})) <= {_MAX_RELATED}"
)
"""A log that is new may have the records first that another one repeats, if it is among those that are read
with it.
"""
_COUNT_AGAIN_WITHOUT = (
    "UPDATE logs SET figured = '' WHERE first <> '' AND figured <> '' AND first = (SELECT gone.first"  # noqa: S608 - constants
    " FROM logs AS gone WHERE gone.number = ?1 AND ?1 IN (SELECT number FROM logs AS one WHERE one.first ="
    f" gone.first AND one.first <> '' ORDER BY mtime LIMIT {_MAX_RELATED + 1}))"
)
_PUT_FIGURES = (
    "UPDATE logs SET tries = 0, figured = :state, figured_at = :now, ended = :ended, problem = :problem,"  # noqa: S608 - constants
    " reading_seconds = :reading_seconds, starts = :starts, "
    f"{', '.join(f'{name} = :{name}' for name in _FIGURES)}, "
    + ", ".join(
        f"{name} = CASE WHEN ifnull(:{name}, '') = '' THEN {name} ELSE :{name} END" for name in _FILLED
    )
    + " WHERE number = :number"
)
_PUT_COST = (
    "UPDATE logs SET usage = :usage, recorded_cost = :recorded, cost = :cost, group_costs = :group_costs,"
    " unpriced = :unpriced, prices = :prices WHERE number = :number"
)
_OUTDATED_COSTS = (
    "SELECT number, usage, recorded_cost FROM logs WHERE usage <> '' AND prices <> ? ORDER BY mtime DESC"
)
_PUT_TEXT = (
    "INSERT OR REPLACE INTO texts (rowid, title, project, text) SELECT number, title, project, ? FROM logs"
    " WHERE number = ?"
)


def _row(log: LogStat, head: LogHead) -> dict[str, Any]:
    agent = head.agent if log.place.agent == OTHER and head.agent else log.place.agent
    texts = {
        name: _text(getattr(head, name))
        for name in ("format", "title", "model", "project", "branch", "session", "parent", "first", "problem")
    }
    return texts | {
        "number": number_of(log.path),
        "path": os.fsencode(log.path),
        "size": log.size,
        "mtime": log.mtime_ns,
        "inode": log.inode & (1 << 63) - 1,
        "agent": _text(agent),
        "started": head.started,
    }
