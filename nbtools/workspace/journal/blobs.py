"""Contents that are kept: small ones in the journal itself, large ones as files beside it."""

from __future__ import annotations

import contextlib
import secrets
import sqlite3
import stat
import zlib
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from nbtools.workspace.atomic import write_lasting
from nbtools.workspace.journal.content import HASHED, digest, is_loose, is_of, loose_key
from nbtools.workspace.nofollow import look
from nbtools.workspace.state import private_folder

_INSIDE = HASHED
"""Bytes of a content that lies in the journal itself."""
_PACKED = 1 << 13
"""Bytes of a content that is made smaller; of a larger one that would take longer than writing it."""


@dataclass(frozen=True, slots=True)
class Blob:
    """A content to keep; ``data`` is what goes into the journal, None where a file has it."""

    key: str
    packed: bool
    stored: int
    data: bytes | None

    def insert(self, connection: sqlite3.Connection) -> None:
        values = (self.key, self.packed, self.stored, self.data)
        connection.execute("INSERT OR IGNORE INTO blobs (key, packed, stored, data) VALUES (?, ?, ?, ?)", values)


class Blobs:
    """Beside the journal in ``folder``: ``blobs`` for large contents, ``trash`` for what was deleted whole."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def prepared(self, data: bytes) -> Blob:
        """What is to be inserted for ``data``; of a large one the file is on the disk already.  Raises ``OSError``.

        Contents that take longer to hash than to write are kept under a name by chance, as they are.
        """
        if len(data) <= _PACKED:
            packed = zlib.compress(data, 1)
            smaller = len(packed) < len(data)
            return Blob(digest(data), smaller, min(len(packed), len(data)), packed if smaller else data)
        if len(data) <= _INSIDE:
            return Blob(digest(data), packed=False, stored=len(data), data=data)
        key = loose_key(data)
        write_lasting(private_folder(self._folder / "blobs") / key, data)
        return Blob(key, packed=False, stored=len(data), data=None)

    def place_for(self, path: Path, data: bytes) -> Path | None:
        """Where the file at ``path``, which holds ``data``, can be kept itself once another takes its place; its key is the name.

        None where a copy is as good, or all that can be had: of a small file, one with several names, one on another file system.
        Raises ``OSError``.
        """
        info = look(path) if len(data) > _PACKED else None
        if info is None or not stat.S_ISREG(info.st_mode) or info.st_nlink > 1:
            return None
        folder = private_folder(self._folder / "blobs")
        return folder / loose_key(data) if folder.stat().st_dev == info.st_dev else None

    def content(self, key: str, *, packed: bool, data: bytes | None) -> bytes | None:
        """The content as it was; None where it is gone or damaged."""
        if data is not None:
            return zlib.decompress(data) if packed else data
        try:
            there = self.file(key).read_bytes()
        except OSError:
            return None
        return there if is_of(key, there) else None

    def file(self, key: str) -> Path:
        """Where a content is that has a file of its own."""
        return self._folder / "blobs" / key

    def remove(self, keys: Iterable[str]) -> None:
        for key in keys:
            if is_loose(key):
                with contextlib.suppress(OSError):
                    self.file(key).unlink()

    def trash(self) -> Path:
        """A place that nobody has, for what is deleted.  Raises ``OSError``."""
        return private_folder(self._folder / "trash") / secrets.token_hex(16)

    def is_trash(self, path: Path) -> bool:
        return path.parent == self._folder / "trash"
