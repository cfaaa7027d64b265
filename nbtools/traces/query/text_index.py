"""A full-text index with SQLite (FTS5) that finds words and, if wanted, substrings, and stores no texts.

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
INDEXED_TABLE = "words_docsize"
"""The table that has a row for each indexed text."""
_CODE = re.compile(r"[_/\\:=(){}\[\]<>$#@|&;%+~^`]|(?<=\w)[.-](?=\w)|(?:^|\s)[.-]+\w")
_TERMS = re.compile(r'"([^"]+)"|(\S+)')
_WORD = re.compile(r"\w")
_TRIGRAM = 3
_MAX_TRIGRAMS = 100


def prepare(connection: sqlite3.Connection, *, substrings: bool = True) -> None:
    """Creates the index in this database where it does not exist;
    without ``substrings`` only that of words.
    """
    connection.execute(_WORDS)
    if substrings:
        connection.execute(_PIECES)


def add(connection: sqlite3.Connection, texts: Iterable[tuple[int, str]]) -> None:
    """Adds texts under numbers that are not in the index yet."""
    cleaned = [(number, indexed_text(text)) for number, text in texts]
    pieces = [(number, text[:LONGEST_SUBSTRING_TEXT]) for number, text in cleaned]
    add_words(connection, cleaned)
    connection.executemany("insert into pieces(rowid, text) values (?, ?)", pieces)


def add_words(connection: sqlite3.Connection, texts: Iterable[tuple[int, str]]) -> None:
    """Adds only the words of texts, as ``indexed_text`` returns them."""
    connection.executemany("insert into words(rowid, text) values (?, ?)", texts)


def indexed_text(text: str) -> str:
    """Returns the part of a text that is indexed."""
    return _clean(text[:LONGEST_TEXT])


def clear(connection: sqlite3.Connection) -> None:
    """Removes all texts from the index."""
    connection.execute("insert into words(words) values ('delete-all')")
    connection.execute("insert into pieces(pieces) values ('delete-all')")


@dataclass(frozen=True)
class IndexQuery:
    """A query in the form the index needs.
    Where there is a ``substring``, the texts found must be checked with ``matches``.
    """

    table: str
    expression: str
    substring: str = ""

    def matches(self, text: str) -> bool:
        """Returns whether the text contains the substring."""
        return self.substring in indexed_text(text).lower()


def index_queries(text: str) -> Iterator[IndexQuery]:
    """Yields index queries in the order in which to try them; none for an empty query."""
    text = _clean(text).strip()
    words = _word_expression(text)
    piece = text.strip('"').lower()
    word_queries = [IndexQuery("words", words)] if words else []
    substring_queries = [IndexQuery("pieces", _trigrams(piece), piece)] if len(piece) >= _TRIGRAM else []
    if _CODE.search(text) and _WORD.search(piece):
        yield IndexQuery("words", _quote(piece) + ("*" if _WORD.match(piece[-1]) else ""), piece)
        yield from (*substring_queries, *word_queries)
    else:
        yield from (*word_queries, *substring_queries)


def terms(text: str) -> list[str]:
    """Returns what a snippet highlights: the whole query, then its phrases and words."""
    whole = " ".join(text.split())
    return [whole.strip('"'), *(phrase or word.strip('"*') for phrase, word in _TERMS.findall(whole))]


def _word_expression(text: str) -> str:
    """Returns the expression for all words in any order;
    ``"two words"`` is a phrase, ``begin*`` the beginning of a word.
    """
    found = [(phrase or word.rstrip("*"), word.endswith("*")) for phrase, word in _TERMS.findall(text)]
    return " ".join(_quote(term) + ("*" if begins else "") for term, begins in found if _WORD.search(term))


def _trigrams(piece: str) -> str:
    groups = dict.fromkeys(
        piece[start : start + _TRIGRAM] for start in range(min(len(piece) - _TRIGRAM + 1, _MAX_TRIGRAMS))
    )
    return " AND ".join(map(_quote, groups))


def _quote(text: str) -> str:
    return '"' + text.replace('"', '""') + '"'


def _clean(text: str) -> str:
    return text.replace("\0", " ").encode("utf-8", "replace").decode()
