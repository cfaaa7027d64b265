"""The search index of a corpus: an SQLite file for each part, written by the process that writes the part.

The parts' indexes are searched one after the other; one index for all would be written by one process only.
"""

from __future__ import annotations

import errno
import heapq
import sqlite3
import weakref
import zlib
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from functools import cached_property, partial
from itertools import islice
from pathlib import Path
from typing import Any

from nbtools.core.errors import TraceError
from nbtools.traces.corpus import text_index
from nbtools.traces.corpus.catalogue import DAMAGED, PARTS, Catalogue, Log
from nbtools.traces.html import render
from nbtools.traces.model import Call, Event
from nbtools.traces.optional_libraries import import_library
from nbtools.traces.query.excerpts import snippet
from nbtools.traces.query.search import text_of_record
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
_UNSEARCHED_KINDS = frozenset({"tool_call", "tool_result", "progress"})
"""Kinds of events that are not searched:
tool calls and results are searched as calls, and progress repeats them.
"""
_PREFIX_BYTES = 8 << 10
_COMPRESSION_LEVEL = 1
"""Compression level of zlib: a search decompresses every text that it checks."""


class IndexWriter:
    """Writes the index of a part; the file is created with the first text.
    The logs come in the reverse of the order in which a search finds them.
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
            if record.get("kind") not in _UNSEARCHED_KINDS
        ]
        texts = [text_index.indexed_text(text_of_record(record)) for record in records]
        packed = (zlib.compress(text.encode(), _COMPRESSION_LEVEL) for text in texts)
        first = self._documents + 1
        rows = [
            (number, self._log, _NAMES[kind], record["session"] or "", record["seq"] or 0, text)
            for number, (record, text) in enumerate(zip(records, packed, strict=True), first)
        ]
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


@dataclass(frozen=True)
class Document:
    """A text of the index ``index``, from ``log``."""

    index: PartIndex
    number: int
    log: Log
    kind: str
    session: str
    seq: int

    @property
    def order(self) -> tuple[int, str]:
        return -self.log.read, self.log.path


class PartIndex:
    """The index of a part, to be read."""

    def __init__(self, file: Path) -> None:
        self.connection = sqlite3.connect(
            f"{file.as_uri()}?mode=ro&immutable=1", uri=True, isolation_level=None, check_same_thread=False
        )
        self.close = weakref.finalize(self, self.connection.close)

    def matching(self, question: text_index.IndexQuery, live: Mapping[str, Log]) -> Iterator[Document]:
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

    def text(self, number: int) -> str:
        return zlib.decompress(self._packed(number)).decode()

    def _packed(self, number: int) -> bytes:
        return bytes(
            self.connection.execute("select text from documents where id = ?", (number,)).fetchone()[0]
        )


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

    catalogue: Catalogue
    _open: dict[str, PartIndex] = field(default_factory=dict)
    _current: tuple[int, list[tuple[PartIndex, dict[str, Log]]]] = (-1, [])

    def find(self, text: str, limit: int) -> tuple[Found, ...]:
        """Returns the matches, most recently read logs first."""
        try:
            version = self.catalogue.version
            if self._current[0] != version:
                self._current = (version, self._parts())
            for question in text_index.index_queries(text):
                streams = [index.matching(question, live) for index, live in self._current[1]]
                found = list(islice(heapq.merge(*streams, key=lambda document: document.order), limit))
                if found:
                    return tuple(self._hit(document, text) for document in found)
        except (FileNotFoundError, sqlite3.Error) as error:
            raise TraceError(f"{self.catalogue.folder}: {error}. {DAMAGED}") from error
        return ()

    def close(self) -> None:
        for index in self._open.values():
            index.close()
        self._open.clear()
        self._current = (-1, [])

    def _parts(self) -> list[tuple[PartIndex, dict[str, Log]]]:
        parts = {name: part for name, part in self.catalogue.parts.items() if INDEX in part.files}
        for name in self._open.keys() - parts.keys():
            del self._open[name]  # a hit may still need it
        for name in parts.keys() - self._open.keys():
            file = self.catalogue.folder / PARTS / name / INDEX
            if file.stat().st_size != parts[name].files[INDEX]:
                message = f"{PARTS}/{name}/{INDEX} was cut"
                raise FileNotFoundError(message)
            self._open[name] = PartIndex(file)
        return [(self._open[name], {log.path: log for log in part.logs}) for name, part in parts.items()]

    def _hit(self, document: Document, query: str) -> Found:
        read, text_of = partial(self._row, document), partial(document.index.text, document.number)
        return Found(document.kind, document.session, document.seq, document.log.path, query, read, text_of)

    def _row(self, document: Document) -> dict[str, Any]:
        file = self.catalogue.folder / PARTS / document.log.part / f"{document.kind}.parquet"
        values = {"session": document.session, "seq": document.seq, "source": document.log.path}
        filters = [(column, "==", value) for column, value in values.items()]
        try:
            table = import_library("pyarrow.parquet").read_table(file, filters=filters, partitioning=None)
        except FileNotFoundError as error:
            raise TraceError("The corpus has changed since this search; search again.") from error
        row: dict[str, Any] = table.to_pylist()[0]
        return row
