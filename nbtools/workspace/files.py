"""Reading files: whole up to a limit, any size by lines; never a device, a socket or a pipe."""

from __future__ import annotations

import io
import os
import stat
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

from nbtools.core.errors import ErrorCode, ToolFailure, from_os_error
from nbtools.workspace.text import Encoding, content_type, decode

MOST_WHOLE = 20_000_000
"""Bytes of a file that is read whole."""
_CHUNK = 1 << 20
_HEAD = 1 << 16
"""Enough to tell what a file holds; a multiple of every character's width."""
_SPECIAL = {
    stat.S_IFIFO: "a named pipe",
    stat.S_IFSOCK: "a socket",
    stat.S_IFCHR: "a device",
    stat.S_IFBLK: "a device",
}


@dataclass(frozen=True, slots=True)
class Excerpt:
    """The bytes of some lines of a file, and how many lines it has in all."""

    data: bytes
    encoding: Encoding
    total: int


def check_regular(info: os.stat_result, subject: str) -> None:
    """Raises ``ToolFailure`` for all that is no ordinary file."""
    if stat.S_ISDIR(info.st_mode):
        raise ToolFailure(ErrorCode.TARGET_IS_DIRECTORY, f"{subject} is a folder, not a file. Use ls to see what is in it.")
    if not stat.S_ISREG(info.st_mode):
        what = _SPECIAL.get(stat.S_IFMT(info.st_mode), "no ordinary file")
        raise ToolFailure(ErrorCode.READ_CONTENT_FAILURE, f"{subject} is {what}, not a file; only ordinary files are read and written.")


def read_bytes(path: Path, subject: str, limit: int = MOST_WHOLE, advice: str = "Read a range of its lines (start, end).") -> bytes:
    """All of a file; ``path`` comes from ``Workspace.resolve``, ``subject`` names it in messages, ``advice`` ends the one about its size.

    Raises ``ToolFailure``: ``file_not_found``, ``file_too_large`` past ``limit`` bytes, ``target_is_directory``, ``permission_denied``.
    """
    with _open(path, subject) as file:
        size = os.fstat(file.fileno()).st_size
        data = file.read(size + 1) if size <= limit else b""
        # It grows just now, or knows no size, as the files in /proc.
        while size < len(data) <= limit and (more := file.read(_CHUNK)):
            data += more
    if size > limit or len(data) > limit:
        raise ToolFailure(
            ErrorCode.FILE_TOO_LARGE,
            f"{subject} has {max(size, len(data)):,} bytes; at most {limit:,} are taken whole. {advice}",
        )
    return data


def read_if_there(path: Path, subject: str, limit: int = MOST_WHOLE, advice: str = "") -> bytes | None:
    """As ``read_bytes``, with None for a file that does not exist."""
    try:
        return read_bytes(path, subject, limit, advice)
    except ToolFailure as failure:
        if failure.code is ErrorCode.FILE_NOT_FOUND:
            return None
        raise


def size_of(path: Path, subject: str) -> int:
    """The bytes of an ordinary file.  Raises ``ToolFailure``."""
    try:
        info = path.stat(follow_symlinks=False)
    except OSError as error:
        raise from_os_error(error, subject) from None
    check_regular(info, subject)
    return info.st_size


def read_lines(path: Path, subject: str, start: int, end: int, limit: int = MOST_WHOLE, chunk_size: int = _CHUNK) -> Excerpt:
    """Lines ``start`` to ``end`` (1-based, inclusive) of a file of any size, in memory for those lines alone.

    ``chunk_size``, a multiple of 4, is how many bytes are looked at at once.

    Raises ``ToolFailure`` as ``read_bytes`` does; ``file_too_large`` when the lines themselves are.
    """
    with _open(path, subject) as file:
        head = file.read(_HEAD)
        seen = decode(head)
        if seen is None:
            raise not_text(subject, head, os.fstat(file.fileno()).st_size)
        file.seek(len(seen.encoding.bom))
        wanted = _Wanted(start, end, "\n".encode(seen.encoding.codec))
        for chunk in iter(lambda: file.read(chunk_size), b""):
            if wanted.take(chunk) > limit:
                raise ToolFailure(
                    ErrorCode.FILE_TOO_LARGE, f"{subject}: lines {start} to {end} have more than {limit:,} bytes. Ask for fewer."
                )
    return Excerpt(b"".join(wanted.pieces), seen.encoding, wanted.lines)


def not_text(subject: str, data: bytes, size: int) -> ToolFailure:
    """What to say of a file that holds no text; ``data`` is its beginning."""
    return ToolFailure(
        ErrorCode.READ_CONTENT_FAILURE,
        f"{subject} is {content_type(data, subject)}, {size:,} bytes; it cannot be shown or edited as text. Use a program for this type.",
    )


def _open(path: Path, subject: str) -> io.BufferedReader:
    """Opens without following a link that took the file's place meanwhile, and without waiting for a pipe's other end."""
    try:
        check_regular(path.stat(follow_symlinks=False), subject)
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError as error:
        raise from_os_error(error, subject) from None
    with ExitStack() as unless_fine:
        file: io.BufferedReader = unless_fine.enter_context(io.BufferedReader(io.FileIO(descriptor)))
        check_regular(os.fstat(descriptor), subject)
        unless_fine.pop_all()
    return file


class _Wanted:
    """The bytes of some lines, picked from a file that goes by chunk by chunk."""

    def __init__(self, start: int, end: int, newline: bytes) -> None:
        self.start, self.end, self.newline = start, end, newline
        self.pieces: list[bytes] = []
        self._taken = self._ends = 0
        self._last = newline

    @property
    def lines(self) -> int:
        """Lines gone by; the last one counts without an end too."""
        return self._ends + (self._last != self.newline)

    def take(self, chunk: bytes) -> int:
        """The number of wanted bytes so far."""
        newline, line = self.newline, self._ends + 1
        ends = chunk.count(newline) if len(newline) == 1 else sum(1 for _ in _ends(chunk, newline))
        if line <= self.end and line + ends >= self.start:
            self.pieces.append(chunk[_after(chunk, newline, self.start - line) : _after(chunk, newline, self.end - line + 1)])
            self._taken += len(self.pieces[-1])
        self._ends += ends
        self._last = chunk[-len(newline) :]
        return self._taken


def _after(chunk: bytes, newline: bytes, count: int) -> int:
    """Where the text behind the ``count``-th end of line begins; the chunk's end when it has fewer."""
    return 0 if count <= 0 else next(islice(_ends(chunk, newline), count - 1, None), len(chunk))


def _ends(chunk: bytes, newline: bytes) -> Iterator[int]:
    """Where each line ends.  A wide character's bytes count only in step with the others."""
    width = len(newline)
    place = chunk.find(newline)
    while place >= 0:
        if place % width == 0:
            yield place + width
        place = chunk.find(newline, place + 1)
