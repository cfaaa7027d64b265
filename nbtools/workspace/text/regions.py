"""Positions of replaced text before and after an edit, and diff excerpts for files that are too large to show."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import zip_longest

from nbtools.core.result import DiffStat, FileDiff
from nbtools.diff.line_diff import LineDiff, PatchHunk, diff_stat, format_unified
from nbtools.diff.text_lines import displayable

_CONTEXT = 3
_GAP = re.compile(r"^⋯ lines [\d,]+ to [\d,]+ are not shown ⋯\n", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class ExcerptLimits:
    """Limits of a diff excerpt, in bytes.

    ``widest``: the unchanged text on either side of a change, where lines are long.  From ``window`` on, neighbouring changes are no longer
    joined.  ``displayed``: both sides together.
    """

    widest: int
    window: int
    displayed: int


NO_LIMITS = ExcerptLimits(sys.maxsize, sys.maxsize, sys.maxsize)
EXCERPT_LIMITS = ExcerptLimits(2_000, 200_000, 1_000_000)


@dataclass(frozen=True, slots=True)
class Region:
    """Bytes ``start:end`` of the data before have become ``new_start:new_end`` of the data after."""

    start: int
    end: int
    new_start: int
    new_end: int


@dataclass(frozen=True, slots=True)
class DiffExcerpt:
    """A diff computed from the replaced regions alone.

    ``diff`` holds the parts that change; a line stands for each gap between them.  Its line numbers are those of the whole file.
    """

    diff: FileDiff
    hunks: tuple[PatchHunk, ...]

    @property
    def first_line(self) -> int:
        """The number, from 1, of the first line that changes."""
        hunk = self.hunks[0]
        return hunk.old_start + next(k for k, line in enumerate(hunk.lines) if not line.startswith(" "))

    def compared(self, proposal: str | None) -> tuple[FileDiff, tuple[PatchHunk, ...]]:
        """Returns diff and hunks; ``proposal``: the excerpt that the model had proposed before a person edited it."""
        if proposal is None:
            return self.diff, self.hunks
        stat = diff_stat(self.diff.original_content or "", self.diff.new_content, proposal)
        return replace(self.diff, diff_stat=stat), self.hunks


def compose_regions(first: Sequence[Region], then: Sequence[Region]) -> tuple[Region, ...]:
    """Returns the regions that two edits replaced together; the second was made in the result of the first."""
    groups: list[tuple[int, int]] = []
    for low, high in sorted([(one.new_start, one.new_end) for one in first] + [(one.start, one.end) for one in then]):
        if groups and low <= groups[-1][1]:
            groups[-1] = groups[-1][0], max(groups[-1][1], high)
        else:
            groups.append((low, high))
    before = _Shift([(one.new_start, one.new_end, one.end) for one in first])
    after = _Shift([(one.start, one.end, one.new_end) for one in then])
    return tuple(Region(before.low(low), before.high(high), after.low(low), after.high(high)) for low, high in groups)


class _Shift:
    """Maps positions in the text between two edits to one side; positions must rise.  ``spans``: start, end, and end on that side."""

    def __init__(self, spans: Sequence[tuple[int, int, int]]) -> None:
        self._spans = spans
        self._next = self._shift = 0

    def low(self, position: int) -> int:
        """Maps the beginning of a group: every span before it is already counted."""
        return position + self._shift

    def high(self, position: int) -> int:
        """Maps the end of a group, after counting every span in it."""
        while self._next < len(self._spans) and self._spans[self._next][0] <= position:
            _, end, mapped_end = self._spans[self._next]
            self._shift = mapped_end - end
            self._next += 1
        return position + self._shift


def diff_excerpt(
    before: bytes, after: bytes, regions: Sequence[Region], subject: str, bounds: ExcerptLimits = EXCERPT_LIMITS
) -> DiffExcerpt:
    """Returns what changes, with three lines around each change, within ``bounds``.

    The counts in ``diff`` include every change, also those that are left out.
    """
    builder = _ExcerptBuilder(before, after, bounds)
    for window in _windows(before, regions, bounds):
        builder.add(window)
    builder.skip_to(len(before))
    original, proposed = ("".join(side) for side in zip(*builder.pieces, strict=True))
    diff = FileDiff(format_unified(subject, builder.hunks), subject, original, proposed, DiffStat(*builder.counts))
    return DiffExcerpt(diff, tuple(builder.hunks))


class _ExcerptBuilder:
    """Collects the displayed parts, old and new, and counts lines."""

    def __init__(self, before: bytes, after: bytes, bounds: ExcerptLimits) -> None:
        self.before, self.after, self.bounds = before, after, bounds
        self.pieces: list[tuple[str, str]] = []
        self.hunks: list[PatchHunk] = []
        self.counts = (0, 0, 0, 0)
        self._done = self._line = 0
        self._counted = self._lines = 0
        self._shift = self._size = 0

    def add(self, window: Region) -> None:
        self._count_to(window.start)
        old, new = _texts(self.before, self.after, window)
        diff = LineDiff(old, new)
        self.counts = _sum(self.counts, diff.counts())
        self._size += len(old) + len(new)
        if self._size <= self.bounds.displayed or not self.hunks:
            self.skip_to(window.start)
            self.hunks += [_moved(hunk, self._lines, self._lines + self._shift) for hunk in diff.hunks(_CONTEXT)]
            self.pieces.append((old, new))
            self._done, self._line = window.end, self._lines + old.count("\n")
        self._shift += new.count("\n") - old.count("\n")

    def skip_to(self, position: int) -> None:
        """Adds a line that names the omitted lines, by their numbers in the old text."""
        self._count_to(position)
        if position > self._done:
            first, last = self._line + 1, max(self._lines + (self.before[position - 1 : position] != b"\n"), self._line + 1)
            self.pieces.append((f"⋯ lines {first:,} to {last:,} are not shown ⋯\n",) * 2)

    def _count_to(self, position: int) -> None:
        self._lines += self.before.count(b"\n", self._counted, position)
        self._counted = position


def excerpt_parts(excerpted: str) -> list[str]:
    """Returns the parts between the gaps of an excerpt; the whole text if it has no gaps."""
    return _GAP.split(excerpted)


def _windows(before: bytes, regions: Sequence[Region], bounds: ExcerptLimits) -> Iterator[Region]:
    """Yields regions as whole lines with context; regions close to each other are joined."""
    position = 0
    groups = list(_groups(before, regions, bounds))
    for group, following in zip_longest(groups, groups[1:]):
        start = _context_start(before, group.start, position, bounds.widest)
        end = _context_end(before, group.end, following.start if following else len(before), bounds.widest)
        yield Region(start, end, group.new_start - (group.start - start), group.new_end + end - group.end)
        position = end


def _groups(before: bytes, regions: Sequence[Region], bounds: ExcerptLimits) -> Iterator[Region]:
    """Yields regions widened to whole lines, joined if they share a line or their contexts touch."""
    done = at = 0
    while at < len(regions):
        first = last = regions[at]
        at, reach = at + 1, 0
        while at < len(regions):
            if regions[at].start >= reach:
                wide = last.end - first.start >= bounds.window
                reach = _context_end(before, last.end, len(before), bounds.widest, 0 if wide else 2 * _CONTEXT)
            if regions[at].start >= reach:
                break
            last, at = regions[at], at + 1
        start = max(_context_start(before, first.start, 0, bounds.widest, 0), done)
        done = min(_context_end(before, last.end, len(before), bounds.widest, 0), regions[at].start if at < len(regions) else len(before))
        yield Region(start, done, first.new_start - (first.start - start), last.new_end + done - last.end)


def _context_start(data: bytes, place: int, lowest: int, widest: int, lines: int = _CONTEXT) -> int:
    """Returns the beginning of the line ``lines`` before that at ``place``; with long lines, a position within ``widest``."""
    least = _character(data, max(place - widest, lowest), place)
    for _ in range(lines + 1):
        found = data.rfind(b"\n", least, place)
        if found < 0:
            return least
        place = found
    return place + 1


def _context_end(data: bytes, place: int, highest: int, widest: int, lines: int = _CONTEXT) -> int:
    """Returns the end of the line ``lines`` after that which ends at or after ``place``; with long lines, within ``widest``."""
    most = _character(data, min(place + widest, highest), highest)
    place = max(place - 1, 0) if data[place - 1 : place] == b"\n" else place
    for _ in range(lines + 1):
        found = data.find(b"\n", place, most)
        if found < 0:
            return most
        place = found + 1
    return place


def _character(data: bytes, place: int, most: int) -> int:
    """Returns where the next UTF-8 character begins."""
    while place < most and data[place] & 0xC0 == 0x80:
        place += 1
    return place


def _texts(before: bytes, after: bytes, window: Region) -> tuple[str, str]:
    """Returns both sides of a window; one that ends within a long line gets a newline."""
    old = displayable(before[window.start : window.end].decode("utf-8", "surrogateescape"))
    new = displayable(after[window.new_start : window.new_end].decode("utf-8", "surrogateescape"))
    end = "" if window.end == len(before) or old.endswith("\n") else "\n"
    return old + end, new + end


def _moved(hunk: PatchHunk, old: int, new: int) -> PatchHunk:
    return replace(hunk, old_start=hunk.old_start + old, new_start=hunk.new_start + new)


def _sum(one: tuple[int, int, int, int], other: tuple[int, int, int, int]) -> tuple[int, int, int, int]:
    return one[0] + other[0], one[1] + other[1], one[2] + other[2], one[3] + other[3]
