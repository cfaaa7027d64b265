"""A full-text index with SQLite (FTS5) that finds words and substrings, and stores no texts.

Texts are identified by numbers.

Words are looked up as words. Queries that look like code (``foo.bar(``, ``--no-cache``, ``src/x.py``), and
words without a match, are searched as substrings, ignoring case: first at the beginning of words, then, from
three characters on, anywhere.
"""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from nbtools.core.errors import TraceError
from nbtools.traces.query.excerpts import TERMS

# For substrings, the index knows which texts contain all trigrams of the substring.  It stores no positions,
# which would make it seven times as large, so callers must check the text itself.
LONGEST_TEXT = 100_000
"""Characters of a text whose words are indexed; the rest is not found."""
LONGEST_SUBSTRING_TEXT = 4_000
"""Characters of a text whose trigrams are indexed, which takes ten times as long as words."""
_WORDS = "create virtual table if not exists words using fts5(text, content='', tokenize='unicode61')"
_PIECES = (
    "create virtual table if not exists pieces using fts5(text, content='', tokenize='trigram', detail=none)"
)
_CODE = re.compile(r"[_/\\:=(){}\[\]<>$#@|&;%+~^`]|(?<=\w)[.-](?=\w)|(?:^|\s)[.-]+\w")
_WORD = re.compile(r"\w")
_TRIGRAM = 3
_MAX_TRIGRAMS = 100


def prepare(connection: sqlite3.Connection) -> None:
    """Creates the index where it does not exist."""
    connection.execute(_WORDS)
    connection.execute(_PIECES)


def add(connection: sqlite3.Connection, texts: Iterable[tuple[int, str]]) -> None:
    """Adds texts under numbers that are not in the index yet."""
    cleaned = [(number, indexed_text(text)) for number, text in texts]
    connection.executemany("insert into words(rowid, text) values (?, ?)", cleaned)
    pieces = ((number, text[:LONGEST_SUBSTRING_TEXT]) for number, text in cleaned)
    connection.executemany("insert into pieces(rowid, text) values (?, ?)", pieces)


def indexed_text(text: str) -> str:
    """Returns the part of a text that is indexed."""
    return _clean(text[:LONGEST_TEXT])


@dataclass(frozen=True)
class IndexQuery:
    """A query for the index. Texts found for a ``substring`` must be checked with ``matches``."""

    table: str
    expression: str
    substring: str = ""

    def matches(self, text: str) -> bool:
        """Returns whether the text contains the substring."""
        return self.substring in indexed_text(text).lower()


def index_queries(text: str) -> Iterator[IndexQuery]:
    """Yields index queries in the order in which to try them; none for an empty query."""
    text = _clean(text).strip()
    # All words in any order; ``"two words"`` is a phrase, ``begin*`` the beginning of a word.
    terms = [(phrase or word.rstrip("*"), word.endswith("*")) for phrase, word in TERMS.findall(text)]
    words = " ".join(_quote(term) + ("*" if begins else "") for term, begins in terms if _WORD.search(term))
    piece = text.strip('"').lower()
    starts = range(min(len(piece) - _TRIGRAM + 1, _MAX_TRIGRAMS))
    trigrams = dict.fromkeys(piece[start : start + _TRIGRAM] for start in starts)
    word_queries = [IndexQuery("words", words)] if words else []
    piece_queries = [IndexQuery("pieces", " AND ".join(map(_quote, trigrams)), piece)] if trigrams else []
    if _CODE.search(text) and _WORD.search(piece):
        yield IndexQuery("words", _quote(piece) + ("*" if _WORD.match(piece[-1]) else ""), piece)
        yield from (*piece_queries, *word_queries)
    else:
        yield from (*word_queries, *piece_queries)


def matching_numbers(index: sqlite3.Connection, question: IndexQuery, order: str) -> Iterator[int]:
    """Yields the numbers of the texts that match. Raises ``TraceError`` for an invalid query."""
    table = question.table
    query = f"select rowid from {table} where {table} match ? order by {order}"  # noqa: S608 - constant names
    try:
        yield from (number for (number,) in index.execute(query, (question.expression,)))
    except sqlite3.OperationalError as error:
        raise TraceError(f"The search query is invalid: {error}.") from error


def _quote(text: str) -> str:
    return '"' + text.replace('"', '""') + '"'


def _clean(text: str) -> str:
    return text.replace("\0", " ").encode("utf-8", "replace").decode()
