"""Orders messages and calls for display, with sub-agents nested under the call that started them."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass, field
from itertools import repeat
from operator import attrgetter
from typing import TypeAlias

from nbtools.traces.counts import is_visible
from nbtools.traces.model import Call, Event, Session
from nbtools.traces.trace_rows import TraceRows

CallKey: TypeAlias = tuple[str, str]
"""A call, identified by its session id and its own id."""
LineRow: TypeAlias = Call | Event | Session
"""A row that has a line of its own."""

_SEQ = attrgetter("seq")


@dataclass(slots=True)
class StepTree:
    """The lines by index from 0: the row of each, its step number (``48.1`` under ``48``), its nesting depth.

    ``ends`` maps a line with nested lines to the index after the last of them,
    ``steps`` maps it to the number of lines directly under it.
    """

    rows: list[LineRow] = field(default_factory=list)
    numbers: list[str] = field(default_factory=list)
    depths: list[int] = field(default_factory=list)
    ends: dict[int, int] = field(default_factory=dict)
    steps: dict[int, int] = field(default_factory=dict)

    def add_level(self, rows: list[LineRow], prefix: str, first: int, depth: int) -> None:
        """Appends rows of one level, numbered from ``first``."""
        self.rows += rows
        steps = map(str, range(first, first + len(rows)))
        self.numbers += map(prefix.__add__, steps) if prefix else steps
        self.depths += repeat(depth, len(rows))


@dataclass(slots=True)
class _Level:
    """Rows of one level, processed up to ``at``;
    ``parent`` is the line they are nested under, ``first`` the number of the first.
    """

    rows: list[LineRow]
    prefix: str = ""
    first: int = 1
    at: int = 0
    parent: int = -1


def step_tree(trace: TraceRows) -> StepTree:
    """Returns the rows of ``trace`` in display order.
    If it holds several sessions side by side, each begins with a line of its own.

    Rows without a parent in the log, such as a sub-agent whose call is missing or a cycle of parents,
    come last as a separate tree.
    """
    return _TreeBuilder(trace).story()


def rows_by_step(trace: TraceRows) -> dict[str, LineRow]:
    """Returns the rows of ``trace`` by the numbers that the explorer shows."""
    story = step_tree(trace)
    return dict(zip(story.numbers, story.rows, strict=True))


class _TreeBuilder:
    """Walks the tree of rows without recursion, because sub-agents may be nested arbitrarily deep."""

    def __init__(self, trace: TraceRows) -> None:
        self._sessions = {session.id: session for session in trace.sessions}
        self._within: dict[CallKey, list[Call]] = defaultdict(list)
        self._rows = self._grouped(trace)
        for name in self._rows:
            self._sessions.setdefault(name, Session(id=name, format=""))
        self._sub_agents = self._started_sessions(trace)
        self._with_children = {name for _, name in (*self._within, *self._sub_agents)}
        self._visited: set[str] = set()
        self._top = 0

    def story(self) -> StepTree:
        story = StepTree()
        below = {session.id for sessions in self._sub_agents.values() for session in sessions}
        roots = [session for session in self._sessions.values() if session.id not in below]
        for session in roots:
            self._add_session(story, session, titled=len(roots) > 1)
        for session in self._sessions.values():
            if session.id not in self._visited:
                self._add_session(story, session, titled=True)
        return story

    def _grouped(self, trace: TraceRows) -> dict[str, list[LineRow]]:
        """Returns the top-level rows of each session, in order;
        calls made within a call are collected separately.
        """
        rows: dict[str, list[LineRow]] = defaultdict(list)
        parents = _seqs(trace, {(call.session, call.parent) for call in trace.calls if call.parent})
        for call in trace.calls:
            # A cycle is broken where it goes back in time.
            if call.parent and parents.get((call.session, call.parent), call.seq) < call.seq:
                self._within[call.session, call.parent].append(call)
            else:
                rows[call.session].append(call)
        for event in trace.events:
            if is_visible(event):
                rows[event.session].append(event)
        for session_rows in rows.values():
            session_rows.sort(key=_SEQ)
        return rows

    def _started_sessions(self, trace: TraceRows) -> Mapping[CallKey, list[Session]]:
        """Returns the sub-agent sessions that each call started."""
        started: dict[CallKey, list[Session]] = defaultdict(list)
        sessions = self._sessions.values()
        calls = _seqs(trace, {(one.parent, one.parent_call) for one in sessions if one.parent_call})
        by_child = {call.child: (call.session, call.id) for call in trace.calls if call.child}
        for session in sessions:
            parent = (session.parent, session.parent_call)
            key = parent if parent in calls else by_child.get(session.id)
            if key is not None and key[0] != session.id:
                started[key].append(session)
        return started

    def _add_session(self, story: StepTree, session: Session, *, titled: bool) -> None:
        self._visited.add(session.id)
        own = self._rows.get(session.id, [])
        rows = [session, *own] if titled else own
        self._walk(story, _Level(rows, first=self._top + 1))
        self._top += len(rows)

    def _walk(self, story: StepTree, level: _Level) -> None:
        levels = [level]
        while levels:
            level, depth = levels[-1], len(levels) - 1
            start, (level.at, below) = level.at, self._next(level)
            story.add_level(level.rows[start : level.at], level.prefix, level.first + start, depth)
            if below:
                line = len(story.rows) - 1
                story.steps[line] = len(below)
                levels.append(_Level(below, f"{story.numbers[line]}.", parent=line))
            elif level.at == len(level.rows):
                levels.pop()
                if level.parent >= 0:
                    story.ends[level.parent] = len(story.rows)

    def _next(self, level: _Level) -> tuple[int, list[LineRow]]:
        """Returns the index after the next row that has children (or the end), and those children."""
        for at in range(level.at, len(level.rows)):
            row = level.rows[at]
            is_parent = type(row) is Call and row.id in self._with_children
            if is_parent and (below := self._children((row.session, row.id))):  # type: ignore[union-attr]
                return at + 1, below
        return len(level.rows), []

    def _children(self, key: CallKey) -> list[LineRow]:
        """Returns the calls made within a call, then the rows of the sub-agents that it started."""
        below: list[LineRow] = list(self._within.get(key, ()))
        for session in self._sub_agents.get(key, ()):
            if session.id not in self._visited:
                self._visited.add(session.id)
                below += self._rows.get(session.id, [])
        return below


def _seqs(trace: TraceRows, keys: set[CallKey]) -> dict[CallKey, int]:
    """Returns the ``seq`` of those of these calls that exist."""
    ids = {name for _, name in keys}
    calls = (call for call in trace.calls if call.id in ids)
    return {key: call.seq for call in calls if (key := (call.session, call.id)) in keys}
