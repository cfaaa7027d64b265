"""The journal of a workspace: what was there before each change, so that it can be brought back."""

from __future__ import annotations

import contextlib
import os
import secrets
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from nbtools.core.current import CURRENT_CALL
from nbtools.core.errors import ToolFailure
from nbtools.core.settings import Settings
from nbtools.workspace.journal.blobs import Blob, Blobs
from nbtools.workspace.journal.pruning import dropped, prune
from nbtools.workspace.journal.records import Entry, Record, Status
from nbtools.workspace.journal.recover import recover
from nbtools.workspace.journal.store import FILE, Store, told
from nbtools.workspace.state import state_path, workspace_key

_ENTRIES = "SELECT id, call, session, tool, at, status, undoes, undone_by FROM entries"
_STEPS = "SELECT entry, kind, path, place, before, after, delta, mode, bytes, folders FROM steps"
_INSERT = "INSERT INTO steps (entry, kind, path, place, before, after, delta, mode, bytes, folders) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"
_CHECKED_EVERY = 256
"""The size is looked at whenever this part of the limit has been added."""


@dataclass(frozen=True, slots=True)
class Draft:
    """A record and the content that it keeps."""

    record: Record
    blob: Blob | None = None


class Journal:
    """Of the workspace at ``root``; made on the disk with the first change.  Several sessions may use it at once.

    ``session`` names the session that works here, ``tool_of`` says which tool a call is of.
    """

    def __init__(self, root: Path, settings: Callable[[], Settings]) -> None:
        self.session = f"alone-{secrets.token_hex(3)}"
        self.tool_of: Callable[[str], str] = lambda _: ""
        self._root = root
        self._settings = settings
        self._places: tuple[Store, Blobs] | None = None
        self._noted: dict[int, Status | None] = {}
        self._added: int | None = None
        self._left: tuple[Path, ...] = ()

    @property
    def enabled(self) -> bool:
        return self._settings().journal

    @property
    def limit(self) -> int:
        """The most bytes that it keeps."""
        return self._settings().journal_bytes

    @property
    def folder(self) -> Path:
        """Where it is, or would be."""
        return Path(os.path.realpath(state_path())) / workspace_key(self._root)

    @property
    def blobs(self) -> Blobs:
        return self._there()[1]

    @property
    def store(self) -> Store:
        return self._there()[0]

    @property
    def exists(self) -> bool:
        """Whether there is one, without making it."""
        return self._places is not None or (self.folder / FILE).exists()

    @property
    def notices(self) -> tuple[str, ...]:
        """What a person should know of it: that it was damaged, how far back it goes no more."""
        if not self.exists:
            return ()
        gone = dropped(self.store)
        return (*self.store.notices, *([gone] if gone else []), *map(_left, self._left))

    # --- recording

    def intend(self, drafts: Sequence[Draft], *, undoes: str = "", status: Status = "intended") -> int:
        """Records what is about to be done; it is on the disk when this returns.  The entry's number.

        Raises ``ToolFailure``: then it must not be done.
        """
        with self.writing() as connection:
            entry = self.enter(connection, drafts, undoes=undoes, status=status)
        self.grown(sum(draft.record.bytes for draft in drafts))
        return entry

    def enter(self, connection: Any, drafts: Iterable[Draft], *, undoes: str = "", status: Status = "intended") -> int:
        """The same within a transaction."""
        call = CURRENT_CALL.get() or f"{self.session}-{secrets.token_hex(3)}"
        values = (call, self.session, self.tool_of(call), time.time(), status, undoes)
        made = connection.execute("INSERT INTO entries (call, session, tool, at, status, undoes) VALUES (?, ?, ?, ?, ?, ?)", values)
        entry = made.lastrowid or 0
        self.insert(connection, entry, drafts)
        return entry

    @contextlib.contextmanager
    def noting(self, notebook: Path) -> Iterator[None]:
        """Notes that a call changes a notebook in the person's editor, which has an undo of its own."""
        entry = self.intend([Draft(Record("cells", notebook))]) if self.enabled else 0
        try:
            yield
        except BaseException:
            self.void(entry)
            raise
        self.made(entry)

    def insert(self, connection: Any, entry: int, drafts: Iterable[Draft]) -> None:
        """Adds records to an entry, within a transaction."""
        for draft in drafts:
            if draft.blob is not None:
                draft.blob.insert(connection)
            connection.execute(_INSERT, _row(entry, draft.record))

    def trash(self) -> Path:
        """A place that nobody has, for what is deleted whole.  Raises ``ToolFailure``."""
        with told():
            return self.blobs.trash()

    def place_for(self, path: Path, data: bytes) -> Path | None:
        """Where the file at ``path`` can be kept itself; see ``Blobs.place_for``.  Raises ``ToolFailure``."""
        with told():
            return self.blobs.place_for(path, data)

    def made(self, entry: int) -> None:
        """It was done.  Noted with the next transaction: until then the files themselves tell."""
        self._noted[entry] = "made"

    def void(self, entry: int) -> None:
        """It was not done, and everything is as it was."""
        self._noted[entry] = None

    def partly(self, entry: int, standing: Sequence[Draft] = ()) -> None:
        """It failed, and not all could be put back; ``standing``: of which steps that is known."""
        self._noted[entry] = "partly"
        if standing:
            with contextlib.suppress(ToolFailure), self.writing() as connection:  # else all that was intended stays recorded
                connection.execute("DELETE FROM steps WHERE entry = ?", (entry,))
                self.insert(connection, entry, standing)

    def undone(self, entries: Sequence[Entry], by: str) -> None:
        """Notes that ``entries`` are undone by another call; empty: that they are in effect again."""
        with self.writing() as connection:
            for entry in entries:
                connection.execute("UPDATE entries SET undone_by = ?, status = 'made' WHERE id = ?", (by, entry.id))
                if by:
                    connection.execute("UPDATE steps SET bytes = 0 WHERE entry = ? AND kind = 'trash'", (entry.id,))

    def grown(self, count: int) -> None:
        """Drops the oldest once so much has been added that it may be too large."""
        if self._added is None or self._added + count > self.limit // _CHECKED_EVERY:
            prune(self.store, self.blobs, self.limit)
            self._added = 0
        else:
            self._added += count

    @contextlib.contextmanager
    def writing(self, *, durable: bool = True) -> Iterator[Any]:
        """One transaction, with what is noted by then; ``durable``: whether it is on the disk when it ends."""
        noted = tuple(self._noted.items())
        void = [(entry,) for entry, status in noted if status is None]
        with self.store.writing(durable=durable) as connection:
            connection.executemany("UPDATE entries SET status = ? WHERE id = ?", [(status, entry) for entry, status in noted if status])
            connection.executemany("DELETE FROM entries WHERE id = ?", void)
            connection.executemany("DELETE FROM steps WHERE entry = ?", void)
            yield connection
        for entry, _ in noted:
            self._noted.pop(entry, None)

    # --- reading

    def entries(self, call: str = "", session: str = "", status: str = "", last: int = 0) -> tuple[Entry, ...]:
        """Oldest first; of one call, of one session, of one status, or the last so many where that is given."""
        if not self.exists:
            return ()
        self.settle()
        bounds = [("call", call), ("session", session), ("status", status)]
        given = [(name, value) for name, value in bounds if value]
        where = " AND ".join(f"{name} = ?" for name, _ in given) or "1"
        order = f"ORDER BY id DESC LIMIT {last}" if last else "ORDER BY id DESC"
        rows = self.store.read(f"{_ENTRIES} WHERE {where} {order}", [value for _, value in given])
        return tuple(self._entry(row) for row in reversed(rows) if self._noted.get(row[0], "") is not None)

    def entry(self, number: int) -> Entry:
        """One that there is."""
        return self._entry(self.store.read(f"{_ENTRIES} WHERE id = ?", (number,))[0])

    def last(self, session: str = "") -> str:
        """The last call that changed something and is not undone, itself no undoing; of one session where that is given."""
        if not self.exists:
            return ""
        self.settle()
        values = (session, session)
        rows = self.store.read(
            "SELECT call FROM entries WHERE undone_by = '' AND undoes = '' AND (? = '' OR session = ?) ORDER BY id DESC LIMIT 1", values
        )
        return rows[0][0] if rows else ""

    def running(self) -> tuple[tuple[int, str], ...]:
        """Commands that may still change something, and are not undone: number and session of each entry."""
        return tuple(self.store.read("SELECT id, session FROM entries WHERE status = 'running' AND undone_by = '' ORDER BY id"))

    def _entry(self, row: Sequence[Any]) -> Entry:
        number, call, session, tool, at, status, undoes, undone_by = row
        return Entry(number, call, session, tool, at, status, undoes, undone_by, self.records(number))

    def records(self, entry: int) -> tuple[Record, ...]:
        """An entry's steps in their order."""
        return tuple(_record(row) for row in self.store.read(f"{_STEPS} WHERE entry = ? ORDER BY rowid", (entry,)))

    def content(self, key: str) -> bytes | None:
        """What was kept under ``key``; None where it is gone."""
        rows = self.store.read("SELECT packed, data FROM blobs WHERE key = ?", (key,))
        return self.blobs.content(key, packed=rows[0][0], data=rows[0][1]) if rows else None

    def settle(self) -> None:
        """Writes down what is only noted, as far as that can be: on a full disk it stays noted, and the files tell as much."""
        if self._noted:
            with contextlib.suppress(ToolFailure), self.writing():
                pass

    def close(self) -> None:
        if self._places is not None:
            self.settle()
            self.store.close()

    def _there(self) -> tuple[Store, Blobs]:
        if self._places is None:
            folder = self.folder
            self._places = Store(folder), Blobs(folder)
            if (folder / FILE).exists():
                self._left = recover(*self._places)
        return self._places


def _left(path: Path) -> str:
    return f"{path} is what a file held before a change that was cut short; nothing else has it. Look at it, then move or delete it."


def _row(entry: int, record: Record) -> tuple[Any, ...]:
    place = os.fsencode(record.place) if record.place else b""
    folders = b"\0".join(map(os.fsencode, record.folders))
    values = (record.kind, os.fsencode(record.path), place, record.before, record.after, record.delta, record.mode, record.bytes, folders)
    return (entry, *values)


def _record(row: Sequence[Any]) -> Record:
    _, kind, path, place, before, after, change, mode, size, folders = row
    return Record(
        kind,
        Path(os.fsdecode(path)),
        Path(os.fsdecode(place)) if place else None,
        before,
        after,
        change,
        mode,
        size,
        tuple(Path(os.fsdecode(folder)) for folder in folders.split(b"\0") if folder),
    )
