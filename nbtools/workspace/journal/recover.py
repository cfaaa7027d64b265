"""After a session was cut short, by ``kill -9`` or a power cut: what its last changes left behind."""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Iterator
from pathlib import Path

from nbtools.core.errors import ToolFailure
from nbtools.workspace.folder_lock import folder_lock
from nbtools.workspace.journal.blobs import Blobs
from nbtools.workspace.journal.content import HASHED, digest
from nbtools.workspace.journal.store import Store
from nbtools.workspace.leftovers import sweep
from nbtools.workspace.nofollow import status, unlink

_LAST = 200
"""Changes that are looked at: a session leaves one unfinished, or a few that were made at the same time."""
_NOBODYS = 3600.0
"""Seconds after which a content that no entry names was not kept for one that is just being written."""
_INTERRUPTED = """
SELECT path FROM steps JOIN entries ON entries.id = steps.entry WHERE status = 'intended' AND entry > (SELECT max(id) FROM entries) - ?1
UNION SELECT place FROM steps JOIN entries ON entries.id = steps.entry
WHERE status = 'intended' AND place != x'' AND entry > (SELECT max(id) FROM entries) - ?1
"""
_TAKEN = """
SELECT path, place, before FROM steps JOIN entries ON entries.id = steps.entry
WHERE status = 'intended' AND (kind = 'trash' OR (kind = 'write' AND before GLOB 'f-*')) AND entry > (SELECT max(id) FROM entries) - ?
"""


def recover(store: Store, blobs: Blobs) -> tuple[Path, ...]:
    """Clears the folders of changes that may have been cut short.  Returns what stays: files that are the only copy of something."""
    _drop_nobodys(store)
    _drop_second_names(store, blobs)
    return tuple(path for folder in _folders(store) for path in sweep(folder, lambda data: _keeps(store, blobs, data)))


def _folders(store: Store) -> list[Path]:
    """Where such a change may have left something."""
    return sorted({Path(os.fsdecode(row[0])).parent for row in store.read(_INTERRUPTED, (_LAST,))})


def _drop_second_names(store: Store, blobs: Blobs) -> None:
    """Of what was about to be taken away and is still in its place: a file with two names would be written in both."""
    for path, place, key in store.read(_TAKEN, (_LAST,)):
        taken, kept = Path(os.fsdecode(path)), Path(os.fsdecode(place)) if place else blobs.file(key)
        # Who is just changing it has this lock, until it has one name again.
        with contextlib.suppress(OSError, ToolFailure), folder_lock(taken.parent):
            if os.path.samestat(status(taken), status(kept)):
                unlink(kept)


def _keeps(store: Store, blobs: Blobs, data: bytes) -> bool:
    """Whether the journal has this content."""
    values = (digest(data), -1) if len(data) <= HASHED else ("", len(data))
    rows = store.read("SELECT key, packed, data FROM blobs WHERE key = ? OR stored = ?", values)
    return any(blobs.content(key, packed=packed, data=kept) == data for key, packed, kept in rows)


def _drop_nobodys(store: Store) -> None:
    """Contents written to the disk for an entry that never was: what it was to be of still has them."""
    with contextlib.suppress(OSError):
        named = {row[0] for row in store.read("SELECT key FROM blobs WHERE key GLOB 'f-*'")}
        for file in list(_old(store.folder / "blobs")):
            if file.name not in named:
                os.unlink(file)


def _old(folder: Path) -> Iterator[os.DirEntry[str]]:
    with os.scandir(folder) as files:
        for file in files:
            with contextlib.suppress(FileNotFoundError):
                if time.time() - file.stat(follow_symlinks=False).st_mtime > _NOBODYS:
                    yield file
