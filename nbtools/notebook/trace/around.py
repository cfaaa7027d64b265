"""What stands around a step: why it was made, what came before and after, what else touched its files."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from nbtools.notebook.phrases import counted
from nbtools.notebook.trace.facets import Facets
from nbtools.notebook.trace.outcomes import outcome_of
from nbtools.notebook.trace.secrets import hidden
from nbtools.notebook.trace.timeline import Timeline
from nbtools.notebook.trace.wire import TraceAround, TraceLink
from nbtools.notebook.visible import one_line
from nbtools.traces.model import Call, Event, Session

_FAR = 2_000
"""Lines that are looked through for a neighbour: a sub-agent may stand between."""
_REASON = 6
"""Calls that one thought may stand for."""
_NEXT = 8
"""Calls after it among which one that ran the tests, or failed, is worth more than the next."""
_STEPS = 6
"""Steps of a file that are named, the nearest."""
_FILES = 3
_TESTS = re.compile(
    r"\b(?:pytest|unittest|tox|nox|jest|vitest|mocha|rspec|phpunit|ctest)\b"
    r"|\b(?:go|cargo|yarn|npm|pnpm|make|mvn|gradle)(?: run)? (?:test|check)|\bnode --test\b"
)
_COUNTS = re.compile(r"\b\d+ (?:failed|passed|errors?|failing|passing)\b(?:, \d+ \w+)*")
_EXITED = re.compile(r"Exit code:? \d+")
_TAGS = re.compile(r"</?\w+>")


class Surroundings:
    """Of the steps of a log."""

    def __init__(self, lines: Timeline, facets: Facets) -> None:
        self._lines = lines
        self._facets = facets

    def of(self, line: int) -> tuple[TraceAround, ...]:
        """What is known, in the order in which it is read."""
        row = self._lines.rows[line]
        if not isinstance(row, Call):
            return tuple(self._family(line))
        approved = hidden(row.permission)
        return (
            *self._why(line),
            *self._before(line),
            *self._after(line),
            *self._files(line),
            *self._family(line),
            *((TraceAround(label="Approved", parts=(TraceLink(text=one_line(approved, 200)),)),) if approved else ()),
        )

    def _why(self, line: int) -> Iterator[TraceAround]:
        """What was said or thought just before it."""
        calls = 0
        for at in self._neighbours(line, -1):
            row = self._lines.rows[at]
            calls += isinstance(row, Call)
            if calls > _REASON or (isinstance(row, Event) and row.kind == "user"):
                return
            if isinstance(row, Event) and row.kind in ("assistant_text", "thinking") and row.text.strip():
                yield TraceAround(label="Why", parts=(TraceLink(text=f"“{one_line(hidden(row.text.strip()), 200)}”", line=at),))
                return

    def _before(self, line: int) -> Iterator[TraceAround]:
        """The call before it, where that failed or was about the same file."""
        at = next((at for at in self._neighbours(line, -1) if isinstance(self._lines.rows[at], Call)), None)
        if at is None:
            return
        if self._lines.tones[at] in ("failed", "stopped") or set(self._facets.paths_at(at)) & set(self._facets.paths_at(line)):
            yield TraceAround(label="Before", parts=(self._step(at), TraceLink(text=self._told(at))))

    def _after(self, line: int) -> Iterator[TraceAround]:
        """The next call that ran the tests or failed, else the next."""
        calls = [at for at in self._neighbours(line, 1) if isinstance(self._lines.rows[at], Call)][:_NEXT]
        worth = next((at for at in calls if self._ran_tests(at) or self._lines.tones[at] == "failed"), None)
        if calls:
            at = calls[0] if worth is None else worth
            yield TraceAround(label="After", parts=(self._step(at), TraceLink(text=self._told(at))))

    def _files(self, line: int) -> Iterator[TraceAround]:
        """Other steps that read or changed its files."""
        for path in self._facets.paths_at(line)[:_FILES]:
            steps = self._facets.of_path(path)
            if len(steps) > 1:
                yield TraceAround(label="File history", parts=tuple(self._history(path, steps, line)))

    def _history(self, path: str, steps: Sequence[int], line: int) -> Iterator[TraceLink]:
        yield TraceLink(text=f"{one_line(path, 100)}: ")
        near = sorted(sorted(steps, key=lambda at: abs(at - line))[:_STEPS])
        changes = {at for at in near if self._facets.is_change(at, path)}
        for verb, listed in (("read", [at for at in near if at not in changes]), ("changed", sorted(changes))):
            if listed:
                yield TraceLink(text=f"{verb} ")
                for number, at in enumerate(listed):
                    yield from (TraceLink(text=", "),) if number else ()
                    yield TraceLink(text=self._lines.numbers[at], line=None if at == line else at)
                yield TraceLink(text=" · ")
        yield TraceLink(text=f"show all {len(steps):,}", path=path)

    def _family(self, line: int) -> Iterator[TraceAround]:
        """What hangs on it, and what it hangs on."""
        row, below = self._lines.rows[line], self._lines.end(line) - line - 1
        if below:
            label = "Sub-agent" if isinstance(row, Call) and row.op == "agent" else "Within it"
            yield TraceAround(label=label, parts=(TraceLink(text=counted(below, "step"), line=line + 1),))
        parent = self._parent(line)
        if parent is not None:
            subject = self._lines[parent].subject
            yield TraceAround(label="Part of", parts=(self._step(parent), TraceLink(text=f": {subject}" if subject else "")))

    def _parent(self, line: int) -> int | None:
        depth = self._lines.depths[line]
        return next((at for at in range(line - 1, -1, -1) if self._lines.depths[at] < depth), None) if depth else None

    def _neighbours(self, line: int, way: int) -> Iterator[int]:
        """Lines of the same session, the nearest first."""
        session = self._session(line)
        last = min(max(line + way * _FAR, -1), len(self._lines))
        return (at for at in range(line + way, last, way) if self._session(at) == session)

    def _session(self, line: int) -> str:
        row = self._lines.rows[line]
        return row.id if isinstance(row, Session) else row.session

    def _ran_tests(self, line: int) -> bool:
        row = self._lines.rows[line]
        return isinstance(row, Call) and row.op == "shell" and _TESTS.search(row.subject) is not None

    def _step(self, line: int) -> TraceLink:
        return TraceLink(text=f"step {self._lines.numbers[line]}", line=line)

    def _told(self, line: int) -> str:
        """How a call ended, in a few words of its own."""
        call = self._lines.rows[line]
        if not isinstance(call, Call):
            return ""
        if self._ran_tests(line):
            counts = _COUNTS.findall(call.detail.result)
            return f" ran the tests: {counts[-1] if counts else outcome_of(call) or 'passed'}"
        drawn = self._lines[line]
        about = f"{drawn.name} {drawn.subject}".rstrip()
        if drawn.tone not in ("failed", "stopped"):
            return f": {about}"
        ended = outcome_of(call) or "failed"
        return f" {'ended with ' if call.exit_code else ''}{ended}: {_first_line(call.detail.result) or about}"


def _first_line(text: str) -> str:
    """The first that says something."""
    lines = (_TAGS.sub("", line).strip() for line in text[:4_000].splitlines())
    return one_line(hidden(next((line for line in lines if line and not _EXITED.fullmatch(line)), "")), 160)
