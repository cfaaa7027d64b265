"""The methods of an explorer that its page calls."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from concurrent.futures import Future
from contextlib import contextmanager
from typing import TYPE_CHECKING, TypeAlias

from nbtools.cards.hidden_characters import one_line
from nbtools.core.extension_points import extension
from nbtools.core.methods import method
from nbtools.traces.columns import ColumnBlock
from nbtools.traces.comparison.comparison_messages import CompareWithParams
from nbtools.traces.explorer.chips import Chips, StepChips, is_encodable
from nbtools.traces.explorer.explorer_messages import (
    OpenedLogs,
    TraceCell,
    TraceChanges,
    TraceExport,
    TraceFileParams,
    TraceLineParams,
    TraceOpened,
    TraceRaw,
    TraceShare,
    TraceShareParams,
)
from nbtools.traces.explorer.facets import Facet
from nbtools.traces.explorer.log_answers import USAGE_THREAD, LogAnswers
from nbtools.traces.explorer.log_rows import line_block, row_block, token_block
from nbtools.traces.explorer.redaction import redacted
from nbtools.traces.explorer.reviewing.review_messages import TraceReview, TraceReviewParams
from nbtools.traces.explorer.row_messages import (
    TraceChoiceLines,
    TraceExcerpts,
    TraceExcerptsParams,
    TraceExplorerParams,
    TraceFacetRows,
    TraceFacets,
    TraceFollowParams,
    TraceHits,
    TraceRows,
    TraceRowsParams,
    TraceSearchParams,
    TraceTokens,
    TraceUpdate,
    TraceVersionParams,
)
from nbtools.traces.explorer.sample_messages import TraceSampleParams, TraceSamples
from nbtools.traces.explorer.saved_filters import SavedFilters, SavedFiltersParams, answer_filters
from nbtools.traces.explorer.usage.usage_messages import (
    TraceStrip,
    TraceStripParams,
    TraceUsage,
    TraceUsageParams,
)
from nbtools.traces.parallel_reading import gc_paused

if TYPE_CHECKING:
    from nbtools.traces.explorer.explorer import Explorer

Buffers: TypeAlias = Sequence[bytes]
MAX_ROWS = 25_000
"""Largest number of rows in one reply: styling more would keep the kernel busy for too long."""
MAX_UPDATED = 20_000
"""Largest number of rows in an update; where there are more, the page loads all again."""
_MAX_CHANGED = 500
"""Largest number of lines that are named as changed."""


class PageMethods:
    """Answers the page of ``explorer``.  Thread-safe."""

    def __init__(self, explorer: Explorer) -> None:
        self._explorer = explorer
        self._chips = Chips()

    @method("trace.rows")
    def rows(self, params: TraceRowsParams) -> tuple[TraceRows, Buffers]:
        """Returns a stretch of rows, at most ``MAX_ROWS``."""
        with self._lines_of(params.version) as answers:
            if answers is None:
                return TraceRows(version=self._explorer.version, total=len(self._explorer.lines)), ()
            places = range(len(answers.lines))[params.first :][: min(params.count, MAX_ROWS)]
            block, data = self._block(answers, places)
            return TraceRows(
                version=params.version,
                first=params.first,
                total=len(answers.lines),
                block=block,
                first_chip=params.chips,
                chips=self._chips.since(params.chips),
            ), (data,)

    @method("trace.sessions")
    def sessions(self, params: TraceExplorerParams) -> OpenedLogs:
        """Returns the list of sessions, which opens explorers, and so is above this package."""
        opened: OpenedLogs = extension("traces.list_sessions")()
        return opened

    @method("trace.compare_with")
    def compare_with(self, params: CompareWithParams) -> OpenedLogs:
        """Compares the log with listed sessions."""
        opened: OpenedLogs = extension("traces.open_sessions")(params.ids, self._explorer.trace)
        return opened

    @method("trace.facets")
    def facets(self, params: TraceExplorerParams) -> TraceFacets:
        """Returns the facets that were added, with their lines."""
        with self._explorer.following.lock:
            added = tuple(map(_facet_rows, self._explorer.facets.added))
            return TraceFacets(version=self._explorer.version, facets=added)

    @method("trace.tokens")
    def tokens(self, params: TraceVersionParams) -> Future[tuple[TraceTokens, Buffers]]:
        """Returns the tokens of the requests of all lines."""
        return USAGE_THREAD.submit(self._tokens, params.version)

    @gc_paused()
    def _tokens(self, version: int) -> tuple[TraceTokens, Buffers]:
        with self._lines_of(version) as answers:
            if answers is None:
                return TraceTokens(version=self._explorer.version), ()
            block, data = token_block(answers.lines, answers.requests)
            return TraceTokens(version=version, block=block), (data,)

    @method("trace.search")
    def search(self, params: TraceSearchParams) -> tuple[TraceHits, Buffers]:
        """Returns the lines that contain a text, as far as the log is indexed.  Raises ``TraceError``."""
        with self._lines_of(params.version) as answers:
            if answers is None:
                return TraceHits(version=self._explorer.version), ()
            found = answers.search.find(params.text)
            block, data = line_block(found.lines)
            return TraceHits(version=params.version, indexed=found.indexed, block=block), (data,)

    @method("trace.excerpts")
    def excerpts(self, params: TraceExcerptsParams) -> TraceExcerpts:
        """Returns the surroundings of hits.  Raises ``TraceError``."""
        with self._lines_of(params.version) as answers:
            if answers is None:
                return TraceExcerpts(version=self._explorer.version)
            lines = map(answers.checked, params.lines)
            excerpts = tuple(answers.search.excerpt(line, params.text) for line in lines)
            return TraceExcerpts(version=params.version, excerpts=excerpts)

    @method("trace.follow")
    def follow(self, params: TraceFollowParams) -> tuple[TraceUpdate, Buffers]:
        """Reads what was written to the log, and returns what has changed since the page's version.
        Raises ``TraceError`` if it cannot go on to the log that the page names.
        """
        with self._explorer.following.lock:
            return self._update(params)

    def _update(self, params: TraceFollowParams) -> tuple[TraceUpdate, Buffers]:
        explorer = self._explorer
        update = explorer.following.update(params.version, params.log)
        found = explorer.following.continuation()
        reply = TraceUpdate(
            version=update.version,
            fresh=explorer.trace.fresh,
            moves=update.moves,
            changed=update.changed[:_MAX_CHANGED],
            restarted=update.rows is None,
            continuation="" if found is None else found.name,
        )
        if update.version == params.version:
            return reply, ()
        more: dict[str, object] = {"view": explorer.view()}
        buffers: Buffers = ()
        if update.rows is not None and len(update.rows) <= MAX_UPDATED:
            more["block"], data = self._block(explorer.answers, update.rows, with_lines=True)
            more["first_chip"], more["chips"] = params.chips, self._chips.since(params.chips)
            buffers = (data,)
        return reply.model_copy(update=more), buffers

    @method("trace.open")
    def open(self, params: TraceLineParams) -> TraceOpened:
        """Returns the detail of a line.  Raises ``TraceError``, as the others do."""
        return self._explorer.answers.open(params.line)

    @method("trace.raw")
    def raw(self, params: TraceLineParams) -> TraceRaw:
        """Returns the bytes of a line's record."""
        return self._explorer.answers.raw(params.line)

    @method("trace.cell")
    def cell(self, _: TraceExplorerParams) -> TraceCell:
        """Returns the source of a cell that queries the log with SQL."""
        return self._explorer.answers.cell()

    @method("trace.notebook")
    def notebook(self, _: TraceExplorerParams) -> TraceExport:
        """Writes the log as a notebook beside it."""
        return self._explorer.answers.export()

    @method("trace.changes")
    def changes(self, _: TraceExplorerParams) -> TraceChanges:
        """Returns the files that the session changed."""
        return self._explorer.answers.changes.overview()

    @method("trace.file_diff")
    def file_diff(self, params: TraceFileParams) -> TraceOpened:
        """Returns the diff of one of these files over the session."""
        return self._explorer.answers.changes.diff(params.path)

    @method("trace.strip")
    def strip(self, params: TraceStripParams) -> Future[TraceStrip]:
        """Returns the overview over time or tokens."""
        return self._explorer.answers.overview(params.mode)

    @method("trace.usage")
    def usage(self, params: TraceUsageParams) -> Future[TraceUsage]:
        """Returns where tokens, money and time went."""
        return self._explorer.answers.overview("prices" if params.prices else "usage")

    @method("trace.samples")
    def samples(self, _: TraceExplorerParams) -> Future[tuple[TraceSamples, Buffers]]:
        """Returns the samples of an evaluation."""
        return USAGE_THREAD.submit(self._samples)

    @gc_paused()
    def _samples(self) -> tuple[TraceSamples, Buffers]:
        with self._explorer.following.lock:
            view, data = self._explorer.answers.samples.columns()
            return view, (data,)

    @method("trace.sample")
    def sample(self, params: TraceSampleParams) -> TraceOpened:
        """Returns the detail of a sample, with its input, target and answer.  Raises ``TraceError``."""
        return self._explorer.answers.sample(params.sample)

    @method("trace.review")
    def review(self, params: TraceReviewParams) -> TraceReview:
        """Reads or changes the review."""
        return self._explorer.review(params)

    @method("trace.saved_filters")
    def saved_filters(self, params: SavedFiltersParams) -> SavedFilters:
        """Returns the saved filters, after a change of them."""
        return answer_filters(params)

    @method("trace.share")
    def share(self, params: TraceShareParams) -> TraceShare:
        """Returns what is removed from a file to share, and writes it if that is wanted."""
        return self._explorer.answers.share(params)

    @contextmanager
    def _lines_of(self, version: int) -> Iterator[LogAnswers | None]:
        """Gives what answers questions about the lines of a version, which stay until the end;
        None if there are other lines now, because another page has followed the log.
        """
        # A page follows in any thread: the log, its lines, its texts and the version change one by one.
        with self._explorer.following.lock:
            yield self._explorer.answers if version == self._explorer.version else None

    @gc_paused()
    def _block(
        self, answers: LogAnswers, places: Sequence[int], *, with_lines: bool = False
    ) -> tuple[ColumnBlock, bytes]:
        chips = StepChips(self._chips, answers.lines, answers.files)
        return row_block(answers.lines, chips, places, with_lines=with_lines)


def _facet_rows(facet: Facet) -> TraceFacetRows:
    by_key = facet.lines()
    return TraceFacetRows(
        name=facet.name,
        label=facet.label,
        menu=facet.menu,
        choices=tuple(
            TraceChoiceLines(
                key=f"{facet.name}:{key}",
                label=one_line(redacted(key), 200),
                title=facet.title(key),
                lines=tuple(by_key.get(key, ())),
            )
            for key in facet.offered()
            if is_encodable(key)
        ),
    )
