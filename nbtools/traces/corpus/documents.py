"""What of a part is searched: a file beside its tables, on its way from the process that reads the log to the one that keeps the index."""

from __future__ import annotations

import zlib
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from nbtools.traces import text_index
from nbtools.traces.libraries import library
from nbtools.traces.model import Call, Event
from nbtools.traces.search import SILENT, text_of_record

_FILE = "documents.arrow"
_READ = {
    Event: ("session", "seq", "kind", "full_text"),
    Call: ("session", "seq", "name", "subject", "args", "result", "stdout", "stderr"),
}
_NAMES = {Event: "events", Call: "calls"}
_LOOK = 8 << 10
_FAST = 1
"""Of zlib: a search unpacks what it looks into."""


@dataclass
class Documents:
    """The file on its way; it is made with the first text."""

    folder: Path
    stack: ExitStack
    writer: Any = None

    def add(self, rows: Any, kind: type) -> None:
        """The searched of a ``pyarrow.RecordBatch`` of rows of this type."""
        if kind not in _READ:
            return
        records = [record for record in rows.select(list(_READ[kind])).to_pylist() if record.get("kind") not in SILENT]
        texts = [text_index.kept(text_of_record(record)) for record in records]
        columns: list[list[Any]] = [
            [_NAMES[kind]] * len(records),
            [record["session"] or "" for record in records],
            [record["seq"] or 0 for record in records],
            texts,
            [zlib.compress(text.encode(), _FAST) for text in texts],
        ]
        self._write(library("pyarrow").RecordBatch.from_arrays([*map(_array, columns, _schema().types)], schema=_schema()))

    def _write(self, batch: Any) -> None:
        pa = library("pyarrow")
        if self.writer is None:
            self.writer = self.stack.enter_context(pa.ipc.new_stream(str(self.folder / _FILE), _schema()))
        self.writer.write_batch(batch)


def documents_of(part: Path) -> Iterator[list[dict[str, Any]]]:
    """``kind session seq text packed`` of each, some at a time; nothing where they have been forgotten."""
    if not (part / _FILE).exists():
        return
    pa = library("pyarrow")
    with pa.OSFile(str(part / _FILE)) as file, pa.ipc.open_stream(file) as stream:
        for batch in stream:
            yield batch.to_pylist()


def forget(part: Path) -> None:
    """They are in the index."""
    (part / _FILE).unlink(missing_ok=True)


def unpacked(text: bytes) -> str:
    return zlib.decompress(text).decode()


def begins(text: bytes) -> Iterator[str]:
    """More and more of it, the whole at last: what is looked for stands near the beginning, mostly."""
    stream = zlib.decompressobj()
    start = stream.decompress(text, _LOOK)
    if stream.unconsumed_tail:
        yield start.decode(errors="ignore")
    yield (start + stream.decompress(stream.unconsumed_tail)).decode()


def _array(values: list[Any], held: Any) -> Any:
    return library("pyarrow").array(values, held)


def _schema() -> Any:
    pa = library("pyarrow")
    return pa.schema({"kind": pa.string(), "session": pa.string(), "seq": pa.int64(), "text": pa.string(), "packed": pa.binary()})
