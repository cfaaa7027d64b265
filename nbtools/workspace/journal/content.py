"""Contents told apart and taken apart: fingerprints, and what differs between two contents of a file."""

from __future__ import annotations

import hashlib
import secrets
import struct
import zlib
from itertools import count

HASHED = 1 << 18
"""Bytes of a content that is hashed whole; of a larger one that would take longer than writing it."""
LOOSE = "f-"
_EDGE = 1 << 16
_PIECE = 1 << 16
_MOST_DELTA = 1_000_000
_LENGTHS = struct.Struct("<QQ")


def digest(data: bytes) -> str:
    """A name for this content alone."""
    return hashlib.blake2b(data, digest_size=32).hexdigest()


def fingerprint(data: bytes | None) -> str:
    """Enough to tell whether a file still holds ``data``; empty for no file.  Of large contents: ends, length and a checksum."""
    if data is None:
        return ""
    if len(data) <= HASHED:
        return digest(data)
    edges = digest(data[:_EDGE] + data[-_EDGE:])
    return f"{len(data):x}-{zlib.crc32(data):08x}-{edges}"


def loose_key(data: bytes) -> str:
    """A name for a content that has a file of its own; quicker made than a digest, and another one each time."""
    return f"{_seal(data)}-{secrets.token_hex(8)}"


def is_loose(key: str) -> bool:
    return key.startswith(LOOSE)


def is_of(key: str, data: bytes | None) -> bool:
    """Whether ``data`` is what a loose key was made for."""
    return data is not None and key.startswith(f"{_seal(data)}-")


def _seal(data: bytes) -> str:
    return f"{LOOSE}{len(data):x}-{zlib.crc32(data):08x}"


def delta(before: bytes, after: bytes) -> bytes | None:
    """What makes ``after`` of ``before``: how many bytes at both ends stay, and what comes between.  None where that is too much."""
    most = min(len(before), len(after))
    head = _common(before, after, most)
    tail = _common_tail(before, after, most - head)
    end = len(after) - tail
    return _LENGTHS.pack(head, tail) + after[head:end] if end - head <= _MOST_DELTA else None


def applied(change: bytes, before: bytes) -> bytes:
    """``after`` of ``delta``."""
    head, tail = _LENGTHS.unpack_from(change)
    return before[:head] + change[_LENGTHS.size :] + before[len(before) - tail :]


def _common(one: bytes, other: bytes, most: int) -> int:
    """Bytes at the beginning that are the same."""
    start = next(at for at in count(0, _PIECE) if at >= most or one[at : at + _PIECE] != other[at : at + _PIECE])
    low, high = min(start, most), min(start + _PIECE, most)
    while low < high:
        middle = (low + high + 1) // 2
        if one[start:middle] == other[start:middle]:
            low = middle
        else:
            high = middle - 1
    return low


def _common_tail(one: bytes, other: bytes, most: int) -> int:
    """Bytes at the end that are the same."""

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
