"""Reads a log from disk: line by line, and any range of its bytes again later;
also of files in zip archives.
"""

from __future__ import annotations

import errno
import json
import os
import re
import stat
from collections import OrderedDict
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from pathlib import Path
from threading import get_ident
from typing import Any, BinaryIO, TypeVar

import msgspec

from nbtools.core.errors import TraceError
from nbtools.traces.archives import MAX_MEMBER, ArchiveDirectory
from nbtools.traces.model import Problem, Ref


def open_regular(path: Path, buffering: int = -1) -> BinaryIO:
    """Opens a file in binary mode.  Raises ``OSError``, also for a device or a pipe, which may never end."""
    if not stat.S_ISREG(path.stat().st_mode):
        raise OSError(errno.EINVAL, "Not a regular file", str(path))
    return path.open("rb", buffering=buffering)


def read_regular(path: Path) -> bytes:
    """Returns the content of a file that ``open_regular`` opens."""
    with open_regular(path) as opened:
        return opened.read()


def read_start(path: Path, size: int) -> bytes:
    """Returns the first ``size`` bytes of a file; nothing where it cannot be read."""
    try:
        with open_regular(path) as opened:
            return opened.read(size)
    except OSError:
        return b""


def read_json(path: Path) -> Any:
    """Returns what a JSON file contains; None where it cannot be read."""
    try:
        return decode_json(read_regular(path))
    except (OSError, TraceError):
        return None


T = TypeVar("T")
_BUFFER = 1 << 18
_SMALL = 4 << 10
"""Buffer size for reading one record: a buffer is always filled completely."""
_CACHED_RECORDS = 32
"""Number of decoded records to cache: a card's call and result, and their neighbours."""
_MAX_CACHED_RECORD = 4 << 20
_MAX_CACHED_MEMBER = 64 << 20
_DECODER = json.JSONDecoder()
_ABSENT = object()
DECODE_ERRORS = (msgspec.MsgspecError, UnicodeDecodeError, RecursionError)
"""What decoding raises for bytes that are not JSON, not UTF-8, or nested too deeply."""


class Source:
    """The log at ``path`` with the ``others`` that belong to it: sub-agents' files and separate result files.

    The files are numbered 0, 1, … and opened on access only.
    With ``recover``, records are also extracted from malformed lines.
    """

    def __init__(self, path: Path, others: Iterable[Path] = (), *, recover: bool = True) -> None:
        self.files = (path, *others)
        self.recover = recover
        self._records: OrderedDict[Ref, Any] = OrderedDict()
        self._cached_member = (0, "", b"")
        self._archives: dict[int, tuple[tuple[int, int], ArchiveDirectory]] = {}
        """The directory of each archive, with the size and the time of the file that it was read from."""
        self._kept: dict[int, dict[int, Any]] = {}
        """Open files by thread and number."""

    @property
    def path(self) -> Path:
        return self.files[0]

    def whole(self, file: int = 0) -> Ref:
        """Returns the position of all bytes that a file has now.
        Raises ``TraceError`` where it is missing.
        """
        try:
            return Ref(0, self.files[file].stat().st_size, 0, file)
        except OSError as error:
            raise TraceError(f"{self.files[file]}: {error.strerror or error}.") from error

    def outdated(self) -> TraceError:
        """Returns the error for a record that is not what it was when the log was read."""
        return TraceError(f"{self.path} has changed since it was read. Load it again.")

    def lines(
        self, decode: Callable[[bytes], T], file: int = 0, *, offset: int = 0, after: int = 0
    ) -> Iterator[tuple[Ref, T] | Problem]:
        """Yields every line decoded, with its position, from ``offset`` on, the end of line ``after``.
        Blank lines are skipped.

        A line that ``decode`` cannot read yields a ``Problem``,
        followed by the records that were found in it. ``decode`` raises ``msgspec.MsgspecError``.
        """
        with self.open_file(file) as log:
            if offset:
                log.seek(offset)
            for number, line in enumerate(log, after + 1):
                if not offset and line.startswith(BYTE_ORDER_MARK):
                    line, offset = line[len(BYTE_ORDER_MARK) :], len(BYTE_ORDER_MARK)  # noqa: PLW2901 - the line is without the mark
                ref = Ref(offset, len(line), number, file)
                offset += len(line)
                try:
                    yield ref, decode(line)
                except DECODE_ERRORS as error:
                    if line.strip():
                        yield from (
                            _recover(ref, line, decode, str(error))
                            if self.recover
                            else (Problem(ref, str(error)),)
                        )

    def read_file(self, file: int = 0, member: str = "", most: int = MAX_MEMBER) -> bytes:
        """Returns all bytes of a file, or of a member with at most ``most`` bytes where the file is an
        archive.

        A byte order mark is replaced by as many blanks.
        """
        if member:
            return self._member(file, member, most)
        with self.open_file(file) as log:
            data: bytes = log.read()
        return blank_byte_order_mark(data)

    def first_character(self) -> bytes:
        """Returns the first byte of the log that is no blank;
        empty where it begins with thousands of them.
        """
        with self.open_file(0, _SMALL) as log:
            return blank_byte_order_mark(log.read(_SMALL)).lstrip()[:1]

    def bytes_of(self, ref: Ref) -> bytes:
        """Returns the bytes at ``ref``. Raises ``TraceError`` where they no longer exist."""
        if ref.member:
            return self._member(ref.file, ref.member)[ref.offset : ref.offset + ref.length]
        with self._opened(ref.file) as opened:
            opened.seek(ref.offset)
            data: bytes = opened.read(ref.length)
        if len(data) < ref.length:
            raise TraceError(f"{self.files[ref.file]} has become shorter since it was read; load it again.")
        return data

    @contextmanager
    def kept_open(self) -> Iterator[None]:
        """Keeps the files that this thread reads records from open,
        for reading many in the order of the log.
        """
        files = self._kept[get_ident()] = {}
        try:
            yield
        finally:
            del self._kept[get_ident()]
            for file in files.values():
                file.close()

    def _opened(self, file: int) -> AbstractContextManager[Any]:
        kept = self._kept.get(get_ident())
        if kept is None:
            opened: AbstractContextManager[Any] = self.open_file(file, buffering=_SMALL)
            return opened
        if file not in kept:
            kept[file] = self.open_file(file)
        return nullcontext(kept[file])

    def record(self, ref: Ref) -> Any:
        """Returns what the bytes at ``ref`` decode to. Recent records are cached; do not modify them."""
        record = self._records.get(ref, _ABSENT)
        if record is _ABSENT:
            record = decode_json(self.bytes_of(ref))
        if ref.length <= _MAX_CACHED_RECORD:
            self._records[ref] = record
            with suppress(KeyError):  # another thread may just have dropped it
                self._records.move_to_end(ref)
                if len(self._records) > _CACHED_RECORDS:
                    self._records.popitem(last=False)
        return record

    def forget(self) -> None:
        """Drops what is cached of a file that has changed."""
        self._records.clear()
        self._cached_member = (0, "", b"")

    def _member(self, file: int, name: str, most: int = MAX_MEMBER) -> bytes:
        """Returns a member's bytes and caches the last one,
        because cards of one sample are opened one after another.
        """
        cached = self._cached_member
        if cached[:2] == (file, name):
            return cached[2]
        with self.open_file(file) as opened:
            data = self._archive(file, opened).read(opened, name, most)
        self._cached_member = (file, name, data) if len(data) <= _MAX_CACHED_MEMBER else (0, "", b"")
        return data

    def _archive(self, file: int, opened: BinaryIO) -> ArchiveDirectory:
        state = os.fstat(opened.fileno())
        stamp, known = (state.st_size, state.st_mtime_ns), self._archives.get(file)
        if known is None or known[0] != stamp:
            known = self._archives[file] = stamp, ArchiveDirectory(opened)
        return known[1]

    def open_file(self, file: int, buffering: int = _BUFFER) -> Any:
        """Opens the file in binary mode. Raises ``TraceError`` where it cannot be opened."""
        try:
            return open_regular(self.files[file], buffering)
        except OSError as error:
            raise TraceError(f"{self.files[file]}: {error.strerror or error}.") from error


def blank_byte_order_mark(data: bytes) -> bytes:
    """Returns the bytes with blanks in place of a byte order mark, so that positions stay the same."""
    return (
        b" " * len(BYTE_ORDER_MARK) + data.removeprefix(BYTE_ORDER_MARK)
        if data.startswith(BYTE_ORDER_MARK)
        else data
    )


def decode_json(data: bytes) -> Any:
    """Decodes JSON that may be slightly invalid; raises ``TraceError``.

    Numbers may have any size, and other defects are repaired by ``repair_json``.
    """
    try:
        return msgspec.json.decode(data)
    except DECODE_ERRORS:
        try:
            return json.loads(repair_json(data))
        except (ValueError, RecursionError) as error:
            raise TraceError(
                f"Invalid JSON: {error}. If the log has changed since it was read, load it again."
            ) from None


def decode_typed(data: bytes, typed: Callable[[bytes], T], otherwise: Callable[[Mapping[str, Any]], T]) -> T:
    """Returns ``typed(data)``, or where a field has another type than usual what ``otherwise`` makes of the
    record.

    Raises ``TraceError`` if the data is not JSON.  A record that is no object counts as an empty one.
    """
    try:
        return typed(data)
    except DECODE_ERRORS:
        record = decode_json(data)
        return otherwise(record if isinstance(record, dict) else {})


def _recover(
    ref: Ref, line: bytes, decode: Callable[[bytes], T], reason: str
) -> Iterator[tuple[Ref, T] | Problem]:
    """Yields the problem, then the objects of a line with two records but no newline between them,
    or with a few wrong bytes.
    """
    records: list[tuple[Ref, T]] = []
    for start, piece in _objects(line):
        try:
            records.append(
                (Ref(ref.offset + start, len(piece), ref.line, ref.file), decode(repair_json(piece)))
            )
        except DECODE_ERRORS:
            continue
    yield Problem(ref, reason, len(records))
    yield from records


def _objects(line: bytes) -> Iterator[tuple[int, bytes]]:
    """Yields each JSON object in the line with the offset of its bytes; skips what is between them."""
    text = line.decode("utf-8", "surrogateescape")
    at = 0
    while (brace := _BRACE.search(text, at)) is not None:
        try:
            value, end = _DECODER.raw_decode(text, brace.start())
        except (ValueError, RecursionError):
            return
        if isinstance(value, dict):
            raw = text[brace.start() : end].encode("utf-8", "surrogateescape")
            start = len(text[: brace.start()].encode("utf-8", "surrogateescape"))
            yield start, raw
        at = end


_BRACE = re.compile(r"\{")


_TOKEN = re.compile(rb'"[^"\\]*+(?:\\.[^"\\]*+)*+(?:"|\\?\Z)|NaN|-?Infinity', re.DOTALL)
"""A string that does not end goes to the end of the text: it is searched only once."""
_ESCAPE = re.compile(
    rb"\\u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}|(\\u[dD][89a-fA-F][0-9a-fA-F]{2})|\\.",
    re.DOTALL,
)
_CONTROL = re.compile(rb"[\x00-\x1f]")
_INVALID_BYTE = re.compile("[\udc80-\udcff]")
BYTE_ORDER_MARK = b"\xef\xbb\xbf"


def repair_json(data: bytes) -> bytes:
    """Returns as many bytes that are more likely to be valid JSON.

    Replaces bytes that are not UTF-8 with ``?``, a byte order mark and control characters in strings with
    blanks, unpaired surrogates with U+FFFD, and numbers that JSON does not have (``NaN``) with an empty text.
    """
    text = _INVALID_BYTE.sub("?", data.decode("utf-8", "surrogateescape")).encode()
    if text.startswith(BYTE_ORDER_MARK):
        text = b"   " + text[3:]
    return _TOKEN.sub(_repair_token, text)


def _repair_token(found: re.Match[bytes]) -> bytes:
    token = found[0]
    if token[:1] != b'"':
        return b'""'.ljust(len(token))
    return _ESCAPE.sub(lambda escape: rb"\ufffd" if escape[1] else escape[0], _CONTROL.sub(b" ", token))
