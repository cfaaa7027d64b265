"""What of a log is listed: the lines that a filter leaves."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections import OrderedDict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from threading import Lock

from nbtools.notebook.trace.facets import Facets
from nbtools.notebook.trace.searching import Search
from nbtools.notebook.trace.timeline import Timeline
from nbtools.notebook.trace.wire import TraceFilter
from nbtools.traces.model import Call

_KEPT = 32


@dataclass(frozen=True, slots=True)
class Listed:
    """Places of lines, in order; ``calls`` of them are calls.  ``indexed`` is how much of the log was searched, in hundredths."""

    lines: Sequence[int]
    calls: int
    indexed: int = 100

    def number_of(self, line: int) -> int:
        """At which number the line stands, or the first one after it, from 0."""
        return bisect_left(self.lines, line)


class Listing:
    """Answers are kept, the last few of them: a page asks for one stretch after another."""

    def __init__(self, lines: Timeline, facets: Facets, search: Search) -> None:
        self._lines = lines
        self._facets = facets
        self._search = search
        self._kept: OrderedDict[TraceFilter, Listed] = OrderedDict()
        self._lock = Lock()

    def listed(self, wanted: TraceFilter) -> Listed:
        """Raises ``TraceError`` for a kind that there is not, or a text that cannot be searched for."""
        with self._lock:
            if wanted in self._kept:
                self._kept.move_to_end(wanted)
                return self._kept[wanted]
        listed = self._find(wanted)
        if listed.indexed == 100:
            with self._lock:
                self._kept[wanted] = listed
                if len(self._kept) > _KEPT:
                    self._kept.popitem(last=False)
        return listed

    def _find(self, wanted: TraceFilter) -> Listed:
        found = self._search.find(wanted.text) if wanted.text.strip() else None
        chosen = [*self._chosen(wanted), *([found.lines] if found else ())]
        lines = _between(_common(chosen, len(self._lines)), wanted.first, wanted.last)
        lines = self._unfolded(lines, wanted.folded) if wanted.folded else lines
        return Listed(lines, sum(map(self._is_call.__getitem__, lines)), found.indexed if found else 100)

    def _chosen(self, wanted: TraceFilter) -> Iterator[Sequence[int]]:
        if wanted.kind:
            yield self._facets.of_kind(wanted.kind)
        if wanted.tool:
            yield self._facets.of_tool(wanted.tool)
        if wanted.path:
            yield self._facets.of_path(wanted.path)

    def _unfolded(self, lines: Sequence[int], folded: Sequence[int]) -> Sequence[int]:
        """Without what is nested under one of ``folded``."""
        shown: list[int] = []
        at = 0
        for line in sorted(fold for fold in folded if 0 <= fold < len(self._lines)):
            end = bisect_right(lines, line, at)
            shown += lines[at:end]
            at = max(at, bisect_left(lines, self._lines.end(line)))
        return [*shown, *lines[at:]]

    @cached_property
    def _is_call(self) -> bytes:
        return bytes(isinstance(row, Call) for row in self._lines.rows)


def _common(chosen: Sequence[Sequence[int]], count: int) -> Sequence[int]:
    """Lines that are in all of them; all lines where there are none."""
    if not chosen:
        return range(count)
    first, *others = sorted(chosen, key=len)
    kept: Sequence[int] = first
    for other in others:
        there = set(other)
        kept = [line for line in kept if line in there]
    return kept


def _between(lines: Sequence[int], first: int | None, last: int | None) -> Sequence[int]:
    start = 0 if first is None else bisect_left(lines, first)
    return lines[start : len(lines) if last is None else bisect_right(lines, last)]
