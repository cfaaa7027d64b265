"""Hashes of records' bytes: what review records are anchored to, and how a session begins."""

from __future__ import annotations

import hashlib
from bisect import insort
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from operator import attrgetter
from typing import Any, TypeVar

import msgspec

from nbtools.core.errors import TraceError
from nbtools.traces.model import Call, Event, Ref
from nbtools.traces.reader import LogFile
from nbtools.traces.reviews.records import SessionStart

T = TypeVar("T")
START_ROWS = 8
"""Number of rows at the beginning of a session that identify it."""
_HASH_LENGTH = 32
_DECODER = msgspec.json.Decoder(list[SessionStart])


def digest(parts: Iterable[str]) -> str:
    return hashlib.sha256("\n".join(parts).encode("utf-8", "replace")).hexdigest()[:_HASH_LENGTH]


def hash_at(log: LogFile, ref: Ref) -> str:
    """Returns the hash of these bytes without surrounding blanks; empty where they cannot be read."""
    try:
        return hashlib.sha256(log.source.bytes_of(ref).strip(b" \t\r\n,")).hexdigest()[:_HASH_LENGTH]
    except TraceError:
        return ""


def record_hash(row: Call | Event, log: LogFile | None, of: Callable[[LogFile, Ref], str] = hash_at) -> str:
    """Returns the hash of a row's record; of what the row says where it has none."""
    if log is None or not row.ref.length:
        kind, text = ("call", row.subject) if isinstance(row, Call) else (row.kind, row.text)
        return digest([f"{kind} {text}"])
    return of(log, row.ref)


class SessionStarts:
    """Collects the first rows of the sessions of one log, and returns their hashes."""

    def __init__(self, log: LogFile) -> None:
        self._log = log
        self._rows: dict[str, list[Call | Event]] = defaultdict(list)

    def add(self, row: Any) -> None:
        if isinstance(row, Call | Event):
            first = self._rows[row.session]
            if len(first) == START_ROWS and row.seq >= first[-1].seq:
                return
            insort(first, row, key=attrgetter("seq"))
            del first[START_ROWS:]

    def passed(self, rows: Iterable[T]) -> Iterator[T]:
        """Yields the rows, and adds each."""
        for row in rows:
            self.add(row)
            yield row

    def take(self) -> Iterator[SessionStart]:
        for session, rows in self._rows.items():
            hashes = [record_hash(row, self._log) for row in rows]
            yield SessionStart(session, tuple(digest(hashes[: count + 1]) for count in range(len(hashes))))


def encode_starts(starts: Iterable[SessionStart]) -> str:
    """Returns the starts as JSON, to be stored. An id that is not UTF-8, from a file's name, is altered."""
    encodable = (SessionStart(one.session.encode("utf-8", "replace").decode(), one.hashes) for one in starts)
    return msgspec.json.encode(list(encodable)).decode()


def decode_starts(text: str) -> Sequence[SessionStart]:
    """Returns the starts in a stored text; none where it is empty, or damaged."""
    try:
        return _DECODER.decode(text) if text else ()
    except (msgspec.DecodeError, UnicodeError):
        return ()
