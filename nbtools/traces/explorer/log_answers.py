"""Answers what the page of an explorer asks about the lines of its log."""

from __future__ import annotations

from concurrent.futures import Future
from functools import cached_property
from threading import Lock
from typing import Any, Literal, TypeAlias

from nbtools.core.background import background_thread
from nbtools.core.browser import IN_BROWSER
from nbtools.core.errors import TraceError
from nbtools.core.extension_points import extension
from nbtools.traces.explorer.cell_sources import CellSources, relative_to_notebook
from nbtools.traces.explorer.explorer_messages import (
    TraceCell,
    TraceExport,
    TraceOpened,
    TraceRaw,
    TraceShare,
    TraceShareParams,
)
from nbtools.traces.explorer.file_changes import ChangedFiles
from nbtools.traces.explorer.notebook_services import write_notebook
from nbtools.traces.explorer.samples import Samples
from nbtools.traces.explorer.search import Search
from nbtools.traces.explorer.step_detail import DetailBuilder, StepRecords
from nbtools.traces.explorer.step_files import StepFiles
from nbtools.traces.explorer.timeline import Timeline
from nbtools.traces.explorer.usage.line_requests import LineRequests, tokens_text
from nbtools.traces.explorer.usage.strips import time_strip, tokens_strip
from nbtools.traces.explorer.usage.usage_messages import (
    TraceStrip,
    TraceUsage,
)
from nbtools.traces.explorer.usage.usage_tables import breakdown
from nbtools.traces.parallel_reading import gc_paused
from nbtools.traces.trace import Trace

SHORT_LOG = 5_000
"""Lines of a log up to which its overviews take no time to speak of."""
USAGE_THREAD = background_thread("nbtools-usage")
"""Computes what takes long for a long log; other methods do not wait for it."""
Overview: TypeAlias = Literal["time", "tokens", "usage", "prices"]


class LogAnswers:
    """Answers questions about ``trace``, whose ``lines`` are known already.  Thread-safe."""

    def __init__(self, trace: Trace, lines: Timeline, cells: CellSources) -> None:
        self._trace = trace
        self.lines = lines
        self._cells = cells
        self.search = Search(trace, lines)
        self.requests = LineRequests(trace, lines)
        self._overviews: dict[Overview, Future[Any]] = {}
        self._lock = Lock()

    def overview(self, kind: Overview) -> Future[Any]:
        """Returns the overview once it is computed; in a thread, because that takes long for a long log,
        and pages get other answers meanwhile.  After an error it is computed again the next time.
        """
        with self._lock:
            known = self._overviews.get(kind)
            if known is None or (known.done() and known.exception() is not None):
                known = self._overviews[kind] = USAGE_THREAD.submit(self._compute, kind)
        return known

    def _compute(self, kind: Overview) -> TraceStrip | TraceUsage:
        with gc_paused():
            if kind == "time":
                return time_strip(self._trace, self.lines)
            if kind == "tokens":
                return tokens_strip(self.lines, self.requests)
            return breakdown(self._trace, self.lines, prices=kind == "prices")

    def raw(self, line: int) -> TraceRaw:
        return self._records.raw(self.lines.rows[self.checked(line)])

    def cell(self) -> TraceCell:
        return TraceCell(source=self._cells.sql())

    def share(self, options: TraceShareParams) -> TraceShare:
        """Returns what would be removed from a file to share, after writing it if that is wanted."""
        # A shared file has an explorer in it, so sharing is above this package.
        shared: TraceShare = extension("traces.share")(self._trace, options, self._cells.share_path())
        return shared

    def sample(self, number: int) -> TraceOpened:
        """Returns the detail of a sample.  Raises ``TraceError`` if there is no such sample."""
        return self.samples.open(number, self._cells)

    @cached_property
    def samples(self) -> Samples:
        return Samples(self._trace, self.lines)

    def open(self, line: int) -> TraceOpened:
        """Returns the detail of a line, with the tokens of the request whose answer it belongs to."""
        self.checked(line)
        # The strip of a long log is likely to be looked at next.  A browser has no threads, so the page would
        # wait for it, and where the log grows, each update would begin again.
        if len(self.lines) > SHORT_LOG and not IN_BROWSER and not self._trace.fresh:
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
        if not 0 <= line < len(self.lines):
            raise TraceError(f"Line {line} does not exist: the log has {len(self.lines):,} lines.")
        return line

    @cached_property
    def files(self) -> StepFiles:
        return StepFiles(self.lines)

    @cached_property
    def changes(self) -> ChangedFiles:
        return ChangedFiles(self._trace, self.lines)

    @cached_property
    def _records(self) -> StepRecords:
        return StepRecords(self._trace)

    @cached_property
    def _opener(self) -> DetailBuilder:
        return DetailBuilder(self.lines, self.files, self._records, self._cells)
