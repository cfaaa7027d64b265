"""The lines of the explorer's list, built on access, and a log's overview as a row of bars."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from itertools import pairwise
from typing import overload

from nbtools.cards.hidden_characters import one_line
from nbtools.core.message import counted
from nbtools.traces.explorer.nesting import CallKey, LineRow, step_tree
from nbtools.traces.explorer.recorded_card import (
    Tone,
    duration_of,
    icon_of,
    outcome_of,
    relative_path,
    tone_of,
)
from nbtools.traces.explorer.redaction import redacted
from nbtools.traces.model import Call, Event, EventKind, Op, Session
from nbtools.traces.prompts import typed_text
from nbtools.traces.trace import Trace

RUNNING = "running"
_SAID: frozenset[EventKind] = frozenset({"user", "assistant_text", "thinking"})
MAX_SUBJECT = 200
"""Largest length of a line's subject, in characters."""
_LINE_LENGTH = 40
"""Approximate characters of a changed line."""

_EVENT_STYLES: dict[EventKind, tuple[str, str, Tone]] = {
    "user": ("person", "", "person"),
    "assistant_text": ("assistant", "", "agent"),
    "thinking": ("thought", "thinking", "quiet"),
    "compaction": ("fold", "compaction", "quiet"),
    "attachment": ("clip", "attachment", "quiet"),
    "error": ("alarm", "error", "failed"),
}
"""Icon, name and tone of messages."""
_CALL_ICONS: dict[Op, str] = {"agent": "agent", "ask": "person"}
"""Icons of calls that an agent or a person answers; cards have none of these."""


@dataclass(frozen=True, slots=True)
class Line:
    """One line: ``number`` is its step (``48.1`` under ``48``) and never changes,
    ``depth`` its nesting depth.

    ``below`` counts the lines nested under it; ``call`` tells calls from messages.
    """

    number: str
    icon: str
    name: str
    subject: str
    right: str
    tone: Tone
    depth: int
    call: bool = False
    added: int = 0
    removed: int = 0
    live: bool = True
    below: int = 0


class Timeline(Sequence[Line]):
    """All lines of ``trace``.  ``rows`` are the rows they stand for, ``tones`` how they ended."""

    def __init__(self, trace: Trace) -> None:
        story = step_tree(trace)
        self.rows, self.numbers, self.depths, self.ends = story.rows, story.numbers, story.depths, story.ends
        self.sessions = {session.id: session for session in trace.sessions}
        self._folders = {session.id: session.cwd for session in trace.sessions}
        self._steps = story.steps
        self._changed = _changed(trace)
        self.running = running_calls(trace)

    @overload
    def __getitem__(self, index: int) -> Line: ...
    @overload
    def __getitem__(self, index: slice) -> list[Line]: ...
    def __getitem__(self, index: int | slice) -> Line | list[Line]:
        if isinstance(index, slice):
            return [self[place] for place in range(*index.indices(len(self)))]
        return self._line(range(len(self))[index])

    def __len__(self) -> int:
        return len(self.rows)

    @cached_property
    def tones(self) -> list[Tone]:
        tones: list[Tone] = [_call_tone(row) if type(row) is Call else _tone(row) for row in self.rows]
        for line, row in enumerate(self.rows) if self.running else ():
            if self.is_running(row):
                tones[line] = "unknown"
        return tones

    @cached_property
    def weights(self) -> list[int]:
        """The length of the text that each line added or changed, in characters."""
        weights = [
            row.result_size if type(row) is Call else row.size if type(row) is Event else 0
            for row in self.rows
        ]
        for line, row in enumerate(self.rows) if self._changed else ():
            if type(row) is Call and (row.session, row.id) in self._changed:
                weights[line] += _LINE_LENGTH * sum(self._changed[row.session, row.id])
        return weights

    @cached_property
    def line_by_row(self) -> dict[int, int]:
        """The index of each row's line, by the row's identity."""
        return {id(row): line for line, row in enumerate(self.rows)}

    def end(self, line: int) -> int:
        """Returns the index after the last line nested under ``line``."""
        return self.ends.get(line, line + 1)

    def folder(self, row: LineRow) -> str:
        """Returns the working directory of the row's session; empty if it is not recorded."""
        return row.cwd if isinstance(row, Session) else self._folders.get(row.session, "")

    def is_running(self, row: LineRow) -> bool:
        return isinstance(row, Call) and (row.session, row.id) in self.running

    def _line(self, line: int) -> Line:
        row, number, depth = self.rows[line], self.numbers[line], self.depths[line]
        match row:
            case Session():
                subject = _subject(row.title or row.id)
                return Line(
                    number, "session", "session", subject, counted(row.records, "record"), "quiet", depth
                )
            case Event():
                icon, name, tone = _EVENT_STYLES[row.kind]
                return Line(number, icon, name, _subject(_prompt_text(row)), "", tone, depth, live=row.live)
            case Call():
                return self._call(row, line)

    def _call(self, call: Call, line: int) -> Line:
        added, removed = self._changed.get((call.session, call.id), (0, 0))
        steps = self._steps.get(line)
        running = self.is_running(call)
        words = (
            RUNNING if running else outcome_of(call),
            counted(steps, "step") if steps else "",
            duration_of(call),
        )
        return Line(
            self.numbers[line],
            _CALL_ICONS.get(call.op, icon_of(call)),
            _name(call.name),
            _subject(relative_path(call.subject, self.folder(call))),
            " · ".join(filter(None, words)),
            "unknown" if running else tone_of(call),
            self.depths[line],
            True,
            added,
            removed,
            call.live,
            self.end(line) - line - 1,
        )


def running_calls(trace: Trace) -> frozenset[CallKey]:
    """Returns the calls that seem to run:
    in a fresh log, those without a result after which their session has no message.
    """
    if not trace.fresh:
        return frozenset()
    said = {event.session: event.seq for event in trace.events if event.kind in _SAID}
    waiting = (
        call
        for call in trace.calls
        if call.status == "unanswered" and call.live and call.seq > said.get(call.session, -1)
    )
    return frozenset((call.session, call.id) for call in waiting)


def timeline(trace: Trace) -> Timeline:
    """Returns all lines of ``trace``, in the order of ``step_tree``."""
    return Timeline(trace)


def rows_by_step(trace: Trace) -> dict[str, LineRow]:
    """Returns the rows of ``trace`` by the numbers that the explorer shows."""
    story = step_tree(trace)
    return dict(zip(story.numbers, story.rows, strict=True))


@lru_cache(maxsize=512)
def _name(name: str) -> str:
    return one_line(name, 100)


def _prompt_text(event: Event) -> str:
    return (typed_text(event.text) if event.kind == "user" else "") or event.text.strip()


def _subject(text: str) -> str:
    """Returns one line without secrets; they are removed before shortening, which could cut through one."""
    return one_line(redacted(text), MAX_SUBJECT)


def _tone(row: LineRow) -> Tone:
    if type(row) is Call:
        return _call_tone(row)
    return _EVENT_STYLES[row.kind][2] if isinstance(row, Event) else "quiet"


def _call_tone(call: Call) -> Tone:
    """Returns ``tone_of(call)``, cached by the way it ended."""
    key = (call.op, call.status, bool(call.exit_code))
    if key not in _TONES:
        _TONES[key] = tone_of(call)
    return _TONES[key]


_TONES: dict[tuple[Op, str, bool], Tone] = {}


def _changed(trace: Trace) -> dict[CallKey, tuple[int, int]]:
    """Returns the lines added and removed by each call."""
    changed: dict[CallKey, tuple[int, int]] = {}
    for change in trace.file_changes:
        key = (change.session, change.call)
        added, removed = changed.get(key, (0, 0))
        changed[key] = (added + (change.added or 0), removed + (change.removed or 0))
    return changed


MAX_BARS = 120
_RANK: tuple[Tone, ...] = ("failed", "stopped", "changed", "person")
"""Precedence of tones: a bar for several lines takes the first of these that occurs often enough."""
_SHARE = 8
"""One in so many lines must have the tone: one failure in a bar of hundreds is not representative."""


@dataclass(frozen=True, slots=True)
class Bar:
    """Lines ``first`` … ``last`` (from 0, inclusive);
    ``height`` is from 0.1 to 1, by the text of the largest line.

    ``failed`` is the number of lines that failed, whatever the tone of the whole bar.
    """

    first: int
    last: int
    height: float
    tone: Tone
    failed: int = 0


def bars(tones: Sequence[Tone], weights: Sequence[int], count: int = MAX_BARS) -> list[Bar]:
    """Returns at most ``count`` bars, each for about as many lines,
    from each line's tone and its amount of text.
    """
    count = min(count, len(tones))
    most = math.log1p(max(weights, default=0)) or 1.0
    cuts = [number * len(tones) // count for number in range(count + 1)] if count else []
    return [
        Bar(
            first,
            end - 1,
            _height(max(weights[first:end]), most),
            _bar_tone(tones[first:end]),
            tones[first:end].count("failed"),
        )
        for first, end in pairwise(cuts)
    ]


def _height(weight: int, most: float) -> float:
    return round(max(0.1, math.log1p(weight) / most), 2)


def _bar_tone(tones: Sequence[Tone]) -> Tone:
    counts = Counter(tones)
    return next((tone for tone in _RANK if counts[tone] * _SHARE >= len(tones)), "quiet")
