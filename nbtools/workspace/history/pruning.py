"""Enforces the journal's size limit: drops the oldest entries and reports it."""

from __future__ import annotations

import contextlib
import os
import shutil
import sqlite3
import time
from collections.abc import Sequence
from pathlib import Path

from nbtools.workspace.history.content import BlobStore
from nbtools.workspace.history.store import JournalStore

_TARGET = 0.99
"""The fraction of the limit to reach by dropping. Little at a time: a deletion takes as long as a write."""
_BATCH = 50
_ORPHANS = """
FROM blobs WHERE NOT EXISTS (SELECT 1 FROM steps WHERE steps.before = blobs.key)
AND NOT EXISTS (SELECT 1 FROM files WHERE files.key = blobs.key)
"""
_SIZE = """
SELECT (SELECT coalesce(sum(stored), 0) FROM blobs) + (SELECT coalesce(sum(bytes), 0) FROM steps
WHERE kind = 'trash')
+ (SELECT coalesce(sum(length(delta)), 0) FROM steps)
"""


def prune(store: JournalStore, blobs: BlobStore, limit: int) -> None:
    """Drops the oldest entries until the journal is within ``limit`` bytes; the newest entry always stays."""
    if int(store.query(_SIZE)[0][0]) <= limit:
        return
    keys: list[str] = []
    trash: list[Path] = []
    with store.transaction() as connection:
        keys += _drop_orphans(connection)
        while connection.execute(_SIZE).fetchone()[0] > limit * _TARGET:
            oldest = connection.execute(
                "SELECT id, at FROM entries ORDER BY id LIMIT ?", (_BATCH + 1,)
            ).fetchall()
            batch = oldest[: max(1, min(_BATCH, len(oldest) // 2))]
            if len(oldest) < 2:
                connection.execute("DELETE FROM files")
                connection.execute("DELETE FROM facts WHERE name = 'kept_at'")
                keys += _drop_orphans(connection)
                break
            trash += _drop(connection, [row[0] for row in batch], batch[-1][1])
            keys += _drop_orphans(connection)
        connection.execute("PRAGMA incremental_vacuum")
    store.forget()
    blobs.remove(keys)
    for path in trash:
        remove_trash(path)


def dropped_notice(store: JournalStore) -> str:
    """Returns the notice about dropped entries; empty if there are none."""
    facts = dict(store.query("SELECT name, value FROM facts"))
    if "dropped" not in facts:
        return ""
    when = time.strftime("%Y-%m-%d %H:%M", time.localtime(float(facts["dropped_at"])))
    count = int(facts["dropped"])
    changes = f"{count:,} change{'' if count == 1 else 's'} up to {when}"
    return (
        f"{changes} cannot be undone any more: the journal keeps only the newest, up to its size limit"
        " (Settings.journal_bytes)."
    )


def remove_trash(path: Path) -> None:
    """Deletes what was stored of a deletion, also if its folders are read-only."""
    if path.is_dir() and not path.is_symlink():
        for folder, _, _ in os.walk(path):
            with contextlib.suppress(OSError):
                os.chmod(folder, 0o700)
        shutil.rmtree(path, ignore_errors=True)
    else:
        with contextlib.suppress(OSError):
            path.unlink()


def _drop_orphans(connection: sqlite3.Connection) -> list[str]:
    keys = [row[0] for row in connection.execute(f"SELECT key {_ORPHANS}")]
    connection.execute(f"DELETE {_ORPHANS}")
    return keys


def _drop(connection: sqlite3.Connection, entries: Sequence[int], at: float) -> list[Path]:
    """Drops entries and returns the paths where their deleted files are stored."""
    last = entries[-1]
    stored = connection.execute(
        "SELECT place FROM steps WHERE entry <= ? AND kind = 'trash'", (last,)
    ).fetchall()
    connection.execute("DELETE FROM steps WHERE entry <= ?", (last,))
    connection.execute("DELETE FROM entries WHERE id <= ?", (last,))
    connection.execute(
        "INSERT INTO facts (name, value) VALUES ('dropped', ?) ON CONFLICT (name) DO UPDATE SET value = value"
        " + excluded.value",
        (len(entries),),
    )
    connection.execute("INSERT OR REPLACE INTO facts (name, value) VALUES ('dropped_at', ?)", (at,))
    return [Path(os.fsdecode(row[0])) for row in stored if row[0]]
