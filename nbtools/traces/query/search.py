"""Finds text in loaded logs: messages, thinking, calls and their output."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from contextlib import ExitStack
from dataclasses import dataclass, field
from functools import cached_property, partial
from threading import Lock
from typing import Any

from nbtools.core.background import run_in_background
from nbtools.traces.counts import is_visible
from nbtools.traces.following.row_identity import is_same, row_keys
from nbtools.traces.html import render
from nbtools.traces.json_access import strings
from nbtools.traces.model import Call, Event
from nbtools.traces.query.excerpts import snippet, terms_of
from nbtools.traces.query.text_store import TextStore, encoded
from nbtools.traces.reader import LogFile
from nbtools.traces.row_texts import text_of_event
from nbtools.traces.rows import Rows

_INDEX_BATCH = 200
"""Texts that are indexed at a time; a search in another thread waits that long."""
_INDEX_CHARACTERS = 8 << 20
"""Characters of texts after which they are stored: outputs may have hundreds of megabytes together."""


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
    """Rows and their texts, compressed, in memory.

    The texts are read step by step, from any thread, and can be searched as far as they are read.
    """

    def __init__(self, events: Rows[Event], calls: Rows[Call]) -> None:
        self._rows = _searched(events, calls)
        self._dead: set[int] = set()
        self._texts = TextStore()
        # While one thread reads texts from the log, others search what is indexed already.
        self._lock, self._indexing, self._starting = Lock(), Lock(), Lock()
        self._indexed = 0
        self._work: Future[None] | None = None

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
                texts: list[str] = []
                size = 0
                for number in range(start, end):
                    texts.append("" if number in self._dead else self.text(number))
                    size += len(texts[-1])
                    if size >= _INDEX_CHARACTERS:
                        break
            with self._lock:
                self._texts.add(texts)
                self._indexed = start + len(texts)
        return True

    def fill(self) -> None:
        """Indexes all texts now."""
        while self.index_more():
            pass

    def fill_in_background(self) -> Future[None] | None:
        """Starts to index all texts in a thread, unless that is under way; returns the work, which raises
        whatever reading the texts raises.  None where nothing is left to do.
        """
        if self.indexed_fraction == 1:
            return None
        with self._starting:  # not the lock of the index: in a browser, the work is done within this call
            if self._work is None or self._work.done():
                self._work = run_in_background(self.fill, "nbtools-search")
            return self._work

    def find(self, text: str, limit: int) -> tuple[Hit, ...]:
        """Returns the first rows that match, in order."""
        self.fill()
        return tuple(
            Hit(self._rows[number][0], text, partial(self.text, number))
            for number in TextQuery(self, text).matches()[:limit]
        )

    def rows_containing(self, terms: Sequence[bytes], first: int) -> tuple[list[int], int]:
        """Returns the numbers of the rows that contain all terms, in order, of the blocks from ``first`` on,
        and the next block.
        """
        end = self._texts.blocks
        found = (number for block in range(first, end) for number in self._texts.containing(terms, block))
        return [number for number in found if number not in self._dead], end

    def text(self, number: int) -> str:
        """Returns the searched text of this row, read now."""
        return searched_text(*self._rows[number])


class TextQuery:
    """A query on the texts as far as they are read, which scans each text once. Thread-safe."""

    def __init__(self, searcher: Searcher, text: str) -> None:
        self._searcher = searcher
        self._terms = [encoded(term) for term in terms_of(text)]
        self._scanned = 0
        self._found: list[int] = []
        self._lock = Lock()

    def matches(self) -> list[int]:
        """Returns the rows whose texts contain all words and quoted texts of the query."""
        with self._lock:
            if self._terms:
                found, self._scanned = self._searcher.rows_containing(self._terms, self._scanned)
                self._found = [*self._found, *found]
            return self._found


def _searched(events: Rows[Event], calls: Rows[Call]) -> list[tuple[Event | Call, LogFile]]:
    """Returns the rows whose texts are searched, the steps of the explorer, in reading order,
    each with its log.
    """
    rows: list[tuple[Event | Call, LogFile]] = [*zip(calls, calls.log_files, strict=True)]
    rows += (pair for pair in zip(events, events.log_files, strict=True) if is_visible(pair[0]))
    rows.sort(key=lambda pair: (pair[0].session, pair[0].seq))
    return rows


def searched_text(row: Event | Call, log: LogFile) -> str:
    """Returns the text of a row in which a search looks, read now."""
    if isinstance(row, Event):
        return text_of_event(row, log)
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
