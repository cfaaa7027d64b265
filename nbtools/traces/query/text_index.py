"""A full-text index with SQLite (FTS5) that finds words and, if wanted, substrings, and stores no texts;
and compressed texts that are scanned for substrings.

Texts are identified by numbers.

Words are looked up as words. Queries that look like code (``foo.bar(``, ``--no-cache``, ``src/x.py``), and
words without a match, are searched as substrings, ignoring case: first at the beginning of words, then, from
three characters on, anywhere.
"""

from __future__ import annotations

import re
import sqlite3
import zlib
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
BLOCK = 1 << 20
"""Bytes of text after which a block of a ``TextStore`` ends."""
_WORDS = "create virtual table if not exists words using fts5(text, content='', tokenize='unicode61')"
_PIECES = (
    "create virtual table if not exists pieces using fts5(text, content='', tokenize='trigram', detail=none)"
)
_CODE = re.compile(r"[_/\\:=(){}\[\]<>$#@|&;%+~^`]|(?<=\w)[.-](?=\w)|(?:^|\s)[.-]+\w")
_WORD = re.compile(r"\w")
_TRIGRAM = 3
_MAX_TRIGRAMS = 100
_SEPARATOR = b"\0"
"""Between the texts of a block; ``indexed_text`` has none."""


def prepare(connection: sqlite3.Connection, *, substrings: bool = True) -> None:
    """Creates the index where it does not exist; without ``substrings`` only that of words."""
    connection.execute(_WORDS)
    if substrings:
        connection.execute(_PIECES)


def add(connection: sqlite3.Connection, texts: Iterable[tuple[int, str]]) -> None:
    """Adds texts under numbers that are not in the index yet."""
    cleaned = [(number, indexed_text(text)) for number, text in texts]
    add_words(connection, cleaned)
    pieces = ((number, text[:LONGEST_SUBSTRING_TEXT]) for number, text in cleaned)
    connection.executemany("insert into pieces(rowid, text) values (?, ?)", pieces)


def add_words(connection: sqlite3.Connection, texts: Iterable[tuple[int, str]]) -> None:
    """Adds only the words of texts, as ``indexed_text`` returns them."""
    connection.executemany("insert into words(rowid, text) values (?, ?)", texts)


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


class TextStore:
    """Texts by number, from 0, in compressed blocks.  About a quarter of their size;
    scanning takes about 0.3 seconds for 100 MB of text.
    """

    def __init__(self) -> None:
        self._blocks: list[tuple[int, bytes]] = []
        self._count = 0

    @property
    def blocks(self) -> int:
        """The number of blocks, each with some of the texts; a block does not change any more."""
        return len(self._blocks)

    def add(self, texts: Iterable[str]) -> None:
        """Adds texts under the next numbers."""
        block: list[bytes] = []
        size = 0
        for text in texts:
            block.append(text.lower().encode())
            size += len(block[-1])
            if size >= BLOCK:
                self._close(block)
                block, size = [], 0
        if block:
            self._close(block)

    def containing(self, substring: str, block: int) -> Iterator[int]:
        """Yields the texts of a block that contain ``substring``, which is in lower case and not empty."""
        first, data = self._blocks[block]
        texts, wanted = zlib.decompress(data), substring.encode()
        number, counted, at = first, 0, texts.find(wanted)
        while at >= 0:
            number += texts.count(_SEPARATOR, counted, at)
            yield number
            counted = texts.find(_SEPARATOR, at)
            at = texts.find(wanted, counted) if counted >= 0 else -1

    def _close(self, block: list[bytes]) -> None:
        # The fastest level: a search decompresses all blocks.
        self._blocks.append((self._count, zlib.compress(_SEPARATOR.join(block), 1)))
        self._count += len(block)


def _quote(text: str) -> str:
    return '"' + text.replace('"', '""') + '"'


def _clean(text: str) -> str:
    return text.replace("\0", " ").encode("utf-8", "replace").decode()
