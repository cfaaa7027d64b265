"""A range of a file's lines, cut to the limits of one call."""

from __future__ import annotations

from dataclasses import dataclass
from math import inf

from nbtools.core.message import (
    Advice,
    Message,
    SameCall,
    counted,
    in_brackets,
    joined,
)
from nbtools.core.result import FileText
from nbtools.diff.text_lines import displayable, split_lines


@dataclass(frozen=True, slots=True)
class LinesRead:
    """Lines ``start`` to ``end`` (1-based, inclusive) of ``total``;
    ``shortened`` of them were too long and were cut.
    """

    path: str
    start: int
    end: int
    total: int
    shortened: int = 0

    @property
    def whole(self) -> bool:
        return self.start == 1 and self.end == self.total


@dataclass(frozen=True, slots=True)
class Window:
    """A range of lines: ``text`` is the displayable text with LF line endings,
    ``read`` says which lines it has.
    """

    text: str
    read: LinesRead

    @property
    def notice(self) -> str:
        """A note on what is missing from the text and how to read it; empty if nothing is missing."""
        read = self.read
        parts: list[str] = [self._empty] if self._empty else []
        if not read.whole:
            further = (
                [Advice("; continue ", SameCall({"start": read.end + 1}))] if read.end < read.total else []
            )
            parts.append(Message.of(f"lines {read.start}–{read.end} of {read.total}", *further))
        if self._shortened:
            parts.append(self._shortened)
        return joined("; ", parts)

    @property
    def _empty(self) -> str:
        return "" if self.read.total else "the file is empty"

    @property
    def _shortened(self) -> str:
        count = self.read.shortened
        return f"{counted(count, 'long line is', 'long lines are')} cut" if count else ""

    @property
    def summary(self) -> str:
        read = self.read
        if read.whole and read.total:
            return counted(read.total, "line")
        return f"lines {read.start}–{read.end} of {read.total}" if read.total else "empty"

    def text_with_notes(self, *notes: str) -> str:
        """Returns the text, followed by the notice and ``notes`` in brackets."""
        more = joined("; ", filter(None, (self.notice, *notes)))
        gap = "" if not self.text or self.text.endswith("\n") else "\n"
        return joined("", (self.text, gap, in_brackets(more)) if more else (self.text,))

    def display(self, *notes: str) -> FileText:
        lines = tuple(self.text.removesuffix("\n").split("\n")) if self.text else ()
        more = "; ".join(part for part in (self._empty, self._shortened, *notes) if part)
        return FileText(self.read.path, self.read.start, lines, self.read.total, more)


@dataclass(frozen=True, slots=True)
class TooLong:
    """The data of a refusal: the requested lines have ``bytes`` bytes in UTF-8,
    which exceed the limit of ``tokens`` tokens.
    """

    bytes: int
    tokens: int


BYTES_PER_TOKEN = 4
"""The estimate by which limits in tokens are applied: bytes of UTF-8 per token.
Models count differently, usually within a third.
"""


def cut_window(
    path: str, text: str, start: int, total: int, *, width: int, most: float, most_bytes: float = inf
) -> Window:
    """Returns the first lines of ``text``, which begins with line ``start``:
    as many as fit in both limits, at least one.

    ``most`` counts characters, ``most_bytes`` bytes in UTF-8.  Each line is cut to ``width`` characters.
    """
    selected: list[str] = []
    shortened = size = byte_count = 0
    for line in split_lines(text):
        too_long = len(line) > width < len(line.rstrip("\r\n"))
        cut = _shortened(line, width) if too_long else line
        size += len(cut)
        byte_count += 0 if most_bytes == inf else size_in_bytes(cut)
        if selected and (size > most or byte_count > most_bytes):
            break
        selected.append(cut)
        shortened += too_long
    display_text = displayable("".join(selected).replace("\r\n", "\n"))
    return Window(display_text, LinesRead(path, start, start + len(selected) - 1, total, shortened))


def size_in_bytes(text: str) -> int:
    return len(text) if text.isascii() else len(text.encode(errors="replace"))


def _shortened(line: str, width: int) -> str:
    """Returns the beginning of ``line`` and a note on the number of omitted characters."""
    body = line.rstrip("\r\n")
    return f"{body[:width]}… [{len(body) - width:,} more characters]{line[len(body) :]}"
