"""Applies the explorer's filter to the lines of a log, and builds the lines that are sent to the page."""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from threading import Lock

from nbtools.cards.highlighting import line_spans
from nbtools.cards.model import Span
from nbtools.traces.explorer.facets import Facets
from nbtools.traces.explorer.model import TraceFacet, TraceFilter, TraceLine
from nbtools.traces.explorer.recorded_card import relative_path
from nbtools.traces.explorer.redaction import redacted
from nbtools.traces.explorer.search import Search
from nbtools.traces.explorer.timeline import Timeline
from nbtools.traces.explorer.usage.requests import LineRequests
from nbtools.traces.model import Call, Event, Session
from nbtools.traces.query.search import snippet
from nbtools.traces.query.text_index import terms

_CACHE_SIZE = 32
_BEFORE_HIT = 16
"""Characters of a row's excerpt before the hit, so that the hit is in view where rows are narrow."""


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
        """Returns the choices to filter by,
        with the number of lines that each has under the filter's other facets.
        """
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
            amounts: Mapping[int, float] = (
                self._requests.tokens if query.order == "tokens" else self._requests.seconds
            )
            lines = sorted(lines, key=lambda line: -amounts.get(line, -1))
        return FilteredLines(lines, calls, found.indexed if found else 100, not query.order)

    def _matching(
        self, by_facet: Mapping[str, Sequence[int]], found: Sequence[int] | None, query: TraceFilter
    ) -> Sequence[int] | None:
        """Returns the lines that are in all of these; None if nothing restricts them."""
        candidates = [*by_facet.values(), *(() if found is None else (found,))]
        if not candidates and query.first is None and query.last is None:
            return None
        return _between(_common(candidates, len(self._lines)), query.first, query.last)

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


def _common(candidates: Sequence[Sequence[int]], count: int) -> Sequence[int]:
    """Returns the lines that are in all of ``chosen``; all lines if there are no lists."""
    if not candidates:
        return range(count)
    first, *others = sorted(candidates, key=len)
    common: Sequence[int] = first
    for other in others:
        others_lines = set(other)
        common = [line for line in common if line in others_lines]
    return common


def _between(lines: Sequence[int], first: int | None, last: int | None) -> Sequence[int]:
    start = 0 if first is None else bisect_left(lines, first)
    return lines[start : len(lines) if last is None else bisect_right(lines, last)]


_WORD = re.compile(r"\w+")


def wire_line(
    lines: Timeline, place: int, found: tuple[Span, ...] = (), amount: Callable[[int], str] | None = None
) -> TraceLine:
    """Returns the line at index ``place`` as it is sent to a page;
    ``found`` is the marked excerpt of a search.

    ``amount`` is a text for a line that is displayed before its other ones.
    """
    line = lines[place]
    right = " · ".join(filter(None, (amount(place), line.right))) if amount else line.right
    return TraceLine(
        line=place,
        number=line.number,
        icon=line.icon,
        name=line.name,
        subject=line.subject,
        right=right,
        tone=line.tone,
        depth=line.depth,
        below=line.below,
        call=line.call,
        live=line.live,
        added=line.added,
        removed=line.removed,
        snippet=found,
    )


class Snippets:
    """One-line excerpts around search hits, with the hits marked.
    The log is read only if the line itself does not contain the hit.

    A query written like code that does not occur literally is found, and marked, by its words.
    """

    def __init__(self, lines: Timeline, search: Search, query: str) -> None:
        self._lines = lines
        self._search = search
        self._queries = (query, " ".join(_WORD.findall(query)))

    def of(self, place: int) -> tuple[Span, ...]:
        text = self._line_text(place)
        if not any(term.search(text) for term in _expressions(self._queries[0])):
            text = self._search.text_at(place) or text
        query = next(
            (one for one in self._queries if any(term.search(text) for term in _expressions(one))),
            self._queries[0],
        )
        excerpt = redacted(snippet(text, query, before=_BEFORE_HIT))
        return line_spans([(excerpt, "")], _match_spans(excerpt, _expressions(query)), "hit")

    def _line_text(self, place: int) -> str:
        match row := self._lines.rows[place]:
            case Call():
                return relative_path(row.subject, self._lines.folder(row))
            case Event():
                return row.text
            case Session():
                return row.title


@lru_cache(maxsize=64)
def _expressions(query: str) -> tuple[re.Pattern[str], ...]:
    """Returns the expressions that a query searches for, the longest first."""
    words = sorted({term for term in terms(query) if term.strip("*\"'")}, key=len, reverse=True)
    return tuple(re.compile(r"\s+".join(map(re.escape, word.split())), re.IGNORECASE) for word in words)


def _match_spans(text: str, expressions: Sequence[re.Pattern[str]]) -> Sequence[tuple[int, int]]:
    """Returns the spans of all matches, in order; of two that overlap, the longer expression's."""
    spans: list[tuple[int, int]] = []
    for start, end in (match.span() for term in expressions for match in term.finditer(text)):
        if all(end <= first or start >= last for first, last in spans):
            spans.append((start, end))
    return sorted(spans)
