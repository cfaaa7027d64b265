"""``nbtools.open_trace(path)``: a log as a notebook shows it."""

from __future__ import annotations

import uuid
from functools import cached_property
from pathlib import Path
from typing import Any

from nbtools.core.errors import TraceError
from nbtools.notebook.trace.answers import Answers, Reply, Task
from nbtools.notebook.trace.cells import Cells
from nbtools.notebook.trace.facets import Facets
from nbtools.notebook.trace.order import Told
from nbtools.notebook.trace.serving import EXPLORERS
from nbtools.notebook.trace.static_html import trace_html, trace_text
from nbtools.notebook.trace.strip import Bar, bars
from nbtools.notebook.trace.summary import Summary, summary_of
from nbtools.notebook.trace.target import serve_here
from nbtools.notebook.trace.timeline import Timeline, timeline
from nbtools.notebook.trace.wire import TRACE_MIME, TraceBar, TraceFact, TraceFilter, TraceView
from nbtools.traces.model import Call
from nbtools.traces.trace import Trace, load

FIRST = 200
"""Lines that are sent with the first picture."""
_BARS = 240


class Explorer:
    """Shows ``trace`` where a cell ends with it.

    ``log`` is its path as the person gave it, for the cells that go on from here; ``step`` is the number of the step to begin at.
    Raises ``TraceError`` where there is no such step.
    """

    def __init__(self, trace: Trace, *, log: str = "", step: str = "") -> None:
        self.id = uuid.uuid4().hex
        self.trace = trace
        self.step = self.line_at(step) if step else None
        self._cells = Cells(log)

    @cached_property
    def lines(self) -> Timeline:
        """What the list shows, in its order."""
        return timeline(self.trace)

    @property
    def size(self) -> int:
        return len(self.lines)

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

    def step_of(self, row: Told) -> str:
        """The number of the step that stands for a row of ``trace``; empty for what has none, such as what a system said."""
        line = self.lines.places.get(id(row))
        return "" if line is None else self.lines.numbers[line]

    def answer(self, task: Task) -> Reply:
        """What a page asks for.  Raises ``TraceError``."""
        return self._answers.answer(task)

    def view(self) -> TraceView:
        """The first picture."""
        return TraceView(
            explorer=self.id,
            title=self.summary.title,
            facts=tuple(TraceFact(text=fact.text, doubt=fact.doubt, bad=fact.bad) for fact in self.summary.facts),
            bars=tuple(map(_bar, bars(self.lines.tones, self.lines.weights, _BARS))),
            kinds=self._facets.choices(),
            tools=self._facets.tools(),
            paths=self._facets.paths(),
            page=self._answers.page(TraceFilter(), 0, FIRST),
            step=self.step,
            actions=self._cells.actions,
        )

    def bundle(self) -> dict[str, Any]:
        """A MIME bundle: the first picture for our renderer, HTML without scripts for other frontends and saved notebooks, text.

        A page can ask this explorer from now on.
        """
        EXPLORERS.remember(self)
        serve_here()
        drawn = bars(self.lines.tones, self.lines.weights)
        return {
            TRACE_MIME: self.view().model_dump(mode="json"),
            "text/html": trace_html(self.summary, self.lines, drawn),
            "text/plain": trace_text(self.summary, self.lines),
        }

    def _repr_mimebundle_(self, **_: Any) -> dict[str, Any]:
        return self.bundle()

    def __repr__(self) -> str:
        return f"<Explorer of {self.summary.title!r}, {len(self.lines)} steps>"

    @cached_property
    def _numbers(self) -> dict[str, int]:
        return {number: line for line, number in enumerate(self.lines.numbers)}

    @cached_property
    def _facets(self) -> Facets:
        return Facets(self.trace, self.lines)

    @cached_property
    def _answers(self) -> Answers:
        return Answers(self.trace, self.lines, self._facets, self._cells)


def _bar(bar: Bar) -> TraceBar:
    return TraceBar(first=bar.first, last=bar.last, height=round(100 * bar.height), tone=bar.tone)


def open_trace(path: str | Path, step: str | int | None = None) -> Explorer:
    """The log at ``path`` to look at; its rows are ``.trace``.  ``step`` is the number of the step to begin at: ``46``, ``"48.1"``.

    Raises ``TraceError`` where it cannot be opened or is in no format that is known, and where there is no such step.
    """
    return Explorer(load(path), log=str(path), step="" if step is None else str(step))
