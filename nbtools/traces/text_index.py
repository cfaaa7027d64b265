"""Which numbered texts have these words, or this piece: full-text search by SQLite (FTS5), which keeps an index and no text.

Words are looked up as words.  What is written like code (``foo.bar(``, ``--no-cache``, ``src/x.py``), and words that stand nowhere, are
looked for as pieces, in upper or lower case: first where a word begins, then, three characters or more, anywhere.  For that the index
knows which texts have all groups of three characters of a piece, without their places (with them it would be seven times as large), so
that who asks looks into the text.
"""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

LONGEST = 100_000
"""Characters of a text whose words are indexed; what comes after is not found."""
LONGEST_OF_PIECES = 4_000
"""Characters of a text that are indexed in groups of three; it takes ten times as long as words."""
_TABLES = """
create virtual table if not exists words using fts5(text, content='', tokenize='unicode61');
create virtual table if not exists pieces using fts5(text, content='', tokenize='trigram', detail=none);
"""
INDEXED = "words_docsize"
"""The table that has a row for each text of the index."""
_CODE = re.compile(r"[_/\\:=(){}\[\]<>$#@|&;%+~^`]|(?<=\w)[.-](?=\w)|(?:^|\s)[.-]+\w")
_TERMS = re.compile(r'"([^"]+)"|(\S+)')
_WORD = re.compile(r"\w")
_PIECE = 3
_GROUPS = 100


def prepare(connection: sqlite3.Connection) -> None:
    """The index in this database, empty or as it was left."""
    connection.executescript(_TABLES)


def add(connection: sqlite3.Connection, texts: Iterable[tuple[int, str]]) -> None:
    """Texts by numbers that are not in the index."""
    given = [(number, kept(text)) for number, text in texts]
    pieces = [(number, text[:LONGEST_OF_PIECES]) for number, text in given]
    connection.executemany("insert into words(rowid, text) values (?, ?)", given)
    connection.executemany("insert into pieces(rowid, text) values (?, ?)", pieces)


def kept(text: str) -> str:
    """What of a text is indexed."""
    return _clean(text[:LONGEST])


def clear(connection: sqlite3.Connection) -> None:
    """All texts are forgotten."""
    connection.execute("insert into words(words) values ('delete-all')")
    connection.execute("insert into pieces(pieces) values ('delete-all')")


@dataclass(frozen=True)
class Question:
    """A query as the index is asked for it; where there is a ``piece``, what is found is to be looked at (``holds``)."""

    table: str
    expression: str
    piece: str = ""

    def holds(self, text: str) -> bool:
        return self.piece in kept(text).lower()


def questions(text: str) -> Iterator[Question]:
    """In the order they are to be tried; none where there is nothing to look for."""
    text = _clean(text).strip()
    words = _words(text)
    piece = text.strip('"').lower()
    spoken = [Question("words", words)] if words else []
    pieces = [Question("pieces", _groups(piece), piece)] if len(piece) >= _PIECE else []
    if _CODE.search(text) and _WORD.search(piece):
        yield Question("words", _quoted(piece) + ("*" if _WORD.match(piece[-1]) else ""), piece)
        yield from (*pieces, *spoken)
    else:
        yield from (*spoken, *pieces)


def terms(text: str) -> list[str]:
    """What a snippet marks: the whole query, then its phrases and words."""
    whole = " ".join(text.split())
    return [whole.strip('"'), *(phrase or word.strip('"*') for phrase, word in _TERMS.findall(whole))]


def _words(text: str) -> str:
    """All of them, in any order; ``"two words"`` one after the other; ``begin*`` is the beginning of a word."""
    found = [(phrase or word.rstrip("*"), word.endswith("*")) for phrase, word in _TERMS.findall(text)]
    return " ".join(_quoted(term) + ("*" if begins else "") for term, begins in found if _WORD.search(term))


def _groups(piece: str) -> str:
    groups = dict.fromkeys(piece[start : start + _PIECE] for start in range(min(len(piece) - _PIECE + 1, _GROUPS)))
    return " AND ".join(map(_quoted, groups))


def _quoted(text: str) -> str:
    return '"' + text.replace('"', '""') + '"'


def _clean(text: str) -> str:
    return text.replace("\0", " ").encode("utf-8", "replace").decode()
