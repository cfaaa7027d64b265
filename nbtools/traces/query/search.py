"""Finds text in loaded logs: messages, thinking, calls and their output."""

from __future__ import annotations

import json
import re
import sqlite3
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from functools import cached_property, partial
from itertools import islice
from threading import Lock
from typing import Any

from nbtools.core.errors import TraceError
from nbtools.traces.following.row_identity import is_same, row_keys
from nbtools.traces.html import render
from nbtools.traces.json_access import strings
from nbtools.traces.model import Call, Event
from nbtools.traces.query import text_index
from nbtools.traces.query.text_store import TextStore
from nbtools.traces.reader import LogFile
from nbtools.traces.row_texts import text_of_event
from nbtools.traces.rows import Rows

_SNIPPET_MARGIN = 60
"""Characters of a snippet on each side of a match."""
_INDEX_BATCH = 500
"""Number of texts that are indexed at a time."""
UNSEARCHED_KINDS = frozenset({"tool_call", "tool_result", "progress"})
"""Kinds of events that are not searched:
tool calls and results are searched as calls, and progress repeats them.
"""


@dataclass(frozen=True)
class Hit:
    """A row that matches a query; ``snippet`` is one line of text around the match, read on access."""

    row: Call | Event
    query: str
    text_of: Callable[[], str] = field(repr=False, compare=False)

    @cached_property
    def snippet(self) -> str:
        return snippet(self.text_of(), self.query)

    def _repr_html_(self) -> str:
        name = self.row.name if isinstance(self.row, Call) else self.row.kind
        return render("search_hit", name=name, snippet=self.snippet, source="")


class Searcher:
    """Rows and an in-memory index of their texts:
    of their words, and the compressed texts for everything else.

    The index is filled step by step, from any thread.
    """

    def __init__(self, events: Rows[Event], calls: Rows[Call]) -> None:
        self._rows: list[tuple[Event | Call, LogFile]] = _searched(events, calls)
        self._dead: set[int] = set()
        self._words = sqlite3.connect(":memory:", check_same_thread=False)
        self._texts = TextStore()
        self._lock, self._indexing = Lock(), Lock()
        self._indexed = 0
        text_index.prepare(self._words, substrings=False)

    def update(self, events: Rows[Event], calls: Rows[Call]) -> None:
        """Searches these rows from now on: rows whose text is indexed already keep their numbers."""
        with self._indexing:
            after = _searched(events, calls)
            alive = [number for number in range(len(self._rows)) if number not in self._dead]
            known = dict(zip(row_keys(self._rows[number][0] for number in alive), alive, strict=True))
            places: dict[int, tuple[Event | Call, LogFile]] = {}
            new: list[tuple[Event | Call, LogFile]] = []
            for key, pair in zip(row_keys(row for row, _ in after), after, strict=True):
                number = known.get(key)
                if number is not None and is_same(self._rows[number][0], pair[0]):
                    places[number] = pair
                else:
                    new.append(pair)
            with self._lock:
                self._dead = set(range(len(self._rows))) - places.keys()
                self._rows = [*(places.get(number, pair) for number, pair in enumerate(self._rows)), *new]

    @property
    def rows(self) -> list[Event | Call]:
        """The rows that are searched; a row's index in this list is its number."""
        return [row for row, _ in self._rows]

    @property
    def indexed_fraction(self) -> float:
        """The fraction of the texts that is indexed, from 0 to 1."""
        return self._indexed / len(self._rows) if self._rows else 1.0

    def index_more(self, count: int = _INDEX_BATCH) -> bool:
        """Indexes some more texts; returns False once all are indexed.
        Raises ``TraceError`` where a log has changed since it was read.
        """
        with self._indexing:
            start, end = self._indexed, min(self._indexed + count, len(self._rows))
            if start == end:
                return False
            with ExitStack() as files:
                for source in {id(log.source): log.source for _, log in self._rows[start:end]}.values():
                    files.enter_context(source.kept_open())
                texts = [
                    "" if number in self._dead else text_index.indexed_text(self.text(number))
                    for number in range(start, end)
                ]
            with self._lock:
                text_index.add_words(self._words, enumerate(texts, start))
                self._texts.add(texts)
                self._indexed = end
        return True

    def find(self, text: str, limit: int) -> tuple[Hit, ...]:
        while self.index_more():
            pass
        matches = islice(TextQuery(self, text).matches(), limit)
        return tuple(Hit(self._rows[number][0], text, partial(self.text, number)) for number in matches)

    def matching_rows(self, question: text_index.IndexQuery) -> list[int]:
        """Returns the numbers of the rows whose words match, in order, as far as the index is filled."""
        with self._lock:
            return [
                number
                for number in matching_numbers(self._words, question, "rowid")
                if number not in self._dead
            ]

    def rows_containing(self, substring: str, first: int) -> tuple[list[int], int]:
        """Returns the numbers of the rows that contain a text in lower case, of the blocks from ``first`` on,
        and the next block.
        """
        end = self._texts.blocks
        numbers = (
            number for block in range(first, end) for number in self._texts.containing(substring, block)
        )
        return [number for number in numbers if number not in self._dead], end

    def text(self, number: int) -> str:
        """Returns the searched text of this row, read now."""
        return text_of(*self._rows[number])


class TextQuery:
    """A query on the index as far as it is filled.
    Each text is scanned once, however often the query is answered. Thread-safe.
    """

    def __init__(self, searcher: Searcher, text: str) -> None:
        self._searcher = searcher
        self._questions = list(text_index.index_queries(text))
        self._substring = next((question.substring for question in self._questions if question.substring), "")
        self._scanned = 0
        self._containing: list[int] = []
        self._lock = Lock()

    def matches(self) -> list[int]:
        """Returns the numbers of the rows that match, in order: by the first way to search that finds some.
        Raises ``TraceError``.
        """
        return next(filter(None, map(self._matching, self._questions)), [])

    def _matching(self, question: text_index.IndexQuery) -> list[int]:
        words = self._searcher.matching_rows(question) if question.table == "words" else None
        if not question.substring or words == []:
            return words or []
        with self._lock:
            found, self._scanned = self._searcher.rows_containing(self._substring, self._scanned)
            self._containing = [*self._containing, *found]
            containing = self._containing
        return containing if words is None else sorted(set(containing).intersection(words))


def _searched(events: Rows[Event], calls: Rows[Call]) -> list[tuple[Event | Call, LogFile]]:
    """Returns the rows whose texts are searched, in reading order, each with its log."""
    messages = (
        pair for pair in zip(events, events.log_files, strict=True) if pair[0].kind not in UNSEARCHED_KINDS
    )
    rows: list[tuple[Event | Call, LogFile]] = [*messages, *zip(calls, calls.log_files, strict=True)]
    rows.sort(key=lambda pair: (pair[0].session, pair[0].seq))
    return rows


def matching_numbers(index: sqlite3.Connection, question: text_index.IndexQuery, order: str) -> Iterator[int]:
    """Yields the numbers of the texts that match according to the index.
    Raises ``TraceError`` for an invalid query.
    """
    table = question.table
    query = f"select rowid from {table} where {table} match ? order by {order}"  # noqa: S608 - constant names
    try:
        yield from (number for (number,) in index.execute(query, (question.expression,)))
    except sqlite3.OperationalError as error:
        raise TraceError(f"The search query is invalid: {error}.") from error


def text_of(row: Event | Call, reading: LogFile) -> str:
    """Returns the searched text of a row."""
    if isinstance(row, Event):
        return text_of_event(row, reading)
    detail = row.origin.texts(row)
    return text_of_call(row.name, row.subject, detail.args, (detail.result, detail.stdout, detail.stderr))


def text_of_call(name: str, subject: str, args: Any, output: Sequence[str]) -> str:
    """Returns a call's name, arguments and output, each text once."""
    parts: list[str] = []
    for part in (name, *strings(args), subject, *output):
        if part and not any(part in before for before in parts[-4:]):
            parts.append(part)
    return "\n".join(parts)


def text_of_record(record: dict[str, Any]) -> str:
    """Returns the searched text of a row of the table ``calls`` or ``events``."""
    if "full_text" in record:
        return record["full_text"] or ""
    output = [record[name] or "" for name in ("result", "stdout", "stderr")]
    return text_of_call(
        record["name"] or "", record["subject"] or "", json.loads(record["args"] or "{}"), output
    )


def snippet(text: str, query: str, *, before: int = _SNIPPET_MARGIN) -> str:
    """Returns one line around the first match of the query, or of one of its words;
    the beginning of the text where nothing matches.

    ``before`` is the number of characters shown before the match.
    """
    for term in text_index.terms(query):
        words = r"\s+".join(re.escape(word) for word in term.split())
        found = re.search(words, text, re.IGNORECASE) if words else None
        if found:
            return _line(text, max(found.start() - before, 0), found.end() + _SNIPPET_MARGIN)
    return _line(text, 0, 2 * _SNIPPET_MARGIN)


def _line(text: str, start: int, end: int) -> str:
    cut = " ".join(text[start:end].split())
    return f"{'…' if start else ''}{cut}{'…' if end < len(text) else ''}"
