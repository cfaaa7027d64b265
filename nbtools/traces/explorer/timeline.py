"""The lines of the explorer's list, built on access, and a log's overview as a row of bars."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import NamedTuple, overload

from nbtools.traces.explorer.explorer_view import Tone, TraceBar
from nbtools.traces.explorer.line_style import StepLine, styled_line, tones_of
from nbtools.traces.explorer.nesting import CallKey, LineRow, StepTree, step_tree
from nbtools.traces.model import Call, Event, EventKind, Session
from nbtools.traces.trace import Trace

_SAID: frozenset[EventKind] = frozenset({"user", "assistant_text", "thinking", "scorer"})
_LINE_LENGTH = 40
"""Approximate characters of a changed line."""


class StepChange(NamedTuple):
    """The lines that a call added and removed, and the paths that it changed, as recorded."""

    added: int = 0
    removed: int = 0
    paths: tuple[str, ...] = ()


UNCHANGED = StepChange()


@dataclass(frozen=True, slots=True)
class DrawnLines:
    """Everything on which the look of lines depends.  ``folders`` are those of the sessions."""

    tree: StepTree
    changes: Mapping[CallKey, StepChange]
    running: frozenset[CallKey]
    folders: Mapping[str, str]


class Timeline(Sequence[StepLine]):
    """All lines of ``trace``, in the order of ``step_tree``.
    ``rows`` are the rows they stand for, ``tones`` how they ended.
    """

    def __init__(self, trace: Trace) -> None:
        self._tree = tree = step_tree(trace)
        self.rows, self.numbers, self.depths = tree.rows, tree.numbers, tree.depths
        self.sessions = {session.id: session for session in trace.sessions}
        self.changes: dict[CallKey, StepChange] = {}
        for change in trace.file_changes:
            before = self.changes.get((change.session, change.call), UNCHANGED)
            self.changes[change.session, change.call] = StepChange(
                before.added + (change.added or 0),
                before.removed + (change.removed or 0),
                (*before.paths, change.path) if change.path else before.paths,
            )
        self.running = running_calls(trace)
        folders = {name: session.cwd for name, session in self.sessions.items()}
        self.drawn = DrawnLines(tree, self.changes, self.running, folders)

    @overload
    def __getitem__(self, index: int) -> StepLine: ...
    @overload
    def __getitem__(self, index: slice) -> list[StepLine]: ...
    def __getitem__(self, index: int | slice) -> StepLine | list[StepLine]:
        places = range(len(self.rows))[index]
        return self._line(places) if isinstance(places, int) else [self._line(place) for place in places]

    def __len__(self) -> int:
        return len(self.rows)

    @cached_property
    def tones(self) -> list[Tone]:
        return tones_of(self.rows, self.running)

    @cached_property
    def weights(self) -> list[int]:
        """The length of the text that each line added or changed, in characters."""
        weights: list[int] = []
        for row in self.rows:
            if type(row) is Call:
                change = self.changes.get((row.session, row.id)) if self.changes else None
                changed = change.added + change.removed if change else 0
                weights.append(row.result_size + _LINE_LENGTH * changed)
            else:
                weights.append(row.size if type(row) is Event else 0)
        return weights

    @cached_property
    def line_by_row(self) -> dict[int, int]:
        """The index of each row's line, by the row's identity."""
        return {id(row): line for line, row in enumerate(self.rows)}

    def end(self, line: int) -> int:
        """Returns the index after the last line nested under ``line``."""
        return self._tree.ends.get(line, line + 1)

    def folder(self, row: LineRow) -> str:
        """Returns the working directory of the row's session; empty if it is not recorded."""
        session = row if isinstance(row, Session) else self.sessions.get(row.session)
        return session.cwd if session else ""

    def is_running(self, row: LineRow) -> bool:
        return isinstance(row, Call) and (row.session, row.id) in self.running

    def _line(self, line: int) -> StepLine:
        row, number, depth = self.rows[line], self.numbers[line], self.depths[line]
        if not isinstance(row, Call):
            return styled_line(row, line, number, depth)
        change = self.changes.get((row.session, row.id), UNCHANGED)
        return styled_line(
            row,
            line,
            number,
            depth,
            folder=self.folder(row),
            added=change.added,
            removed=change.removed,
            steps=self._tree.steps.get(line, 0),
            below=self.end(line) - line - 1,
            is_running=self.is_running(row),
        )


def running_calls(trace: Trace) -> frozenset[CallKey]:
    """Returns the calls without a result, or a message after them, in a log that was just written."""
    if not trace.fresh:
        return frozenset()
    said = {event.session: event.seq for event in trace.events if event.kind in _SAID}
    return frozenset(
        (call.session, call.id)
        for call in trace.calls
        if call.status == "unanswered" and call.live and call.seq > said.get(call.session, -1)
    )


MAX_BARS = 120
_RANK: tuple[Tone, ...] = ("failed", "stopped", "changed", "person")
"""Precedence of tones: a bar for several lines takes the first of these that occurs often enough."""
_SHARE = 8
"""One in so many lines must have the tone: one failure in a bar of hundreds is not representative."""


def bars(tones: Sequence[Tone], weights: Sequence[int], count: int = MAX_BARS) -> tuple[TraceBar, ...]:
    """Returns at most ``count`` bars, each for about as many lines,
    from each line's tone and its amount of text, of which the largest of a bar's lines counts.
    """
    count = min(count, len(tones))
    most = math.log1p(max(weights, default=0)) or 1.0
    found: list[TraceBar] = []
    for first, end in pairwise(number * len(tones) // count for number in range(count + 1 if count else 0)):
        counts = Counter(tones[first:end])
        height = round(100 * max(0.1, math.log1p(max(weights[first:end])) / most))
        tone = next((tone for tone in _RANK if counts[tone] * _SHARE >= end - first), "quiet")
        bar = TraceBar(first=first, last=end - 1, height=height, tone=tone, failed=counts["failed"])
        found.append(bar)
    return tuple(found)
