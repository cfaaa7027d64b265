"""The search index of a corpus: an SQLite file for each part, written by the process that writes the part."""

from __future__ import annotations

import errno
import heapq
import sqlite3
import weakref
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from functools import cached_property, partial
from itertools import islice
from pathlib import Path
from typing import Any

from nbtools.core.errors import TraceError
from nbtools.traces.corpus.manifest import Entry, Manifest
from nbtools.traces.corpus.storage import DAMAGED, PARTS, Storage, read_rows
from nbtools.traces.html import render
from nbtools.traces.model import Call, Event
from nbtools.traces.query import text_index
from nbtools.traces.query.excerpts import snippet
from nbtools.traces.query.search import UNSEARCHED_KINDS, text_of_record
from nbtools.traces.trace import Trace, load

INDEX = "index.sqlite"
_COLUMNS = {
    Event: ("session", "seq", "kind", "full_text"),
    Call: ("session", "seq", "name", "subject", "args", "result", "stdout", "stderr"),
}
_NAMES = {Event: "events", Call: "calls"}
_TABLES = """
create table logs(id integer primary key, path text not null);
create table documents(
  id integer primary key, log integer not null, kind text not null, session text not null,
    seq integer not null, text blob not null
);
create index documents_of_log on documents(log)
"""
"""``documents``: what the numbers of the index stand for, and the texts, compressed."""
_PREFIX_BYTES = 8 << 10
_COMPRESSION_LEVEL = 1
"""Compression level of zlib: a search decompresses every text that it checks."""


class IndexWriter:
    """Writes the index of a part; the file is created with the first text.
    The logs come in the order of ``writing_order``.
    """

    def __init__(self, folder: Path) -> None:
        self._file = folder / INDEX
        self._connection: sqlite3.Connection | None = None
        self._documents = 0
        self._log = 0

    def start_log(self, path: str) -> None:
        self._log += 1
        self._path: str | None = path

    def add(self, rows: Any, kind: type) -> None:
        """Adds the searched texts of a ``pyarrow.RecordBatch`` with rows of this type, of the current log."""
        if kind not in _COLUMNS:
            return
        records = [
            record
            for record in rows.select(list(_COLUMNS[kind])).to_pylist()
            if record.get("kind") not in UNSEARCHED_KINDS
        ]
        texts = [text_index.indexed_text(text_of_record(record)) for record in records]
        packed = (zlib.compress(text.encode(), _COMPRESSION_LEVEL) for text in texts)
        names = ((_NAMES[kind], record["session"] or "", record["seq"] or 0) for record in records)
        self.add_documents([(*name, text) for name, text in zip(names, packed, strict=True)], texts)

    def add_documents(self, documents: Iterable[tuple[str, str, int, bytes]], texts: Iterable[str]) -> None:
        """Adds table, session, seq and compressed text of documents, and their texts."""
        first = self._documents + 1
        rows = [(number, self._log, *document) for number, document in enumerate(documents, first)]
        with _disk_errors():
            connection = self._connection or self._open()
            if self._path is not None:
                connection.execute("insert into logs values (?, ?)", (self._log, self._path))
                self._path = None
            connection.executemany("insert into documents values (?, ?, ?, ?, ?, ?)", rows)
            text_index.add(connection, enumerate(texts, first))
        self._documents += len(rows)

    def close(self) -> None:
        if self._connection is not None:
            with _disk_errors(), closing(self._connection):
                self._connection.execute("commit")

    def _open(self) -> sqlite3.Connection:
        self._connection = connection = sqlite3.connect(self._file, isolation_level=None)
        connection.execute("pragma journal_mode = off")
        connection.execute("pragma synchronous = off")  # a part that was not completed is not used
        connection.execute("pragma cache_size = -64000")  # KiB: the index is merged in memory
        for statement in _TABLES.split(";\n"):
            connection.execute(statement)
        text_index.prepare(connection)
        connection.execute("begin")
        return connection


@contextmanager
def _disk_errors() -> Iterator[None]:
    """Converts errors of a database that is being written to those of the disk."""
    try:
        yield
    except sqlite3.Error as error:
        raise OSError(errno.ENOSPC, str(error)) from error


def writing_order(entries: Iterable[Entry]) -> list[Entry]:
    """Returns logs in the order in which a part's index has them:
    the reverse of the order in which they are found.
    """
    return sorted(entries, key=_order, reverse=True)


def _order(entry: Entry) -> tuple[int, str]:
    return -entry.read, entry.path


@dataclass(frozen=True)
class Document:
    """A text of the index ``index``, from the log ``entry``."""

    index: PartIndex
    number: int
    entry: Entry
    kind: str
    session: str
    seq: int

    @property
    def order(self) -> tuple[int, str]:
        return _order(self.entry)


class PartIndex:
    """The index of a part, to be read."""

    def __init__(self, file: Path) -> None:
        self.connection = sqlite3.connect(
            f"{file.as_uri()}?mode=ro&immutable=1", uri=True, isolation_level=None, check_same_thread=False
        )
        self.close = weakref.finalize(self, self.connection.close)

    def matching(self, question: text_index.IndexQuery, live: Mapping[str, Entry]) -> Iterator[Document]:
        """Yields the matching documents of the ``live`` logs, the last one first."""
        query = (
            "select path, kind, session, seq from documents join logs on logs.id = log where documents.id = ?"
        )
        for number in text_index.matching_numbers(self.connection, question, "rowid desc"):
            path, *names = self.connection.execute(query, (number,)).fetchone()
            if path in live and (
                not question.substring or any(map(question.matches, beginnings(self._packed(number))))
            ):
                yield Document(self, number, live[path], *names)

    def documents_of(self, path: str) -> Iterator[list[tuple[str, str, int, bytes]]]:
        """Yields batches of a log's documents: table, session, seq and compressed text."""
        query = (
            "select kind, session, seq, text from documents where log in (select id from logs where path = ?)"
            " order by id"
        )
        with closing(self.connection.execute(query, (path,))) as found:
            while batch := found.fetchmany(500):
                yield batch

    def text(self, number: int) -> str:
        return decompress_text(self._packed(number))

    def _packed(self, number: int) -> bytes:
        return bytes(
            self.connection.execute("select text from documents where id = ?", (number,)).fetchone()[0]
        )


def decompress_text(text: bytes) -> str:
    return zlib.decompress(text).decode()


def beginnings(text: bytes) -> Iterator[str]:
    """Yields longer and longer beginnings of a text, at last the whole text:
    matches are mostly near the beginning.
    """
    stream = zlib.decompressobj()
    start = stream.decompress(text, _PREFIX_BYTES)
    if stream.unconsumed_tail:
        yield start.decode(errors="ignore")
    yield (start + stream.decompress(stream.unconsumed_tail)).decode()


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
        return render(
            "search_hit", name=f"{self.session}:{self.seq}", snippet=self.snippet, source=self.source
        )


@dataclass
class SearchIndex:
    """Searches the indexes of all parts; those that are open stay open."""

    storage: Storage
    manifest: Manifest
    _open: dict[str, PartIndex] = field(default_factory=dict)
    _current: tuple[int, list[tuple[PartIndex, dict[str, Entry]]]] = (-1, [])

    def find(self, text: str, limit: int) -> tuple[Found, ...]:
        """Returns the matches, most recently read logs first."""
        try:
            version = self.manifest.version
            if self._current[0] != version:
                self._current = (version, self._parts())
            for question in text_index.index_queries(text):
                streams = [index.matching(question, live) for index, live in self._current[1]]
                found = list(islice(heapq.merge(*streams, key=lambda document: document.order), limit))
                if found:
                    return tuple(self._hit(document, text) for document in found)
        except (FileNotFoundError, sqlite3.Error) as error:
            raise TraceError(f"{self.storage.address}: {error}. {DAMAGED}") from error
        return ()

    def close(self) -> None:
        for index in self._open.values():
            index.close()
        self._open.clear()
        self._current = (-1, [])

    def _parts(self) -> list[tuple[PartIndex, dict[str, Entry]]]:
        parts = {name: part for name, part in self.manifest.parts().items() if INDEX in part.files}
        files = {name: f"{PARTS}/{name}/{INDEX}" for name in parts}
        for name in self._open.keys() - parts.keys():
            del self._open[name]  # a hit may still need it
        for name in parts.keys() - self._open.keys():
            file = self.storage.folder / files[name]
            if file.stat().st_size != parts[name].files[INDEX]:
                message = f"{files[name]} was cut"
                raise FileNotFoundError(message)
            self._open[name] = PartIndex(file)
        return [
            (self._open[name], {entry.path: entry for entry in part.logs}) for name, part in parts.items()
        ]

    def _hit(self, document: Document, query: str) -> Found:
        read, text_of = partial(self._row, document), partial(document.index.text, document.number)
        return Found(document.kind, document.session, document.seq, document.entry.path, query, read, text_of)

    def _row(self, document: Document) -> dict[str, Any]:
        current = self.manifest.entries.get(document.entry.path)
        if current is None or current.read != document.entry.read:
            raise TraceError("The corpus has changed since this search; search again.")
        values = {"session": document.session, "seq": document.seq, "source": document.entry.path}
        try:
            return read_rows(self.storage, f"{PARTS}/{current.part}/{document.kind}.parquet", values)[0]
        except FileNotFoundError as error:
            raise TraceError("The corpus has changed since this search; search again.") from error
