"""Builds the detail view of a step: its card, its context, its actions, and the raw record in the log."""

from __future__ import annotations

import json
import time
from dataclasses import replace
from functools import cached_property

import msgspec
from msgspec.structs import replace as replaced

from nbtools.cards.blocks import text_block
from nbtools.cards.card_model import Card
from nbtools.cards.hidden_characters import one_line, seen
from nbtools.cards.phrases import size
from nbtools.core.errors import TraceError
from nbtools.traces.explorer.cell_sources import CellSources
from nbtools.traces.explorer.explorer_messages import TraceOpened, TraceRaw
from nbtools.traces.explorer.nesting import LineRow
from nbtools.traces.explorer.notebook_services import RunnableCall, runnable_call
from nbtools.traces.explorer.recorded_card import recorded_card
from nbtools.traces.explorer.redaction import redacted, redacted_display
from nbtools.traces.explorer.step_context import StepContext
from nbtools.traces.explorer.step_files import StepFiles
from nbtools.traces.explorer.timeline import Timeline
from nbtools.traces.model import Call, Detail, Event, Ref, Session
from nbtools.traces.reader import LogFile
from nbtools.traces.row_texts import text_of_event
from nbtools.traces.source import DECODE_ERRORS
from nbtools.traces.trace import Trace
from nbtools.traces.working_directory import recorded_folder

MAX_BYTES = 200_000
"""Largest number of bytes of a record that are shown."""
_PRETTY = 1_000_000
"""Largest size in bytes of a record that is decoded and indented."""


class StepRecords:
    """The raw records of a trace's rows, read on demand."""

    def __init__(self, trace: Trace) -> None:
        self._trace = trace

    def location(self, row: LineRow) -> str:
        """Returns ``line 212 · bytes 481,920–483,377``, and where the call's result is;
        empty for rows without bytes of their own.
        """
        reading = self._reading(row)
        places = [_location(ref, reading) for ref in _refs(row)] if reading else []
        return " · result in ".join(places)

    def raw(self, row: LineRow) -> TraceRaw:
        """Returns the record as text.  Raises ``TraceError`` if it cannot be read any more."""
        reading = self._reading(row)
        if reading is None or not _refs(row):
            raise TraceError("This step has no record of its own in the log.")
        records = [_record_text(reading, ref) for ref in _refs(row)]
        notes = dict.fromkeys(note for _, note in records if note)
        return TraceRaw(text="\n\n".join(text for text, _ in records), note=" ".join(notes))

    def text(self, event: Event) -> str:
        """Returns the full text of a message."""
        return text_of_event(event, self._reading(event))

    def _reading(self, row: LineRow) -> LogFile | None:
        readings = self._trace.readings
        return readings[0] if len(readings) == 1 else self._readings.get(id(row))

    @cached_property
    def _readings(self) -> dict[int, LogFile]:
        """The readings, by the identity of rows."""
        tables = (self._trace.sessions, self._trace.events, self._trace.calls)
        return {
            id(row): reading for rows in tables for row, reading in zip(rows, rows.log_files, strict=True)
        }


def _refs(row: LineRow) -> list[Ref]:
    refs = (row.ref, row.result_ref) if isinstance(row, Call) else (row.ref,)
    return list(dict.fromkeys(ref for ref in refs if ref.length))


def _location(ref: Ref, reading: LogFile) -> str:
    files = reading.source.files
    file = one_line(files[ref.file].name, 100) if len(files) > 1 or ref.member else ""
    line = f"line {ref.line:,}" if ref.line else ""
    return " · ".join(
        filter(None, [file, ref.member, line, f"bytes {ref.offset:,}–{ref.offset + ref.length - 1:,}"])
    )


def _record_text(reading: LogFile, ref: Ref) -> tuple[str, str]:
    """Returns the text of a record, and a note on what was left out."""
    part = Ref(ref.offset, min(ref.length, MAX_BYTES), ref.line, ref.file, ref.member)
    data = reading.source.bytes_of(ref if ref.length <= _PRETTY else part)
    text = data.decode("utf-8", "replace")
    if ref.length <= _PRETTY:
        try:
            text = json.dumps(msgspec.json.decode(data), indent=2, ensure_ascii=False)
        except DECODE_ERRORS:
            text = text.rstrip("\n")
    cut = len(text) > MAX_BYTES or ref.length > _PRETTY
    note = f"The record has {size(ref.length)}; only its beginning is shown." if cut else ""
    return seen(redacted(text[:MAX_BYTES]), keep="\t\n"), note


_MARKDOWN = frozenset({"user", "assistant_text", "compaction", "scorer"})
_SPEAKERS = {"person": "You", "agent": "Agent"}
"""Authors of messages, by tone."""


class DetailBuilder:
    """Builds the detail view of lines."""

    def __init__(self, lines: Timeline, files: StepFiles, records: StepRecords, cells: CellSources) -> None:
        self._lines = lines
        self._records = records
        self._cells = cells
        self._context = StepContext(lines, files)

    def open_step(self, line: int) -> TraceOpened:
        """Returns the detail view.  Raises ``TraceError`` if the log has changed since it was read."""
        row, number, runnable = self._lines.rows[line], self._lines.numbers[line], RunnableCall()
        if isinstance(row, Call):
            detail, cwd = row.detail, recorded_folder(row, self._lines.sessions)
            card = recorded_card(redacted_call(row), redacted_detail(detail), cwd=cwd)
            runnable = runnable_call(row, detail, self._lines.sessions)
        else:
            card = self._message_card(row, line)
        return TraceOpened(
            line=line,
            number=number,
            card=card.model_copy(update={"status": "Running"}) if self._lines.is_running(row) else card,
            foot=_foot(row, number),
            around=self._context.context_of(line),
            raw=self._records.location(row),
            replay=self._cells.replay(number) if runnable.source and not runnable.obstacle else "",
            obstacle=runnable.obstacle,
            tool=runnable.source,
            link=self._cells.link(number),
            place=self._cells.place,
            session=self._cells.session,
        )

    def _message_card(self, row: LineRow, line: int) -> Card:
        """Returns the card of a message."""
        displayed = self._lines[line]
        text = redacted(self._records.text(row)) if isinstance(row, Event) else ""
        markdown = isinstance(row, Event) and row.kind in _MARKDOWN
        return Card(
            id="",
            state="error" if displayed.tone == "failed" else "success",
            tool=_SPEAKERS.get(displayed.tone, displayed.name),
            icon=displayed.icon,
            subject="" if text else displayed.subject,
            status="",
            detail=displayed.right,
            blocks=(text_block(text, markdown=markdown),) if text.strip() else (),
            record="" if displayed.live else "on a rewound branch",
            root="/",
        )


def redacted_call(call: Call) -> Call:
    """Returns ``call`` without secrets in the head and the foot of its card."""
    subject, permission = redacted(call.subject), redacted(call.permission)
    if (subject, permission) == (call.subject, call.permission):
        return call
    return replaced(call, subject=subject, permission=permission)


def redacted_detail(detail: Detail) -> Detail:
    """Returns ``detail`` without secrets in output and command; file changes stay, as in a live card."""
    return replace(detail, display=redacted_display(detail.display), command=redacted(detail.command))


def _foot(row: LineRow, number: str) -> str:
    """Returns the step number; for messages also time and turn, which a call's card has in its record."""
    if isinstance(row, Call):
        return f"step {number}"
    at, turn = (row.started, 0) if isinstance(row, Session) else (row.at, row.turn)
    clock = "" if at is None else time.strftime("%H:%M:%S", time.localtime(at))
    return " · ".join(filter(None, [f"step {number}", clock, f"turn {turn}" if turn else ""]))
