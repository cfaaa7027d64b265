"""Reads regular files, whole or by lines, within size limits; refuses devices, sockets and pipes."""

from __future__ import annotations

import contextlib
import io
import os
import re
import shutil
import stat
import subprocess
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

from nbtools.core.errors import Binary, ErrorCode, ToolFailure, from_os_error
from nbtools.core.message import Advice, Message, Parameter, ToolName
from nbtools.workspace.cancellation import CancellationFlag
from nbtools.workspace.files.encoding import Encoding, decode, describe_content
from nbtools.workspace.files.no_follow import became_link_failure, open_no_links, status

MAX_READ_BYTES = 20_000_000
"""The largest file, in bytes, that is read whole."""
_CHUNK = 1 << 20
_READ = os.O_RDONLY | os.O_NONBLOCK | os.O_NOCTTY
HEAD_BYTES = 1 << 16
"""Enough bytes to recognise the content; a multiple of every character width."""
_USE_A_PROGRAM = "It cannot be shown or edited as text; use a program for this type"
_SPECIAL = {
    stat.S_IFIFO: "a named pipe",
    stat.S_IFSOCK: "a socket",
    stat.S_IFCHR: "a device",
    stat.S_IFBLK: "a device",
}


_READ_LINES = Message.of(
    "Read a range of its lines", Advice(" (", Parameter("start"), ", ", Parameter("end"), ")"), "."
)


def check_regular(info: os.stat_result, subject: str) -> None:
    """Raises ``ToolFailure`` for anything but a regular file."""
    if stat.S_ISDIR(info.st_mode):
        see = Advice(" Use ", ToolName("ls", "glob"), " to see what is in it.")
        raise ToolFailure(
            ErrorCode.TARGET_IS_DIRECTORY, Message.of(f"{subject} is a folder, not a file.", see)
        )
    if not stat.S_ISREG(info.st_mode):
        kind = _SPECIAL.get(stat.S_IFMT(info.st_mode), "a special file")
        raise ToolFailure(
            ErrorCode.READ_CONTENT_FAILURE,
            f"{subject} is {kind}. Only ordinary files can be read and written.",
        )


def read_bytes(path: Path, subject: str, limit: int = MAX_READ_BYTES, advice: str = _READ_LINES) -> bytes:
    """Reads a whole file.

    ``path`` comes from ``Workspace.resolve``, ``subject`` names it in messages, ``advice`` ends the message
    about its size.  Raises ``ToolFailure``: ``file_not_found``, ``file_too_large`` above ``limit`` bytes,
    ``target_is_directory``, ``permission_denied``.
    """
    with open_file(path, subject) as file:
        size = os.fstat(file.fileno()).st_size
        data = file.read(size + 1) if size <= limit else b""
        # The file is growing, or reports no size, like those in /proc.
        while size < len(data) <= limit and (more := file.read(_CHUNK)):
            data += more
    if size > limit or len(data) > limit:
        raise ToolFailure(
            ErrorCode.FILE_TOO_LARGE,
            Message.of(
                f"{subject} has {max(size, len(data)):,} bytes; at most {limit:,} can be read at once. ",
                advice,
            ),
        )
    return data


def read_if_exists(path: Path, subject: str, limit: int = MAX_READ_BYTES, advice: str = "") -> bytes | None:
    """Reads as ``read_bytes`` does; returns None for a file that does not exist."""
    try:
        return read_bytes(path, subject, limit, advice)
    except ToolFailure as failure:
        if failure.code is ErrorCode.FILE_NOT_FOUND:
            return None
        raise


def size_of(path: Path, subject: str) -> int:
    """Returns the size of a regular file in bytes.  Raises ``ToolFailure``."""
    try:
        return _regular(path, subject).st_size
    except OSError as error:
        raise from_os_error(error, subject) from None


def read_head(path: Path, subject: str) -> bytes:
    """Reads the first ``HEAD_BYTES`` bytes of a regular file. Raises as ``read_bytes`` does."""
    with open_file(path, subject) as file:
        return file.read(HEAD_BYTES)


def not_text_failure(subject: str, data: bytes, size: int) -> ToolFailure:
    """Returns the failure for a file that is not text; ``data`` is its beginning.

    The failure's data is a ``Binary``, except for sound and video.
    """
    description = describe_content(data, subject)
    is_sound_or_video = re.search(r"\b(?:sound|video|audio)\b", description)
    sound_advice = "Sound and video cannot be read; extract images or text with a program such as ffmpeg"
    advice = sound_advice if is_sound_or_video else _USE_A_PROGRAM
    data_of_failure = None if is_sound_or_video else Binary(description, size)
    return ToolFailure(
        ErrorCode.READ_CONTENT_FAILURE,
        f"{subject} is {description}, {size:,} bytes. {advice}.",
        data_of_failure,
    )


def open_file(path: Path, subject: str) -> io.BufferedReader:
    """Opens a file without following links that appeared since it was resolved, or blocking on a pipe."""
    try:
        _require_regular(path, subject)
        descriptor = open_no_links(path, _READ)
    except OSError as error:
        raise from_os_error(error, subject) from None
    return open_reader(descriptor, subject)


def open_reader(descriptor: int, subject: str) -> io.BufferedReader:
    """Wraps a descriptor, which it takes over.  Raises ``ToolFailure`` if it is not a regular file."""
    with ExitStack() as on_failure:
        on_failure.callback(os.close, descriptor)
        check_regular(os.fstat(descriptor), subject)
        on_failure.pop_all()
    return io.BufferedReader(io.FileIO(descriptor))


def _require_regular(path: Path, subject: str) -> None:
    """Checks before opening, because opening a device may have effects."""
    # This quick check follows links in the folders above; it is trusted only when it finds a regular file.
    with contextlib.suppress(OSError):
        if stat.S_ISREG(os.lstat(path).st_mode):
            return
    _regular(path, subject)


def _regular(path: Path, subject: str) -> os.stat_result:
    info = status(path)
    if stat.S_ISLNK(info.st_mode):
        raise became_link_failure(str(path))
    check_regular(info, subject)
    return info


_CHUNK = 1 << 20
_WC_THRESHOLD = 1 << 26
"""File size from which starting ``wc`` pays off: it counts several times faster than ``bytes.count``."""
_POLL_INTERVAL = 0.05
"""Seconds between two checks for cancellation."""


@dataclass(frozen=True, slots=True)
class LineExcerpt:
    """The bytes of consecutive lines from line ``start``, and the file's total number of lines."""

    data: bytes
    encoding: Encoding
    start: int
    total: int


def read_lines(
    path: Path,
    subject: str,
    start: int,
    count: int,
    cancellation: CancellationFlag,
    *,
    limit: int = MAX_READ_BYTES,
    chunk_size: int = _CHUNK,
) -> LineExcerpt:
    """Reads ``count`` lines from line ``start``, from 1, or negative from the end; beyond it there are none.

    Counts the file's lines in one pass, then reads from the nearer end.  ``chunk_size``, a multiple of 4, is
    the number of bytes per read.  Raises ``ToolFailure`` as ``read_bytes`` does; ``file_too_large`` if the
    lines themselves exceed ``limit``.
    """
    with open_file(path, subject) as file:
        head = file.read(HEAD_BYTES)
        decoded = decode(head)
        if decoded is None:
            raise not_text_failure(subject, head, os.fstat(file.fileno()).st_size)
        lines = _Lines(file.fileno(), decoded.encoding, chunk_size, cancellation)
        first = start if start > 0 else max(1, lines.total + 1 + start)
        data = lines.read(first, count, limit)
    if data is None:
        fewer = Message.of(" Ask for fewer lines", Advice(" (", Parameter("end"), ")"), ".")
        message = Message.of(f"{subject}: the lines from line {first} have more than {limit:,} bytes.", fewer)
        raise ToolFailure(ErrorCode.FILE_TOO_LARGE, message)
    return LineExcerpt(data, decoded.encoding, first, lines.total)


class _Lines:
    """The lines of an open file up to its size at the first read; what is appended later is ignored."""

    def __init__(
        self, descriptor: int, encoding: Encoding, chunk_size: int, cancellation: CancellationFlag
    ) -> None:
        self._descriptor, self._cancellation, self._chunk = descriptor, cancellation, chunk_size
        self._newline = "\n".encode(encoding.codec)
        self._begin = len(encoding.bom)
        self._ends, self._stop = self._count_all()
        self.total = self._ends + (not self._ends_a_line(self._stop))

    def read(self, start: int, count: int, limit: int) -> bytes | None:
        """Returns the lines' bytes; None if they exceed ``limit``."""
        if start > self.total or count <= 0:
            return b""
        position = self._after(start - 1)
        pieces: list[bytes] = []
        size = 0
        for chunk in self._chunks(position, self._stop):
            end = _behind(chunk, self._newline, count)
            pieces.append(chunk[:end])
            size += end
            count -= self._count(pieces[-1])
            if size > limit:
                return None
            if count == 0:
                break
        return b"".join(pieces)

    def _count_all(self) -> tuple[int, int]:
        """Returns the number of line endings, and the position of the file's end."""
        size = os.fstat(self._descriptor).st_size
        counter = shutil.which("wc") if len(self._newline) == 1 and size >= _WC_THRESHOLD else None
        if counter:
            return self._count_with_wc(counter)
        ends, stop = 0, self._begin
        for chunk in self._chunks(self._begin, None):
            ends += self._count(chunk)
            stop += len(chunk)
        return ends, stop

    def _count_with_wc(self, counter: str) -> tuple[int, int]:
        """Counts with ``wc -l``, which shares our file offset: where it stopped reading is the file's end."""
        os.lseek(self._descriptor, self._begin, os.SEEK_SET)
        with subprocess.Popen([counter, "-l"], stdin=self._descriptor, stdout=subprocess.PIPE) as process:
            try:
                while True:
                    self._cancellation.raise_if_cancelled()
                    try:
                        printed, _ = process.communicate(timeout=_POLL_INTERVAL)
                        break
                    except subprocess.TimeoutExpired:
                        continue
            except BaseException:
                process.kill()
                raise
        return int(printed), os.lseek(self._descriptor, 0, os.SEEK_CUR)

    def _after(self, ends: int) -> int:
        """Returns the position after the given number of line endings, searched from the nearer end."""
        if ends == 0:
            return self._begin
        if ends > self._ends // 2:
            return self._after_from_end(self._ends - ends + 1)
        position = self._begin
        for chunk in self._chunks(position, self._stop):
            found = self._count(chunk)
            if found >= ends:
                return position + _behind(chunk, self._newline, ends)
            ends -= found
            position += len(chunk)
        return position

    def _after_from_end(self, ends: int) -> int:
        """Returns the position after the ``ends``-th line ending, counted from the last."""
        stop = self._stop
        while stop > self._begin:
            size = (stop - self._begin) % self._chunk or self._chunk
            chunk = next(self._chunks(stop - size, stop), b"")
            found = self._count(chunk)
            if found >= ends:
                return stop - size + _behind(chunk, self._newline, found - ends + 1)
            ends -= found
            stop -= size
        return self._begin

    def _chunks(self, start: int, stop: int | None) -> Iterator[bytes]:
        while stop is None or start < stop:
            self._cancellation.raise_if_cancelled()
            chunk = os.pread(
                self._descriptor, self._chunk if stop is None else min(self._chunk, stop - start), start
            )
            if not chunk:
                return
            start += len(chunk)
            yield chunk

    def _count(self, chunk: bytes) -> int:
        if len(self._newline) == 1:
            return chunk.count(self._newline)
        return sum(1 for _ in _ends(chunk, self._newline))

    def _ends_a_line(self, stop: int) -> bool:
        """Returns whether ``stop`` is the beginning or follows a line ending."""
        width = len(self._newline)
        return (
            stop - self._begin < width
            or next(self._chunks(stop - width, stop), self._newline) == self._newline
        )


def _behind(chunk: bytes, newline: bytes, count: int) -> int:
    """Returns the position after the ``count``-th line ending of the chunk, or the chunk's end."""
    return 0 if count <= 0 else next(islice(_ends(chunk, newline), count - 1, None), len(chunk))


def _ends(chunk: bytes, newline: bytes) -> Iterator[int]:
    """Yields the positions after line endings. Wide encodings: bytes count only at multiples of the width."""
    width = len(newline)
    position = chunk.find(newline)
    while position >= 0:
        if position % width == 0:
            yield position + width
        position = chunk.find(newline, position + 1)
