"""Answers the requests of an explorer's page that are about the lines of its log."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import Future, wait
from functools import cached_property
from threading import Lock
from typing import Any, Literal, TypeAlias

from msgspec.structs import asdict

from nbtools.core.background import background_thread
from nbtools.core.browser import IN_BROWSER
from nbtools.core.errors import TraceError
from nbtools.core.extension_points import extension
from nbtools.traces.explorer.cell_sources import CellSources, relative_to_notebook
from nbtools.traces.explorer.explorer_messages import (
    CellTask,
    ChangesTask,
    ExportTask,
    FileDiffTask,
    OpenTask,
    PageTask,
    PositionTask,
    RawTask,
    ShareFields,
    ShareTask,
    TraceCell,
    TraceExport,
    TraceOpened,
    TracePending,
    TracePosition,
    TraceRaw,
    TraceReply,
    TraceShare,
    TraceTask,
)
from nbtools.traces.explorer.explorer_view import TraceFilter, TraceLine, TracePage
from nbtools.traces.explorer.facets import Facets
from nbtools.traces.explorer.file_changes import ChangedFiles
from nbtools.traces.explorer.listing import LineFilter
from nbtools.traces.explorer.notebook_services import write_notebook
from nbtools.traces.explorer.search import Search
from nbtools.traces.explorer.step_detail import DetailBuilder, StepRecords
from nbtools.traces.explorer.step_files import StepFiles
from nbtools.traces.explorer.timeline import Timeline
from nbtools.traces.explorer.usage.line_requests import LineRequests, tokens_text
from nbtools.traces.explorer.usage.strips import time_strip, tokens_strip
from nbtools.traces.explorer.usage.usage_messages import (
    SamplesTask,
    StripTask,
    TraceStrip,
    TraceUsage,
    UsageTask,
)
from nbtools.traces.explorer.usage.usage_tables import breakdown, samples_table
from nbtools.traces.parallel_reading import gc_paused
from nbtools.traces.trace import Trace

MAX_LINES = 500
"""Largest number of lines in one reply."""
SHORT_LOG = 5_000
"""Lines of a log up to which its overviews are computed at once, not in a thread."""
_WAIT = 0.02
"""Seconds that an answer waits for the thread."""
_THREAD = background_thread("nbtools-usage")
Overview: TypeAlias = Literal["time", "tokens", "usage", "prices"]


class PageResponder:
    """Answers requests about ``trace``, whose ``lines`` and ``facets`` are known already.  Thread-safe."""

    def __init__(self, trace: Trace, lines: Timeline, facets: Facets, cells: CellSources) -> None:
        self._trace = trace
        self._lines = lines
        self._facets = facets
        self._cells = cells
        self.search = Search(trace, lines)
        self.requests = LineRequests(trace, lines)
        self._listing = LineFilter(lines, facets, self.search, self.requests)
        self._overviews: dict[Overview, Future[Any]] = {}
        self._lock = Lock()

    def answer(self, task: TraceTask) -> TraceReply:  # noqa: C901, PLR0911 - one for each task
        """Returns the reply.  Raises ``TraceError`` for an unknown line or chip,
        if the log has changed since it was read, and for a request that is not about its lines.
        """
        match task:
            case StripTask():
                return self._finished(self.overview(task.mode))
            case UsageTask():
                return self._finished(self.overview("prices" if task.prices else "usage"))
            case PageTask():
                return self.page(task.filter, task.first, task.count)
            case PositionTask():
                return TracePosition(number=self._listing.apply(task.filter).index_of(task.line))
            case OpenTask():
                return self.open(task.line)
            case RawTask():
                return self.raw(task.line)
            case CellTask():
                return self.cell()
            case ExportTask():
                return self.export()
            case ShareTask():
                return self.share(task)
            case ChangesTask():
                return self.changes.overview()
            case SamplesTask():
                return self.samples()
            case FileDiffTask():
                return self.changes.diff(task.path)
        raise TraceError("An explorer cannot answer that request. Run the cell again.")

    def lines_under(self, query: TraceFilter) -> Sequence[int]:
        """Returns the lines under a filter, after searching the whole log. Raises as ``Search.find`` does."""
        while (listed := self._listing.apply(query)).indexed < 100:
            self.search.finish()
        return listed.lines

    def page(self, query: TraceFilter, first: int, count: int) -> TracePage:
        """Returns at most ``MAX_LINES`` lines under a filter; the first ones come with the facets."""
        listed = self._listing.apply(query)
        first = max(0, first)
        places = listed.lines[first : first + min(max(0, count), MAX_LINES)]
        lines = [TraceLine(**asdict(self._lines[place])) for place in places]
        if query.order == "tokens":
            for number, line in enumerate(lines):
                right = " · ".join(filter(None, (self.requests.text_at(line.line), line.right)))
                lines[number] = line.model_copy(update={"right": right})
        if query.text.strip():
            excerpts = [self.search.excerpt(place, query.text) for place in places]
            found = zip(lines, excerpts, strict=True)
            lines = [line.model_copy(update={"snippet": excerpt}) for line, excerpt in found]
        return TracePage(
            first=first,
            total=len(listed.lines),
            calls=listed.calls,
            lines=tuple(lines),
            indexed=listed.indexed,
            facets=self._listing.facets(query) if first == 0 else (),
        )

    def overview(self, kind: Overview) -> Future[Any]:
        """Returns the overview once it is computed; in a thread, because that takes long for a long log,
        and pages get other answers meanwhile.  After an error it is computed again the next time.
        """
        with self._lock:
            known = self._overviews.get(kind)
            if known is None or (known.done() and known.exception() is not None):
                known = self._overviews[kind] = _THREAD.submit(self._compute, kind)
        if len(self._lines) <= SHORT_LOG:
            wait([known])
        return known

    def _finished(self, future: Future[Any]) -> TraceReply:
        try:
            reply: TraceReply = future.result(_WAIT)
        except TimeoutError:
            return TracePending()
        return reply

    def _compute(self, kind: Overview) -> TraceStrip | TraceUsage:
        with gc_paused():
            if kind == "time":
                return time_strip(self._trace, self._lines)
            if kind == "tokens":
                return tokens_strip(self._lines, self.requests)
            return breakdown(self._trace, self._lines, prices=kind == "prices")

    def raw(self, line: int) -> TraceRaw:
        return self._records.raw(self._lines.rows[self.checked(line)])

    def cell(self) -> TraceCell:
        return TraceCell(source=self._cells.sql())

    def share(self, options: ShareFields) -> TraceShare:
        """Returns what would be removed from a file to share, after writing it if that is wanted."""
        # A shared file has an explorer in it, so sharing is above this package.
        shared: TraceShare = extension("traces.share")(self._trace, options, self._cells.share_path())
        return shared

    def samples(self) -> TraceUsage:
        return samples_table(self._trace, self._lines)

    def open(self, line: int) -> TraceOpened:
        """Returns the detail of a line, with the tokens of the request whose answer it belongs to."""
        self.checked(line)
        # The strip of a long log is likely to be looked at next.  A browser has no threads, so the page would
        # wait for it, and where the log grows, each update would begin again.
        if len(self._lines) > SHORT_LOG and not IN_BROWSER and not self._trace.fresh:
            self.overview("time")
        opened, request = self._opener.open_step(line), self.requests.at_line(line)
        if request is None:
            return opened
        foot = " · ".join(filter(None, (opened.foot, f"request: {tokens_text(request)}")))
        return opened.model_copy(update={"foot": foot})

    def export(self) -> TraceExport:
        """Exports the log as a notebook beside it.
        Raises ``TraceError`` if the log is not a file or the notebook cannot be written.
        """
        if not self._cells.actions:
            raise TraceError(
                "This trace was not loaded from a file, so it has no folder for a notebook. Use"
                " nbtools.to_notebook(trace, path)."
            )
        path = write_notebook(self._trace, self._cells.export_path())
        return TraceExport(path=str(path), place=relative_to_notebook(path))

    def checked(self, line: int) -> int:
        """Returns the number of a line.  Raises ``TraceError`` if there is no such line."""
        if not 0 <= line < len(self._lines):
            raise TraceError(f"Line {line} does not exist: the log has {len(self._lines):,} lines.")
        return line

    @cached_property
    def files(self) -> StepFiles:
        return StepFiles(self._lines)

    @cached_property
    def changes(self) -> ChangedFiles:
        return ChangedFiles(self._trace, self._lines)

    @cached_property
    def _records(self) -> StepRecords:
        return StepRecords(self._trace)

    @cached_property
    def _opener(self) -> DetailBuilder:
        return DetailBuilder(self._lines, self._facets, self._records, self._cells)
