"""A line of the list as it travels, with what a search found in it."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache

from nbtools.notebook.spans import line_spans
from nbtools.notebook.trace.outcomes import inside
from nbtools.notebook.trace.searching import Search
from nbtools.notebook.trace.secrets import hidden
from nbtools.notebook.trace.timeline import Timeline
from nbtools.notebook.trace.wire import TraceLine
from nbtools.notebook.wire import Span
from nbtools.traces.model import Call, Event, Session
from nbtools.traces.search import snippet
from nbtools.traces.text_index import terms

_WORD = re.compile(r"\w+")


def drawn(lines: Timeline, place: int, found: tuple[Span, ...] = ()) -> TraceLine:
    """The line at this place; ``found`` is what a search found in it."""
    line = lines[place]
    return TraceLine(
        line=place,
        number=line.number,
        icon=line.icon,
        name=line.name,
        subject=line.subject,
        right=line.right,
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
    """What a search found, in one line, with the places of it marked.  The log is read only where the line does not say it itself.

    What is written like code and stands nowhere is found by its words, and marked so.
    """

    def __init__(self, lines: Timeline, search: Search, query: str) -> None:
        self._lines = lines
        self._search = search
        self._queries = (query, " ".join(_WORD.findall(query)))

    def of(self, place: int) -> tuple[Span, ...]:
        known = self._known(place)
        if not any(term.search(known) for term in _expressions(self._queries[0])):
            known = self._search.text_at(place) or known
        query = next((one for one in self._queries if any(term.search(known) for term in _expressions(one))), self._queries[0])
        shown = hidden(snippet(known, query))
        return line_spans([(shown, "")], _places(shown, _expressions(query)), "hit")

    def _known(self, place: int) -> str:
        match row := self._lines.rows[place]:
            case Call():
                return inside(row.subject, self._lines.folder(row))
            case Event():
                return row.text
            case Session():
                return row.title


@lru_cache(maxsize=64)
def _expressions(query: str) -> tuple[re.Pattern[str], ...]:
    """What a search looks for, the longest first."""
    words = sorted({term for term in terms(query) if term.strip("*\"'")}, key=len, reverse=True)
    return tuple(re.compile(r"\s+".join(map(re.escape, word.split())), re.IGNORECASE) for word in words)


def _places(text: str, expressions: Sequence[re.Pattern[str]]) -> Sequence[tuple[int, int]]:
    """Of all of them, in order; where two overlap, the longer one's."""
    kept: list[tuple[int, int]] = []
    for start, end in (match.span() for term in expressions for match in term.finditer(text)):
        if all(end <= first or start >= last for first, last in kept):
            kept.append((start, end))
    return sorted(kept)
