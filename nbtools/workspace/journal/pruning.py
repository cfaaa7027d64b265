"""Keeping the journal within its size: the oldest entries go first, and it is said."""

from __future__ import annotations

import contextlib
import os
import shutil
import sqlite3
import time
from collections.abc import Sequence
from pathlib import Path

from nbtools.workspace.journal.blobs import Blobs
from nbtools.workspace.journal.store import Store

_FREED = 0.99
"""What is left of the limit when something has to go: little at a time, for each file that goes takes as long as a write."""
_AT_ONCE = 50
_ORPHANS = """
FROM blobs WHERE NOT EXISTS (SELECT 1 FROM steps WHERE steps.before = blobs.key)
AND NOT EXISTS (SELECT 1 FROM files WHERE files.key = blobs.key)
"""
_SIZE = """
SELECT (SELECT coalesce(sum(stored), 0) FROM blobs) + (SELECT coalesce(sum(bytes), 0) FROM steps WHERE kind = 'trash')
+ (SELECT coalesce(sum(length(delta)), 0) FROM steps)
"""


def prune(store: Store, blobs: Blobs, limit: int) -> None:
    """Drops the oldest entries until what is kept is within ``limit`` bytes; the newest stays in any case."""
    if _size(store) <= limit:
        return
    keys: list[str] = []
    trash: list[Path] = []
    with store.writing() as connection:
        keys += _drop_orphans(connection)
        while connection.execute(_SIZE).fetchone()[0] > limit * _FREED:
            oldest = connection.execute("SELECT id, at FROM entries ORDER BY id LIMIT ?", (_AT_ONCE + 1,)).fetchall()
            going = oldest[: max(1, min(_AT_ONCE, len(oldest) // 2))]
            if len(oldest) < 2:
                connection.execute("DELETE FROM files")
                connection.execute("DELETE FROM facts WHERE name = 'kept_at'")
                keys += _drop_orphans(connection)
                break
            trash += _drop(connection, [row[0] for row in going], going[-1][1])
            keys += _drop_orphans(connection)
        connection.execute("PRAGMA incremental_vacuum")
    store.forget()
    blobs.remove(keys)
    for place in trash:
        remove_kept(place)


def dropped(store: Store) -> str:
    """What is said of entries that are gone; empty where none is."""
    facts = dict(store.read("SELECT name, value FROM facts"))
    if "dropped" not in facts:
        return ""
    when = time.strftime("%Y-%m-%d %H:%M", time.localtime(float(facts["dropped_at"])))
    count = int(facts["dropped"])
    what = f"{count:,} change{'' if count == 1 else 's'} up to {when}"
    return f"{what} cannot be undone any more: the journal keeps the newest within its size (Settings.journal_bytes)."


def was_dropped(store: Store) -> bool:
    return bool(store.read("SELECT 1 FROM facts WHERE name = 'dropped'"))


def remove_kept(place: Path) -> None:
    """Removes what was kept of a deletion, also where its folders may not be changed."""
    if place.is_dir() and not place.is_symlink():
        for folder, _, _ in os.walk(place):
            with contextlib.suppress(OSError):
                os.chmod(folder, 0o700)
        shutil.rmtree(place, ignore_errors=True)
    else:
        with contextlib.suppress(OSError):
            place.unlink()


def _size(store: Store) -> int:
    return int(store.read(_SIZE)[0][0])


def _drop_orphans(connection: sqlite3.Connection) -> list[str]:
    keys = [row[0] for row in connection.execute(f"SELECT key {_ORPHANS}")]
    connection.execute(f"DELETE {_ORPHANS}")
    return keys


def _drop(connection: sqlite3.Connection, entries: Sequence[int], at: float) -> list[Path]:
    """Where what they had deleted is kept."""
    last = entries[-1]
    kept = connection.execute("SELECT place FROM steps WHERE entry <= ? AND kind = 'trash'", (last,)).fetchall()
    connection.execute("DELETE FROM steps WHERE entry <= ?", (last,))
    connection.execute("DELETE FROM entries WHERE id <= ?", (last,))
    connection.execute(
        "INSERT INTO facts (name, value) VALUES ('dropped', ?) ON CONFLICT (name) DO UPDATE SET value = value + excluded.value",
        (len(entries),),
    )
    connection.execute("INSERT OR REPLACE INTO facts (name, value) VALUES ('dropped_at', ?)", (at,))
    return [Path(os.fsdecode(row[0])) for row in kept if row[0]]
