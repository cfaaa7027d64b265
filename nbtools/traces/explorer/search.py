"""Searches the text of a whole log while its index is still being built in a thread."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from concurrent.futures import Future
from dataclasses import dataclass
from threading import Lock

from nbtools.core.background import run_in_background, wait_briefly
from nbtools.traces.explorer.timeline import Timeline
from nbtools.traces.model import Call, Event
from nbtools.traces.query.search import TextQuery
from nbtools.traces.trace import Trace

_WAIT = 0.02
"""Seconds that an answer waits for the thread, enough for small logs."""
_INDEX_BATCH = 200
"""Texts indexed at once; a search waits that long."""


@dataclass(frozen=True, slots=True)
class SearchResult:
    """Line indexes, in order; ``indexed`` is the percentage of the log that has been searched."""

    lines: Sequence[int]
    indexed: int


class Search:
    """Searches the lines of ``trace``.  Indexing starts with the first search."""

    def __init__(self, trace: Trace, lines: Timeline) -> None:
        self._trace = trace
        self._lines = lines
        self._lock = Lock()
        self._indexing: Future[None] | None = None
        self._index: _Index | None = None
        self._query: tuple[str, TextQuery] | None = None

    def find(self, text: str) -> SearchResult:
        """Returns the lines whose text matches, by the rules of ``Trace.search``;
        complete once ``indexed`` is 100.

        Raises ``TraceError`` for a text that cannot be searched for, and if the log has changed since it was
        read; and whatever else reading the texts raises, such as ``OSError``.  The next search then reads on.
        """
        with self._lock:
            index = self._index = self._index or _Index(self._trace, self._lines)
            if self._query is None or self._query[0] != text:
                self._query = text, TextQuery(index.searcher, text)
            query = self._query[1]
            indexing = self._start_indexing(index)
        if indexing is not None:
            wait_briefly(indexing, _WAIT)
        indexed = index.searcher.indexed_fraction  # read before the results, which may still grow
        found = index.placed(query.matches())
        if indexed < 1:
            return SearchResult(sorted({*index.titles.lines_containing(text), *found}), int(99 * indexed))
        return SearchResult(found, 100)

    def text_at(self, line: int) -> str:
        """Returns the searched text of a line, read from the log now; empty if it has none."""
        index = self._index
        number = index.numbers.get(line) if index else None
        return "" if index is None or number is None else index.searcher.text(number)

    def finish(self) -> None:
        """Waits until all texts are indexed.  Raises as ``find`` does."""
        while True:
            with self._lock:
                index = self._index
                indexing = None if index is None else self._start_indexing(index)
            if indexing is None:
                return
            indexing.result()

    def _start_indexing(self, index: _Index) -> Future[None] | None:
        """Returns the work that fills the index, which it starts unless it is under way;
        None where nothing is left to do.
        """
        if index.searcher.indexed_fraction == 1:
            return None
        if self._indexing is None or self._indexing.done():
            self._indexing = run_in_background(lambda: _fill(index), "nbtools-search")
        return self._indexing


def _fill(index: _Index) -> None:
    while index.searcher.index_more(_INDEX_BATCH):
        pass


class _Index:
    """The titles, the searcher, and which line each number of the index stands for."""

    def __init__(self, trace: Trace, lines: Timeline) -> None:
        self.titles = TitleIndex(lines)
        self.searcher = trace.searcher
        self._places = [lines.line_by_row.get(id(row), -1) for row in self.searcher.rows]
        self.numbers = {line: number for number, line in enumerate(self._places) if line >= 0}

    def placed(self, numbers: Sequence[int]) -> list[int]:
        """Returns the lines of these numbers, in order, without rows that have no line,
        such as system messages.
        """
        return sorted(line for number in numbers if (line := self._places[number]) >= 0)


class TitleIndex:
    """Names and subjects of all lines as one text, searchable before the index is complete."""

    def __init__(self, lines: Timeline) -> None:
        texts = [_title(row).lower() for row in lines.rows]
        self._text = "\n".join(texts)
        self._ends: list[int] = []
        end = 0
        for text in texts:
            end += len(text) + 1
            self._ends.append(end)

    def lines_containing(self, text: str) -> list[int]:
        """Returns the lines whose title contains ``text``."""
        needle = text.strip().strip('"').lower()
        lines: list[int] = []
        at = self._text.find(needle) if needle else -1
        while at >= 0:
            line = bisect_right(self._ends, at)
            lines.append(line)
            at = self._text.find(needle, self._ends[line])
        return lines


def _title(row: object) -> str:
    match row:
        case Call():
            return f"{row.name} {row.subject}"
        case Event():
            return row.text
        case _:
            return ""
