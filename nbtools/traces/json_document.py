"""Reads a log that is one JSON document, even if it is damaged or cut short.

Yields its parts together with their byte positions in the file.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import islice
from typing import Any, Generic, NamedTuple, TypeVar

import msgspec

from nbtools.core.decoders import decoder_of
from nbtools.core.errors import TraceError
from nbtools.traces.model import NOWHERE, Problem, Ref
from nbtools.traces.source import DECODE_ERRORS, Source, blank_byte_order_mark, decode_json, repair_json

T = TypeVar("T")
_TOKEN = re.compile(rb'"[^"\\]*+(?:\\.[^"\\]*+)*+(?:"|\\?\Z)|[\[\]{}]', re.DOTALL)
_SEARCHED_BYTES = 64
_START = Ref(0, 0)
_gap = re.compile(rb"[\s,]*").match
"""Matches what separates the items of a list."""
NULL = msgspec.Raw(b"null")
"""The default of a field that is decoded later or never."""
_BRACKETS = (b"{", b"[")
_CLOSING_BRACKETS = {b"{": b"}", b"[": b"]"}


class JsonDocument(NamedTuple, Generic[T]):
    """A decoded document.

    ``text`` is what was decoded, identical to the file's bytes up to ``end``.
    ``value`` is None where nothing could be decoded.
    """

    value: T | None
    text: bytes
    end: int
    problems: tuple[Problem, ...] = ()


def open_document(text: bytes, shape: type[T], file: int = 0) -> JsonDocument[T]:
    """Decodes the document as ``shape``.
    Of a document that ends too early, its complete part is decoded and a problem reported.
    """
    text = blank_byte_order_mark(text)
    try:
        return JsonDocument(decoder_of(shape).decode(text), text, len(text))
    except DECODE_ERRORS as error:
        reason = str(error)
    repaired = repair_json(text)
    for candidate, end in ((repaired, len(text)), _close(repaired)):
        try:
            value = decoder_of(shape).decode(candidate)
        except DECODE_ERRORS:
            continue
        return JsonDocument(value, candidate, end, (Problem(Ref(0, len(text), 0, file), reason, 1),))
    return JsonDocument(None, text, 0, (Problem(Ref(0, len(text), 0, file), reason),))


def decode_items(
    document: JsonDocument[Any],
    items: Sequence[msgspec.Raw],
    within: Ref | None = None,
    decode: Callable[[bytes], Any] = decode_json,
) -> Iterator[tuple[Ref, Any] | Problem]:
    """Yields each of ``items`` decoded with its position, or a problem.

    The items must occur in the document in this order.
    ``within`` is the position of the document in the file, where it is a part of it.
    """
    start, end = within or _START, document.end
    offset, line, file, member = start.offset, start.line, start.file, start.member
    for begins, data in locate_items(document.text, items):
        length = len(data)
        if begins + length > end:
            return
        here = Ref(offset + begins, length, line, file, member)
        try:
            yield here, decode(data)
        except (TraceError, *DECODE_ERRORS) as error:
            yield Problem(here, str(error))


def decode_file(source: Source, file: int) -> tuple[Ref, Any] | Problem:
    """Returns what one of the log's files contains, with its position, or a problem."""
    ref = NOWHERE
    try:
        data = source.read_file(file)
        ref = Ref(0, len(data), 0, file)
        return ref, decode_json(data)
    except TraceError as error:
        return Problem(ref, str(error))


def raw_items(value: msgspec.Raw) -> list[msgspec.Raw]:
    """Returns the undecoded items of a list; none for anything else."""
    try:
        return msgspec.json.decode(value, type=list[msgspec.Raw])
    except DECODE_ERRORS:
        return []


def locate_items(text: bytes, items: Iterable[msgspec.Raw]) -> Iterator[tuple[int, bytes]]:
    """Yields the bytes of each item with their offset in ``text``.

    Expects each behind the one before, at the distance of the last one,
    and searches only where it is not there.
    """
    at, gap = 0, 1
    for item in items:
        data = bytes(item)
        begins = at + gap
        if not text.startswith(data, begins) or data[:1] not in _BRACKETS:
            begins = _gap(text, at).end()  # type: ignore[union-attr]
            gap = begins - at
            if not text.startswith(data, begins):
                begins = _find(text, data, at)
        at = begins + len(data)
        yield begins, data


def _find(text: bytes, data: bytes, at: int = 0) -> int:
    """Returns the offset of ``data``, which must be in ``text``.

    Searches for its beginning, because long patterns are slow to search for.
    """
    begins = text.index(data[:_SEARCHED_BYTES], at)
    while not text.startswith(data, begins):
        begins = text.index(data[:_SEARCHED_BYTES], begins + 1)
    return begins


def decode_array(
    document: JsonDocument[Any],
    field: msgspec.Raw,
    within: Ref | None = None,
    decode: Callable[[bytes], Any] = decode_json,
) -> Iterator[tuple[Ref, Any] | Problem]:
    """Yields the items of a list anywhere in the document, with their positions;
    nothing where ``field`` is not a list.
    """
    data = bytes(field)
    if data[:1] != b"[":
        return
    start, at = within or _START, _find(document.text, data)
    here = Ref(start.offset + at, len(data), start.line, start.file)
    yield from decode_items(
        JsonDocument(None, data, document.end - at),
        msgspec.json.decode(data, type=list[msgspec.Raw]),
        here,
        decode,
    )


def only_line(source: Source) -> bytes:
    """Returns the file's line where it has only one; nothing for other files."""
    with source.open_file(0) as log:
        line: bytes = log.readline()
        return b"" if log.read(1) else line


def is_json_lines(source: Source) -> bool:
    """Returns whether the file has one JSON document per line.

    That is the case where its first line is a complete document of its own, or its second,
    as the first may be damaged.
    """
    with source.open_file(0) as log:
        lines = [line for line in islice(log, 3) if not line.isspace()][:2]
    if lines and lines[0].lstrip()[:1] == b"[":
        lines = lines[:1]
    return any(map(_is_document, lines))


def decode_line(line: bytes) -> JsonDocument[msgspec.Raw]:
    """Decodes a line that is a document, for ``Source.lines``.

    Raises ``msgspec.MsgspecError`` for a line that is neither an object nor a list, or invalid.
    """
    if line.lstrip()[:1] not in {b"{", b"["}:
        raise msgspec.ValidationError("the line is neither an object nor a list")
    return JsonDocument(msgspec.json.decode(line, type=msgspec.Raw), line, len(line))


def _is_document(line: bytes) -> bool:
    try:
        return decode_line(line).value is not None
    except DECODE_ERRORS:
        return False


def _close(text: bytes) -> tuple[bytes, int]:
    """Returns the text up to its last complete value, closed, and the offset where the original text ends.

    The brackets that close it are appended to the value.
    """
    stack: list[bytes] = []
    end, still_open = 0, b""
    for found in _TOKEN.finditer(text):
        piece = found[0]
        if piece in _CLOSING_BRACKETS:
            stack.append(_CLOSING_BRACKETS[piece])
        elif stack and piece == stack[-1]:
            stack.pop()
            end, still_open = found.end(), b"".join(reversed(stack))
    return text[:end] + still_open, end
