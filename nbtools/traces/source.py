"""A log on disk: its lines one by one, and any stretch of its bytes again later."""

from __future__ import annotations

import json
import re
from collections import OrderedDict
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any, TypeVar

import msgspec

from nbtools.core.errors import TraceError
from nbtools.traces import archive
from nbtools.traces.mending import mended
from nbtools.traces.model import Problem, Ref

T = TypeVar("T")
_BUFFER = 1 << 18
_SMALL = 4 << 10
"""Of the buffer for one record: a buffer is filled whole, whatever is asked for."""
_KEPT = 32
"""Decoded records that are kept: a card's call and result, and their neighbours."""
_LARGEST_KEPT = 4 << 20
_LARGEST_MEMBER = 64 << 20
_STRICT = json.JSONDecoder()
_ABSENT = object()
UNREADABLE = (msgspec.MsgspecError, UnicodeDecodeError, RecursionError)
"""What decoding raises for bytes that are no JSON, no UTF-8, or nested beyond reason."""


class Source:
    """The log at ``path`` and the ``others`` that belong to it (sub-agents' files, spilled results): file 0, 1, …  Nothing is read yet.

    ``recover``: records are also taken out of lines that are malformed.
    """

    def __init__(self, path: Path, others: Iterable[Path] = (), *, recover: bool = True) -> None:
        self.files = (path, *others)
        self.recover = recover
        self._records: OrderedDict[Ref, Any] = OrderedDict()
        self._unpacked = (0, "", b"")

    @property
    def path(self) -> Path:
        return self.files[0]

    def lines(self, decode: Callable[[bytes], T], file: int = 0) -> Iterator[tuple[Ref, T] | Problem]:
        """Every line decoded, with where it stands.  Blank lines are passed over; what ``decode`` cannot read is a ``Problem``, followed by
        the records that were found in it.  ``decode`` raises ``msgspec.MsgspecError``.
        """
        offset = 0
        with self.opened(file) as opened:
            for number, line in enumerate(opened, 1):
                ref = Ref(offset, len(line), number, file)
                offset += len(line)
                try:
                    yield ref, decode(line)
                except UNREADABLE as error:
                    if line.strip():
                        yield from _recovered(ref, line, decode, str(error)) if self.recover else (Problem(ref, str(error)),)

    def document(self, file: int = 0, member: str = "") -> bytes:
        """All bytes of a file, or of a file in the archive that it is."""
        if member:
            return self._member(file, member)
        with self.opened(file) as opened:
            data: bytes = opened.read()
        return data

    def bytes_of(self, ref: Ref) -> bytes:
        """Raises ``TraceError`` where they are not there any more."""
        if ref.member:
            return self._member(ref.file, ref.member)[ref.offset : ref.offset + ref.length]
        with self.opened(ref.file, buffering=_SMALL) as opened:
            opened.seek(ref.offset)
            data: bytes = opened.read(ref.length)
        if len(data) < ref.length:
            raise TraceError(f"{self.files[ref.file]} has become shorter since it was read; load it again.")
        return data

    def record(self, ref: Ref) -> Any:
        """What the bytes at ``ref`` decode to.  The last few are kept; do not change them.

        Several threads may ask: what one looks up another may just have dropped.
        """
        record = self._records.get(ref, _ABSENT)
        if record is _ABSENT:
            record = decoded(self.bytes_of(ref))
        if ref.length <= _LARGEST_KEPT:
            self._records[ref] = record
            with suppress(KeyError):
                self._records.move_to_end(ref)
                if len(self._records) > _KEPT:
                    self._records.popitem(last=False)
        return record

    def _member(self, file: int, name: str) -> bytes:
        """The last one is kept: cards of one sample are opened one after another."""
        kept = self._unpacked
        if kept[:2] == (file, name):
            return kept[2]
        with self.opened(file) as opened:
            data = archive.member(opened, name)
        self._unpacked = (file, name, data) if len(data) <= _LARGEST_MEMBER else (0, "", b"")
        return data

    def opened(self, file: int, buffering: int = _BUFFER) -> Any:
        """The file, open for bytes.  Raises ``TraceError`` where it cannot be."""
        try:
            return self.files[file].open("rb", buffering=buffering)
        except OSError as error:
            raise TraceError(f"{self.files[file]}: {error.strerror or error}.") from error


def decoded(data: bytes) -> Any:
    """JSON from bytes that may not be quite right: no number is too large, what is mended is in ``mending``."""
    try:
        return msgspec.json.decode(data)
    except UNREADABLE:
        try:
            return json.loads(mended(data))
        except (ValueError, RecursionError) as error:
            raise TraceError(f"what was JSON when it was read is none any more: {error}") from None


def _recovered(ref: Ref, line: bytes, decode: Callable[[bytes], T], why: str) -> Iterator[tuple[Ref, T] | Problem]:
    """The problem, then the objects of two records written without the newline between them, or of a line with a few wrong bytes."""
    found: list[tuple[Ref, T]] = []
    for start, piece in _objects(line):
        try:
            found.append((Ref(ref.offset + start, len(piece), ref.line, ref.file), decode(mended(piece))))
        except UNREADABLE:
            continue
    yield Problem(ref, why, len(found))
    yield from found


def _objects(line: bytes) -> Iterator[tuple[int, bytes]]:
    """Each JSON object in it, by where its bytes begin; what is between is skipped."""
    text = line.decode("utf-8", "surrogateescape")
    at = 0
    while (brace := _BRACE.search(text, at)) is not None:
        try:
            value, end = _STRICT.raw_decode(text, brace.start())
        except (ValueError, RecursionError):
            return
        if isinstance(value, dict):
            raw = text[brace.start() : end].encode("utf-8", "surrogateescape")
            start = len(text[: brace.start()].encode("utf-8", "surrogateescape"))
            yield start, raw
        at = end


_BRACE = re.compile(r"\{")
