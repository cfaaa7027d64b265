"""Collects program output in bounded memory and shortens long results for models.

The beginning and the end stay in memory; longer output is written to a private file as well.
"""

from __future__ import annotations

import contextlib
import os
import stat
import tempfile
import time
from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import BinaryIO

from nbtools.core import terminal_text
from nbtools.core.result import Part, ToolResult

_WHOLE = 160_000
"""Bytes kept in memory at either end: 40,000 characters of four bytes."""
_HEAD_SHARE = 0.2
_DISPLAY_LINES = 200
_DISPLAY_BYTES = 32 * 1024
_LONGEST_FILE = 1 << 30
_RETENTION_DAYS = 7


@dataclass(frozen=True, slots=True)
class ShortenedOutput:
    """Output without colours, cut in the middle; ``full_output`` is the file with all of it, if cut."""

    text: str
    full_output: str


class OutputCollector:
    """Collects output.  ``bytes`` and ``lines`` count all of it, including an unfinished last line.

    ``whole``: bytes kept in memory at either end,
    at least four for each character that ``shortened`` returns.
    """

    def __init__(self, folder: Path | None = None, *, whole: int = _WHOLE) -> None:
        self.bytes = 0
        self._whole = whole
        self.problem = ""
        self._folder = folder
        self._newlines = 0
        self._ends_line = True
        self._head = bytearray()
        self._tail: deque[bytes] = deque()
        self._tail_bytes = 0
        self._file: BinaryIO | None = None
        self._path = ""

    @property
    def lines(self) -> int:
        return self._newlines + (not self._ends_line)

    def receive(self, chunk: bytes) -> None:
        if not chunk:
            return
        before, self.bytes = self.bytes, self.bytes + len(chunk)
        self._newlines += chunk.count(b"\n")
        self._ends_line = chunk.endswith(b"\n")
        if self.bytes <= self._whole:
            self._head += chunk
            if self._path:
                self._spill(chunk)
            return
        if before <= self._whole:
            self._follow(bytes(self._head))
            self.write_to_file()
            self._head += chunk[: self._whole - before]
        self._spill(chunk)
        self._follow(chunk)

    def display(self) -> tuple[str, bool]:
        """Returns the last lines with colours, at most 200 and 32 KB, and whether that is all."""
        end = self._last(_DISPLAY_BYTES)
        if len(end) < self.bytes:
            end = _from_line_start(end)
        lines = end.split(b"\n")
        cut = lines[-_DISPLAY_LINES - 1 :] if end.endswith(b"\n") else lines[-_DISPLAY_LINES:]
        text = b"\n".join(cut)
        return text.decode("utf-8", "replace"), len(text) == self.bytes

    def shortened(self, limit: int, head_share: float = _HEAD_SHARE) -> ShortenedOutput:
        """Returns the text for a model: all up to ``limit`` characters, else its beginning and end.

        ``head_share``: the share of the beginning.
        """
        if self.bytes <= self._whole:
            text = terminal_text.plain_text(self._head.decode("utf-8", "replace"))
            if len(text) <= limit:
                return ShortenedOutput(text, "")
            self.write_to_file()
            first = last = text
        else:
            first = terminal_text.plain_text(self._head.decode("utf-8", "replace"))
            last = terminal_text.plain_text(
                _from_line_start(self._last(self._whole)).decode("utf-8", "replace")
            )
        return ShortenedOutput(self.cut(first, last, limit, self.lines, head_share), self._path)

    @property
    def newlines(self) -> int:
        return self._newlines

    @property
    def full_output(self) -> str:
        """The file with the whole output; empty if there is none."""
        return self._path

    def write_to_file(self) -> None:
        """Starts writing all output to the file, even if it fits in memory."""
        if not self._path:
            self._spill(bytes(self._head))

    def since(self, position: int, most: int) -> tuple[bytes, bytes]:
        """Returns output from ``position``: (all, b""), or (beginning, end) of ``most`` bytes or more."""
        new = self.bytes - position
        if self.bytes <= self._whole:
            return bytes(self._head[position:]), b""
        if new <= most and new <= self._tail_bytes:
            return self._last(new), b""
        return self._from_file(position, int(most * _HEAD_SHARE)), self._last(min(most, self._whole))

    def lines_from(self, position: int) -> Iterator[bytes]:
        """Yields the lines after the first ``position`` bytes, with their line endings."""
        if self.bytes <= self._whole:
            yield from bytes(self._head[position:]).splitlines(keepends=True)
        elif self._path:
            with open(self._path, "rb") as file:
                file.seek(position)
                yield from file

    def _from_file(self, position: int, count: int) -> bytes:
        if not self._path:
            return b""
        with open(self._path, "rb") as file:
            return os.pread(file.fileno(), count, position)

    def cut(self, first: str, last: str, limit: int, lines: int, head_share: float = _HEAD_SHARE) -> str:
        """Joins the start of ``first`` and the end of ``last``, ``limit`` characters, with a note between."""
        head = int(limit * head_share)
        text = first[:head]
        newline = text.rfind("\n")
        first = text[: newline + 1] if newline > len(text) // 2 else text + "\n"
        last = _after_line_end(last[-(limit - head) :])
        missing = lines - first.count("\n") - last.count("\n") - (not last.endswith("\n"))
        where = f"full output in {self._path}" if self._path else f"they are lost: {self.problem}"
        gap = f"[… {max(missing, 0):,} of {lines:,} lines omitted ({self.bytes:,} bytes in all); {where}]"
        return f"{first}{gap}\n{last}"

    def _follow(self, chunk: bytes) -> None:
        """Keeps enough whole chunks for the tail, so that nothing is copied while output streams."""
        self._tail.append(chunk)
        self._tail_bytes += len(chunk)
        while self._tail_bytes - len(self._tail[0]) >= self._whole:
            self._tail_bytes -= len(self._tail.popleft())

    def _last(self, count: int) -> bytes:
        return (b"".join(self._tail) or bytes(self._head))[-count:]

    def close(self) -> None:
        """Closes the file; more output opens it again."""
        if self._file is not None:
            self._file.close()
            self._file = None

    def _spill(self, data: bytes) -> None:
        if self.problem:
            return
        try:
            if not self._path:
                self._file, self._path = new_file(self._folder)
            if self._file is None:
                self._file = os.fdopen(os.open(self._path, os.O_WRONLY | os.O_APPEND), "ab", buffering=0)
            if self._file.tell() + len(data) > _LONGEST_FILE:
                self.problem = f"the file ends after {_LONGEST_FILE >> 20:,} MB"
            else:
                self._file.write(data)
        except OSError as error:
            self.problem = f"writing the rest to a file failed ({error.strerror})"


def _from_line_start(end: bytes) -> bytes:
    """Drops the incomplete first line; if there is only one line, the incomplete first character."""
    newline = end.find(b"\n")
    newline = end.find(b"\r") if newline < 0 else newline
    if 0 <= newline < len(end) - 1:
        return end[newline + 1 :]
    start = next((position for position, byte in enumerate(end[:4]) if byte & 0xC0 != 0x80), 0)
    return end[start:]


def _after_line_end(text: str) -> str:
    newline = text.find("\n")
    return text[newline + 1 :] if 0 <= newline < len(text) // 2 else text


def new_file(folder: Path | None) -> tuple[BinaryIO, str]:
    """Creates an empty file that only this user can read.  Returns it with its path."""
    private = folder or private_folder()
    _forget_old(private)
    descriptor, path = tempfile.mkstemp(prefix=time.strftime("%Y%m%d-%H%M%S-"), suffix=".txt", dir=private)
    return os.fdopen(descriptor, "wb", buffering=0), path


def private_folder() -> Path:
    """Returns the user's private temporary folder, mode 0700; a new one if another user occupies its path."""
    path = Path(tempfile.gettempdir()) / f"nbtools-{os.getuid()}"
    with contextlib.suppress(FileExistsError):
        path.mkdir(mode=0o700)
    return path if _is_private(path) else _another_folder()


def is_full_output(path: Path) -> bool:
    """Returns whether a file, by its real path, is in a private folder of this user."""
    folder = path.parent
    mine = folder.name.startswith(f"nbtools-{os.getuid()}") and folder.parent == Path(
        os.path.realpath(tempfile.gettempdir())
    )
    return mine and folder.is_dir() and _is_private(folder)


def _is_private(folder: Path) -> bool:
    found = folder.lstat()
    return stat.S_ISDIR(found.st_mode) and found.st_uid == os.getuid() and not found.st_mode & 0o077


@cache
def _another_folder() -> Path:
    return Path(tempfile.mkdtemp(prefix=f"nbtools-{os.getuid()}-"))


@cache
def _forget_old(folder: Path) -> None:
    """Deletes files older than a week, once in a process."""
    oldest = time.time() - _RETENTION_DAYS * 86_400
    for path in folder.glob("*.txt"):
        with contextlib.suppress(OSError):
            if path.stat().st_mtime < oldest:
                path.unlink()


_SPILL_HEAD_SHARE = 0.2


def shorten_result(result: ToolResult, limit: int) -> ToolResult:
    """Shortens a result's text to ``limit`` characters, the first fifth and the last four, at line ends.

    Between them a note names the file with the whole text.
    The texts of several parts count together; other parts are unchanged.
    """
    content = result.llm_content
    if isinstance(content, str):
        return (
            result if len(content) <= limit else replace(result, llm_content="".join(_cut([content], limit)))
        )
    texts = [_text_of(part) for part in content]
    if sum(map(len, texts)) <= limit:
        return result
    return replace(result, llm_content=_with_texts(content, _cut(texts, limit)))


def _text_of(part: Part) -> str:
    text = part.get("text", "")
    return text if isinstance(text, str) else ""


def _with_texts(parts: tuple[Part, ...], texts: list[str]) -> tuple[Part, ...]:
    pairs = zip(parts, texts, strict=True)
    return tuple(
        {**part, "text": text} if _text_of(part) else part
        for part, text in pairs
        if text or not _text_of(part)
    )


def _cut(texts: list[str], limit: int) -> list[str]:
    """Removes the middle of all texts together, and puts the note where the gap begins."""
    whole = "".join(texts)
    head = int(limit * _SPILL_HEAD_SHARE)
    newline = whole.rfind("\n", 0, head)
    first = newline + 1 if newline >= head // 2 else head
    last = _line_start_after(whole, len(whole) - (limit - head))
    lines = whole.count("\n", first, last)
    note = f"[… {last - first:,} of {len(whole):,} characters ({lines:,} lines) omitted; {_save(whole)}]"
    gap = f"{'' if whole[:first].endswith(chr(10)) else chr(10)}{note}\n"
    shortened_texts: list[str] = []
    start = 0
    for text in texts:
        end = start + len(text)
        before, after = text[: max(first - start, 0)], text[max(last - start, 0) :]
        shortened_texts.append(before + (gap if start <= first < end else "") + after)
        start = end
    return shortened_texts


def _line_start_after(text: str, position: int) -> int:
    newline = text.find("\n", position, position + (len(text) - position) // 2)
    return newline + 1 if newline >= 0 else position


def _save(whole: str) -> str:
    """Writes the text to a file.  Returns a note with its path, or with the error."""
    try:
        file, path = new_file(None)
        with file:
            file.write(whole.encode("utf-8", "surrogatepass"))
    except OSError as error:
        return f"the full text could not be saved ({error.strerror})"
    return f"full text in {path}"
