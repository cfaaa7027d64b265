"""Parses Codex's patch format: ``*** Begin Patch``, sections that add, delete and update files,
``*** End Patch``.

Codex itself overwrites files on Add and Move, takes the first place that fits, and keeps earlier files
changed when a later one fails. Patches are not applied like that here.

Blanks before a marker are ignored outside hunks;
inside a hunk such a line is context, so that texts about patches can be patched.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from posixpath import join, normpath

from nbtools.diff.patch_model import (
    Create,
    Delete,
    FilePatch,
    Hunk,
    HunkLine,
    Patch,
    Update,
    parse_hunk_line,
    patch_error,
    quote_line,
)
from nbtools.diff.text_lines import with_lf

BEGIN = re.compile(r"\s*\*\*\* Begin Patch\s*")
_END = re.compile(r"\s*\*\*\* End Patch\s*")
_SECTION = re.compile(r"\s*\*\*\* (Add|Delete|Update) File:\s*(.*?)\s*")
_MOVE = re.compile(r"\*\*\* Move to:\s*(.*?)\s*")
_END_OF_FILE = re.compile(r"\*\*\* End of File\s*")
_HEADER = re.compile(r"@@(?: (.*))?")


def read_codex_patch(patch: str) -> Patch:
    """Parses a patch.  Raises ``ToolFailure`` (``invalid_tool_params``) that names the invalid line."""
    lines = with_lf(patch).split("\n")
    begin = next(k for k, line in enumerate(lines) if BEGIN.fullmatch(line))
    end = _end(lines, begin)
    if end is None:
        raise patch_error(begin + 1, "the patch is not finished: its line *** End Patch is missing.")
    for k in range(begin + 1, len(lines)):
        if _is_bare(lines[k]) and BEGIN.fullmatch(lines[k]):
            raise patch_error(k + 1, "a second *** Begin Patch line. Put all files into one patch.")
    starts = list(_starts(lines, begin + 1, end))
    _require_blank(lines, begin + 1, starts[0] if starts else end)
    if not starts:
        missing = "the patch has no *** Add File:, *** Delete File: or *** Update File: line."
        raise patch_error(begin + 1, missing)
    return Patch(tuple(_section(lines, start, stop) for start, stop in pairwise([*starts, end])))


def is_codex_patch(text: str) -> bool:
    """Whether the text has the first line of a patch in this format."""
    return any(BEGIN.fullmatch(line) for line in with_lf(text).split("\n"))


def patch_in_folder(patch: str, folder: str) -> str:
    """Returns the patch with its relative paths put into ``folder``."""
    return patch if normpath(folder) == "." else with_paths(patch, lambda path: join(folder, path))


def with_paths(patch: str, convert: Callable[[str], str]) -> str:
    """Returns the patch with every path converted.  A text that is not a whole patch is returned as it is."""
    lines = with_lf(patch).split("\n")
    begin = next((k for k, line in enumerate(lines) if BEGIN.fullmatch(line)), None)
    end = None if begin is None else _end(lines, begin)
    if begin is None or end is None:
        return patch
    for start in _starts(lines, begin + 1, end):
        moved = _MOVE.fullmatch(lines[start + 1])
        for k in (start, start + 1) if moved else (start,):
            marker, _, path = lines[k].partition(": ")
            lines[k] = f"{marker}: {convert(path.strip())}"
    return "\n".join(lines)


def lines_after_patch(lines: Sequence[str]) -> range:
    """Returns the indexes of the lines after a complete patch."""
    begin = next(k for k, line in enumerate(lines) if BEGIN.fullmatch(line))
    return range((_end(lines, begin) or begin) + 1, len(lines))


def _end(lines: Sequence[str], begin: int) -> int | None:
    ends = [k for k in range(begin, len(lines)) if _END.fullmatch(lines[k])]
    return next((k for k in ends if _is_bare(lines[k])), ends[-1] if ends else None)


def _starts(lines: Sequence[str], first: int, end: int) -> Iterator[int]:
    """Yields the indexes of the lines where sections begin."""
    in_hunk = updates = False
    for k in range(first, end):
        match = _SECTION.fullmatch(lines[k])
        if match and (_is_bare(lines[k]) or not in_hunk):
            in_hunk, updates = False, match[1] == "Update"
            yield k
        elif updates and lines[k].strip():
            in_hunk = True


def _is_bare(line: str) -> bool:
    """Whether a marker is at the beginning of its line, where no line of a hunk can have one."""
    return line.startswith("*")


def _section(lines: Sequence[str], start: int, stop: int) -> FilePatch:
    match = _SECTION.fullmatch(lines[start])
    kind, path = match.groups() if match else ("", "")
    if not path:
        raise patch_error(start + 1, f"{quote_line(lines[start])} names no file.")
    if kind == "Add":
        return Create(path, _added(lines, start + 1, stop))
    if kind == "Delete":
        _require_blank(lines, start + 1, stop)
        return Delete(path)
    move = _MOVE.fullmatch(lines[start + 1]) if start + 1 < stop else None
    hunks = _hunks(lines, start + 1 + (move is not None), stop)
    if not hunks and move is None:
        raise patch_error(start + 1, f"the section of {path} changes nothing: it has no lines with - or +.")
    return Update(path, hunks, move[1] if move else None)


def _added(lines: Sequence[str], start: int, stop: int) -> str:
    while stop > start and not lines[stop - 1].strip():
        stop -= 1
    for k in range(start, stop):
        if not lines[k].startswith("+"):
            raise patch_error(k + 1, f"{quote_line(lines[k])} in a new file does not begin with +.")
    return "".join(f"{line[1:]}\n" for line in lines[start:stop])


@dataclass(slots=True)
class _HunkBuilder:
    """A hunk while it is parsed; ``first`` is the index of its line in the patch."""

    first: int
    headers: list[str] = field(default_factory=list)
    lines: list[HunkLine] = field(default_factory=list)
    blanks: int = 0
    at_end: bool = False

    def append(self, line: HunkLine) -> None:
        self.lines += [HunkLine(" ", "\n")] * self.blanks
        self.blanks = 0
        self.lines.append(line)

    def append_blank(self, line: str) -> None:
        """Adds a line of blanks. Without any, it may only separate."""
        if line:
            self.append(HunkLine(" ", f"{line[1:]}\n"))
        elif self.lines:
            self.blanks += 1


def _hunks(lines: Sequence[str], start: int, stop: int) -> tuple[Hunk, ...]:
    """Parses hunks.  Blank lines without a sign are context, except at the end of a hunk,
    where they only separate.

    A hunk of context alone says that the next one comes after it; at least one hunk must change something.
    """
    builders: list[_HunkBuilder] = []
    current = _HunkBuilder(start)
    for k in range(start, stop):
        line = lines[k]
        header = _HEADER.fullmatch(line.rstrip())
        if _END_OF_FILE.fullmatch(line):
            current.at_end = True
        elif header:
            if current.lines or current.at_end:
                builders.append(current)
                current = _HunkBuilder(k)
            current.headers += [header[1].strip()] if header[1] and header[1].strip() else []
        elif current.at_end and line.strip():
            raise patch_error(k + 1, f"{quote_line(line)} comes after *** End of File. Begin a hunk with @@.")
        elif not line.strip(" "):
            current.append_blank(line)
        elif (hunk_line := parse_hunk_line(line)) is not None:
            current.append(hunk_line)
        else:
            why = "does not begin with a blank, - or +, and is not an @@ line."
            raise patch_error(k + 1, f"{quote_line(line)} {why}")
    if current.lines or current.headers:
        builders.append(current)
    if builders and all(line.sign == " " for hunk in builders for line in hunk.lines):
        hunks = "its hunk changes" if len(builders) == 1 else "its hunks change"
        raise patch_error(builders[0].first + 1, f"{hunks} nothing: no line begins with - or +.")
    return tuple(_finished(hunk, number) for number, hunk in enumerate(builders, 1))


def _finished(hunk: _HunkBuilder, number: int) -> Hunk:
    if not hunk.lines:
        raise patch_error(hunk.first + 1, f"hunk {number} has no lines.")
    return Hunk(f"hunk {number}", tuple(hunk.lines), headers=tuple(hunk.headers), at_end=hunk.at_end)


def _require_blank(lines: Sequence[str], start: int, stop: int) -> None:
    for k in range(start, stop):
        if lines[k].strip():
            sections = "Sections begin with *** Add, Delete or Update File: name."
            raise patch_error(k + 1, f"{quote_line(lines[k])} belongs to no section. {sections}")
