"""The lines of the explorer's list.  A log has many and a page shows few: each is worded when it is looked at."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import overload

from nbtools.notebook.phrases import counted
from nbtools.notebook.trace.order import Key, Told, told
from nbtools.notebook.trace.outcomes import Tone, icon_of, inside, outcome_of, tone_of, took
from nbtools.notebook.trace.secrets import hidden
from nbtools.notebook.visible import one_line
from nbtools.traces.model import Call, Event, EventKind, Op, Session
from nbtools.traces.trace import Trace

SUBJECT = 200
"""Characters of a line's subject."""
_LINE = 40
"""Characters of a changed line, about."""

_SPOKEN: dict[EventKind, tuple[str, str, Tone]] = {
    "user": ("person", "", "person"),
    "assistant_text": ("assistant", "", "agent"),
    "thinking": ("thought", "thinking", "quiet"),
    "compaction": ("fold", "compaction", "quiet"),
    "attachment": ("clip", "attachment", "quiet"),
    "error": ("alarm", "error", "failed"),
}
"""Icon, name and tone of what is no call."""
_STARTING: dict[Op, str] = {"agent": "agent", "ask": "person"}
"""Icons of calls that somebody else answers; cards have none of these."""


@dataclass(frozen=True, slots=True)
class Line:
    """One line: ``number`` is its step (``48.1`` under ``48``) and never changes, ``depth`` how deep it is nested.

    ``below`` counts the lines nested under it; ``call`` says that it is a call, and not something said.
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
    """All lines of ``trace``.  ``rows`` are what they stand for, ``tones`` how they ended."""

    def __init__(self, trace: Trace) -> None:
        story = told(trace)
        self.rows, self.numbers, self.depths, self.ends = story.rows, story.numbers, story.depths, story.ends
        self.sessions = {session.id: session for session in trace.sessions}
        self._steps = story.steps
        self._changed = _changed(trace)

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
        return [_tone(row) for row in self.rows]

    @cached_property
    def weights(self) -> list[int]:
        """How much text each brought or changed, in characters."""
        weights = [row.result_size if type(row) is Call else row.size if type(row) is Event else 0 for row in self.rows]
        for line, row in enumerate(self.rows) if self._changed else ():
            if type(row) is Call and (row.session, row.id) in self._changed:
                weights[line] += _LINE * sum(self._changed[row.session, row.id])
        return weights

    @cached_property
    def places(self) -> dict[int, int]:
        """Where the line of a row stands, by the row's identity."""
        return {id(row): line for line, row in enumerate(self.rows)}

    def end(self, line: int) -> int:
        """The place behind the last line that is nested under it."""
        return self.ends.get(line, line + 1)

    def folder(self, row: Told) -> str:
        """Where the session of it ran, empty where that is not recorded."""
        session = row if isinstance(row, Session) else self.sessions.get(row.session)
        return session.cwd if session else ""

    def _line(self, line: int) -> Line:
        row, number, depth = self.rows[line], self.numbers[line], self.depths[line]
        match row:
            case Session():
                subject = _subject(row.title or row.id)
                return Line(number, "session", "session", subject, counted(row.records, "record"), "quiet", depth)
            case Event():
                icon, name, tone = _SPOKEN[row.kind]
                return Line(number, icon, name, _subject(row.text.strip()), "", tone, depth, live=row.live)
            case Call():
                return self._call(row, line)

    def _call(self, call: Call, line: int) -> Line:
        added, removed = self._changed.get((call.session, call.id), (0, 0))
        steps = self._steps.get(line)
        words = (outcome_of(call), counted(steps, "step") if steps else "", took(call))
        return Line(
            self.numbers[line],
            _STARTING.get(call.op, icon_of(call)),
            _named(call.name),
            _subject(inside(call.subject, self.folder(call))),
            " · ".join(filter(None, words)),
            tone_of(call),
            self.depths[line],
            True,
            added,
            removed,
            call.live,
            self.end(line) - line - 1,
        )


def timeline(trace: Trace) -> Timeline:
    """All lines of ``trace``, in the order of ``told``."""
    return Timeline(trace)


@lru_cache(maxsize=512)
def _named(name: str) -> str:
    return one_line(name, 100)


def _subject(text: str) -> str:
    """One line, in which no secret is; what is cut off is looked at, too, for the cut may go through one."""
    return one_line(hidden(text), SUBJECT)


def _tone(row: Told) -> Tone:
    if type(row) is Call:
        return _ended(row)
    return _SPOKEN[row.kind][2] if isinstance(row, Event) else "quiet"


def _ended(call: Call) -> Tone:
    """``tone_of``, asked once of each way to end."""
    key = (call.op, call.status, bool(call.exit_code))
    if key not in _ENDS:
        _ENDS[key] = tone_of(call)
    return _ENDS[key]


_ENDS: dict[tuple[Op, str, bool], Tone] = {}


def _changed(trace: Trace) -> dict[Key, tuple[int, int]]:
    """Lines added and removed by each call."""
    added: Counter[Key] = Counter()
    removed: Counter[Key] = Counter()
    for change in trace.file_changes:
        key = (change.session, change.call)
        added[key] += change.added or 0
        removed[key] += change.removed or 0
    return {key: (added[key], removed[key]) for key in added}
