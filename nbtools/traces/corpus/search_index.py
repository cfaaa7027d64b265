"""The search index of a corpus.

The process that reads a log writes the searched texts into a file of the part (``documents.arrow``); the process that ingests adds them to
the index.
"""

from __future__ import annotations

import sqlite3
import zlib
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass, field
from functools import cached_property, partial
from itertools import islice
from pathlib import Path
from typing import Any, TypeAlias

from nbtools.core.errors import TraceError
from nbtools.traces.corpus.manifest import Manifest
from nbtools.traces.html import render
from nbtools.traces.model import Call, Event
from nbtools.traces.optional_libraries import import_library
from nbtools.traces.query import text_index
from nbtools.traces.query.search import UNSEARCHED_KINDS, matching_numbers, snippet, text_of_record
from nbtools.traces.trace import Trace, load

_FILE = "documents.arrow"
_COLUMNS = {
    Event: ("session", "seq", "kind", "full_text"),
    Call: ("session", "seq", "name", "subject", "args", "result", "stdout", "stderr"),
}
_NAMES = {Event: "events", Call: "calls"}
_PREFIX_BYTES = 8 << 10
_COMPRESSION_LEVEL = 1
"""Compression level of zlib: a search decompresses every text that it checks."""


@dataclass
class DocumentWriter:
    """Writes the file of searched texts; it is created with the first text."""

    folder: Path
    stack: ExitStack
    writer: Any = None

    def add(self, rows: Any, kind: type) -> None:
        """Adds the searched texts of a ``pyarrow.RecordBatch`` with rows of this type."""
        if kind not in _COLUMNS:
            return
        records = [record for record in rows.select(list(_COLUMNS[kind])).to_pylist() if record.get("kind") not in UNSEARCHED_KINDS]
        texts = [text_index.indexed_text(text_of_record(record)) for record in records]
        columns: list[list[Any]] = [
            [_NAMES[kind]] * len(records),
            [record["session"] or "" for record in records],
            [record["seq"] or 0 for record in records],
            texts,
            [zlib.compress(text.encode(), _COMPRESSION_LEVEL) for text in texts],
        ]
        self._write(import_library("pyarrow").RecordBatch.from_arrays([*map(_array, columns, _schema().types)], schema=_schema()))

    def _write(self, batch: Any) -> None:
        pa = import_library("pyarrow")
        if self.writer is None:
            self.writer = self.stack.enter_context(pa.ipc.new_stream(str(self.folder / _FILE), _schema()))
        self.writer.write_batch(batch)


def documents_of(part: Path) -> Iterator[list[dict[str, Any]]]:
    """Yields batches of documents with ``kind session seq text packed``; nothing where they have been deleted."""
    if not (part / _FILE).exists():
        return
    pa = import_library("pyarrow")
    with pa.OSFile(str(part / _FILE)) as file, pa.ipc.open_stream(file) as stream:
        for batch in stream:
            yield batch.to_pylist()


def delete_documents(part: Path) -> None:
    """Deletes the documents of a part, after they were added to the index."""
    (part / _FILE).unlink(missing_ok=True)


def decompress_text(text: bytes) -> str:
    return zlib.decompress(text).decode()


def beginnings(text: bytes) -> Iterator[str]:
    """Yields longer and longer beginnings of a text, at last the whole text: matches are mostly near the beginning."""
    stream = zlib.decompressobj()
    start = stream.decompress(text, _PREFIX_BYTES)
    if stream.unconsumed_tail:
        yield start.decode(errors="ignore")
    yield (start + stream.decompress(stream.unconsumed_tail)).decode()


def _array(values: list[Any], type_: Any) -> Any:
    return import_library("pyarrow").array(values, type_)


def _schema() -> Any:
    pa = import_library("pyarrow")
    return pa.schema({"kind": pa.string(), "session": pa.string(), "seq": pa.int64(), "text": pa.string(), "packed": pa.binary()})


_Document: TypeAlias = tuple[int, str, str, str, int]
"""Number, key of the log, table, session, seq."""
_MAX_OUTDATED = 0.5
"""The index is rebuilt when more than this fraction of its numbers is of logs that have changed or gone."""
_REBUILD_BATCH = 500


@dataclass(frozen=True)
class Found:
    """A search hit: an event or a call in the log ``source``. ``row`` and ``snippet`` are read on access.

    ``nbtools.open_trace(found.source)`` displays the log.
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
        """The row of the table ``events`` or ``calls``."""
        return self.read()

    @cached_property
    def snippet(self) -> str:
        return snippet(self.text_of(), self.query)

    def open(self) -> Trace:
        """Loads the log that contains it. Raises ``TraceError`` where it no longer exists."""
        return load(self.source)

    def __repr__(self) -> str:
        return f"<Found {self.kind} {self.session}:{self.seq} {self.snippet!r}>"

    def _repr_html_(self) -> str:
        return render("search_hit", name=f"{self.session}:{self.seq}", snippet=self.snippet, source=self.source)


def index_part(manifest: Manifest, folder: Path, key: str) -> None:
    """Adds the documents of a part to the index. Call within a ``transaction``."""
    connection = manifest.connection
    for records in documents_of(folder / key):
        numbered = list(enumerate(records, _last_number(connection) + 1))
        rows = ((number, key, record["kind"], record["session"], record["seq"]) for number, record in numbered)
        connection.executemany("insert into documents(id, key, kind, session, seq) values (?, ?, ?, ?, ?)", rows)
        connection.executemany("insert into texts(id, text) values (?, ?)", ((number, record["packed"]) for number, record in numbered))
        text_index.add(connection, ((number, record["text"]) for number, record in numbered))


def _last_number(connection: sqlite3.Connection) -> int:
    """Returns the last number that was assigned to a document."""
    return int(connection.execute("select coalesce(max(seq), 0) from sqlite_sequence where name = 'documents'").fetchone()[0])


def find(manifest: Manifest, folder: Path, text: str, limit: int) -> tuple[Found, ...]:
    """Returns the matches, most recently read logs first."""
    return tuple(_hit(manifest, folder, text, document) for document in _matching(manifest.connection, text, limit))


def _hit(manifest: Manifest, folder: Path, query: str, document: _Document) -> Found:
    number, key, table, session, seq = document
    path, _ = manifest.locate(key) or ("", "")
    return Found(
        table,
        session,
        seq,
        path,
        query,
        partial(_row, manifest, folder, document),
        partial(_text, manifest.connection, number),
    )


def rebuild_if_outdated(manifest: Manifest) -> None:
    """Rebuilds the index where much of it is of logs that have changed or gone. Call within a ``transaction``."""
    connection = manifest.connection
    indexed, stored = (
        connection.execute(f"select count(*) from {table}").fetchone()[0]  # noqa: S608 - the names are constants
        for table in (text_index.INDEXED_TABLE, "documents")
    )
    if indexed - stored <= _MAX_OUTDATED * indexed:
        return
    text_index.clear(connection)
    last = 0
    while page := connection.execute("select id, text from texts where id > ? order by id limit ?", (last, _REBUILD_BATCH)).fetchall():
        text_index.add(connection, ((number, decompress_text(text)) for number, text in page))
        last = page[-1][0]


def _matching(connection: sqlite3.Connection, text: str, limit: int) -> list[_Document]:
    for question in text_index.index_queries(text):
        documents = _documents(connection, question)
        matching_documents = (
            (one for one in documents if any(map(question.matches, beginnings(_compressed_text(connection, one[0])))))
            if question.substring
            else documents
        )
        found = list(islice(matching_documents, limit))
        if found:
            return found
    return []


def _documents(connection: sqlite3.Connection, question: text_index.IndexQuery) -> Iterator[_Document]:
    query = "select id, key, kind, session, seq from documents where id = ?"
    for number in matching_numbers(connection, question, "rowid desc"):
        document = connection.execute(query, (number,)).fetchone()
        if document is not None:
            yield document


def _text(connection: sqlite3.Connection, number: int) -> str:
    return decompress_text(_compressed_text(connection, number))


def _compressed_text(connection: sqlite3.Connection, number: int) -> bytes:
    found: tuple[bytes] | None = connection.execute("select text from texts where id = ?", (number,)).fetchone()
    return found[0] if found else zlib.compress(b"")


def _row(manifest: Manifest, folder: Path, document: _Document) -> dict[str, Any]:
    _, key, table, session, seq = document
    location = manifest.locate(key)
    if location is None:
        raise TraceError("The corpus has changed since this search; search again.")
    path, part = location
    filters = [("session", "==", session), ("seq", "==", seq)] + ([("source", "==", path)] if part != key else [])
    file = folder / part / f"{table}.parquet"
    rows: list[dict[str, Any]] = import_library("pyarrow.parquet").read_table(file, filters=filters, partitioning=None).to_pylist()
    return rows[0]
