"""Finding text in what was read: messages, thoughts, calls and their output."""

from __future__ import annotations

import html
import json
import re
import sqlite3
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property, partial
from itertools import islice
from threading import Lock
from typing import Any

from nbtools.core.errors import TraceError
from nbtools.traces import text_index
from nbtools.traces.format import Reading
from nbtools.traces.model import Call, Event
from nbtools.traces.rows import Rows
from nbtools.traces.texts import strings, text_of_event

_AROUND = 60
"""Characters of a snippet on each side of what was found."""
_PAGE = 500
"""Texts that are taken into an index at once."""
SILENT = frozenset({"tool_call", "tool_result", "progress"})
"""Kinds of events that are not searched: a call has the same text, progress says it again and again."""


@dataclass(frozen=True)
class Hit:
    """A row in whose text the query stands; ``snippet`` is one line of the text around it, read when it is wanted."""

    row: Call | Event
    query: str
    text_of: Callable[[], str] = field(repr=False, compare=False)

    @cached_property
    def snippet(self) -> str:
        return snippet(self.text_of(), self.query)

    def _repr_html_(self) -> str:
        name = self.row.name if isinstance(self.row, Call) else self.row.kind
        return f"<p><b>{html.escape(name)}</b> {html.escape(self.snippet)}</p>"


class Searcher:
    """Rows and an index over their texts, in memory; the texts themselves are not kept.  It grows piece by piece, in any thread."""

    def __init__(self, events: Rows[Event], calls: Rows[Call]) -> None:
        spoken = (pair for pair in zip(events, events.readings, strict=True) if pair[0].kind not in SILENT)
        self._rows: list[tuple[Event | Call, Reading]] = [*spoken, *zip(calls, calls.readings, strict=True)]
        self._rows.sort(key=lambda pair: (pair[0].session, pair[0].seq))
        self._index = sqlite3.connect(":memory:", check_same_thread=False)
        self._lock, self._growing = Lock(), Lock()
        self._done = 0
        text_index.prepare(self._index)

    @property
    def rows(self) -> list[Event | Call]:
        """What is searched; a row's place in it is its number."""
        return [row for row, _ in self._rows]

    @property
    def grown(self) -> float:
        """How much of it is in the index, from 0 to 1."""
        return self._done / len(self._rows) if self._rows else 1.0

    def grow(self, count: int = _PAGE) -> bool:
        """Takes some more texts into the index; False once all are in it.  Raises ``TraceError`` where a log has changed since."""
        with self._growing:
            start, end = self._done, min(self._done + count, len(self._rows))
            if start == end:
                return False
            texts = [(number, text_of(*self._rows[number])) for number in range(start, end)]
            with self._lock:
                text_index.add(self._index, texts)
                self._done = end
        return True

    def find(self, text: str, limit: int) -> tuple[Hit, ...]:
        while self.grow():
            pass
        return tuple(Hit(self._rows[number][0], text, partial(self.text, number)) for number in self._matching(text, limit))

    def numbers(self, question: text_index.Question) -> list[int]:
        """Of the rows that answer it as the index sees them, in their order, as far as it has grown."""
        with self._lock:
            return list(matching(self._index, question, "rowid"))

    def text(self, number: int) -> str:
        """What is searched of this row, read now."""
        return text_of(*self._rows[number])

    def _matching(self, text: str, limit: int) -> list[int]:
        for question in text_index.questions(text):
            held = (number for number in self.numbers(question) if not question.piece or question.holds(self.text(number)))
            found = list(islice(held, limit))
            if found:
                return found
        return []


def matching(index: sqlite3.Connection, question: text_index.Question, order: str) -> Iterator[int]:
    """Numbers of the texts that answer it, as the index sees them."""
    table = question.table
    query = f"select rowid from {table} where {table} match ? order by {order}"  # noqa: S608 - names of ours
    try:
        yield from (number for (number,) in index.execute(query, (question.expression,)))
    except sqlite3.Error as error:
        raise TraceError(f"this cannot be searched for: {error}.") from error


def text_of(row: Event | Call, reading: Reading) -> str:
    """What is searched of a row."""
    if isinstance(row, Event):
        return text_of_event(row, reading)
    detail = row.detail
    return text_of_call(row.name, row.subject, detail.args, (detail.result, detail.stdout, detail.stderr))


def text_of_call(name: str, subject: str, args: Any, output: Sequence[str]) -> str:
    """Its name, what it was given and what came back, each once."""
    parts: list[str] = []
    for part in (name, *strings(args), subject, *output):
        if part and not any(part in before for before in parts[-4:]):
            parts.append(part)
    return "\n".join(parts)


def text_of_record(record: dict[str, Any]) -> str:
    """The same of a row of the table ``calls`` or ``events``."""
    if "full_text" in record:
        return record["full_text"] or ""
    output = [record[name] or "" for name in ("result", "stdout", "stderr")]
    return text_of_call(record["name"] or "", record["subject"] or "", json.loads(record["args"] or "{}"), output)


def snippet(text: str, query: str) -> str:
    """One line around the first place where the query stands, else the first of its words; the beginning where none does."""
    for term in text_index.terms(query):
        words = r"\s+".join(re.escape(word) for word in term.split())
        found = re.search(words, text, re.IGNORECASE) if words else None
        if found:
            return _line(text, max(found.start() - _AROUND, 0), found.end() + _AROUND)
    return _line(text, 0, 2 * _AROUND)


def _line(text: str, start: int, end: int) -> str:
    cut = " ".join(text[start:end].split())
    return f"{'…' if start else ''}{cut}{'…' if end < len(text) else ''}"
