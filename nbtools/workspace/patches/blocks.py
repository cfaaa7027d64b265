"""Search/replace blocks.

::

    src/a.py                    (optional: the file, on the line before or before a code fence)
    <<<<<<< SEARCH              or ORIGINAL
    lines as they are
    =======
    lines as they shall be
    >>>>>>> REPLACE             or UPDATED

Markers are whole lines; blanks and a CR may follow them.  One line may end a block and begin the next (``>>>>>>> REPLACE<<<<<<< SEARCH``).
Every other line of a block that contains a marker is refused: a newline is likely to be missing.  What stands around blocks is prose.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from nbtools.core.errors import ErrorCode, ToolFailure
from nbtools.workspace.endings import with_lf
from nbtools.workspace.patches.model import Block, Patch, Reading, Update, quoted, unreadable

START = re.compile(r"<{7} (?:ORIGINAL|SEARCH)\s*")
_DIVIDER = re.compile(r"={7}\s*")
_END = re.compile(r">{7} (?:UPDATED|REPLACE)\s*")
_END_AND_START = re.compile(_END.pattern + START.pattern)
_MARKER = re.compile(r"<{7} (?:ORIGINAL|SEARCH)|>{7} (?:UPDATED|REPLACE)")
_FENCE = re.compile(r"\s*(?:`{3,}|~{3,})")
_NAME = re.compile(r"[^\s`*#:]\S*(?: \S+)*")
_MOST_READINGS = 50


@dataclass(frozen=True, slots=True)
class _Found:
    """The places of a block's markers, 0-based."""

    start: int
    dividers: tuple[int, ...]
    end: int


def read_blocks(patch: str, path: str | None) -> Patch:
    """Raises ``ToolFailure`` (``invalid_tool_params``) for a block that is not whole, or has no file."""
    lines = patch.split("\n")
    if lines[next(k for k, line in enumerate(lines) if START.fullmatch(line))].endswith("\r"):
        lines = with_lf(patch).split("\n")
    files: dict[str, list[Block]] = {}
    name, behind = path, 0
    for number, found in enumerate(_found(lines), 1):
        name = _named(lines, behind, found.start) or name
        if name is None:
            raise unreadable(found.start + 1, f"block {number} does not say which file it is for. Give path, or the name before the block.")
        files.setdefault(name, []).append(Block(f"block {number}", _readings(lines, found)))
        behind = found.end + 1
    return Patch(tuple(Update(file, tuple(blocks)) for file, blocks in files.items()))


def outside(lines: Sequence[str]) -> Iterator[int]:
    """The places of the lines that are in no block, of blocks that are whole."""
    done = 0
    for found in _found([line.rstrip("\r") for line in lines]):
        yield from range(done, found.start)
        done = found.end + 1
    yield from range(done, len(lines))


def _found(lines: Sequence[str]) -> Iterator[_Found]:
    start: int | None = None
    for k, line in enumerate(lines):
        joined = _END_AND_START.fullmatch(line) is not None
        if START.fullmatch(line):
            if start is not None:
                raise unreadable(k + 1, f"a block begins before the one of line {start + 1} has its >>>>>>> line.")
            start = k
        elif joined or _END.fullmatch(line):
            if start is None:
                raise unreadable(k + 1, f"{quoted(line)} ends no block. Where a text holds such a line, use edit for it.")
            dividers = tuple(i for i in range(start + 1, k) if _DIVIDER.fullmatch(lines[i]))
            if not dividers:
                raise unreadable(start + 1, "the block has no ======= line between its two texts.")
            yield _Found(start, dividers[:_MOST_READINGS], k)
            start = k if joined else None
        elif _MARKER.search(line) if start is not None else _MARKER.fullmatch(line.strip()):
            why = "contains a marker, which must be a whole line. Where a text holds such a line, use edit for it."
            raise unreadable(k + 1, f"{quoted(line)} {why}")
    if start is not None:
        raise unreadable(start + 1, "the block is not finished: its >>>>>>> line is missing.")


def _readings(lines: Sequence[str], found: _Found) -> tuple[Reading, ...]:
    """Every way to divide it, that with the longest old text first."""
    return tuple(
        Reading(_text(lines[found.start + 1 : divider]), _text(lines[divider + 1 : found.end])) for divider in reversed(found.dividers)
    )


def _text(lines: Sequence[str]) -> str:
    return "".join(f"{line}\n" for line in lines)


def _named(lines: Sequence[str], behind: int, start: int) -> str | None:
    """The file name before a block: on the line above it, where a code fence may come between."""
    above = [line for line in lines[behind:start] if line.strip()]
    if above and _FENCE.match(above[-1]):
        above.pop()
    return _name_in(above[-1]) if above else None


def _name_in(line: str) -> str | None:
    """A line that is a file name and nothing else, with the marks that models put around one; prose is none."""
    name = line.strip().strip("`*").removeprefix("# ").rstrip(":").strip("`*").strip()
    plausible = _NAME.fullmatch(name) and not name.endswith((".", "!", "?", ",")) and not _FENCE.match(name)
    return name if plausible and (" " not in name or ("/" in name and "." in name.rpartition("/")[2])) else None


def no_blocks() -> ToolFailure:
    return ToolFailure(
        ErrorCode.INVALID_TOOL_PARAMS,
        "patch: no patch is in it. Give search/replace blocks (<<<<<<< SEARCH, =======, >>>>>>> REPLACE, each a whole line), "
        "a unified diff (---, +++, @@), or *** Begin Patch … *** End Patch.",
    )
