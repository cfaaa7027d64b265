"""The label file: review records as JSON lines, only ever appended to.

A record is on the disk when ``append`` returns. Several processes may append at once: each writes under a
lock, in one piece. In a browser, which has no locks and stores files whole, a tab can overwrite what another
one has appended; that one appends it again.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
from collections.abc import Iterable, Sequence
from pathlib import Path
from threading import Lock

import msgspec

from nbtools.core.browser import IN_BROWSER
from nbtools.core.errors import TraceError
from nbtools.storage.append_only import append_lines
from nbtools.storage.folder_lock import folder_lock
from nbtools.storage.state_folder import private_folder, state_path
from nbtools.traces.reviews.records import Record
from nbtools.traces.source import DECODE_ERRORS

FILE_NAME = "labels.jsonl"
"""The name of the label file in a folder: the state folder's ``review``, or a corpus."""
_DECODER = msgspec.json.Decoder(Record)
_MAX_LINE = 200_000
_CHECKS = (1, 10)
"""Seconds after an append when a file that can be overwritten is checked.
An append in another tab takes less, also on a busy machine.
"""


def label_file() -> Path:
    """Returns the path of the person's own label file, whether it exists or not."""
    return state_path() / "review" / FILE_NAME


class LabelFile:
    """The records of the file at ``path``, in the order in which they were written. Thread-safe.

    ``overwritten``: another writer can replace the file by an earlier state and its own records, as a tab of
    JupyterLite can. What is missing then is appended again.
    """

    def __init__(self, path: str | Path | None = None, *, overwritten: bool = IN_BROWSER) -> None:
        self.path = Path(path) if path is not None else label_file()
        self._overwritten = overwritten
        self._appended: list[Record] = []
        """What was appended here, if the file can be overwritten."""
        self.unreadable: list[bytes] = []
        """Lines that are no records, such as a line that was cut when its writer was killed.
        They stay in the file.
        """
        self._records: list[Record] = []
        self._end = 0
        self._inode = 0
        self._lock = Lock()

    def records(self) -> Sequence[Record]:
        """Returns all records, including what other processes have appended.
        Raises ``TraceError`` where the file cannot be read.
        """
        with self._lock:
            try:
                self._read()
            except FileNotFoundError:
                self._forget()
                self._appended.clear()
            except OSError as error:
                raise TraceError(f"{self.path} cannot be read: {error.strerror or error}.") from error
            return self._records

    def append(self, records: Iterable[Record]) -> None:
        """Appends records; they are on the disk when this returns.
        Raises ``TraceError`` where they cannot be written.
        """
        added = list(records)
        lines = encode_records(added)
        try:
            private_folder(self.path.parent)
            with folder_lock(self.path.parent):
                append_lines(self.path, lines)
        except OSError as error:
            raise TraceError(
                f"{self.path} cannot be written: {error.strerror or error}. The label is not saved."
            ) from error
        if self._overwritten:
            self._appended += added
            self._check_later()

    def _check_later(self) -> None:
        with contextlib.suppress(RuntimeError):  # no event loop: the next reading checks
            loop = asyncio.get_running_loop()
            for seconds in _CHECKS:
                loop.call_later(seconds, self.records)

    def _read(self) -> None:
        if not self._overwritten:
            self._read_appended()
            return
        self._read_all()
        present = {record.id for record in self._records}
        lost = [record for record in self._appended if record.id not in present]
        if lost:
            append_lines(self.path, encode_records(lost))
            self._read_all()

    def _read_all(self) -> None:
        self._forget()
        self._read_appended()
        self._records.sort(
            key=lambda record: record.at
        )  # the later one of two verdicts counts, also if it was appended first

    def _read_appended(self) -> None:
        with self.path.open("rb") as file:
            status = os.fstat(file.fileno())
            if status.st_ino != self._inode or status.st_size < self._end:
                self._forget()
                self._inode = status.st_ino
            file.seek(self._end)
            data = file.read()
        complete = data[: data.rfind(b"\n") + 1]
        self._end += len(complete)
        for line in complete.split(b"\n"):
            self._add(line)

    def _add(self, line: bytes) -> None:
        if not line.strip():
            return
        record = _decoded(line)
        if record is None:
            self.unreadable.append(line)
        else:
            self._records.append(record)

    def _forget(self) -> None:
        self._records, self._end, self._inode = [], 0, 0
        self.unreadable.clear()


def read_records(folder: str | Path) -> Sequence[Record]:
    """Returns the records of the label file in ``folder``; none where there is no file.
    Raises ``TraceError`` where it cannot be read.
    """
    return LabelFile(Path(folder) / FILE_NAME).records()


def append_records(folder: str | Path, records: Iterable[Record]) -> int:
    """Appends the records that the label file in ``folder`` does not have yet, by their ids,
    and returns their number.

    Raises ``TraceError``.
    """
    file = LabelFile(Path(folder) / FILE_NAME)
    known = {record.id for record in file.records()}
    added = [record for record in records if record.id not in known]
    if added:
        file.append(added)
    return len(added)


def encode_records(records: Iterable[Record]) -> bytes:
    """Returns the contents of a label file with these records."""
    return b"".join(map(_line, records))


def decode_records(data: bytes) -> list[Record]:
    """Returns the records in the contents of a label file; lines that are no records are skipped."""
    return [record for line in data.split(b"\n") if (record := _decoded(line)) is not None]


def _decoded(line: bytes) -> Record | None:
    try:
        return _DECODER.decode(line)
    except DECODE_ERRORS:
        return None


def _line(record: Record) -> bytes:
    line = msgspec.json.encode(record)
    try:
        _DECODER.decode(line)
    except msgspec.ValidationError as error:
        raise TraceError(f"This cannot be saved: {error}.") from error
    if len(line) > _MAX_LINE:
        raise TraceError(
            f"This cannot be saved: the record has {len(line):,} bytes, and at most {_MAX_LINE:,} are"
            " allowed."
        )
    return line + b"\n"
