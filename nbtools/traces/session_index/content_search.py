"""Searches the texts of all logs in the index, those that changed last first, in parts.

A step is found if it contains all words of the query, anywhere and whatever their case; text in quotation
marks must occur as it is.
"""

from __future__ import annotations

import json
import time
import zlib
from array import array
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from functools import cached_property
from pathlib import Path
from threading import Lock
from typing import Any

from msgspec import Struct

from nbtools.core.message import counted
from nbtools.traces.query.excerpts import snippet, terms_of
from nbtools.traces.query.text_store import SEPARATOR, encoded
from nbtools.traces.session_index.contents import ContentStore, words_of
from nbtools.traces.session_index.index import SessionIndex, number_of
from nbtools.traces.session_index.listing import (
    Outcome,
    SessionCatalog,
    SessionQuery,
    session_query,
)
from nbtools.traces.session_index.logged_session import LoggedSession

_LOGS_AT_ONCE = 40
"""Logs whose words are looked at before their texts are searched."""
_MAX_WORDS = 8
"""Words of a term by which blocks are selected."""
_MAX_TERMS = 4
"""Terms, the longest ones, by which blocks are selected: each is looked for in the words of all blocks."""
_MARGIN = 2_000
"""Bytes of text on each side of a hit: enough to recognise secrets in it before it is shortened."""


class ContentHit(Struct, frozen=True):
    """The steps of a log that contain a query: how many, their positions in the log (``seq``), and the
    surroundings of the first one's hit.
    """

    number: int
    steps: tuple[int, ...]
    surroundings: str


@dataclass(frozen=True)
class ContentQuery:
    """A query for steps that contain all ``terms``."""

    text: str

    @cached_property
    def terms(self) -> tuple[bytes, ...]:
        """The words and quoted texts, encoded, in lower case."""
        return tuple(map(encoded, terms_of(self.text)))

    def selection(self) -> tuple[list[str], dict[str, bytes]]:
        """Returns an SQL condition for each term, which selects blocks by their words, and its values."""
        conditions: list[str] = []
        values: dict[str, bytes] = {}
        selective = sorted(self.terms, key=len, reverse=True)[:_MAX_TERMS]
        for number, term in enumerate(self.terms):
            if term not in selective:
                conditions.append("1")
                continue
            words = sorted(set(words_of(term)), key=len, reverse=True)[:_MAX_WORDS]
            names = {f"word{number}_{at}": word for at, word in enumerate(words)}
            values |= names
            contained = " AND ".join(f"instr(words, :{name}) > 0" for name in names) or "1"
            conditions.append(f"(words IS NULL OR ({contained}))")
        return conditions, values


@dataclass
class ContentSearch:
    """A search that goes on with each call of ``search``, and does not search again what has not changed.
    Thread-safe.
    """

    index: SessionIndex
    query: ContentQuery
    found: list[ContentHit] = field(default_factory=list)
    """Hits in the order in which they were found.  A later one of a log replaces an earlier one."""
    left: int = 0
    """Logs with texts in the index that are not searched yet."""
    searched: dict[int, tuple[str, bool]] = field(default_factory=dict)
    """The state in which each log was searched, and whether it was found."""
    _lock: Lock = field(default_factory=Lock)

    def search(self, numbers: Sequence[int], seconds: float | None = None) -> None:
        """Searches the logs with these numbers, in their order, as far as time allows, at least one."""
        end = None if seconds is None else time.monotonic() + seconds
        with self._lock:
            states: dict[int, str] = dict(
                self.index.read(
                    "SELECT number, state FROM contents WHERE number IN (SELECT value FROM json_each(?))",
                    (json.dumps(list(numbers)),),
                )
            )
            waiting = [
                number
                for number in numbers
                if number in states and self.searched.get(number, ("",))[0] != states[number]
            ]
            self.left = len(waiting)
            for first in range(0, len(waiting), _LOGS_AT_ONCE):
                logs = waiting[first : first + _LOGS_AT_ONCE]
                selected = self._selected(logs)
                for number in logs:
                    hit = self._search_log(number, selected.get(number, {}))
                    was_found = self.searched.get(number, ("", False))[1]
                    if hit.steps or was_found:
                        self.found.append(hit)
                    self.searched[number] = states[number], bool(hit.steps)
                    self.left -= 1
                    if end is not None and time.monotonic() > end and self.left:
                        return

    def _selected(self, numbers: Sequence[int]) -> dict[int, dict[int, list[bool]]]:
        """Returns for each log the positions of the blocks that may contain terms, and which."""
        conditions, values = self.query.selection()
        selected: dict[int, dict[int, list[bool]]] = {}
        if not conditions:
            return selected
        names = [f"term{number}" for number in range(len(conditions))]
        terms = ", ".join(f"{condition} AS {name}" for condition, name in zip(conditions, names, strict=True))
        rows = self.index.read(
            f"SELECT * FROM (SELECT number, position, {terms} FROM blocks"  # noqa: S608 - constants and placeholders
            " WHERE number IN (SELECT value FROM json_each(:numbers)))"
            f" WHERE {' OR '.join(names)} ORDER BY position",
            {**values, "numbers": json.dumps(list(numbers))},
        )
        for number, position, *contained in rows:
            selected.setdefault(number, {})[position] = [bool(one) for one in contained]
        return selected

    def _search_log(self, number: int, selected: dict[int, list[bool]]) -> ContentHit:
        terms = self.query.terms
        found: list[dict[int, tuple[int, int]]] = [{} for _ in terms]
        opened: dict[int, SearchedBlock] = {}
        if all(any(contained[at] for contained in selected.values()) for at in range(len(terms))):
            for position, contained in selected.items():
                block = self._block(number, position)
                for at, term in enumerate(terms):
                    if block is not None and contained[at]:
                        for step, place in block.containing(term):
                            found[at].setdefault(step, (position, place))
                            opened = opened or {position: block}
        steps = sorted(set.intersection(*map(set, found))) if found else []
        if not steps:
            return ContentHit(number, (), "")
        position, place = found[0][steps[0]]
        first = opened.get(position) or self._block(number, position)
        return ContentHit(number, tuple(steps), first.text_at(place, terms[0]) if first else "")

    def _block(self, number: int, position: int) -> SearchedBlock | None:
        rows = self.index.read(
            "SELECT steps, is_ascii_case, texts FROM blocks WHERE number = ? AND position = ?",
            (number, position),
        )
        return SearchedBlock.of(*rows[0]) if rows else None


@dataclass(frozen=True)
class SearchedBlock:
    """The texts of a block as they are in the log, and in lower case."""

    steps: array[int]
    texts: bytes
    folded: bytes

    @classmethod
    def of(cls, steps: bytes, is_ascii_case: int, packed: bytes) -> SearchedBlock:
        texts = zlib.decompress(packed)
        numbers = array("q")
        numbers.frombytes(steps)
        return cls(numbers, texts, texts.lower() if is_ascii_case else texts.decode().casefold().encode())

    def containing(self, term: bytes) -> Iterator[tuple[int, int]]:
        """Yields the steps that contain a term, and where it is first in each."""
        folded = self.folded
        number, counted, at = 0, 0, folded.find(term)
        while at >= 0:
            number += folded.count(SEPARATOR, counted, at)
            yield self.steps[number], at
            counted = folded.find(SEPARATOR, at)
            at = folded.find(term, counted) if counted >= 0 else -1

    def text_at(self, at: int, term: bytes) -> str:
        """Returns the text around the place ``at`` in the texts in lower case."""
        texts, start, end = self.texts, at, at + len(term)
        if len(texts) != len(self.folded):  # a letter has several in lower case: that text as a whole
            number = self.folded.count(SEPARATOR, 0, at)
            texts = texts.split(SEPARATOR)[number]
            start = min(at - self.folded.rfind(SEPARATOR, 0, at), len(texts))
            end = start
        start = max(texts.rfind(SEPARATOR, 0, start) + 1, start - _MARGIN)
        stop = texts.find(SEPARATOR, end)
        return texts[start : min(len(texts) if stop < 0 else stop, end + _MARGIN)].decode(errors="ignore")


def found_steps(index: SessionIndex, path: Path, text: str) -> frozenset[int]:
    """Returns the positions of the steps of a log that contain a text, as far as it is indexed."""
    search = ContentSearch(index, ContentQuery(text))
    search.search([number_of(str(path))])
    return frozenset(step for hit in search.found for step in hit.steps)


@dataclass(frozen=True)
class SessionMatch:
    """A log with steps that contain a text.  ``seqs`` are the positions of these steps in the log, in
    order; ``nbtools.open_trace(match)`` opens the log at the first one.
    """

    log: LoggedSession
    seqs: tuple[int, ...]
    query: str
    surroundings: str = field(repr=False)

    @property
    def hits(self) -> int:
        """The number of steps that contain the text."""
        return len(self.seqs)

    @property
    def excerpt(self) -> str:
        """One line around the first hit; secrets are not removed."""
        return snippet(self.surroundings, self.query)

    @property
    def source(self) -> str:
        """The path of the log."""
        return str(self.log.path)

    @property
    def session(self) -> str:
        """Empty: ``seq`` is a position in the whole log."""
        return ""

    @property
    def seq(self) -> int:
        """The position of the first step that contains the text."""
        return self.seqs[0]


@dataclass(frozen=True)
class SessionMatches(Sequence[SessionMatch]):
    """The sessions in which a text was found, those that changed last first.

    ``searched`` sessions were searched; ``missing`` ones are not in the index yet, ``changed`` ones have
    changed since they were indexed.  ``problems`` says which logs were not searched, or not completely, and
    why.
    """

    query: str
    matches: tuple[SessionMatch, ...]
    searched: int
    missing: int
    changed: int
    problems: Mapping[Path, str]

    def __getitem__(self, at: Any) -> Any:
        return self.matches[at]

    def __len__(self) -> int:
        return len(self.matches)

    def __str__(self) -> str:
        """Returns in one line what was searched, and what was not."""
        steps = sum(match.hits for match in self.matches)
        parts = [
            f"{self.query!r} is in {counted(steps, 'step')} of {counted(len(self), 'session')}",
            f"{counted(self.searched, 'session')} searched: messages, arguments, outputs, names of files",
            f"{counted(self.missing, 'session')} not indexed yet" if self.missing else "",
            f"{counted(self.changed, 'session')} changed since they were indexed" if self.changed else "",
            f"{counted(len(self.problems), 'session')} not searched completely" if self.problems else "",
        ]
        return " · ".join(filter(None, parts))

    def __repr__(self) -> str:
        return f"<SessionMatches: {self}>"


def search_sessions(
    text: str,
    *,
    agent: str = "",
    project: str = "",
    outcome: Outcome = "",
    since: float | str | datetime | None = None,
    folders: Iterable[str | Path] = (),
    seconds: float | None = None,
) -> SessionMatches:
    """Returns the sessions of all agents on this machine with steps that contain ``text``,
    those that changed last first.

    A step is a message or a call with its arguments and its output.  It must contain all words of ``text``,
    anywhere and whatever their case; text in quotation marks must occur as it is.  The other parameters are
    as for ``sessions``.  Logs that are not in the index yet are indexed first, about 20 MB a second; at most
    for ``seconds``.  Raises ``TraceError`` for an agent, outcome or time that is not known.
    """
    query = session_query(agent, project, outcome, since)
    catalog = SessionCatalog(folders)
    try:
        catalog.refresh()
        return matches_of(catalog, query, text, seconds)
    finally:
        catalog.close()


def matches_of(
    catalog: SessionCatalog, query: SessionQuery, text: str, seconds: float | None = None
) -> SessionMatches:
    """Returns the sessions of a query with steps that contain ``text``;
    indexes what is missing first, at most for ``seconds``.
    """
    catalog.read_now(seconds, contents=True)
    sessions = {number_of(str(one.path)): one for one in catalog.page(query)}
    numbers = list(sessions)
    search = ContentSearch(catalog.index, ContentQuery(text))
    search.search(numbers)
    missing, changed, problems = ContentStore(catalog.index).missing(numbers)
    found = {hit.number: hit for hit in search.found}
    return SessionMatches(
        text,
        tuple(
            SessionMatch(sessions[hit.number], hit.steps, text, hit.surroundings) for hit in found.values()
        ),
        len(search.searched),
        missing,
        changed,
        {Path(path): why for path, why in problems.items()},
    )
