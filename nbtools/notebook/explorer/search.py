"""Searches the text of a whole log while its index is still being built in a thread."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from threading import Event as Signal
from threading import Lock, Thread

from nbtools.core.errors import TraceError
from nbtools.notebook.explorer.timeline import Timeline
from nbtools.traces.model import Call, Event
from nbtools.traces.query import text_index
from nbtools.traces.query.search import Searcher
from nbtools.traces.trace import Trace

_WAIT = 0.02
"""Seconds that an answer waits for the thread, enough for small logs."""
_INDEX_BATCH = 50
"""Texts indexed at once; a search waits that long."""
_CHECK_BATCH = 50
"""Texts checked at once."""


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
        self._thread: Thread | None = None
        self._pending: PendingSearch | None = None
        self._index: _Index | None = None
        self._problem = ""

    def find(self, text: str) -> SearchResult:
        """Returns the lines whose text matches, by the rules of ``Trace.search``; complete once ``indexed`` is 100.

        Raises ``TraceError`` for a text that cannot be searched for, and if the log has changed since it was read.
        """
        pending = self._pending_search(text)
        if not pending.done:
            self._start_thread()
            pending.finished.wait(_WAIT)
        if self._problem or pending.problem:
            raise TraceError(self._problem or pending.problem)
        return self._answer(pending)

    def text_at(self, line: int) -> str:
        """Returns the searched text of a line, read from the log now; empty if it has none."""
        index = self._index
        number = index.numbers.get(line) if index else None
        return "" if index is None or number is None else index.searcher.text(number)

    def _answer(self, pending: PendingSearch) -> SearchResult:
        index = self._index
        if index is None:
            return SearchResult((), 0)
        indexed = index.searcher.indexed_fraction
        if indexed < 1:
            return SearchResult(
                sorted({*index.titles.lines_containing(pending.text), *index.placed(pending.certain_matches(index.searcher))}),
                int(99 * indexed),
            )
        done = pending.done  # read before the results, which may still grow
        return SearchResult(index.placed(pending.found), 100 if done else 99)

    def _pending_search(self, text: str) -> PendingSearch:
        with self._lock:
            if self._pending is None or self._pending.text != text:
                self._pending = PendingSearch(text)
            return self._pending

    def _start_thread(self) -> None:
        with self._lock:
            if self._thread is None or not self._thread.is_alive():
                self._thread = Thread(target=self._run, name="nbtools-search", daemon=True)
                self._thread.start()

    def _run(self) -> None:
        try:
            self._index = self._index or _Index(self._trace, self._lines)
            while self._index.searcher.index_more(_INDEX_BATCH):
                pass
        except TraceError as error:
            self._problem = str(error)
            return
        while (pending := self._pending) is not None and not pending.done:
            pending.advance(self._index.searcher)


class _Index:
    """The titles, the searcher, and which line each number of the index stands for."""

    def __init__(self, trace: Trace, lines: Timeline) -> None:
        self.titles = TitleIndex(lines)
        self.searcher = trace.searcher
        self._places = [lines.line_by_row.get(id(row), -1) for row in self.searcher.rows]
        self.numbers = {line: number for number, line in enumerate(self._places) if line >= 0}

    def placed(self, numbers: Sequence[int]) -> list[int]:
        """Returns the lines of these numbers, in order, without rows that have no line, such as system messages."""
        return sorted(line for number in numbers if (line := self._places[number]) >= 0)


class PendingSearch:
    """A search in progress and its results so far.  Where the index only gives candidates, the texts themselves are read."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.found: list[int] = []
        self.finished = Signal()
        self.problem = ""
        self._steps: Iterator[None] | None = None

    @property
    def done(self) -> bool:
        return self.finished.is_set()

    def certain_matches(self, searcher: Searcher) -> list[int]:
        """Returns the certain matches of an incomplete index."""
        sure = (question for question in text_index.index_queries(self.text) if not question.substring)
        return [number for question in sure for number in searcher.matching_rows(question)]

    def advance(self, searcher: Searcher) -> None:
        """Continues the search by one portion; the index must be complete."""
        self._steps = self._steps or self._checks(searcher)
        try:
            if next(self._steps, self) is self:
                self.finished.set()
        except TraceError as error:
            self.problem = str(error)
            self.finished.set()

    def _checks(self, searcher: Searcher) -> Iterator[None]:
        for question in text_index.index_queries(self.text):
            numbers = searcher.matching_rows(question)
            if not question.substring:
                self.found = numbers
            for start in range(0, len(numbers) if question.substring else 0, _CHECK_BATCH):
                matches = [number for number in numbers[start : start + _CHECK_BATCH] if question.matches(searcher.text(number))]
                self.found = [*self.found, *matches] if matches else self.found
                yield
            if self.found:
                return


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
