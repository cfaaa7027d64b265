"""The search index of a corpus: fed with the documents of parts, asked for rows in parts."""

from __future__ import annotations

import html
import sqlite3
import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import cached_property, partial
from itertools import islice
from pathlib import Path
from typing import Any, TypeAlias

from nbtools.core.errors import TraceError
from nbtools.traces import text_index
from nbtools.traces.corpus.documents import begins, documents_of, unpacked
from nbtools.traces.corpus.manifest import Manifest
from nbtools.traces.libraries import library
from nbtools.traces.search import matching, snippet
from nbtools.traces.trace import Trace, load

_Document: TypeAlias = tuple[int, str, str, str, int]
"""Number, key of the log, table, session, seq."""
_WASTE = 0.5
"""Of the index, before it is made again: numbers whose logs have changed or gone stay in it."""
_PAGE = 500


@dataclass(frozen=True)
class Found:
    """An event or a call in the log ``source``, by its place in a session.  ``row`` and ``snippet`` are read when they are wanted.

    ``nbtools.open_trace(found.source)`` shows the log.
    """

    kind: str
    session: str
    seq: int
    source: str
    query: str
    read: Callable[[], dict[str, Any]] = field(repr=False, compare=False)
    text_of: Callable[[], str] = field(repr=False, compare=False)

    @cached_property
    def row(self) -> dict[str, Any]:
        """Its row in the table ``events`` or ``calls``."""
        return self.read()

    @cached_property
    def snippet(self) -> str:
        return snippet(self.text_of(), self.query)

    def open(self) -> Trace:
        """The log that it is in, read now.  Raises ``TraceError`` where that is gone."""
        return load(self.source)

    def __repr__(self) -> str:
        return f"<Found {self.kind} {self.session}:{self.seq} {self.snippet!r}>"

    def _repr_html_(self) -> str:
        place = f"{self.session}:{self.seq}"
        return f"<p><b>{html.escape(place)}</b> {html.escape(self.snippet)}<br><small>{html.escape(self.source)}</small></p>"


def learn(manifest: Manifest, folder: Path, key: str) -> None:
    """Inside of a change: the documents of a part, into the index."""
    connection = manifest.connection
    for records in documents_of(folder / key):
        numbered = list(enumerate(records, _given(connection) + 1))
        rows = ((number, key, record["kind"], record["session"], record["seq"]) for number, record in numbered)
        connection.executemany("insert into documents(id, key, kind, session, seq) values (?, ?, ?, ?, ?)", rows)
        connection.executemany("insert into texts(id, text) values (?, ?)", ((number, record["packed"]) for number, record in numbered))
        text_index.add(connection, ((number, record["text"]) for number, record in numbered))


def _given(connection: sqlite3.Connection) -> int:
    """The last number that was given to a document."""
    return int(connection.execute("select coalesce(max(seq), 0) from sqlite_sequence where name = 'documents'").fetchone()[0])


def find(manifest: Manifest, folder: Path, text: str, limit: int) -> tuple[Found, ...]:
    """Those read last come first."""
    return tuple(_found(manifest, folder, text, document) for document in _matching(manifest.connection, text, limit))


def _found(manifest: Manifest, folder: Path, query: str, document: _Document) -> Found:
    number, key, table, session, seq = document
    path, _ = manifest.place(key) or ("", "")
    return Found(
        table,
        session,
        seq,
        path,
        query,
        partial(_row, manifest, folder, document),
        partial(_text, manifest.connection, number),
    )


def tidy(manifest: Manifest) -> None:
    """Inside of a change: makes the index again where much of it is of what has changed or gone."""
    connection = manifest.connection
    indexed, kept = (connection.execute(f"select count(*) from {table}").fetchone()[0] for table in (text_index.INDEXED, "documents"))  # noqa: S608 - names of ours
    if indexed - kept <= _WASTE * indexed:
        return
    text_index.clear(connection)
    last = 0
    while page := connection.execute("select id, text from texts where id > ? order by id limit ?", (last, _PAGE)).fetchall():
        text_index.add(connection, ((number, unpacked(text)) for number, text in page))
        last = page[-1][0]


def _matching(connection: sqlite3.Connection, text: str, limit: int) -> list[_Document]:
    for question in text_index.questions(text):
        documents = _documents(connection, question)
        held = (one for one in documents if any(map(question.holds, begins(_packed(connection, one[0]))))) if question.piece else documents
        found = list(islice(held, limit))
        if found:
            return found
    return []


def _documents(connection: sqlite3.Connection, question: text_index.Question) -> Iterator[_Document]:
    one = "select id, key, kind, session, seq from documents where id = ?"
    for number in matching(connection, question, "rowid desc"):
        document = connection.execute(one, (number,)).fetchone()
        if document is not None:
            yield document


def _text(connection: sqlite3.Connection, number: int) -> str:
    return unpacked(_packed(connection, number))


def _packed(connection: sqlite3.Connection, number: int) -> bytes:
    found: tuple[bytes] | None = connection.execute("select text from texts where id = ?", (number,)).fetchone()
    return found[0] if found else zlib.compress(b"")


def _row(manifest: Manifest, folder: Path, document: _Document) -> dict[str, Any]:
    _, key, table, session, seq = document
    place = manifest.place(key)
    if place is None:
        raise TraceError("the corpus has changed since it was searched; search again.")
    path, part = place
    wanted = [("session", "==", session), ("seq", "==", seq)] + ([("source", "==", path)] if part != key else [])
    file = folder / part / f"{table}.parquet"
    rows: list[dict[str, Any]] = library("pyarrow.parquet").read_table(file, filters=wanted, partitioning=None).to_pylist()
    return rows[0]
