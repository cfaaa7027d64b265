"""Defines what a log reader is, and finds the reader of a file's format."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from pathlib import Path
from typing import Any, Protocol

import msgspec

from nbtools.traces.json_access import mapping
from nbtools.traces.json_document import open_document
from nbtools.traces.line_reading import LineReading
from nbtools.traces.lineage import Lineage
from nbtools.traces.model import NOWHERE, Call, Detail, Event, Origin, Problem, Ref, Row, Session, Status
from nbtools.traces.source import DECODE_ERRORS, Source

HEAD_BYTES = 64 << 10
"""Bytes from which a file's format is recognised."""
_HEAD_RECORDS = 40
NO_KNOWN_STEPS = "it contains no step that the reader of this format knows"
NO_MESSAGES = "it contains neither a message nor a call that the reader of this format knows"
_MESSAGES = {
    "user",
    "assistant_text",
    "thinking",
    "tool_call",
    "tool_result",
    "error",
    "compaction",
    "scorer",
}
FALLBACK_FORMAT = "messages"
"""The name of the generic format for any log with messages in it;
there, records alone do not prove that the format was recognised.
"""


_JSON_START = re.compile(rb'(?:\xef\xbb\xbf)?\s*(?:\{\s*(?:["}]|\Z)|\[\s*(?:[\[{"\]]|\Z))')


@dataclass(frozen=True)
class Head:
    """The beginning of a file, from which its format is recognised; empty for a folder.

    Do not judge by the file's name: people rename logs.
    """

    path: Path
    start: bytes

    @cached_property
    def first(self) -> Any:
        """The first line decoded, or the whole file where it is short; None where that is not JSON."""
        for text in (self.start.split(b"\n", 1)[0], self.start):
            try:
                return msgspec.json.decode(text)
            except DECODE_ERRORS:
                continue
        return None

    @cached_property
    def first_object(self) -> Mapping[str, Any]:
        """The first object, or what the beginning of the file has of it; empty where it has none."""
        value = self.first
        if value is None and self.is_json:
            value = open_document(self.start, Any).value
        return mapping(next(iter(value), None) if isinstance(value, list) else value)

    @cached_property
    def records(self) -> tuple[dict[str, Any], ...]:
        """The complete JSON objects among the first lines."""
        lines = self.start.split(b"\n")
        return tuple(msgspec.json.decode(line) for line in lines[:_HEAD_RECORDS] if _is_object(line))

    def has(self, *keys: str) -> bool:
        """Returns whether the file is JSON and these occur in it as keys of objects, at any depth."""
        return self.is_json and all(
            f'"{key}"'.encode() in self.start and _key(key).search(self.start) for key in keys
        )

    @cached_property
    def is_json(self) -> bool:
        """Whether the file begins like JSON, or, as the first line may be cut,
        the lines after it are objects.

        Keys alone are not enough: source code and text may contain all the keys of a log.
        """
        next_lines = self.start.split(b"\n")[1:-1][:3]
        return _JSON_START.match(self.start) is not None or (
            bool(next_lines) and all(map(_is_object, next_lines))
        )


def _is_object(line: bytes) -> bool:
    try:
        return isinstance(msgspec.json.decode(line), dict)
    except DECODE_ERRORS:
        return False


@cache
def _key(name: str) -> re.Pattern[bytes]:
    return re.compile(rb'"%s"\s*:' % re.escape(name.encode()))


class Format(Protocol):
    """A reader of one agent's log format; readers may inherit the defaults.

    ``read`` yields rows in reading order; each call once, when its result is known or at the end of the log;
    each session at its end. It raises ``TraceError`` where the file cannot be opened, but never because of
    its content: that yields a ``Problem``. ``tells_errors`` is False where the format does not record whether
    a call failed; ``error_statuses`` are those of the calls whose results it marks as errors.
    """

    name: str
    tells_errors: bool = True
    error_statuses: frozenset[Status] = frozenset({"error"})
    first_line: int = 1
    """The number that the agent's tools give the first line of a file."""

    def recognises(self, head: Head) -> bool: ...

    def unreadable_variant(self, head: Head) -> str:
        """Returns what it is called where it looks like a log of this agent that the reader cannot read;
        empty for others.
        """
        return ""

    def files(self, path: Path) -> Sequence[Path]:
        """Returns the files that belong to the log besides ``path``."""
        return ()

    def begin(self, source: Source, origin: Origin) -> LineReading | None:
        """Returns a reading that can continue when the log grows;
        None for a log that can only be read as a whole.
        """
        return None

    def lineage(self, head: Head) -> Lineage | None:
        """Returns the ids of the log's session and of those that it continues;
        None where the format does not record them.
        """
        return None

    def read(self, source: Source, origin: Origin) -> Iterator[Row]:
        """Yields the rows. This default is for formats whose ``begin`` returns a reading of every log."""
        reading = self.begin(source, origin)
        return iter(()) if reading is None else reading.read(source)

    def detail(self, source: Source, call: Call) -> Detail: ...

    def record(self, source: Source, ref: Ref) -> Any:
        """Returns the record at ``ref``, with the texts that it refers to.
        Raises ``TraceError`` where it cannot be read.
        """
        return source.record(ref)

    def texts(self, source: Source, call: Call) -> Detail:
        """Like ``detail``, but may leave out the display and the changes."""
        return self.detail(source, call)


@dataclass(frozen=True)
class LogFile(Origin):
    """A log file with its format; the origin of its rows."""

    source: Source
    format: Format

    def rows(self) -> Iterator[Row]:
        """Yields the rows of the format's reader, and a problem where it finds nothing that it knows,
        or neither messages nor calls.
        """
        rows, problem = iter(self.format.read(self.source, self)), NO_KNOWN_STEPS
        for row in rows:
            yield row
            if is_step(row):
                break
            if not isinstance(row, Session):
                problem = "" if problem == NO_KNOWN_STEPS else problem
            elif row.records and self.format.name != FALLBACK_FORMAT:
                problem = f"The log is read as {self.format.name}, but {NO_MESSAGES}."
        else:
            if problem:
                yield Problem(NOWHERE, problem)
        yield from rows

    @property
    def first_line(self) -> int:
        first: int = getattr(self.format, "first_line", 1)  # a reader of others need not have it
        return first

    def detail(self, call: Call) -> Detail:
        return self.format.detail(self.source, call)

    def texts(self, call: Call) -> Detail:
        read = getattr(self.format, "texts", self.format.detail)  # a reader of others need not have it
        found: Detail = read(self.source, call)
        return found

    def record(self, ref: Ref) -> Any:
        """Returns the record of a row, with the texts that it refers to."""
        read = getattr(self.format, "record", None)  # a reader of others need not have it
        return read(self.source, ref) if read else self.source.record(ref)

    def begin(self) -> LineReading | None:
        """Returns a reading that can continue when the log grows;
        None where the log can only be read as a whole.
        """
        begin = getattr(self.format, "begin", None)  # a reader of others need not have it
        reading: LineReading | None = begin(self.source, self) if begin else None
        return reading

    def strict(self) -> LogFile:
        """Returns the same log, read without recovering records from malformed lines."""
        first, *others = self.source.files
        return LogFile(Source(first, others, recover=False), self.format)


def is_step(row: Row) -> bool:
    """Returns whether it is a call or a message, which shows that a log was understood."""
    return isinstance(row, Call) or (isinstance(row, Event) and row.kind in _MESSAGES)
