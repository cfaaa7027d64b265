"""``nbtools.open_trace(path)``: a log as a notebook shows it."""

from __future__ import annotations

from functools import cached_property
from pathlib import Path
from typing import Any

from nbtools.core.errors import TraceError
from nbtools.notebook.trace.static_html import trace_html, trace_text
from nbtools.notebook.trace.strip import bars
from nbtools.notebook.trace.summary import Summary, summary_of
from nbtools.notebook.trace.timeline import Timeline, timeline
from nbtools.traces.model import Call
from nbtools.traces.trace import Trace, load


class Explorer:
    """Shows ``trace`` where a cell ends with it.

    ``log`` is its path as the person gave it, for the cells that go on from here; ``step`` is the number of the line to begin at.
    Raises ``TraceError`` where there is no such step.
    """

    def __init__(self, trace: Trace, *, log: str = "", step: str = "") -> None:
        self.trace = trace
        self.log = log
        self.step = self.line_at(step) if step else None

    @cached_property
    def lines(self) -> Timeline:
        """What the list shows, in its order."""
        return timeline(self.trace)

    @cached_property
    def summary(self) -> Summary:
        return summary_of(self.trace)

    def line_at(self, step: str) -> int:
        """The place in ``lines`` of the step with this number: ``46``, ``48.1``.  Raises ``TraceError``."""
        found = self._numbers.get(step.strip())
        if found is None:
            last = next((number for number in reversed(self.lines.numbers) if "." not in number), "")
            raise TraceError(f"There is no step {step.strip()}: the log has 1 to {last}." if last else "There is no step in this log.")
        return found

    def call_at(self, step: str) -> Call:
        """The call that is this step.  Raises ``TraceError`` where there is no such step, or something was said in it."""
        row = self.lines.rows[self.line_at(step)]
        if not isinstance(row, Call):
            raise TraceError(f"Step {step.strip()} is no call: something was said there.")
        return row

    def calls_between(self, first: str, last: str) -> list[Call]:
        """The calls from one step to another, both of them included, and with them what the last one started.

        Either may be something said.  Raises ``TraceError`` where there is no such step, or no call between them.
        """
        start, end = self.line_at(first), self.lines.end(self.line_at(last))
        found = [row for row in self.lines.rows[start:end] if isinstance(row, Call)]
        if not found:
            raise TraceError(f"There is no call between the steps {first.strip()} and {last.strip()}.")
        return found

    def bundle(self) -> dict[str, Any]:
        """A MIME bundle: HTML without scripts for every frontend and for saved notebooks, text for the rest."""
        return {
            "text/html": trace_html(self.summary, self.lines, bars(self.lines.tones, self.lines.weights)),
            "text/plain": trace_text(self.summary, self.lines),
        }

    def _repr_mimebundle_(self, **_: Any) -> dict[str, Any]:
        return self.bundle()

    def __repr__(self) -> str:
        return f"<Explorer of {self.summary.title!r}, {len(self.lines)} steps>"

    @cached_property
    def _numbers(self) -> dict[str, int]:
        return {number: line for line, number in enumerate(self.lines.numbers)}


def open_trace(path: str | Path, step: str | int | None = None) -> Explorer:
    """The log at ``path`` to look at; its rows are ``.trace``.  ``step`` is the number of the step to begin at: ``46``, ``"48.1"``.

    Raises ``TraceError`` where it cannot be opened or is in no format that is known, and where there is no such step.
    """
    return Explorer(load(path), log=str(path), step="" if step is None else str(step))
