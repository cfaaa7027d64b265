"""The one way to count what is in a log: what each number means, and one pass over the rows.

The list of sessions, the explorer's head and chips, comparisons, SQL, Python and JSON show these numbers
under these names.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from msgspec import Struct

from nbtools.traces.model import Call, Event, EventKind, FileChange, Row, Session
from nbtools.traces.working_directory import file_key

DEFINITIONS: Mapping[str, str] = {
    "steps": (
        "Rows that the explorer lists without a filter: messages, errors and all calls, also nested ones and"
        " those on rewound branches"
    ),
    "calls": "Calls of tools that models made, sub-agents' included, each once; none on rewound branches",
    "nested_calls": (
        "Calls that a script or a program made within a call, and those of scorers; they are not among the"
        " calls"
    ),
    "failed_calls": "Calls that failed, or whose command ended with an exit code other than 0",
    "other_failures": (
        "Failures of nested calls and on rewound branches, which are not among the failed calls"
    ),
    "errors": "Errors of the agent that are no calls, such as a failed request to the model",
    "edits": "Changes of files that took effect",
    "edited_files": "Files with at least one change that took effect",
    "added_lines": "Lines that these changes added, as far as the log tells",
    "removed_lines": "Lines that these changes removed, as far as the log tells",
    "input_tokens": (
        "Tokens sent to models, by sub-agents and scorers, too, with those read from and written to a cache"
    ),
    "cache_read_tokens": "Those of the input tokens that were read from a cache",
    "cache_write_tokens": "Those of the input tokens that were written to a cache",
    "output_tokens": "Tokens that models wrote, thinking included",
    "started": "When the first record was written",
    "duration": "Time from the first to the last record",
    "changed": "When the log changed last",
    "cost": "Cost in US dollars, by price lists on the days of the requests, or as the log records it",
}
"""What each number means, for people to read, wherever it is shown."""

VISIBLE_EVENTS: frozenset[EventKind] = frozenset(
    {"user", "assistant_text", "thinking", "compaction", "attachment", "error", "scorer"}
)
"""Kinds of events that are steps. The others are bookkeeping or already part of a call."""


def is_visible(event: Event) -> bool:
    """Whether an event is a step: a message with a text that is more than whitespace."""
    return event.kind in VISIBLE_EVENTS and bool(event.text) and not event.text.isspace()


class LogCounts(Struct, frozen=True):
    """The numbers of a log, as ``DEFINITIONS`` defines them. None: not recorded.
    ``started`` and ``ended`` are seconds since the epoch, ``cost`` is what the log records.
    """

    steps: int = 0
    calls: int = 0
    nested_calls: int = 0
    failed_calls: int | None = 0
    errors: int = 0
    edits: int = 0
    edited_files: int = 0
    added_lines: int | None = None
    removed_lines: int | None = None
    input_tokens: int | None = None
    cache_read_tokens: int | None = None
    cache_write_tokens: int | None = None
    output_tokens: int | None = None
    started: float | None = None
    ended: float | None = None
    cost: float | None = None

    @property
    def duration(self) -> float | None:
        """Seconds from the first to the last record."""
        if self.started is None or self.ended is None:
            return None
        return self.ended - self.started


class LogCounter:
    """Counts the rows of a log while they are read, in any order."""

    def __init__(self) -> None:
        self.sessions: list[Session] = []
        self._steps = self._calls = self._nested = self._failed = self._errors = self._edits = 0
        self._added: int | None = None
        self._removed: int | None = None
        self._changed: set[tuple[str, str]] = set()
        self._keys: set[tuple[str, str]] = set()
        self._started_by: dict[str, tuple[str, str]] = {}

    def add(self, row: Row) -> None:
        if type(row) is Call:
            self._add_call(row)
        elif type(row) is Event:
            if is_visible(row):
                self._steps += 1
                self._errors += row.kind == "error"
        elif type(row) is FileChange:
            if row.applied:
                self._edits += 1
                self._added = _sum(self._added, row.added)
                self._removed = _sum(self._removed, row.removed)
                if row.path:
                    self._changed.add((row.session, row.path))
        elif type(row) is Session:
            self.sessions.append(row)

    def _add_call(self, call: Call) -> None:
        self._steps += 1
        self._keys.add((call.session, call.id))
        if call.child:
            self._started_by[call.child] = (call.session, call.id)
        failed = call.has_failed
        if failed is not None:
            self._calls += 1
            self._failed += failed
        elif call.live:
            self._nested += 1

    def counts(self, *, tells_errors: bool = True) -> LogCounts:
        """Returns the counts of all rows so far.  ``tells_errors``: the format records which calls failed."""
        sessions = self.sessions
        folders = {one.id: one.cwd for one in sessions}
        times = [time for one in sessions for time in (one.started, one.ended) if time is not None]
        tokens = [one.tokens for one in sessions]
        read, written = _total(one.cache_read for one in tokens), _total(one.cache_write for one in tokens)
        return LogCounts(
            steps=self._steps + self._session_lines(),
            calls=self._calls,
            nested_calls=self._nested,
            failed_calls=self._failed if tells_errors or self._failed else None,
            errors=self._errors,
            edits=self._edits,
            edited_files=len({file_key(path, folders.get(name, "")) for name, path in self._changed}),
            added_lines=self._added,
            removed_lines=self._removed,
            input_tokens=_total((_total(one.input for one in tokens), read, written)),
            cache_read_tokens=read,
            cache_write_tokens=written,
            output_tokens=_total(one.output for one in tokens),
            started=min(times, default=None),
            ended=max(times, default=None),
            cost=_total_cost(sessions),
        )

    def _session_lines(self) -> int:
        """Returns the number of sessions that have a line of their own: where several stand side by side."""
        sessions = {one.id: one for one in self.sessions}
        if len(sessions) < 2:
            return 0
        children: dict[str, list[str]] = {}
        below = set()
        for name, one in sessions.items():
            named = (one.parent, one.parent_call)
            start = named if one.parent_call and named in self._keys else self._started_by.get(name)
            if start is not None and start[0] != name:
                children.setdefault(start[0], []).append(name)
                below.add(name)
        roots = [name for name in sessions if name not in below]
        visited: set[str] = set()
        _visit(roots, children, visited)
        lines = len(roots) if len(roots) > 1 else 0
        for name in sessions:  # what no root leads to is a cycle of parents
            if name not in visited:
                _visit([name], children, visited)
                lines += 1
        return lines


def counts_of(rows: Iterable[Row], *, tells_errors: bool = True) -> LogCounts:
    """Counts rows."""
    counter = LogCounter()
    for row in rows:
        counter.add(row)
    return counter.counts(tells_errors=tells_errors)


def _visit(names: list[str], children: Mapping[str, list[str]], visited: set[str]) -> None:
    waiting = list(names)
    while waiting:
        name = waiting.pop()
        if name not in visited:
            visited.add(name)
            waiting += children.get(name, ())


def _sum(total: int | None, count: int | None) -> int | None:
    return total if count is None else (total or 0) + count


def _total(counts: Iterable[int | None]) -> int | None:
    known = [count for count in counts if count is not None]
    return sum(known) if known else None


def _total_cost(sessions: Iterable[Session]) -> float | None:
    known = [one.cost for one in sessions if one.cost is not None]
    return sum(known) if known else None
