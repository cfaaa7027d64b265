"""Finds the context of a step: why it was made, what came before and after, what else touched its files."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import islice

from nbtools.cards.hidden_characters import one_line
from nbtools.core.message import counted
from nbtools.traces.explorer.explorer_messages import TraceContext, TraceLink
from nbtools.traces.explorer.line_style import outcome_of
from nbtools.traces.explorer.redaction import redacted
from nbtools.traces.explorer.step_files import StepFiles
from nbtools.traces.explorer.timeline import Timeline
from nbtools.traces.model import Call, Event, Session

_MAX_DISTANCE = 2_000
"""Lines searched for a neighbour: a sub-agent's lines may be in between."""
_MAX_EXPLAINED = 6
"""Largest number of calls that one message may explain."""
_LOOKAHEAD = 8
"""Calls after a step among which a test run or a failure is preferred to the next one."""
_MAX_STEPS = 6
"""Largest number of a file's steps that are listed, the nearest ones."""
_MAX_FILES = 3
_TESTS = re.compile(
    r"\b(?:pytest|unittest|tox|nox|jest|vitest|mocha|rspec|phpunit|ctest)\b"
    r"|\b(?:go|cargo|yarn|npm|pnpm|make|mvn|gradle)(?: run)? (?:test|check)|\bnode --test\b"
)
_COUNTS = re.compile(r"\b\d+ (?:failed|passed|errors?|failing|passing)\b(?:, \d+ \w+)*")
_EXITED = re.compile(r"Exit code:? \d+")
_TAGS = re.compile(r"</?\w+>")


class StepContext:
    """The context of the steps of a log."""

    def __init__(self, lines: Timeline, files: StepFiles) -> None:
        self._lines = lines
        self._steps = files

    def context_of(self, line: int) -> tuple[TraceContext, ...]:
        """Returns the facts about a step, in display order."""
        row = self._lines.rows[line]
        if not isinstance(row, Call):
            return tuple(self._nesting(line))
        parts = (self._why, self._before, self._after, self._files, self._nesting)
        found = [context for part in parts for context in part(line)]
        if approved := redacted(row.permission):
            found.append(TraceContext(label="Approved", parts=(TraceLink(text=one_line(approved, 200)),)))
        return tuple(found)

    def _why(self, line: int) -> Iterator[TraceContext]:
        """Yields the message or thought just before it."""
        calls = 0
        for at in self._neighbours(line, -1):
            row = self._lines.rows[at]
            calls += isinstance(row, Call)
            if calls > _MAX_EXPLAINED or (isinstance(row, Event) and row.kind == "user"):
                return
            if isinstance(row, Event) and row.kind in ("assistant_text", "thinking") and row.text.strip():
                text = f"“{one_line(redacted(row.text.strip()), 200)}”"
                yield TraceContext(label="Why", parts=(TraceLink(text=text, line=at),))
                return

    def _before(self, line: int) -> Iterator[TraceContext]:
        """Yields the call before it, if that failed or concerned the same file."""
        at = next(self._calls(line, -1), None)
        if at is not None:
            common = set(self._steps.keys_at(at)) & set(self._steps.keys_at(line))
            if common or self._lines.tones[at] in ("failed", "stopped"):
                yield TraceContext(label="Before", parts=(self._step(at), TraceLink(text=self._summary(at))))

    def _after(self, line: int) -> Iterator[TraceContext]:
        """Yields the next call that ran the tests or failed, else the next one."""
        calls = list(islice(self._calls(line, 1), _LOOKAHEAD))
        notable = next((at for at in calls if self._ran_tests(at) or self._lines.tones[at] == "failed"), None)
        if calls:
            at = calls[0] if notable is None else notable
            yield TraceContext(label="After", parts=(self._step(at), TraceLink(text=self._summary(at))))

    def _files(self, line: int) -> Iterator[TraceContext]:
        """Yields the other steps that read or changed its files."""
        for path in self._steps.keys_at(line)[:_MAX_FILES]:
            steps = self._steps.lines_of(path)
            if len(steps) > 1:
                yield TraceContext(label="File history", parts=tuple(self._history(path, steps, line)))

    def _history(self, path: str, steps: Sequence[int], line: int) -> Iterator[TraceLink]:
        yield TraceLink(text=f"{one_line(path, 100)}: ")
        near = sorted(sorted(steps, key=lambda at: abs(at - line))[:_MAX_STEPS])
        changes = {at for at in near if self._steps.is_change(at, path)}
        for verb, listed in (
            ("read", [at for at in near if at not in changes]),
            ("changed", sorted(changes)),
        ):
            if listed:
                yield TraceLink(text=f"{verb} ")
                for number, at in enumerate(listed):
                    yield from (TraceLink(text=", "),) if number else ()
                    yield TraceLink(text=self._lines.numbers[at], line=None if at == line else at)
                yield TraceLink(text=" · ")
        yield TraceLink(text=f"show all {len(steps):,}", path=path)

    def _nesting(self, line: int) -> Iterator[TraceContext]:
        """Yields the nested steps and the parent step."""
        row, below = self._lines.rows[line], self._lines.end(line) - line - 1
        if below:
            label = "Sub-agent" if isinstance(row, Call) and row.op == "agent" else "Nested steps"
            yield TraceContext(label=label, parts=(TraceLink(text=counted(below, "step"), line=line + 1),))
        depth, depths = self._lines.depths[line], self._lines.depths
        parent = next((at for at in range(line - 1, -1, -1) if depths[at] < depth), None) if depth else None
        if parent is not None:
            subject = self._lines[parent].subject
            text = TraceLink(text=f": {subject}" if subject else "")
            yield TraceContext(label="Part of", parts=(self._step(parent), text))

    def _calls(self, line: int, direction: int) -> Iterator[int]:
        """Returns the lines of neighbours that are calls."""
        return (at for at in self._neighbours(line, direction) if isinstance(self._lines.rows[at], Call))

    def _neighbours(self, line: int, direction: int) -> Iterator[int]:
        """Returns the lines of the same session in a ``direction`` (1 or -1), the nearest first."""
        session = self._session(line)
        last = min(max(line + direction * _MAX_DISTANCE, -1), len(self._lines))
        return (at for at in range(line + direction, last, direction) if self._session(at) == session)

    def _session(self, line: int) -> str:
        row = self._lines.rows[line]
        return row.id if isinstance(row, Session) else row.session

    def _ran_tests(self, line: int) -> bool:
        row = self._lines.rows[line]
        return isinstance(row, Call) and row.op == "shell" and _TESTS.search(row.subject) is not None

    def _step(self, line: int) -> TraceLink:
        return TraceLink(text=f"step {self._lines.numbers[line]}", line=line)

    def _summary(self, line: int) -> str:
        """Describes in a few words how a call ended."""
        call = self._lines.rows[line]
        if not isinstance(call, Call):
            return ""
        if self._ran_tests(line):
            counts = _COUNTS.findall(call.detail.result)
            return f" ran the tests: {counts[-1] if counts else outcome_of(call) or 'passed'}"
        displayed = self._lines[line]
        title = f"{displayed.name} {displayed.subject}".rstrip()
        if displayed.tone not in ("failed", "stopped"):
            return f": {title}"
        outcome = f" {'ended with ' if call.exit_code else ''}{outcome_of(call) or 'failed'}"
        return f"{outcome}: {_first_line(call.detail.result) or title}"


def _first_line(text: str) -> str:
    """Returns the first line with content."""
    lines = (_TAGS.sub("", line).strip() for line in text[:4_000].splitlines())
    return one_line(redacted(next((line for line in lines if line and not _EXITED.fullmatch(line)), "")), 160)
