"""Where the bytes of a line are, and what they say."""

from __future__ import annotations

import json
from functools import cached_property

import msgspec

from nbtools.core.errors import TraceError
from nbtools.notebook.phrases import size
from nbtools.notebook.trace.order import Told
from nbtools.notebook.trace.secrets import hidden
from nbtools.notebook.trace.wire import TraceRaw
from nbtools.notebook.visible import one_line, seen
from nbtools.traces.format import Reading
from nbtools.traces.model import Call, Event, Ref
from nbtools.traces.source import UNREADABLE
from nbtools.traces.texts import text_of_event
from nbtools.traces.trace import Trace

LONGEST = 200_000
"""Bytes of a record that are shown."""
_PRETTY = 1_000_000
"""Bytes up to which a record is decoded to be set in lines."""


class Records:
    """Of a trace's rows, read when they are wanted."""

    def __init__(self, trace: Trace) -> None:
        self._trace = trace

    def where(self, row: Told) -> str:
        """``line 212 · bytes 481,920–483,377``, and where a call's result stands; empty for what is made of no bytes of its own."""
        reading = self._reading(row)
        places = [_place(ref, reading) for ref in _refs(row)] if reading else []
        return " · result in ".join(places)

    def raw(self, row: Told) -> TraceRaw:
        """Raises ``TraceError`` where they are not there any more."""
        reading = self._reading(row)
        if reading is None or not _refs(row):
            raise TraceError("This step was made of no record of its own.")
        shown = [_shown(reading, ref) for ref in _refs(row)]
        notes = dict.fromkeys(note for _, note in shown if note)
        return TraceRaw(text="\n\n".join(text for text, _ in shown), note=" ".join(notes))

    def text(self, event: Event) -> str:
        """All that was said."""
        return text_of_event(event, self._reading(event))

    def _reading(self, row: Told) -> Reading | None:
        readings = self._trace.readings
        return readings[0] if len(readings) == 1 else self._readings.get(id(row))

    @cached_property
    def _readings(self) -> dict[int, Reading]:
        """By the identity of rows."""
        tables = (self._trace.sessions, self._trace.events, self._trace.calls)
        return {id(row): reading for rows in tables for row, reading in zip(rows, rows.readings, strict=True)}


def _refs(row: Told) -> list[Ref]:
    refs = (row.ref, row.result_ref) if isinstance(row, Call) else (row.ref,)
    return list(dict.fromkeys(ref for ref in refs if ref.length))


def _place(ref: Ref, reading: Reading) -> str:
    files = reading.source.files
    file = one_line(files[ref.file].name, 100) if len(files) > 1 or ref.member else ""
    line = f"line {ref.line:,}" if ref.line else ""
    return " · ".join(filter(None, [file, ref.member, line, f"bytes {ref.offset:,}–{ref.offset + ref.length - 1:,}"]))


def _shown(reading: Reading, ref: Ref) -> tuple[str, str]:
    """The text of a record, and what was left out of it."""
    text = _pretty(reading.source.bytes_of(ref)) if ref.length <= _PRETTY else ""
    part = Ref(ref.offset, min(ref.length, LONGEST), ref.line, ref.file, ref.member)
    text = text or reading.source.bytes_of(part).decode("utf-8", "replace")
    cut = len(text) > LONGEST or ref.length > _PRETTY
    note = f"The record has {size(ref.length)}; its beginning is shown." if cut else ""
    return seen(hidden(text[:LONGEST]), keep="\t\n"), note


def _pretty(data: bytes) -> str:
    """JSON in lines, else as it is."""
    try:
        return json.dumps(msgspec.json.decode(data), indent=2, ensure_ascii=False)
    except UNREADABLE:
        return data.decode("utf-8", "replace").rstrip("\n")
