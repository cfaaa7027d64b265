"""Answers the requests that an explorer's page sends to the kernel."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import TYPE_CHECKING, TypeAlias

from nbtools.core.errors import TraceError
from nbtools.traces.explorer.cell_sources import CellSources, relative_to_notebook
from nbtools.traces.explorer.facets import Facets
from nbtools.traces.explorer.file_changes import ChangedFiles
from nbtools.traces.explorer.listing import LineFilter, Snippets, wire_line
from nbtools.traces.explorer.model import (
    CellTask,
    ChangesTask,
    ExportTask,
    FileDiffTask,
    OpenTask,
    PageTask,
    PositionTask,
    RawTask,
    ShareTask,
    TraceCell,
    TraceChanges,
    TraceExport,
    TraceFilter,
    TraceOpened,
    TracePage,
    TracePending,
    TracePosition,
    TraceRaw,
    TraceShare,
)
from nbtools.traces.explorer.search import Search
from nbtools.traces.explorer.step_detail import StepRecords
from nbtools.traces.explorer.timeline import Timeline
from nbtools.traces.explorer.usage.background import UsageAnswers
from nbtools.traces.explorer.usage.breakdown import breakdown
from nbtools.traces.explorer.usage.model import SamplesTask, StripTask, TraceStrip, TraceUsage, UsageTask
from nbtools.traces.explorer.usage.requests import LineRequests, tokens_text
from nbtools.traces.explorer.usage.samples import samples_table
from nbtools.traces.explorer.usage.strips import time_strip, tokens_strip
from nbtools.traces.parallel_reading import gc_paused
from nbtools.traces.sharing.request import share
from nbtools.traces.trace import Trace

if TYPE_CHECKING:
    from nbtools.traces.explorer.step_detail import DetailBuilder

MAX_LINES = 500
"""Largest number of lines in one reply."""
Task: TypeAlias = (
    PageTask
    | PositionTask
    | OpenTask
    | RawTask
    | CellTask
    | ExportTask
    | ChangesTask
    | FileDiffTask
    | StripTask
    | UsageTask
    | SamplesTask
    | ShareTask
)
Reply: TypeAlias = (
    TracePage
    | TracePosition
    | TraceOpened
    | TraceRaw
    | TraceCell
    | TraceExport
    | TraceChanges
    | TraceStrip
    | TraceUsage
    | TracePending
    | TraceShare
)


class PageResponder:
    """Answers requests about ``trace``, whose ``lines`` and ``facets`` are known already.  Thread-safe."""

    def __init__(self, trace: Trace, lines: Timeline, facets: Facets, cells: CellSources) -> None:
        self._trace = trace
        self._lines = lines
        self._facets = facets
        self._cells = cells
        self._search = Search(trace, lines)
        self._requests = LineRequests(trace, lines)
        self._listing = LineFilter(lines, facets, self._search, self._requests)
        self._usage_answers = UsageAnswers(len(lines))

    def answer(self, task: Task) -> Reply:  # noqa: PLR0911 - one for each task
        """Returns the reply.  Raises ``TraceError`` for an unknown line or chip,
        and if the log has changed since it was read.
        """
        match task:
            case StripTask() | UsageTask():
                return self._usage_answers.answer(task, self._usage)
            case PageTask():
                return self.page(task.filter, task.first, task.count)
            case PositionTask():
                return TracePosition(number=self._listing.apply(task.filter).index_of(task.line))
            case OpenTask():
                return self._opened(self._checked(task.line))
            case RawTask():
                return self._records.raw(self._lines.rows[self._checked(task.line)])
            case CellTask():
                return TraceCell(source=self._cells.sql())
            case ExportTask() | ShareTask():
                return (
                    self._export()
                    if isinstance(task, ExportTask)
                    else share(self._trace, task, self._cells.share_path())
                )
            case ChangesTask() | SamplesTask():
                return (
                    self._changes.overview()
                    if isinstance(task, ChangesTask)
                    else samples_table(self._trace, self._lines)
                )
            case FileDiffTask():
                return self._changes.diff(task.path)

    def lines_under(self, query: TraceFilter) -> Sequence[int]:
        """Returns the lines under a filter, when all of the log has been searched.
        Raises as ``Search.find`` does.
        """
        while (listed := self._listing.apply(query)).indexed < 100:
            self._search.finish()
        return listed.lines

    def page(self, query: TraceFilter, first: int, count: int) -> TracePage:
        """Returns lines under a filter, at most ``MAX_LINES``;
        with the first ones what the list can be filtered by.
        """
        listed = self._listing.apply(query)
        first = max(0, first)
        places = listed.lines[first : first + min(max(0, count), MAX_LINES)]
        snippets = Snippets(self._lines, self._search, query.text) if query.text.strip() else None
        amount = self._requests.text_at if query.order == "tokens" else None
        lines = tuple(
            wire_line(self._lines, place, snippets.of(place) if snippets else (), amount) for place in places
        )
        facets = self._listing.facets(query) if first == 0 else ()
        return TracePage(
            first=first,
            total=len(listed.lines),
            calls=listed.calls,
            lines=lines,
            indexed=listed.indexed,
            facets=facets,
        )

    def _usage(self, task: StripTask | UsageTask) -> TraceStrip | TraceUsage:
        with gc_paused():
            if isinstance(task, UsageTask):
                return breakdown(self._trace, self._lines, prices=task.prices)
            return (
                time_strip(self._trace, self._lines)
                if task.mode == "time"
                else tokens_strip(self._lines, self._requests)
            )

    def _opened(self, line: int) -> TraceOpened:
        """Returns the detail of a line, with the tokens of the request whose answer it belongs to."""
        if not self._trace.fresh:  # else each update would begin again
            self._usage_answers.prepare(StripTask(mode="time"), self._usage)
        opened, request = self._opener.detail(line), self._requests.at_line(line)
        foot = (opened.foot, "" if request is None else f"request: {tokens_text(request)}")
        return opened.model_copy(update={"foot": " · ".join(filter(None, foot))})

    def _export(self) -> TraceExport:
        """Exports the log as a notebook beside it.
        Raises ``TraceError`` if the log is not a file or the notebook cannot be written.
        """
        if not self._cells.actions:
            raise TraceError(
                "This trace was not loaded from a file, so it has no folder for a notebook. Use"
                " trace.to_notebook(path)."
            )
        path = self._trace.to_notebook(self._cells.export_path())
        return TraceExport(path=str(path), place=relative_to_notebook(path))

    def _checked(self, line: int) -> int:
        if not 0 <= line < len(self._lines):
            raise TraceError(f"Line {line} does not exist: the log has {len(self._lines):,} lines.")
        return line

    @cached_property
    def _changes(self) -> ChangedFiles:
        return ChangedFiles(self._trace, self._lines)

    @cached_property
    def _records(self) -> StepRecords:
        return StepRecords(self._trace)

    @cached_property
    def _opener(self) -> DetailBuilder:
        from nbtools.traces.explorer.step_detail import (  # noqa: PLC0415 - loaded when a step is opened
            DetailBuilder,
        )

        return DetailBuilder(self._lines, self._facets, self._records, self._cells)
