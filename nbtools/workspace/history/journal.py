"""The journal of a workspace: records previous contents before each change, for undo."""

from __future__ import annotations

import contextlib
import os
import secrets
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from nbtools.core.call import CURRENT_CALL
from nbtools.core.errors import ToolFailure
from nbtools.core.settings import Settings
from nbtools.storage.state_folder import state_path, workspace_key
from nbtools.workspace.history.content import Blob, BlobStore
from nbtools.workspace.history.pruning import dropped_notice, prune
from nbtools.workspace.history.recovery import recover
from nbtools.workspace.history.store import (
    DATABASE_NAME,
    Entry,
    JournalEntry,
    JournalStore,
    Record,
    Status,
    translate_errors,
)

_ENTRIES = "SELECT id, call, session, tool, at, status, undoes, undone_by FROM entries"
_STEPS = "SELECT entry, kind, path, place, before, after, delta, mode, bytes, folders FROM steps"
_INSERT = (
    "INSERT INTO steps (entry, kind, path, place, before, after, delta, mode, bytes, folders) VALUES (?, ?,"
    " ?, ?, ?, ?, ?, ?, ?, ?)"
)
_LAST_CALL = """
SELECT call FROM entries WHERE undone_by = '' AND undoes = '' AND (? = '' OR session = ?)
AND (status = 'running' OR EXISTS (SELECT 1 FROM steps WHERE entry = entries.id
AND kind <> 'unsaved')) ORDER BY id DESC LIMIT 1"""
_MAX_LISTED = 1_000
_CHECKED_EVERY = 256
"""The size is checked whenever this fraction of the limit has been added."""


@dataclass(frozen=True, slots=True)
class RecordDraft:
    """A record and the content to store with it."""

    record: Record
    blob: Blob | None = None


class Journal:
    """The journal of the workspace at ``root``, created with the first change. Sessions may share it.

    ``session`` is the id of the session that works here.
    """

    def __init__(self, root: Path, settings: Settings) -> None:
        self.session = f"alone-{secrets.token_hex(3)}"
        self.settings = settings
        self._root = root
        self._storage: tuple[JournalStore, BlobStore] | None = None
        self._pending: dict[int, Status | None] = {}
        self._added: int | None = None
        self._leftovers: tuple[Path, ...] = ()

    @property
    def folder(self) -> Path:
        """The path of the journal, whether it exists or not."""
        return Path(os.path.realpath(state_path())) / workspace_key(self._root)

    @property
    def blobs(self) -> BlobStore:
        return self._open()[1]

    @property
    def store(self) -> JournalStore:
        return self._open()[0]

    @property
    def exists(self) -> bool:
        """Whether the journal exists; does not create it."""
        return self._storage is not None or (self.folder / DATABASE_NAME).exists()

    @property
    def notices(self) -> tuple[str, ...]:
        """Warnings for a person: corruption, dropped entries, files left by interrupted changes."""
        if not self.exists:
            return ()
        pruned = dropped_notice(self.store)
        return (*self.store.notices, *([pruned] if pruned else []), *map(_leftover_notice, self._leftovers))

    # --- recording

    def record_intent(
        self, drafts: Sequence[RecordDraft], *, undoes: str = "", status: Status = "intended"
    ) -> int:
        """Records changes about to be made and returns the entry's number, once it is on the disk.

        Raises ``ToolFailure``: the changes must not be made then.
        """
        with self.transaction() as connection:
            entry = self.insert_entry(connection, drafts, undoes=undoes, status=status)
        self.prune_if_grown(sum(draft.record.bytes for draft in drafts))
        return entry

    def insert_entry(
        self, connection: Any, drafts: Iterable[RecordDraft], *, undoes: str = "", status: Status = "intended"
    ) -> int:
        """Does the same within a transaction."""
        request = CURRENT_CALL.get()
        call, tool = (request.id, request.name) if request else (f"{self.session}-{secrets.token_hex(3)}", "")
        values = (call, self.session, tool, time.time(), status, undoes)
        cursor = connection.execute(
            "INSERT INTO entries (call, session, tool, at, status, undoes) VALUES (?, ?, ?, ?, ?, ?)", values
        )
        entry = cursor.lastrowid or 0
        self.insert_records(connection, entry, drafts)
        return entry

    @contextlib.contextmanager
    def record_notebook_change(self, notebook: Path) -> Iterator[None]:
        """Records that a call changes a notebook in the person's editor, which has its own undo."""
        entry = self.record_intent([RecordDraft(Record("cells", notebook))]) if self.settings.journal else 0
        try:
            yield
        except BaseException:
            self.mark_void(entry)
            raise
        self.mark_made(entry)

    def insert_records(self, connection: Any, entry: int, drafts: Iterable[RecordDraft]) -> None:
        """Adds records to an entry, within a transaction."""
        for draft in drafts:
            if draft.blob is not None:
                draft.blob.insert(connection)
            record = draft.record
            values = (
                record.kind,
                os.fsencode(record.path),
                os.fsencode(record.place) if record.place else b"",
                record.before,
                record.after,
                record.delta,
                record.mode,
                record.bytes,
                b"\0".join(map(os.fsencode, record.folders)),
            )
            connection.execute(_INSERT, (entry, *values))

    def trash_path(self) -> Path:
        """Returns an unused path for something to be deleted as a whole.  Raises ``ToolFailure``."""
        with translate_errors():
            return self.blobs.trash_path()

    def backup_path(self, path: Path, data: bytes) -> Path | None:
        """Does the same as ``BlobStore.backup_path``. Raises ``ToolFailure``."""
        with translate_errors():
            return self.blobs.backup_path(path, data)

    def mark_made(self, entry: int) -> None:
        """Marks an entry as made, with the next transaction: until then the files themselves show it."""
        self._pending[entry] = "made"

    def mark_void(self, entry: int) -> None:
        """Marks an entry as not made; everything is as it was."""
        self._pending[entry] = None

    def mark_partly(self, entry: int, not_reverted: Sequence[RecordDraft] = ()) -> None:
        """Marks an entry as failed and not completely reverted; ``not_reverted``: what is left, if known."""
        self._pending[entry] = "partly"
        if not_reverted:
            # On failure, all intended records stay.
            with contextlib.suppress(ToolFailure), self.transaction() as connection:
                connection.execute("DELETE FROM steps WHERE entry = ?", (entry,))
                self.insert_records(connection, entry, not_reverted)

    def mark_undone(self, entries: Sequence[Entry], by: str) -> None:
        """Marks ``entries`` as undone by another call; empty: as in effect again."""
        with self.transaction() as connection:
            for entry in entries:
                connection.execute(
                    "UPDATE entries SET undone_by = ?, status = 'made' WHERE id = ?", (by, entry.id)
                )
                if by:
                    connection.execute(
                        "UPDATE steps SET bytes = 0 WHERE entry = ? AND kind = 'trash'", (entry.id,)
                    )

    def prune_if_grown(self, count: int) -> None:
        """Drops the oldest entries if so much has been added that the journal may be too large."""
        limit = self.settings.journal_bytes
        if self._added is None or self._added + count > limit // _CHECKED_EVERY:
            prune(self.store, self.blobs, limit)
            self._added = 0
        else:
            self._added += count

    @contextlib.contextmanager
    def transaction(self, *, durable: bool = True) -> Iterator[Any]:
        """Opens a transaction, also for pending marks; ``durable``: it is on the disk when it ends."""
        pending = tuple(self._pending.items())
        void = [(entry,) for entry, status in pending if status is None]
        with self.store.transaction(durable=durable) as connection:
            connection.executemany(
                "UPDATE entries SET status = ? WHERE id = ?",
                [(status, entry) for entry, status in pending if status],
            )
            connection.executemany("DELETE FROM entries WHERE id = ?", void)
            connection.executemany("DELETE FROM steps WHERE entry = ?", void)
            yield connection
        for entry, _ in pending:
            self._pending.pop(entry, None)

    # --- reading

    def entries(
        self, call: str = "", session: str = "", status: str = "", last: int = 0
    ) -> tuple[Entry, ...]:
        """Returns entries, oldest first: of a call, a session, a status, or the last ones, where given."""
        if not self.exists:
            return ()
        self.flush()
        conditions = [("call", call), ("session", session), ("status", status)]
        filters = [(name, value) for name, value in conditions if value]
        where = " AND ".join(f"{name} = ?" for name, _ in filters) or "1"
        order = f"ORDER BY id DESC LIMIT {last}" if last else "ORDER BY id DESC"
        rows = self.store.query(f"{_ENTRIES} WHERE {where} {order}", [value for _, value in filters])
        return tuple(self._entry(row) for row in reversed(rows) if self._pending.get(row[0], "") is not None)

    def entry(self, number: int) -> Entry:
        """Returns an existing entry."""
        return self._entry(self.store.query(f"{_ENTRIES} WHERE id = ?", (number,))[0])

    def last_call(self, session: str = "") -> str:
        """Returns the last call (of a session) with saved changes that is neither undone nor an undo."""
        if not self.exists:
            return ""
        self.flush()
        values = (session, session)
        rows = self.store.query(_LAST_CALL, values)
        return rows[0][0] if rows else ""

    def changes(self, name: Callable[[Path], str], session: str = "") -> tuple[JournalEntry, ...]:
        """Returns the calls with saved changes, oldest first: of one session if given, at most the last ones.

        ``name`` names a path in them.
        """
        calls: dict[tuple[str, str], list[Entry]] = {}
        for entry in self.entries(session=session, last=_MAX_LISTED):
            if entry.can_be_undone:
                calls.setdefault((entry.session, entry.call), []).append(entry)
        return tuple(_listed(entries, self, name) for entries in calls.values())

    def running_commands(self) -> tuple[tuple[int, str], ...]:
        """Returns number and session of the entries of commands that still run and are not undone."""
        return tuple(
            self.store.query(
                "SELECT id, session FROM entries WHERE status = 'running' AND undone_by = '' ORDER BY id"
            )
        )

    def _entry(self, row: Sequence[Any]) -> Entry:
        number, call, session, tool, at, status, undoes, undone_by = row
        records = self.records(number)
        unsaved = next((record.after for record in records if record.kind == "unsaved"), "")
        saved = tuple(record for record in records if record.kind != "unsaved")
        return Entry(number, call, session, tool, at, status, undoes, undone_by, saved, unsaved)

    def records(self, entry: int) -> tuple[Record, ...]:
        """Returns an entry's records in order."""
        return tuple(
            _record(row) for row in self.store.query(f"{_STEPS} WHERE entry = ? ORDER BY rowid", (entry,))
        )

    def content(self, key: str) -> bytes | None:
        """Returns the content stored under ``key``; None if it is missing."""
        rows = self.store.query("SELECT packed, data FROM blobs WHERE key = ?", (key,))
        return self.blobs.content(key, packed=rows[0][0], data=rows[0][1]) if rows else None

    def flush(self) -> None:
        """Writes pending marks if possible.  On a full disk they stay pending, and the files show as much."""
        if self._pending:
            with contextlib.suppress(ToolFailure), self.transaction():
                pass

    def close(self) -> None:
        if self._storage is not None:
            self.flush()
            self.store.close()

    def _open(self) -> tuple[JournalStore, BlobStore]:
        if self._storage is None:
            folder = self.folder
            self._storage = JournalStore(folder), BlobStore(folder)
            if (folder / DATABASE_NAME).exists():
                self._leftovers = recover(*self._storage)
        return self._storage


def _listed(entries: list[Entry], journal: Journal, name: Callable[[Path], str]) -> JournalEntry:
    records = [record for entry in entries for record in entry.records]
    return JournalEntry(
        id=entries[0].call,
        tool=entries[0].tool,
        at=entries[0].at,
        files=tuple(
            dict.fromkeys(
                name(record.path) for record in records if record.kind not in ("folder", "unfolder")
            )
        ),
        bytes=sum(record.bytes for record in records),
        undone_by=entries[-1].undone_by,
        undoes=entries[-1].undoes,
        of_this_session=entries[0].session == journal.session,
        partly=any(entry.status == "partly" for entry in entries),
        unsaved=next((entry.unsaved for entry in entries if entry.unsaved), ""),
    )


def _leftover_notice(path: Path) -> str:
    fact = f"{path} is the only copy of a file's content before a change that was interrupted."
    return f"{fact} Look at it, then move or delete it."


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
