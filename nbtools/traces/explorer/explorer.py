"""The explorer of one session log: ``nbtools.open_trace(path)`` and what ``%trace`` displays."""

from __future__ import annotations

import uuid
from collections.abc import Callable
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from nbtools.core.errors import TraceError
from nbtools.traces.explorer.cell_sources import CellSources
from nbtools.traces.explorer.explorer_view import TRACE_MIME, TraceView
from nbtools.traces.explorer.export.static_html import MAX_LINES, trace_html, trace_text
from nbtools.traces.explorer.facets import Facet, Facets
from nbtools.traces.explorer.following import Following
from nbtools.traces.explorer.log_answers import LogAnswers
from nbtools.traces.explorer.nesting import LineRow
from nbtools.traces.explorer.notebook_services import connect_page, widget_of
from nbtools.traces.explorer.page_methods import PageMethods
from nbtools.traces.explorer.registry import EXPLORERS
from nbtools.traces.explorer.reviewing.review_messages import TraceReview, TraceReviewParams
from nbtools.traces.explorer.row_filter import filtered_lines
from nbtools.traces.explorer.saved_filters import FilterFile, SavedFilter
from nbtools.traces.explorer.summary import Summary, summary_of
from nbtools.traces.explorer.timeline import Timeline, bars
from nbtools.traces.model import Call, Event
from nbtools.traces.parallel_reading import gc_paused
from nbtools.traces.reader import LogFile
from nbtools.traces.trace import Trace, load

if TYPE_CHECKING:
    from nbtools.traces.explorer.reviewing.reviewer import Reviewer, SignalSearch

_BARS = 240


class Explorer:
    """Displays ``trace`` as the value of a cell.

    ``log`` is its path as the person typed it, for the cells that the explorer offers; ``step`` is the number
    of the step to begin at. Raises ``TraceError`` if there is no such step.
    """

    def __init__(self, trace: Trace, *, log: str = "", step: str = "") -> None:
        self.id = uuid.uuid4().hex
        self.trace = trace
        self.step = self.line_at(step) if step else None
        self.search = ""
        """The text that a page searches for when it shows the log."""
        self._cells = CellSources(log)
        self._facet_makers: list[Callable[[Explorer], Facet]] = []
        self.following = Following(self)
        self._is_reviewed = False
        self.methods = PageMethods(self)
        self._signals: SignalSearch | None = None

    @cached_property
    def lines(self) -> Timeline:
        """All lines of the list, in order."""
        return Timeline(self.trace)

    @property
    def version(self) -> int:
        """Counts how often the lines have changed."""
        return self.following.version

    @property
    def size(self) -> int:
        return len(self.lines)

    @cached_property
    def summary(self) -> Summary:
        return summary_of(self.trace)

    def line_at(self, step: str) -> int:
        """Returns the index of the line with this step number: ``46``, ``48.1``. Raises ``TraceError``."""
        line = self._numbers.get(step.strip())
        if line is None:
            last = next((number for number in reversed(self.lines.numbers) if "." not in number), "")
            has = f"the log has steps 1–{last}" if last else "the log has no steps"
            raise TraceError(f"Step {step.strip()} does not exist ({has}).")
        return line

    def call_at(self, step: str) -> Call:
        """Returns the call of this step. Raises ``TraceError`` if it does not exist or is a message."""
        row = self.lines.rows[self.line_at(step)]
        if not isinstance(row, Call):
            raise TraceError(f"Step {step.strip()} is a message, not a tool call.")
        return row

    def calls_between(self, first: str, last: str) -> list[Call]:
        """Returns the calls of the steps ``first`` to ``last`` (inclusive),
        with those nested under the last one.

        Either end may be a message.  Raises ``TraceError`` if there is no such step, or no call in the range.
        """
        start, end = self.line_at(first), self.lines.end(self.line_at(last))
        calls = [row for row in self.lines.rows[start:end] if isinstance(row, Call)]
        if not calls:
            raise TraceError(f"Steps {first.strip()}–{last.strip()} contain no tool call.")
        return calls

    def step_of(self, row: LineRow) -> str:
        """Returns the step number of a row; empty for a row without a line, such as a system message."""
        line = self.lines.line_by_row.get(id(row))
        return "" if line is None else self.lines.numbers[line]

    def review(self, task: TraceReviewParams) -> TraceReview:
        """Answers a request about the review; with the first one, the list can be filtered by it."""
        self._add_review_facets()
        if task.line is not None and task.action in {"note", "label", "verdict"}:
            line, last = self.following.lines_now(
                task.version, [task.line, task.line if task.last is None else task.last]
            )
            task = task.model_copy(update={"line": line, "last": None if task.last is None else last})
        return self.reviewer.answer(task)

    def _add_review_facets(self) -> None:
        if not self._is_reviewed:
            # Loaded with the first review.
            from nbtools.traces.explorer.reviewing.reviewer import ReviewFacet, SignalFacet  # noqa: PLC0415

            self._is_reviewed = True
            self.add_facet(lambda explorer: ReviewFacet(explorer.reviewer))
            self.add_facet(lambda explorer: SignalFacet(explorer.reviewer))

    def rows_under(self, query: SavedFilter) -> list[LineRow]:
        """Returns the rows that a filter lists, after searching the whole log. Raises ``TraceError``."""
        if any(chip.startswith(("review:", "signal:")) for chip in query.chips):
            self._add_review_facets()
            self.reviewer.wait_for_signals()
        return [self.lines.rows[line] for line in filtered_lines(self, query)]

    def update(self) -> bool:
        """Takes over what was written to the log since; returns whether that changes any line.

        ``lines`` is then another timeline,
        in which steps may have other numbers if calls within an earlier step were added.
        """
        before = self.trace.calls
        self.trace.update()
        if self.trace.calls is before and (self.trace.fresh or not self.lines.running):
            return False
        self._forget()
        return True

    def continue_in(self, log: LogFile) -> None:
        """Shows another log, in which the session goes on, in place of this one."""
        self.trace = Trace([log])
        self._cells = self._cells.beside(log.source.path.name)
        self._signals = None
        self._forget()

    def _forget(self) -> None:
        """Forgets everything that was made of the rows."""
        for name, member in vars(type(self)).items():
            if isinstance(member, cached_property):
                self.__dict__.pop(name, None)

    def view(self) -> TraceView:
        """Returns the view; its page asks for the rows."""
        return TraceView(
            explorer=self.id,
            title=self.summary.title,
            facts=self.summary.facts,
            bars=bars(self.lines.tones, self.lines.weights, _BARS),
            total=len(self.lines),
            step=self.step,
            search=self.search,
            failure=next((line for line, tone in enumerate(self.lines.tones) if tone == "failed"), None),
            changed=self.summary.changed,
            samples=len(self.trace.samples),
            actions=self._cells.actions,
            version=self.version,
            fresh=self.trace.fresh,
        )

    @gc_paused()
    def bundle(self) -> dict[str, Any]:
        """Returns a MIME bundle: the view for the JupyterLab extension,
        script-free HTML for saved notebooks and converters, and text.

        Where the front end is known to lack the extension, the widget is added: a front end displays the type
        that it prefers, and our extension prefers its own.  Registers the explorer, so that pages can send it
        requests from now on.
        """
        EXPLORERS.add(self)
        view, drawn = self.view(), bars(self.lines.tones, self.lines.weights)
        first, numbers = self.lines[:MAX_LINES], self.lines.numbers
        return {
            TRACE_MIME: view.model_dump(mode="json"),
            **connect_page(view),
            "text/html": trace_html(self.summary, first, numbers, drawn),
            "text/plain": trace_text(self.summary, first, len(numbers)),
        }

    def widget(self) -> Any:
        """Returns the explorer as an anywidget; in marimo, pass it to ``mo.ui.anywidget``."""
        EXPLORERS.add(self)
        return widget_of(self.view())

    def _repr_mimebundle_(self, **_: Any) -> dict[str, Any]:
        return self.bundle()

    def __repr__(self) -> str:
        return f"<Explorer of {self.summary.title!r}, {len(self.lines)} steps>"

    @cached_property
    def _numbers(self) -> dict[str, int]:
        return {number: line for line, number in enumerate(self.lines.numbers)}

    def add_facet(self, make: Callable[[Explorer], Facet]) -> None:
        """Adds a facet to filter by. ``make`` is called now, and again whenever the log has grown."""
        self._facet_makers.append(make)
        self.facets.add(make(self))

    @cached_property
    def facets(self) -> Facets:
        """The facets that were added."""
        facets = Facets()
        self.__dict__["facets"] = facets  # the makers may use it
        for make in self._facet_makers:
            facets.add(make(self))
        return facets

    @cached_property
    def reviewer(self) -> Reviewer:
        """Answers requests about the review of the log."""
        # Loaded with the first review.
        from nbtools.traces.explorer.reviewing.reviewer import Reviewer, SignalSearch  # noqa: PLC0415

        self._signals = self._signals or SignalSearch(self.trace)
        return Reviewer(self.trace, self.lines, self._signals, self.version)

    @cached_property
    def answers(self) -> LogAnswers:
        """Answers questions about the lines as they are now."""
        return LogAnswers(self.trace, self.lines, self._cells)


def filter(trace: Trace, name: str) -> list[LineRow]:  # noqa: A001 - it is called as traces.filter
    """Returns what the explorer lists under the saved filter with this name, in the same order.
    Raises ``TraceError`` if there is no such filter, or it has a chip that this log does not have.
    """
    return Explorer(trace).rows_under(FilterFile().named(name))


class LogPosition(Protocol):
    """A row's position in a log: a search result, or a row of a query with these columns.
    With an empty ``session``, the position is that in the whole log.
    """

    @property
    def source(self) -> str: ...
    @property
    def session(self) -> str: ...
    @property
    def seq(self) -> int: ...


def open_trace(path: str | Path | LogPosition, step: str | int | None = None) -> Explorer:
    """Opens the session log at ``path``; its rows are ``.trace``.
    ``step`` is the number of the step to begin at: ``46``, ``"48.1"``.

    A search result of a corpus opens its log at its step. Raises ``TraceError`` if the log cannot be opened
    or its format is not recognised, and if there is no such step.
    """
    if isinstance(path, str | Path):
        return Explorer(load(path), log=str(path), step="" if step is None else str(step))
    explorer = Explorer(load(path.source), log=str(path.source))
    lines = zip(explorer.lines.rows, explorer.lines.numbers, strict=True)
    steps = ((row, number) for row, number in lines if isinstance(row, Call | Event))
    session = path.session
    number = next(
        (number for row, number in steps if row.seq == path.seq and session in {"", row.session}), None
    )
    if number is None:
        raise TraceError(f"{path.source} has no step at position {path.seq} of session {path.session}.")
    return Explorer(explorer.trace, log=str(path.source), step=number)
