"""In which order a log is told: what was said and called, sub-agents under the call that started them."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass, field
from itertools import repeat
from operator import attrgetter
from typing import TypeAlias

from nbtools.traces.model import Call, Event, EventKind, Session
from nbtools.traces.trace import Trace

Key: TypeAlias = tuple[str, str]
"""A call: the ids of its session and its own."""
Told: TypeAlias = Call | Event | Session

SPOKEN: frozenset[EventKind] = frozenset({"user", "assistant_text", "thinking", "compaction", "attachment", "error"})
"""Events that have a line.  The rest is bookkeeping, or stands in a call already."""
_SEQ = attrgetter("seq")


@dataclass(slots=True)
class Story:
    """The lines, by their place from 0: what each stands for, its step (``48.1`` under ``48``), how deep it is nested.

    ``ends`` has the place behind the last line that is nested under a line, ``steps`` how many stand directly under it; both of those
    lines alone that have some.
    """

    rows: list[Told] = field(default_factory=list)
    numbers: list[str] = field(default_factory=list)
    depths: list[int] = field(default_factory=list)
    ends: dict[int, int] = field(default_factory=dict)
    steps: dict[int, int] = field(default_factory=dict)

    def add(self, rows: list[Told], prefix: str, first: int, depth: int) -> None:
        """Rows side by side, numbered from ``first``."""
        self.rows += rows
        steps = map(str, range(first, first + len(rows)))
        self.numbers += map(prefix.__add__, steps) if prefix else steps
        self.depths += repeat(depth, len(rows))


@dataclass(slots=True)
class _Level:
    """Rows side by side, told up to ``at``; ``parent`` is the line that they hang on, ``first`` the number of the first."""

    rows: list[Told]
    prefix: str = ""
    first: int = 1
    at: int = 0
    parent: int = -1


def told(trace: Trace) -> Story:
    """Where ``trace`` holds several sessions side by side, each begins with a line of its own.

    What hangs on nothing, such as a sub-agent whose call is not there or a ring of parents, stands by itself at the end.
    """
    return _Telling(trace).story()


class _Telling:
    """What belongs where, and the way through it: without recursion, for sub-agents may be nested as deep as they like."""

    def __init__(self, trace: Trace) -> None:
        self._sessions = {session.id: session for session in trace.sessions}
        self._within: dict[Key, list[Call]] = defaultdict(list)
        self._rows = self._grouped(trace)
        self._sessions |= {name: Session(id=name, format="") for name in self._rows if name not in self._sessions}
        self._started = self._starting(trace)
        self._with_children = {name for _, name in (*self._within, *self._started)}
        self._said: set[str] = set()
        self._top = 0

    def story(self) -> Story:
        story = Story()
        below = {session.id for sessions in self._started.values() for session in sessions}
        roots = [session for session in self._sessions.values() if session.id not in below]
        for session in roots:
            self._tell(story, session, titled=len(roots) > 1)
        for session in self._sessions.values():
            if session.id not in self._said:
                self._tell(story, session, titled=True)
        return story

    def _grouped(self, trace: Trace) -> dict[str, list[Told]]:
        """What stands in each session itself, in order; calls made within a call are put aside."""
        rows: dict[str, list[Told]] = defaultdict(list)
        asked = _seqs(trace, {(call.session, call.parent) for call in trace.calls if call.parent})
        for call in trace.calls:
            if call.parent and asked.get((call.session, call.parent), call.seq) < call.seq:  # a ring is broken where it goes back in time
                self._within[call.session, call.parent].append(call)
            else:
                rows[call.session].append(call)
        for event in trace.events:
            if event.kind in SPOKEN and event.text:
                rows[event.session].append(event)
        for one in rows.values():
            one.sort(key=_SEQ)
        return rows

    def _starting(self, trace: Trace) -> Mapping[Key, list[Session]]:
        """The sub-agents that each call started."""
        started: dict[Key, list[Session]] = defaultdict(list)
        calls = _seqs(trace, {(session.parent, session.parent_call) for session in self._sessions.values() if session.parent_call})
        by_child = {call.child: (call.session, call.id) for call in trace.calls if call.child}
        for session in self._sessions.values():
            asked = (session.parent, session.parent_call)
            key = asked if asked in calls else by_child.get(session.id)
            if key is not None and key[0] != session.id:
                started[key].append(session)
        return started

    def _tell(self, story: Story, session: Session, *, titled: bool) -> None:
        self._said.add(session.id)
        own = self._rows.get(session.id, [])
        rows = [session, *own] if titled else own
        self._walk(story, _Level(rows, first=self._top + 1))
        self._top += len(rows)

    def _walk(self, story: Story, level: _Level) -> None:
        levels = [level]
        while levels:
            level, depth = levels[-1], len(levels) - 1
            start, (level.at, below) = level.at, self._next(level)
            story.add(level.rows[start : level.at], level.prefix, level.first + start, depth)
            if below:
                line = len(story.rows) - 1
                story.steps[line] = len(below)
                levels.append(_Level(below, f"{story.numbers[line]}.", parent=line))
            elif level.at == len(level.rows):
                levels.pop()
                if level.parent >= 0:
                    story.ends[level.parent] = len(story.rows)

    def _next(self, level: _Level) -> tuple[int, list[Told]]:
        """Where the rows go on behind the next one under which something hangs, and that."""
        for at in range(level.at, len(level.rows)):
            row = level.rows[at]
            if type(row) is Call and row.id in self._with_children and (below := self._children((row.session, row.id))):
                return at + 1, below
        return len(level.rows), []

    def _children(self, key: Key) -> list[Told]:
        """What was made within a call, then what the sub-agents did that it started."""
        below: list[Told] = list(self._within.get(key, ()))
        for session in self._started.get(key, ()):
            if session.id not in self._said:
                self._said.add(session.id)
                below += self._rows.get(session.id, [])
        return below


def _seqs(trace: Trace, keys: set[Key]) -> dict[Key, int]:
    """The places of those of these calls that there are."""
    ids = {name for _, name in keys}
    return {key: call.seq for call in trace.calls if call.id in ids and (key := (call.session, call.id)) in keys}
