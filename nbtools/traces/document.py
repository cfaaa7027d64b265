"""A log that is one JSON document: opened even where it is damaged or cut short, and its parts with where they stand."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import islice
from typing import Any, Generic, NamedTuple, TypeVar

import msgspec

from nbtools.core.errors import TraceError
from nbtools.traces.mending import mended
from nbtools.traces.model import Problem, Ref
from nbtools.traces.source import UNREADABLE, Source, decoded

T = TypeVar("T")
_PIECE = re.compile(rb'"[^"\\]*(?:\\.[^"\\]*)*(?:"|\Z)|[\[\]{}]', re.DOTALL)
_HEAD = 64
_START = Ref(0, 0)
_gap = re.compile(rb"[\s,]*").match
"""What is between the items of a list."""
_CLOSING = {b"{": b"}", b"[": b"]"}


class Opened(NamedTuple, Generic[T]):
    """``text`` is what was decoded: the file's bytes one for one up to ``end``.  ``value`` is None where nothing could be."""

    value: T | None
    text: bytes
    end: int
    problems: tuple[Problem, ...] = ()


def opened(text: bytes, shape: type[T], file: int = 0) -> Opened[T]:
    """The document as ``shape``; of one that ends too early what is complete in it."""
    try:
        return Opened(msgspec.json.decode(text, type=shape), text, len(text))
    except UNREADABLE as error:
        why = str(error)
    whole = mended(text)
    for attempt, end in ((whole, len(text)), _closed(whole)):
        try:
            value = msgspec.json.decode(attempt, type=shape)
        except UNREADABLE:
            continue
        return Opened(value, attempt, end, (Problem(Ref(0, len(text), 0, file), why, 1),))
    return Opened(None, text, 0, (Problem(Ref(0, len(text), 0, file), why),))


def parts(
    document: Opened[Any], items: Sequence[msgspec.Raw], within: Ref | None = None, decode: Callable[[bytes], Any] = decoded
) -> Iterator[tuple[Ref, Any] | Problem]:
    """Each of ``items``, which stand in the document in this order.  ``within``: the document is these bytes of the file."""
    start = within or _START
    for begins, data in placed(document.text, items):
        if begins + len(data) > document.end:
            return
        here = Ref(start.offset + begins, len(data), start.line, start.file, start.member)
        try:
            yield here, decode(data)
        except (TraceError, *UNREADABLE) as error:
            yield Problem(here, str(error))


def placed(text: bytes, items: Iterable[msgspec.Raw]) -> Iterator[tuple[int, bytes]]:
    """The bytes of each, with where they begin: behind those of the one before, which is not searched for as that takes longer."""
    at = 0
    for item in items:
        data = bytes(item)
        begins = _gap(text, at).end()  # type: ignore[union-attr]
        if not text.startswith(data, begins):
            begins = _found(text, data, at)
        at = begins + len(data)
        yield begins, data


def _found(text: bytes, data: bytes, at: int = 0) -> int:
    """Where ``data`` stands, which does: by its beginning, as bytes that long are slow to search for."""
    begins = text.index(data[:_HEAD], at)
    while not text.startswith(data, begins):
        begins = text.index(data[:_HEAD], begins + 1)
    return begins


def array(
    document: Opened[Any], field: msgspec.Raw, within: Ref | None = None, decode: Callable[[bytes], Any] = decoded
) -> Iterator[tuple[Ref, Any] | Problem]:
    """The items of a list that stands somewhere in the document; none of what is no list."""
    data = bytes(field)
    if data[:1] != b"[":
        return
    start, at = within or _START, _found(document.text, data)
    here = Ref(start.offset + at, len(data), start.line, start.file)
    yield from parts(Opened(None, data, document.end - at), msgspec.json.decode(data, type=list[msgspec.Raw]), here, decode)


def holds_lines(source: Source) -> bool:
    """Whether a file of JSON is a document a line: its first line is complete in itself, or its second, as the first may be damaged."""
    with source.opened(0) as log:
        first = [line for line in islice(log, 3) if line.strip()][:2]
    if first and first[0].lstrip()[:1] == b"[":
        first = first[:1]
    return any(map(_is_document, first))


def line_of(line: bytes) -> Opened[msgspec.Raw]:
    """A line that is a document, for ``Source.lines``.  Raises ``msgspec.MsgspecError`` for one that is no object and no list."""
    if line.lstrip()[:1] not in {b"{", b"["}:
        raise msgspec.ValidationError("neither an object nor a list")
    return Opened(msgspec.json.decode(line, type=msgspec.Raw), line, len(line))


def _is_document(line: bytes) -> bool:
    try:
        return line_of(line).value is not None
    except UNREADABLE:
        return False


def _closed(text: bytes) -> tuple[bytes, int]:
    """The text up to the last value that is complete, with what closes all that is open there; and where the text ends in that."""
    stack: list[bytes] = []
    end, still_open = 0, b""
    for found in _PIECE.finditer(text):
        piece = found[0]
        if piece in _CLOSING:
            stack.append(_CLOSING[piece])
        elif stack and piece == stack[-1]:
            stack.pop()
            end, still_open = found.end(), b"".join(reversed(stack))
    return text[:end] + still_open, end
