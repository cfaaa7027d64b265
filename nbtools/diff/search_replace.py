"""Parses search/replace blocks.

::

    src/a.py                    (optional: the file, on the line before or before a code fence)
    <<<<<<< SEARCH              or ORIGINAL
    the current lines
    =======
    the new lines
    >>>>>>> REPLACE             or UPDATED

Markers are whole lines; blanks and a CR may follow them.  One line may end a block and begin the next
(``>>>>>>> REPLACE<<<<<<< SEARCH``).  Every other line of a block that contains a marker is rejected, as a
newline is probably missing.  Text around blocks is ignored.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from nbtools.core.errors import ErrorCode, ToolFailure
from nbtools.core.message import Advice, Message, Parameter, ToolName
from nbtools.diff.patch_model import Block, Patch, Replacement, Update, patch_error, quote_line
from nbtools.diff.text_lines import with_lf

_MARKER_WORDS = (("<", "ORIGINAL"), ("<", "SEARCH"), (">", "UPDATED"), (">", "REPLACE"))
START = re.compile(r"<{7} (?:ORIGINAL|SEARCH)\s*")
_DIVIDER = re.compile(r"={7}\s*")
_END = re.compile(r">{7} (?:UPDATED|REPLACE)\s*")
_END_AND_START = re.compile(_END.pattern + START.pattern)
_MARKER = re.compile(r"<{7} (?:ORIGINAL|SEARCH)|>{7} (?:UPDATED|REPLACE)")
# A marker into which a character or a line break was inserted: no part of one is ever written into a file.
_DAMAGED = re.compile(
    "|".join(f"{'.?'.join(f'{sign} {word}')}|{sign}{{7}}\\s*(?:$|{word[0]})" for sign, word in _MARKER_WORDS)
)
_FENCE = re.compile(r"\s*(?:`{3,}|~{3,})")
_NAME = re.compile(r"[^\s`*#:]\S*(?: \S+)*")
_MOST_READINGS = 50


@dataclass(frozen=True, slots=True)
class _Markers:
    """The line indexes of a block's markers."""

    start: int
    dividers: tuple[int, ...]
    end: int


def read_blocks(patch: str, path: str | None) -> Patch:
    """Parses blocks.  Raises ``ToolFailure`` (``invalid_tool_params``) for an incomplete block,
    and for one without a file.
    """
    lines = patch.split("\n")
    if lines[next(k for k, line in enumerate(lines) if START.fullmatch(line))].endswith("\r"):
        lines = with_lf(patch).split("\n")
    files: dict[str, list[Block]] = {}
    name, previous_end = path, 0
    for number, found in enumerate(_find_blocks(lines), 1):
        name = _name_above(lines, previous_end, found.start) or name
        if name is None:
            give = Message.of(" Give ", Advice(Parameter("path"), ", or "), "the name before the block.")
            unnamed = Message.of(f"block {number} does not say which file it is for.", give)
            raise patch_error(found.start + 1, unnamed)
        files.setdefault(name, []).append(Block(f"block {number}", _readings(lines, found)))
        previous_end = found.end + 1
    return Patch(tuple(Update(file, tuple(blocks)) for file, blocks in files.items()))


def lines_outside_blocks(lines: Sequence[str]) -> Iterator[int]:
    """Yields the indexes of the lines outside blocks; all blocks must be complete."""
    previous_end = 0
    for found in _find_blocks([line.rstrip("\r") for line in lines]):
        yield from range(previous_end, found.start)
        previous_end = found.end + 1
    yield from range(previous_end, len(lines))


def _find_blocks(lines: Sequence[str]) -> Iterator[_Markers]:
    start: int | None = None
    for k, line in enumerate(lines):
        joined = _END_AND_START.fullmatch(line) is not None
        if START.fullmatch(line):
            if start is not None:
                unfinished = f"a block begins before the one of line {start + 1} has its >>>>>>> line."
                raise patch_error(k + 1, unfinished)
            start = k
        elif joined or _END.fullmatch(line):
            if start is None:
                raise patch_error(k + 1, Message.of(f"{quote_line(line)} ends no block.", _OTHER_TOOL))
            dividers = tuple(i for i in range(start + 1, k) if _DIVIDER.fullmatch(lines[i]))
            if not dividers:
                raise patch_error(start + 1, "the block has no ======= line between its two texts.")
            yield _Markers(start, dividers[:_MOST_READINGS], k)
            start = k if joined else None
        elif _DAMAGED.search(line) if start is not None else _MARKER.fullmatch(line.strip()):
            why = f"{quote_line(line)} contains a marker, which must be a whole line."
            raise patch_error(k + 1, Message.of(why, _OTHER_TOOL))
    if start is not None:
        raise patch_error(start + 1, "the block is not finished: its >>>>>>> line is missing.")


def _readings(lines: Sequence[str], found: _Markers) -> tuple[Replacement, ...]:
    """Returns every way to divide the block, the longest old text first."""
    sides = (
        (lines[found.start + 1 : divider], lines[divider + 1 : found.end])
        for divider in reversed(found.dividers)
    )
    return tuple(Replacement(_text(old), _text(new)) for old, new in sides)


def _text(lines: Sequence[str]) -> str:
    return "".join(f"{line}\n" for line in lines)


def _name_above(lines: Sequence[str], previous_end: int, start: int) -> str | None:
    """Returns the file name before a block: on the line above it, or above a code fence."""
    above = [line for line in lines[previous_end:start] if line.strip()]
    if above and _FENCE.match(above[-1]):
        above.pop()
    return _name_in(above[-1]) if above else None


def _name_in(line: str) -> str | None:
    """Returns the file name that the line is, without the markup that models put around it, or None."""
    name = line.strip().strip("`*").removeprefix("# ").rstrip(":").strip("`*").strip()
    if not _NAME.fullmatch(name) or name.endswith((".", "!", "?", ",")) or _FENCE.match(name):
        return None
    is_path = "/" in name and "." in name.rpartition("/")[2]
    return name if " " not in name or is_path else None


_OTHER_TOOL = Advice(" Use ", ToolName("edit", "write"), " for a text that contains such a line.")


def no_patch_error() -> ToolFailure:
    """Returns the failure for a text that contains no patch."""
    return ToolFailure(
        ErrorCode.INVALID_TOOL_PARAMS,
        Message.of(
            Parameter("patch"),
            ": the text contains no patch. Use search/replace blocks (<<<<<<< SEARCH, =======, >>>>>>>"
            " REPLACE, each a whole line), a unified diff (---, +++, @@), or *** Begin Patch … *** End"
            " Patch.",
        ),
    )
