"""Stores previous contents: small ones in the journal's database, large ones as files beside it."""

from __future__ import annotations

import contextlib
import secrets
import sqlite3
import stat
import zlib
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from nbtools.workspace.files.atomic_write import write_durable
from nbtools.workspace.files.no_follow import status_or_none
from nbtools.workspace.history.content import MAX_HASHED_BYTES, digest, is_key_of, is_loose, loose_key
from nbtools.workspace.state_folder import private_folder

_MAX_INLINE = MAX_HASHED_BYTES
"""Contents up to this size, in bytes, are stored in the database."""
_MAX_COMPRESSED = 1 << 13
"""Contents up to this size, in bytes, are compressed; for larger ones that takes longer than writing them."""


@dataclass(frozen=True, slots=True)
class Blob:
    """A content to store; ``data`` is what goes into the database, None if it is in a file."""

    key: str
    packed: bool
    stored: int
    data: bytes | None

    def insert(self, connection: sqlite3.Connection) -> None:
        values = (self.key, self.packed, self.stored, self.data)
        connection.execute("INSERT OR IGNORE INTO blobs (key, packed, stored, data) VALUES (?, ?, ?, ?)", values)


class BlobStore:
    """Stores contents in ``folder``, beside the journal: ``blobs`` for large ones, ``trash`` for deleted files and folders."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def prepare(self, data: bytes) -> Blob:
        """Returns the blob to insert for ``data``; a large content is already written to its file.  Raises ``OSError``."""
        # Contents that take longer to hash than to write get a random name and are stored uncompressed.
        if len(data) <= _MAX_COMPRESSED:
            packed = zlib.compress(data, 1)
            smaller = len(packed) < len(data)
            return Blob(digest(data), smaller, min(len(packed), len(data)), packed if smaller else data)
        if len(data) <= _MAX_INLINE:
            return Blob(digest(data), packed=False, stored=len(data), data=data)
        key = loose_key(data)
        write_durable(private_folder(self._folder / "blobs") / key, data)
        return Blob(key, packed=False, stored=len(data), data=None)

    def backup_path(self, path: Path, data: bytes) -> Path | None:
        """Returns where the file at ``path``, which holds ``data``, can be moved to when it is replaced; its name is the key.

        None if a copy is as good or the only way: for small files, files with several hard links, and files on another file system.  Raises
        ``OSError``.
        """
        info = status_or_none(path) if len(data) > _MAX_COMPRESSED else None
        if info is None or not stat.S_ISREG(info.st_mode) or info.st_nlink > 1:
            return None
        folder = private_folder(self._folder / "blobs")
        return folder / loose_key(data) if folder.stat().st_dev == info.st_dev else None

    def content(self, key: str, *, packed: bool, data: bytes | None) -> bytes | None:
        """Returns a stored content; None if it is missing or damaged."""
        if data is not None:
            return zlib.decompress(data) if packed else data
        try:
            stored = self.file(key).read_bytes()
        except OSError:
            return None
        return stored if is_key_of(key, stored) else None

    def file(self, key: str) -> Path:
        """Returns the path of a content that is stored in a file."""
        return self._folder / "blobs" / key

    def remove(self, keys: Iterable[str]) -> None:
        for key in keys:
            if is_loose(key):
                with contextlib.suppress(OSError):
                    self.file(key).unlink()

    def trash_path(self) -> Path:
        """Returns an unused path for something to be deleted.  Raises ``OSError``."""
        return private_folder(self._folder / "trash") / secrets.token_hex(16)
