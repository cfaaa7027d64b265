"""Searches the text of a whole log while its index is still being built in a thread."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from threading import Lock

from nbtools.cards.card_model import Span
from nbtools.cards.highlighting import line_spans
from nbtools.core.background import wait_briefly
from nbtools.traces.explorer.line_style import relative_path
from nbtools.traces.explorer.redaction import redacted
from nbtools.traces.explorer.timeline import Timeline
from nbtools.traces.model import Call, Event
from nbtools.traces.query.excerpts import contains, match_spans, snippet, terms_of
from nbtools.traces.query.search import Searcher, TextQuery
from nbtools.traces.trace import Trace

_WAIT = 0.02
"""Seconds that an answer waits for the thread, enough for small logs."""
_BEFORE_HIT = 16
"""Characters of a row's excerpt before the hit, so that the hit is in view where rows are narrow."""


@dataclass(frozen=True, slots=True)
class SearchResult:
    """Line indexes, in order; ``indexed`` is the percentage of the log that has been searched."""

    lines: Sequence[int]
    indexed: int


class Search:
    """Searches the lines of ``trace`` with its ``searcher``.  Indexing starts with the first search."""

    def __init__(self, trace: Trace, lines: Timeline) -> None:
        self._trace = trace
        self._lines = lines
        self._lock = Lock()
        self._query: tuple[str, TextQuery] | None = None

    def find(self, text: str) -> SearchResult:
        """Returns the lines whose text matches, by the rules of ``Trace.search``;
        complete once ``indexed`` is 100.  Until then, lines whose title matches are found, too.

        Raises ``TraceError`` if the log has changed since it was read, and whatever else reading the texts
        raises, such as ``OSError``.  The next search then reads on.
        """
        with self._lock:
            if self._query is None or self._query[0] != text:
                self._query = text, TextQuery(self._searcher, text)
            query = self._query[1]
        if indexing := self._searcher.fill_in_background():
            wait_briefly(indexing, _WAIT)
        indexed = self._searcher.indexed_fraction  # read before the results, which may still grow
        # A log that grows may have rows that have no line yet.
        found = [line for number in query.matches() if (line := self._line_by_number[number]) >= 0]
        if indexed < 1 and (terms := terms_of(text)):
            found += [line for line, title in enumerate(self._titles) if all(term in title for term in terms)]
        return SearchResult(sorted(set(found)), int(99 * indexed) if indexed < 1 else 100)

    def finish(self) -> None:
        """Waits until all texts are indexed.  Raises as ``find`` does."""
        while indexing := self._searcher.fill_in_background():
            indexing.result()

    def excerpt(self, line: int, text: str) -> tuple[Span, ...]:
        """Returns one line around what a search for ``text`` found, with the hits marked.
        The log is read only if the line itself does not contain the text.
        """
        row = self._lines.rows[line]
        if isinstance(row, Call):
            found = relative_path(row.subject, self._lines.folder(row))
        else:
            found = row.text if isinstance(row, Event) else row.title
        number = self._number_by_line.get(line)
        if number is not None and not contains(found, text):
            found = self._searcher.text(number) or found
        excerpt = redacted(snippet(found, text, before=_BEFORE_HIT))
        return line_spans([(excerpt, "")], match_spans(excerpt, text), "hit")

    @cached_property
    def _searcher(self) -> Searcher:
        return self._trace.searcher

    @cached_property
    def _line_by_number(self) -> list[int]:
        """The line of each row of the index; -1 for a row without one."""
        return [self._lines.line_by_row.get(id(row), -1) for row in self._searcher.rows]

    @cached_property
    def _number_by_line(self) -> dict[int, int]:
        return {line: number for number, line in enumerate(self._line_by_number) if line >= 0}

    @cached_property
    def _titles(self) -> list[str]:
        """Names and subjects of all lines, which can be searched before the index is complete."""
        rows = self._lines.rows
        return [
            (f"{row.name} {row.subject}" if isinstance(row, Call) else getattr(row, "text", "")).casefold()
            for row in rows
        ]
