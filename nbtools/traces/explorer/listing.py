"""Applies the explorer's filter to the lines of a log, and offers what it can be filtered by."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections import OrderedDict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from threading import Lock

from nbtools.traces.explorer.explorer_view import TraceFacet, TraceFilter
from nbtools.traces.explorer.facets import Facets
from nbtools.traces.explorer.search import Search
from nbtools.traces.explorer.timeline import Timeline
from nbtools.traces.explorer.usage.line_requests import LineRequests
from nbtools.traces.model import Call

_CACHE_SIZE = 32


@dataclass(frozen=True, slots=True)
class FilteredLines:
    """The line indexes under a filter, in order; ``calls`` of them are calls.

    ``indexed`` is the percentage of the log that has been searched.
    """

    lines: Sequence[int]
    calls: int
    indexed: int = 100

    ordered: bool = True
    """Whether the lines are in the order of the log."""

    def index_of(self, line: int) -> int:
        """Returns the index, from 0, of ``line`` in ``lines``, or of the first one after it;
        0 where the lines are in another order.
        """
        if self.ordered:
            return bisect_left(self.lines, line)
        return self.lines.index(line) if line in self.lines else 0


class LineFilter:
    """Applies filters.  The last results are cached, because a page asks for one stretch after another."""

    def __init__(self, lines: Timeline, facets: Facets, search: Search, requests: LineRequests) -> None:
        self._lines = lines
        self._requests = requests
        self._facets = facets
        self._search = search
        self._cache: OrderedDict[tuple[TraceFilter, int], FilteredLines] = OrderedDict()
        self._lock = Lock()

    def apply(self, query: TraceFilter) -> FilteredLines:
        """Returns the lines under a filter.
        Raises ``TraceError`` for an unknown chip or a text that cannot be searched for.
        """
        key = (query, self._facets.version)
        with self._lock:
            if key in self._cache:
                self._cache.move_to_end(key)
                return self._cache[key]
        listed = self._filter(query)
        if listed.indexed == 100:
            with self._lock:
                self._cache[key] = listed
                if len(self._cache) > _CACHE_SIZE:
                    self._cache.popitem(last=False)
        return listed

    def facets(self, query: TraceFilter) -> tuple[TraceFacet, ...]:
        """Returns the choices to filter by; each counts its lines under the filter's other facets."""
        by_facet = self._facets.matching(query.chips)
        found = self._search.find(query.text).lines if query.text.strip() else None
        others = {
            name: self._matching({key: by_facet[key] for key in by_facet if key != name}, found, query)
            for name in ("", *by_facet)
        }
        return self._facets.offered(others, query)

    def _filter(self, query: TraceFilter) -> FilteredLines:
        found = self._search.find(query.text) if query.text.strip() else None
        matching = self._matching(self._facets.matching(query.chips), found.lines if found else None, query)
        lines: Sequence[int] = range(len(self._lines)) if matching is None else matching
        lines = self._unfolded(lines, query.folded) if query.folded else lines
        calls = sum(map(self._is_call.__getitem__, lines))
        if query.order:
            by_tokens = query.order == "tokens"
            amounts: Mapping[int, float] = self._requests.tokens if by_tokens else self._requests.seconds
            lines = sorted(lines, key=lambda line: -amounts.get(line, -1))
        return FilteredLines(lines, calls, found.indexed if found else 100, not query.order)

    def _matching(
        self, by_facet: Mapping[str, Sequence[int]], found: Sequence[int] | None, query: TraceFilter
    ) -> Sequence[int] | None:
        """Returns the lines that are in all of these; None if nothing restricts them."""
        candidates = [*by_facet.values(), *(() if found is None else (found,))]
        if not candidates and query.first is None and query.last is None:
            return None
        lines: Sequence[int] = range(len(self._lines))
        if candidates:
            lines, *others = sorted(candidates, key=len)
            for other in map(set, others):
                lines = [line for line in lines if line in other]
        start = 0 if query.first is None else bisect_left(lines, query.first)
        return lines[start : len(lines) if query.last is None else bisect_right(lines, query.last)]

    def _unfolded(self, lines: Sequence[int], folded: Sequence[int]) -> Sequence[int]:
        """Removes the lines nested under one of ``folded``."""
        visible: list[int] = []
        at = 0
        for line in sorted(fold for fold in folded if 0 <= fold < len(self._lines)):
            end = bisect_right(lines, line, at)
            visible += lines[at:end]
            at = max(at, bisect_left(lines, self._lines.end(line)))
        return [*visible, *lines[at:]]

    @cached_property
    def _is_call(self) -> bytes:
        return bytes(isinstance(row, Call) for row in self._lines.rows)
