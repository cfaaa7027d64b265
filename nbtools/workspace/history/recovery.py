"""Cleans up after a session that was killed or lost power: completes or reverts its last changes."""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Iterator
from pathlib import Path

from nbtools.core.errors import ToolFailure
from nbtools.storage.folder_lock import folder_lock
from nbtools.workspace.files.no_follow import status, unlink
from nbtools.workspace.files.temp_files import sweep
from nbtools.workspace.history.content import MAX_HASHED_BYTES, BlobStore, digest
from nbtools.workspace.history.store import JournalStore

_LAST = 200
"""The number of latest entries to examine: a session leaves few unfinished."""
_ORPHANED_AFTER = 3600.0
"""Seconds after which a content without an entry is not just being written."""
_INTERRUPTED = """
SELECT path FROM steps JOIN entries ON entries.id = steps.entry WHERE status = 'intended'
AND entry > (SELECT max(id) FROM entries) - ?1
UNION SELECT place FROM steps JOIN entries ON entries.id = steps.entry
WHERE status = 'intended' AND place != x'' AND entry > (SELECT max(id) FROM entries) - ?1
"""
_MOVED_AWAY = """
SELECT path, place, before FROM steps JOIN entries ON entries.id = steps.entry
WHERE status = 'intended' AND (kind = 'trash' OR (kind = 'write' AND before GLOB 'f-*'))
AND entry > (SELECT max(id) FROM entries) - ?
"""


def recover(store: JournalStore, blobs: BlobStore) -> tuple[Path, ...]:
    """Cleans up after interrupted changes. Returns files that remain as the only copy of a content."""
    _drop_orphans(store)
    _drop_second_names(store, blobs)
    return tuple(
        path
        for folder in sorted(
            {Path(os.fsdecode(row[0])).parent for row in store.query(_INTERRUPTED, (_LAST,))}
        )
        for path in sweep(folder, lambda data: _is_stored(store, blobs, data))
    )


def _drop_second_names(store: JournalStore, blobs: BlobStore) -> None:
    """Deletes backup hard links of files that are still in their place."""
    for path, place, key in store.query(_MOVED_AWAY, (_LAST,)):
        original, backup = Path(os.fsdecode(path)), Path(os.fsdecode(place)) if place else blobs.file(key)
        # A file with two names would be written in place.
        # A session that is just changing it holds this lock until it has one name again.
        with contextlib.suppress(OSError, ToolFailure), folder_lock(original.parent):
            if os.path.samestat(status(original), status(backup)):
                unlink(backup)


def _is_stored(store: JournalStore, blobs: BlobStore, data: bytes) -> bool:
    """Returns whether the journal has this content."""
    values = (digest(data), -1) if len(data) <= MAX_HASHED_BYTES else ("", len(data))
    rows = store.query("SELECT key, packed, data FROM blobs WHERE key = ? OR stored = ?", values)
    return any(blobs.content(key, packed=packed, data=inline) == data for key, packed, inline in rows)


def _drop_orphans(store: JournalStore) -> None:
    """Deletes contents written for an entry that was never recorded; the files still have them."""
    with contextlib.suppress(OSError):
        recorded = {row[0] for row in store.query("SELECT key FROM blobs WHERE key GLOB 'f-*'")}
        for file in list(_old(store.folder / "blobs")):
            if file.name not in recorded:
                os.unlink(file)


def _old(folder: Path) -> Iterator[os.DirEntry[str]]:
    with os.scandir(folder) as files:
        for file in files:
            with contextlib.suppress(FileNotFoundError):
                if time.time() - file.stat(follow_symlinks=False).st_mtime > _ORPHANED_AFTER:
                    yield file
