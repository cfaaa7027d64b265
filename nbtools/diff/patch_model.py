"""Data model of patches, independent of their format."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

from nbtools.core.errors import ErrorCode, ToolFailure
from nbtools.core.message import Message, Parameter

Sign: TypeAlias = Literal[" ", "-", "+"]


@dataclass(frozen=True, slots=True)
class HunkLine:
    """A line of a hunk with its end; a line without LF is the last of its file."""

    sign: Sign
    text: str


_SIGNS: dict[str, Sign] = {" ": " ", "-": "-", "+": "+"}


def parse_hunk_line(line: str) -> HunkLine | None:
    """Parses a line of a hunk, given without its LF; None for a line without a sign."""
    sign = _SIGNS.get(line[:1])
    return None if sign is None else HunkLine(sign, f"{line[1:]}\n")


@dataclass(frozen=True, slots=True)
class Hunk:
    """A hunk: context lines, removed lines and added lines.

    ``name`` is used in messages.  ``line`` is the first old line, 1-based (without old lines: the line before
    the hunk); None if the patch does not say.  ``headers`` are lines above the hunk, outermost first, that
    narrow its position.  ``at_end``: it ends the file.
    """

    name: str
    lines: tuple[HunkLine, ...]
    line: int | None = None
    headers: tuple[str, ...] = ()
    at_end: bool = False

    def old(self) -> tuple[str, ...]:
        return tuple(line.text for line in self.lines if line.sign != "+")

    def new(self) -> tuple[str, ...]:
        return tuple(line.text for line in self.lines if line.sign != "-")

    def added(self) -> str:
        return "".join(line.text for line in self.lines if line.sign == "+")

    @property
    def ends_new_file(self) -> bool:
        """Whether the file has no newline at its end after the change."""
        new = self.new()
        return bool(new) and not new[-1].endswith("\n")


@dataclass(frozen=True, slots=True)
class Replacement:
    """``new`` for ``old``, which must occur ``count`` times; None: all occurrences, at least one."""

    old: str
    new: str
    count: int | None = 1


@dataclass(frozen=True, slots=True)
class Block:
    """A search/replace block.  It has several ``replacements`` if its texts contain the dividing line."""

    name: str
    replacements: tuple[Replacement, ...]

    def added(self) -> str:
        """The new text, in the interpretation where it is longest."""
        return self.replacements[-1].new


@dataclass(frozen=True, slots=True)
class Create:
    path: str
    content: str


@dataclass(frozen=True, slots=True)
class Delete:
    """Deletes a file.  ``content`` is the expected content; None: the patch does not say."""

    path: str
    content: str | None = None


@dataclass(frozen=True, slots=True)
class Update:
    """Changes a file and, with ``to``, its name."""

    path: str
    parts: tuple[Hunk, ...] | tuple[Block, ...]
    to: str | None = None


FilePatch: TypeAlias = Create | Delete | Update


@dataclass(frozen=True, slots=True)
class Patch:
    """A parsed patch.  ``notes`` has a sentence for each part that is not applied."""

    files: tuple[FilePatch, ...]
    notes: tuple[str, ...] = ()


def patch_error(line: int, what: str) -> ToolFailure:
    """Returns the failure for a patch that is invalid at ``line``, 1-based."""
    message = Message.of(Parameter("patch"), f", line {line}: ", what, " Nothing was changed.")
    return ToolFailure(ErrorCode.INVALID_TOOL_PARAMS, message)


def quote_line(line: str) -> str:
    text = line.rstrip("\r\n")
    return repr(text if len(text) <= _LONGEST else f"{text[:_LONGEST]}…")


_LONGEST = 100
