"""Stores the texts of whole logs in the index, so that all of them can be searched:
what the explorer searches in one log, as blocks of compressed text.

The texts of a block are as in the log: secrets are not removed, as the database is readable only for the
person whose logs they are.  A search reads the words of each block, and decompresses only those blocks that
have the words of the query.  The words are found in the bytes: letters of other scripts are all word bytes,
so that a text in a script without spaces is one word.
"""

from __future__ import annotations

import json
import os
import time
import zlib
from array import array
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from hashlib import blake2b
from sqlite3 import Connection

from msgspec import Struct

from nbtools.core.errors import TraceError
from nbtools.traces.counts import is_visible
from nbtools.traces.model import Call, Event, Row
from nbtools.traces.query.search import searched_text
from nbtools.traces.query.text_store import BLOCK, SEPARATOR, encoded
from nbtools.traces.reader import LogFile
from nbtools.traces.session_index.index import MAX_TRIES, STATE, SessionIndex, number_of

PIECE = 1 << 20
"""Characters of a step after which the rest is a text of its own."""
OVERLAP = 4_096
"""Characters that two pieces of a step have in common: more than a query can have."""
MAX_TEXT = 256 << 20
"""Characters of a log: of one that has more, nothing is indexed."""
MAX_SECONDS = 60.0
"""Seconds after which reading the texts of a log is given up."""
_ROWS_AT_ONCE = 500
"""Texts that are read while the files of a log stay open: a session with sub-agents has many files."""
_LEVEL = 1
"""The fastest level of compression: a search decompresses many blocks."""
_PAUSE, _PAUSE_FACTOR = 10.0, 30
"""As for the figures: a log that grows is read again after that many seconds,
or that many times as long as it took.
"""
_WORD_BYTES = bytes(
    byte if byte > 127 or byte == ord("_") or chr(byte).isalnum() else ord(" ") for byte in range(256)
)
_UNREADABLE = (TraceError, OSError, ValueError, RecursionError, LookupError, TypeError, AttributeError)


class Block(Struct, frozen=True):
    """Texts of steps, each as long as a piece.  ``steps`` are their positions in the log (``seq``), ``words``
    the different words in lower case, None where they would be nearly as long as the text.  ``is_ascii_case``
    tells that only A to Z have a lower case in it.
    """

    digest: bytes
    steps: bytes
    words: bytes | None
    is_ascii_case: bool
    texts: bytes


class LogTexts:
    """The searched texts of a log, whose rows are remembered while they are read."""

    def __init__(self) -> None:
        self._log: LogFile | None = None
        self._rows: list[Event | Call] = []
        self._start = time.monotonic()
        self.problem = ""
        """Why nothing, or not everything, is indexed."""

    def rows_of(self, log: LogFile) -> Iterator[Row]:
        """Yields the rows of a log."""
        self._log = log
        for row in log.rows():
            if isinstance(row, Call) or (isinstance(row, Event) and is_visible(row)):
                self._rows.append(row)
            yield row

    def blocks(self, known: Mapping[int, bytes]) -> list[tuple[bytes, Block | None]]:
        """Returns the digest and the content of each block, None for one that is ``known`` by its digest
        at its position.  Empty if there are too many texts.
        """
        blocks: list[tuple[bytes, Block | None]] = []
        if self._log is None:
            return blocks
        try:
            for steps, texts in _cut(self._pieces(self._log)):
                content = SEPARATOR.join(texts)
                digest = blake2b(steps.tobytes() + content, digest_size=16).digest()
                is_known = known.get(len(blocks)) == digest
                blocks.append((digest, None if is_known else _block(digest, steps, content)))
        except _TooMuchTextError as error:
            self.problem = str(error)
            return []
        except MemoryError:
            self.problem = "too large for the memory of the process that reads it"
            return []
        return blocks

    @property
    def seconds(self) -> float:
        """Seconds since the log was opened."""
        return time.monotonic() - self._start

    def _pieces(self, log: LogFile) -> Iterator[tuple[int, str]]:
        """Yields the texts in the order of the log, long ones in pieces, each with its position."""
        rows = sorted(self._rows, key=lambda row: row.seq)
        size = unreadable = 0
        for first in range(0, len(rows), _ROWS_AT_ONCE):
            with log.source.kept_open():
                for row in rows[first : first + _ROWS_AT_ONCE]:
                    try:
                        text = searched_text(row, log)
                    except _UNREADABLE:
                        unreadable += 1
                        text = f"{row.name}\n{row.subject}" if isinstance(row, Call) else row.text
                    size += len(text)
                    if size > MAX_TEXT:
                        raise _TooMuchTextError(f"too large: more than {MAX_TEXT >> 20:,} million characters")
                    if self.seconds > MAX_SECONDS:
                        raise _TooMuchTextError(
                            f"too large: reading it takes more than {MAX_SECONDS:.0f} seconds"
                        )
                    for start in range(0, len(text), PIECE):
                        yield row.seq, text[start : start + PIECE + OVERLAP]
        if unreadable:
            self.problem = f"the texts of {unreadable:,} steps cannot be read"


class _TooMuchTextError(Exception):
    """A log has too many texts to index them."""


def _cut(pieces: Iterable[tuple[int, str]]) -> Iterator[tuple[array[int], list[bytes]]]:
    """Yields the texts of each block, with their positions."""
    steps, texts, size = array("q"), list[bytes](), 0
    for step, text in pieces:
        steps.append(step)
        texts.append(encoded(text))
        size += len(texts[-1])
        if size >= BLOCK:
            yield steps, texts
            steps, texts, size = array("q"), [], 0
    if texts:
        yield steps, texts


def _block(digest: bytes, steps: array[int], content: bytes) -> Block:
    lower = content.lower()
    folded = lower if content.isascii() else content.decode().casefold().encode()
    words = b" ".join(set(words_of(folded)))
    return Block(
        digest,
        steps.tobytes(),
        words if len(words) < len(content) / 2 else None,
        folded == lower,
        zlib.compress(content, _LEVEL),
    )


def words_of(folded: bytes) -> list[bytes]:
    """Returns the words of a text in lower case."""
    return folded.translate(_WORD_BYTES).split()


@dataclass(frozen=True)
class ContentStore:
    """The texts in the index."""

    index: SessionIndex

    def outdated(self, limit: int = -1) -> list[tuple[str, str]]:
        """Returns path and state of the logs whose texts are missing or outdated, those that changed last
        first; only of logs whose figures are up to date.
        """
        rows = self.index.read(
            f"SELECT path, {STATE} FROM logs LEFT JOIN contents USING (number)"  # noqa: S608 - constants
            f" WHERE contents.state IS NOT {STATE} AND figured = {STATE} AND format <> '' AND tries <"
            f" {MAX_TRIES} AND (read_at IS NULL OR ? - read_at > max({_PAUSE}, {_PAUSE_FACTOR} * seconds))"
            " ORDER BY mtime DESC LIMIT ?",
            (time.time(), limit),
        )
        return [(os.fsdecode(path), state) for path, state in rows]

    def is_due(self, path: str, state: str) -> bool:
        """Returns whether the texts of a log that is in ``state`` now have to be read, and already."""
        query = (
            "SELECT 1 FROM contents WHERE number = ?"  # noqa: S608 - constants
            f" AND (state = ? OR ? - read_at <= max({_PAUSE}, {_PAUSE_FACTOR} * seconds))"
        )
        return not self.index.read(query, (number_of(path), state, time.time()))

    def missing(self, numbers: Sequence[int]) -> tuple[int, int, dict[str, str]]:
        """Returns how many of these logs have no texts in the index yet, how many have changed since, and why
        others are not searched, or not completely, by their paths.
        """
        values = (json.dumps(list(numbers)),)
        where = "number IN (SELECT value FROM json_each(?))"
        ((missing, changed),) = self.index.read(
            f"SELECT ifnull(sum(state IS NULL AND tries < {MAX_TRIES}), 0), ifnull(sum(state <> {STATE}), 0)"  # noqa: S608 - constants
            f" FROM logs LEFT JOIN contents USING (number) WHERE {where}",
            values,
        )
        problems = self.index.read(
            "SELECT path, ifnull(nullif(contents.problem, ''), 'it cannot be read') FROM logs LEFT JOIN"  # noqa: S608 - as above
            " contents USING (number) WHERE (contents.problem <> '' OR state IS NULL AND tries >="
            f" {MAX_TRIES}) AND {where}",
            values,
        )
        return missing, changed, {os.fsdecode(path): problem for path, problem in problems}

    def put(self, path: str, state: str, texts: LogTexts, problem: str = "") -> None:
        """Reads and stores the texts of a log whose rows were read in ``state``, with a ``problem``.
        All at once: a process that is killed leaves nothing.
        """
        number = number_of(path)
        query = "SELECT position, digest FROM blocks WHERE number = ?"
        known: dict[int, bytes] = dict(self.index.read(query, (number,)))
        blocks = texts.blocks(known)
        problem = texts.problem or problem

        def write(connection: Connection) -> None:
            if dict(connection.execute(query, (number,))) != known:
                return  # another process has stored it in the meantime
            connection.execute(
                "INSERT OR REPLACE INTO contents SELECT number, ?, ?, ?, ? FROM logs WHERE number = ?",
                (state, time.time(), texts.seconds, problem, number),
            )
            connection.execute("DELETE FROM blocks WHERE number = ? AND position >= ?", (number, len(blocks)))
            connection.executemany(
                "INSERT OR REPLACE INTO blocks (number, position, digest, steps, words, is_ascii_case, texts)"
                " SELECT number, ?, ?, ?, ?, ?, ? FROM logs WHERE number = ?",
                (
                    (at, one.digest, one.steps, one.words, one.is_ascii_case, one.texts, number)
                    for at, (_, one) in enumerate(blocks)
                    if one is not None
                ),
            )
            connection.execute("UPDATE logs SET tries = 0 WHERE number = ?", (number,))

        self.index.write(write)
