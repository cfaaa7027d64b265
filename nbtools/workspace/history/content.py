"""The contents that the journal keeps: digests and fingerprints, deltas, and where they are stored.

Small contents are in the journal's database, large ones in files beside it.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import secrets
import sqlite3
import stat
import struct
import zlib
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import count
from pathlib import Path

from nbtools.storage.state_folder import private_folder
from nbtools.workspace.files.atomic_write import write_durable
from nbtools.workspace.files.no_follow import status_or_none

MAX_HASHED_BYTES = 1 << 18
"""Contents up to this size in bytes are hashed whole and in the database; larger ones in own files."""
LOOSE_PREFIX = "f-"
_MAX_COMPRESSED = 1 << 13
"""Contents up to this size, in bytes, are compressed; for larger ones that takes longer than writing them."""
_EDGE = 1 << 16
_PIECE = 1 << 16
_MAX_DELTA = 1_000_000
_LENGTHS = struct.Struct("<QQ")


def digest(data: bytes) -> str:
    """Returns a digest of ``data`` as a hexadecimal string."""
    return hashlib.blake2b(data, digest_size=32).hexdigest()


def fingerprint(data: bytes | None) -> str:
    """Returns a text to check whether a file still holds ``data``; empty for no file.

    Of large contents it covers both ends, the length and a checksum.
    """
    if data is None:
        return ""
    if len(data) <= MAX_HASHED_BYTES:
        return digest(data)
    edges = digest(data[:_EDGE] + data[-_EDGE:])
    return f"{len(data):x}-{zlib.crc32(data):08x}-{edges}"


def loose_key(data: bytes) -> str:
    """Returns a new key for a content with its own file; unlike a digest, quick, and different each time."""
    return f"{_loose_prefix(data)}-{secrets.token_hex(8)}"


def is_loose(key: str) -> bool:
    return key.startswith(LOOSE_PREFIX)


def is_key_of(key: str, data: bytes | None) -> bool:
    """Returns whether a loose key was made for ``data``."""
    return data is not None and key.startswith(f"{_loose_prefix(data)}-")


def _loose_prefix(data: bytes) -> str:
    return f"{LOOSE_PREFIX}{len(data):x}-{zlib.crc32(data):08x}"


def delta(before: bytes, after: bytes) -> bytes | None:
    """Returns what makes ``after`` of ``before``: lengths of common head and tail, and the bytes between.

    None if that is too much.
    """
    most = min(len(before), len(after))
    head = _common_head(before, after, most)
    tail = _common_tail(before, after, most - head)
    end = len(after) - tail
    return _LENGTHS.pack(head, tail) + after[head:end] if end - head <= _MAX_DELTA else None


def apply_delta(packed_delta: bytes, before: bytes) -> bytes:
    """Returns the ``after`` of a delta."""
    head, tail = _LENGTHS.unpack_from(packed_delta)
    return before[:head] + packed_delta[_LENGTHS.size :] + before[len(before) - tail :]


def _common_head(one: bytes, other: bytes, most: int) -> int:
    """Returns the number of equal bytes at the beginning."""
    start = next(
        at for at in count(0, _PIECE) if at >= most or one[at : at + _PIECE] != other[at : at + _PIECE]
    )
    low, high = min(start, most), min(start + _PIECE, most)
    while low < high:
        middle = (low + high + 1) // 2
        if one[start:middle] == other[start:middle]:
            low = middle
        else:
            high = middle - 1
    return low


def _common_tail(one: bytes, other: bytes, most: int) -> int:
    """Returns the number of equal bytes at the end."""

    def same(start: int, end: int) -> bool:
        return one[len(one) - end : len(one) - start] == other[len(other) - end : len(other) - start]

    low = next(at for at in count(0, _PIECE) if at >= most or not same(at, min(at + _PIECE, most)))
    low, high, start = min(low, most), min(low + _PIECE, most), min(low, most)
    while low < high:
        middle = (low + high + 1) // 2
        if same(start, middle):
            low = middle
        else:
            high = middle - 1
    return low


@dataclass(frozen=True, slots=True)
class TreeStamp:
    """A stamp of a file or folder tree.

    ``stamp`` stays the same when it is moved, and changes with any file in it;
    ``bytes`` is the size of its files.
    """

    stamp: str
    bytes: int


def stamp_tree(path: Path) -> TreeStamp:
    """Returns the stamp of a tree from file status alone, without following links.

    A folder that cannot be listed counts as empty.  Raises ``OSError`` if nothing is at ``path``.
    """
    hasher = hashlib.blake2b(digest_size=16)
    size = 0
    pending = [(str(path), "")]
    while pending:
        current, name = pending.pop()
        info = os.lstat(current)
        folder = stat.S_ISDIR(info.st_mode)
        size += 0 if folder else info.st_size
        time = 0 if folder else info.st_mtime_ns
        hasher.update(
            f"{name}\0{stat.S_IFMT(info.st_mode):o}\0{0 if folder else info.st_size}\0{time}\n".encode(
                errors="surrogateescape"
            )
        )
        if folder:
            pending += [(f"{current}/{entry}", f"{name}/{entry}") for entry in _entries(current)]
    return TreeStamp(hasher.hexdigest(), size)


def _entries(folder: str) -> list[str]:
    try:
        return sorted(os.listdir(folder))
    except PermissionError:
        return []


def encode_link(target: str | None) -> str:
    """Returns a link's target as text that the journal can hold; empty if there is no link."""
    return "" if target is None else os.fsencode(target).hex()


def decode_link(text: str) -> str | None:
    """Returns the link target from the journal's text; None for an empty text."""
    return os.fsdecode(bytes.fromhex(text)) if text else None


@dataclass(frozen=True, slots=True)
class Blob:
    """A content to store; ``data`` is what goes into the database, None if it is in a file."""

    key: str
    packed: bool
    stored: int
    data: bytes | None

    def insert(self, connection: sqlite3.Connection) -> None:
        values = (self.key, self.packed, self.stored, self.data)
        connection.execute(
            "INSERT OR IGNORE INTO blobs (key, packed, stored, data) VALUES (?, ?, ?, ?)", values
        )


class BlobStore:
    """Stores contents beside the journal: large ones in ``blobs``, deleted files in ``trash``."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def prepare(self, data: bytes) -> Blob:
        """Returns the blob to insert for ``data``, whose file is written if large. Raises ``OSError``."""
        # Contents that take longer to hash than to write get a random name and are stored uncompressed.
        if len(data) <= _MAX_COMPRESSED:
            packed = zlib.compress(data, 1)
            smaller = len(packed) < len(data)
            return Blob(digest(data), smaller, min(len(packed), len(data)), packed if smaller else data)
        if len(data) <= MAX_HASHED_BYTES:
            return Blob(digest(data), packed=False, stored=len(data), data=data)
        key = loose_key(data)
        write_durable(private_folder(self._folder / "blobs") / key, data)
        return Blob(key, packed=False, stored=len(data), data=None)

    def backup_path(self, path: Path, data: bytes) -> Path | None:
        """Returns where the file at ``path``, which holds ``data``, can be moved; its name is the key.

        None if a copy is as good or the only way:
        for small files, files with several hard links, and files on another file system.  Raises ``OSError``.
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
