"""Snapshots of the workspace's files before and after each command, so that it can be undone.

Included are files that git does not ignore, within the settings' limits; links and empty folders are not.  A
file is read only if its status has changed since the last snapshot.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import sqlite3
import stat
import sys
import time
from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

from nbtools.core.errors import ToolFailure
from nbtools.workspace.cancellation import run_in_thread
from nbtools.workspace.files.read import open_file
from nbtools.workspace.history.command_reach import NOT_SAVED, unsaved_reason, written_paths
from nbtools.workspace.history.content import Blob, delta, fingerprint
from nbtools.workspace.history.file_scanner import (
    TIMESTAMP_TICK,
    FileScan,
    FileScanner,
    LimitExceeded,
    Stamp,
    may_change_undetected,
    stamp_of,
)
from nbtools.workspace.history.journal import Journal, RecordDraft
from nbtools.workspace.history.store import Record
from nbtools.workspace.search.gitignore import IGNORE_FILES

_SELECT_FILES = "SELECT path, size, mtime, ctime, inode, mode, key FROM files"
_INSERT_FILE = (
    "INSERT OR REPLACE INTO files (path, size, mtime, ctime, inode, mode, key) VALUES (?, ?, ?, ?, ?, ?, ?)"
)
_OTHER_PATHS = "SELECT path, place FROM steps JOIN entries ON entry = id WHERE id > ? AND tool NOT IN (?, ?)"
_COMMANDS = ("shell", "terminal_run")
_PROGRESS_EVERY = 500
_NEVER = 0
"""A modification time that no file has, so that the file is read again in the next snapshot."""


@dataclass(slots=True)
class _StoredFiles:
    """The stamps and content keys of the stored files, as of the journal's ``version``."""

    version: object = None
    stamps: dict[str, Stamp] = field(default_factory=dict)
    keys: dict[str, str] = field(default_factory=dict)

    def add(self, path: str, stamp: Stamp, key: str) -> None:
        self.stamps[path], self.keys[path] = stamp, key

    def drop(self, path: str) -> None:
        self.stamps.pop(path, None)
        self.keys.pop(path, None)


@dataclass(frozen=True, slots=True)
class _Change:
    """A new, deleted (no ``stamp``, no ``blob``) or changed file; ``records`` undo that."""

    path: str
    stamp: Stamp | None
    blob: Blob | None
    records: tuple[Record, ...]


class FileSnapshot:
    """The stored state of the workspace's files, in the journal, for all sessions. Not thread-safe."""

    def __init__(self, journal: Journal, root: Path) -> None:
        self._journal = journal
        self._root = root
        self._scanner = FileScanner(root)
        self._stored = _StoredFiles()

    def scan(self, count: int, size: int) -> FileScan | LimitExceeded:
        """Scans the current files: at most ``count`` files of ``size`` bytes together."""
        return self._scanner.scan(self._journal.folder, count, size)

    def begin(self, now: FileScan, report: Callable[[int], None], written: Sequence[Path] | None = ()) -> int:
        """Stores the current files and creates an entry for the command that follows; returns its number.

        ``written``: all paths that the command may change; None if that is not known.  Changes since the last
        snapshot are recorded for the commands that still run.  Raises ``ToolFailure`` if they cannot be
        stored.
        """
        journal = self._journal
        running = journal.running_commands()
        changes = list(self._changes(now, report, recorded=bool(running)))
        with journal.transaction() as connection:
            if running:
                self._record(connection, running[-1][0], changes)
            for entry, session in running:
                if session != journal.session:  # interrupted or cancelled: its own end adds further changes
                    self._close(connection, entry)
            self._write_files(connection, changes, now.at)
            unsaved = self._unsaved(written, now)
            entry = journal.insert_entry(connection, unsaved, status="running")
        self._remember(changes, now.at)
        return entry

    def end(self, entry: int, now: FileScan, written: Sequence[Path] | None = ()) -> None:
        """Records the changes under the entry."""
        changes = list(self._changes(now, lambda _: None, recorded=True))
        is_noted = any(record.kind == "unsaved" for record in self._journal.records(entry))
        unsaved = [] if is_noted else self._unsaved(written, now)
        # Without changes this need not survive a power cut:
        # the entry that then reappears has nothing to undo.
        with self._journal.transaction(durable=bool(changes)) as connection:
            self._record(connection, entry, changes)
            self._journal.insert_records(connection, entry, unsaved)
            self._close(connection, entry)
            self._write_files(connection, changes, now.at)
        self._remember(changes, now.at)

    def _unsaved(self, written: Sequence[Path] | None, now: FileScan) -> list[RecordDraft]:
        """Returns the record of a command that may change more than is saved."""
        reason = NOT_SAVED if written is None else unsaved_reason(written, self._root, now.files)
        return [unsaved_record(self._root, reason)] if reason else []

    def _changes(self, now: FileScan, report: Callable[[int], None], *, recorded: bool) -> Iterator[_Change]:
        stored = self._up_to_date()
        different = list(self._different(stored.stamps, now))
        unsure = any(
            os.path.basename(path) in IGNORE_FILES and not self._holds(path) for path, _ in different
        )
        descriptions = (
            _ChangeRecords(self._journal, self._root, stored, unsure=unsure)
            if recorded and different
            else None
        )
        for read, (path, stamp) in enumerate(different, 1):
            if read % _PROGRESS_EVERY == 0:
                report(read)
            data = None if stamp is None else self._read(path)
            if stamp is None or data is not None:
                blob = None if data is None else self._journal.blobs.prepare(data)
                records = () if descriptions is None else tuple(descriptions.records(path, stamp, data))
                yield _Change(path, stamp, blob, records)

    def _up_to_date(self) -> _StoredFiles:
        """Returns the stored files; reads them again if another session has written since."""
        version = self._journal.store.version
        if self._stored.version != version:
            self._stored = _StoredFiles(version)
            for raw, *stamp, key in self._journal.store.query(_SELECT_FILES):
                self._stored.add(os.fsdecode(raw), (stamp[0], stamp[1], stamp[2], stamp[3], stamp[4]), key)
        return self._stored

    def _different(self, stored: Mapping[str, Stamp], now: FileScan) -> Iterator[tuple[str, Stamp | None]]:
        """Yields files whose stamp differs, with the new stamp; None for deleted files.

        A file that git has begun to ignore is still compared.
        """
        if now.files == stored:
            return
        for path, stamp in now.files.items():
            if stored.get(path) != stamp:
                yield path, stamp
        for path in () if stored.keys() <= now.files.keys() else stored.keys() - now.files.keys():
            with contextlib.suppress(PermissionError):
                current = _look(self._root / path)
                if current != stored[path]:
                    yield path, current

    def _holds(self, path: str) -> bool:
        """Returns whether a file with another stamp still has its stored content."""
        key = self._stored.keys.get(path)
        return key is not None and self._read(path) == self._journal.content(key)

    def _read(self, path: str) -> bytes | None:
        """Returns the content of a file; None if it cannot be read or is deleted."""
        try:
            with open_file(self._root / path, path) as file:
                return file.read()
        except (ToolFailure, OSError):
            return None

    def _record(self, connection: sqlite3.Connection, entry: int, changes: Sequence[_Change]) -> None:
        self._journal.insert_records(
            connection, entry, [RecordDraft(record) for change in changes for record in change.records]
        )

    def _close(self, connection: sqlite3.Connection, entry: int) -> None:
        """Marks the entry of a command as complete; deletes it if nothing was recorded."""
        connection.execute("UPDATE entries SET status = 'made' WHERE id = ?", (entry,))
        connection.execute(
            "DELETE FROM entries WHERE id = ? AND NOT EXISTS (SELECT 1 FROM steps WHERE entry = ?)",
            (entry, entry),
        )

    def _write_files(self, connection: sqlite3.Connection, changes: Sequence[_Change], at: int) -> None:
        """Writes the changed files to the journal, as they were at time ``at``."""
        for change in changes:
            raw = os.fsencode(change.path)
            if change.stamp is None or change.blob is None:
                connection.execute("DELETE FROM files WHERE path = ?", (raw,))
                continue
            change.blob.insert(connection)
            connection.execute(_INSERT_FILE, (raw, *_trusted(change.stamp, at), change.blob.key))
        connection.execute("INSERT OR REPLACE INTO facts (name, value) VALUES ('kept_at', ?)", (str(at),))
        connection.execute(
            "INSERT OR REPLACE INTO facts (name, value) SELECT 'kept_after', coalesce(max(id), 0) FROM"
            " entries"
        )

    def _remember(self, changes: Sequence[_Change], at: int) -> None:
        """Updates the stored files in memory, once the journal has them."""
        for change in changes:
            if change.stamp is None or change.blob is None:
                self._stored.drop(change.path)
            else:
                self._stored.add(change.path, _trusted(change.stamp, at), change.blob.key)
        if changes:
            self._journal.prune_if_grown(
                sum(change.blob.stored for change in changes if change.blob is not None)
            )


class _ChangeRecords:
    """Computes the records of changes by commands, without those that other calls record themselves.

    ``unsure``: ignore rules have changed, so that a file may seem new although it existed;
    undo must not delete it.
    """

    def __init__(self, journal: Journal, root: Path, stored: _StoredFiles, *, unsure: bool) -> None:
        self._unsure = unsure
        facts = dict(journal.store.query("SELECT name, value FROM facts"))
        rows = journal.store.query(_OTHER_PATHS, (int(facts.get("kept_after", 0)), *_COMMANDS))
        self._journal = journal
        self._root = root
        self._stored = stored
        # If unknown, no file counts as new.
        self._since = int(facts.get("kept_at", sys.maxsize)) - TIMESTAMP_TICK
        self._others = {Path(os.fsdecode(raw)) for row in rows for raw in row if raw}

    def records(self, path: str, stamp: Stamp | None, data: bytes | None) -> Iterator[Record]:
        absolute = self._root / path
        if not self._others.isdisjoint((absolute, *absolute.parents)):
            return
        if path in self._stored.keys:
            yield from self._changed(absolute, path, stamp, data)
        elif stamp is not None and (stamp[2] >= self._since or stamp in self._stamps) and not self._unsure:
            # An older file existed before and was ignored by git,
            # unless it came with a folder that was moved.
            folders = tuple(
                self._root / above
                for above in reversed(Path(path).parents)
                if above not in self._folders and above.name
            )
            yield Record("write", absolute, after=fingerprint(data), folders=folders)

    @cached_property
    def _stamps(self) -> frozenset[Stamp]:
        """The stamps of the stored files."""
        return frozenset(self._stored.stamps.values())

    @cached_property
    def _folders(self) -> frozenset[Path]:
        """The folders of the stored files."""
        folders = {Path(os.path.dirname(path)) for path in self._stored.keys}
        return frozenset(above for folder in folders for above in (folder, *folder.parents))

    def _changed(
        self, absolute: Path, path: str, stamp: Stamp | None, data: bytes | None
    ) -> Iterator[Record]:
        key, mode = self._stored.keys[path], _mode(self._stored.stamps[path])
        old = self._journal.content(key)
        if old is None:
            return
        if data is None or stamp is None:
            yield Record("write", absolute, before=key, mode=mode, bytes=len(old))
            return
        if data != old:
            packed_delta = delta(old, data)
            yield Record(
                "write",
                absolute,
                None,
                key,
                "delta" if packed_delta else fingerprint(data),
                packed_delta,
                bytes=len(old),
            )
        if _mode(stamp) != mode:
            yield Record("mode", absolute, after=f"{_mode(stamp):o}", mode=mode)


def _trusted(stamp: Stamp, at: int) -> Stamp:
    """Returns the stamp to store: for a file that may change without a new stamp, one that always differs."""
    size, _, changed, inode, mode = stamp
    return (size, _NEVER, changed, inode, mode) if may_change_undetected(stamp, at) else stamp


def _mode(stamp: Stamp) -> int:
    return stamp[4]


def _look(path: Path) -> Stamp | None:
    """Returns a regular file's stamp, None if there is none. Raises ``PermissionError`` if unknown."""
    try:
        info = os.lstat(path)
    except PermissionError:
        raise
    except OSError:
        return None
    return stamp_of(info) if stat.S_ISREG(info.st_mode) else None


_QUIET = 1.0
"""Seconds until progress of a snapshot is reported."""
_LIMIT_CACHED_FOR = 30.0
"""Seconds for which a workspace that exceeded the limits is not scanned again."""


@dataclass(slots=True)
class CommandSnapshot:
    """The snapshot of one command; await ``end`` after it. ``note``: why its changes cannot be undone."""

    note: str = ""
    entry: int = 0
    ended: Callable[[int], Awaitable[None]] | None = None

    async def end(self) -> None:
        if self.ended is not None and self.entry:
            entry, self.entry = self.entry, 0
            await self.ended(entry)


@dataclass(slots=True)
class CommandSnapshots:
    """The snapshots of a session's commands, taken one at a time."""

    journal: Journal
    root: Path
    _turn: asyncio.Lock = field(default_factory=asyncio.Lock)
    _running: dict[int, Sequence[Path] | None] = field(default_factory=dict)
    """The entries of commands that run, with the paths that they may change; None: not known."""
    _tasks: set[asyncio.Task[None]] = field(default_factory=set)
    _snapshot: FileSnapshot = field(init=False)
    _too_much: tuple[LimitExceeded, tuple[int, int], float] | None = None

    def __post_init__(self) -> None:
        self._snapshot = FileSnapshot(self.journal, self.root)

    async def begin(
        self, command: str, folder: Path, tell: Callable[[str], None] | None = None
    ) -> CommandSnapshot:
        """Takes a snapshot before a command that runs in ``folder``, unless it is known to change nothing.

        Never fails: ``note`` then says that undo is impossible.
        """
        written = written_paths(command, folder, self.root) if self.journal.settings.journal else ()
        if written == ():
            return CommandSnapshot()
        progress = _progress_reporter(tell)
        try:
            async with self._turn:  # which lasts until the thread ends, even when cancelled
                entry = await run_in_thread(lambda _: self._begin(progress, written))
        except ToolFailure as failure:
            return CommandSnapshot(_cannot_undo(failure.message))
        if isinstance(entry, LimitExceeded):
            return CommandSnapshot(_cannot_undo(entry.why))
        return CommandSnapshot("", entry, self._end)

    def warning(self, command: str, folder: Path) -> str:
        """Returns a warning, from the last scan, that a command's changes cannot be undone, else ""."""
        cached = self._too_much
        if cached is None or cached[1] != self._limits() or not self.journal.settings.journal:
            return ""
        return "" if written_paths(command, folder, self.root) == () else _cannot_undo(cached[0].why)

    def end_after(self, watch: CommandSnapshot, over: Awaitable[object]) -> None:
        """Ends the command's snapshot when ``over`` completes."""

        async def wait() -> None:
            await over
            await watch.end()

        task = asyncio.get_running_loop().create_task(wait())
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def settle(self, entries: Iterable[int]) -> None:
        """Records the changes so far of commands that still run; later ones cannot be undone."""
        for entry in entries:
            self._running.setdefault(entry, None)
        for entry in entries:
            await self._end(entry)

    async def close(self) -> None:
        """Ends all snapshots; no command may run any more."""
        if self._tasks:
            await asyncio.wait(self._tasks)
        await self.settle(tuple(self._running))

    async def _end(self, entry: int) -> None:
        if entry not in self._running:
            return
        written = self._running.pop(entry)
        with contextlib.suppress(ToolFailure):
            async with self._turn:
                await run_in_thread(lambda _: self._snapshot.end(entry, self._final_scan(), written))

    def _begin(
        self, progress: Callable[[int, int], None], written: Sequence[Path] | None
    ) -> int | LimitExceeded:
        """Takes the snapshot and returns the number of the command's entry."""
        now = self._look()
        if isinstance(now, LimitExceeded):
            self.journal.mark_made(self.journal.record_intent([unsaved_record(self.root, now.why)]))
            return now
        entry = self._snapshot.begin(now, lambda done: progress(done, len(now.files)), written)
        self._running[entry] = written  # also if the caller was cancelled
        return entry

    def _final_scan(self) -> FileScan:
        """Scans the files after a command; above the limits, only known files are compared."""
        now = self._look()
        return FileScan({}, time.time_ns()) if isinstance(now, LimitExceeded) else now

    def _limits(self) -> tuple[int, int]:
        settings = self.journal.settings
        return settings.snapshot_files, settings.snapshot_bytes

    def _look(self) -> FileScan | LimitExceeded:
        limits = self._limits()
        cached = self._too_much
        if cached is not None and cached[1] == limits and time.monotonic() < cached[2]:
            return cached[0]
        now = self._snapshot.scan(*limits)
        self._too_much = (
            (now, limits, time.monotonic() + _LIMIT_CACHED_FOR) if isinstance(now, LimitExceeded) else None
        )
        return now


def unsaved_record(root: Path, reason: str) -> RecordDraft:
    """Returns the record that a command may change more than is saved."""
    return RecordDraft(Record("unsaved", root, after=reason))


def _cannot_undo(reason: str) -> str:
    return f"its changes cannot be undone: {reason}"


def _progress_reporter(tell: Callable[[str], None] | None) -> Callable[[int, int], None]:
    loop = asyncio.get_running_loop()
    quiet_until = loop.time() + _QUIET

    def progress(done: int, count: int) -> None:
        if tell is not None and loop.time() > quiet_until:
            loop.call_soon_threadsafe(
                tell, f"Taking a snapshot before the command, for undo: {done:,} of {count:,} files"
            )

    return progress
