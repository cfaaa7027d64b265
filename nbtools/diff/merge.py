"""Three-way merge of texts, line by line (diff3).

A change of only one side is taken, and so is the same change of both.  Changes without an unchanged line
between them belong together, as in ``git merge-file``, because the author of one saw the lines of the other.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal, NamedTuple, TypeAlias

from nbtools.diff.line_diff import opcodes
from nbtools.diff.text_lines import split_lines, with_all_ended

Range: TypeAlias = tuple[int, int]
"""A range of lines, 0-based, end exclusive."""


@dataclass(frozen=True, slots=True)
class Conflict:
    """Lines that both sides changed: their ranges in each text, and in the merged one with its markers."""

    base: Range
    ours: Range
    theirs: Range
    merged: Range


@dataclass(frozen=True, slots=True)
class Merged:
    """A merge.  ``text`` has both sides of each conflict, one below the other, between markers."""

    text: str
    conflicts: tuple[Conflict, ...]

    @property
    def clean(self) -> bool:
        return not self.conflicts


Side: TypeAlias = Literal["ours", "theirs"]


def merge(
    base: str,
    ours: str,
    theirs: str,
    *,
    our_label: str = "ours",
    their_label: str = "theirs",
    prefer: Side | None = None,
) -> Merged:
    """Merges the changes that ``ours`` and ``theirs`` make to ``base``.
    Line ends, and a missing last one, are those of the side taken.

    With ``prefer``, that side is taken where both changed the same lines, so there is no conflict.  The
    labels follow the markers of a conflict.  A last line without an end gets one where a marker follows.
    """
    sides = _Sides(split_lines(base), split_lines(ours), split_lines(theirs))
    lines: list[str] = []
    conflicts: list[Conflict] = []
    done = 0
    for region in sides.changed():
        lines += sides.base[done : region.base[0]]
        done = region.base[1]
        first = len(lines)
        our_lines, their_lines = sides.ours[slice(*region.ours)], sides.theirs[slice(*region.theirs)]
        if region.by == _OURS or our_lines == their_lines or (region.by != _THEIRS and prefer == "ours"):
            lines += our_lines
        elif region.by == _THEIRS or prefer == "theirs":
            lines += their_lines
        else:
            lines += _with_markers(our_lines, their_lines, our_label, their_label)
            conflicts.append(Conflict(region.base, region.ours, region.theirs, (first, len(lines))))
    lines += sides.base[done:]
    return Merged("".join(lines if prefer is None else with_all_ended(lines)), tuple(conflicts))


_OURS, _THEIRS = 1, 2


class _Change(NamedTuple):
    """A change ``by`` one side of lines ``start:end`` of the base;
    ``shift`` is how many more lines that side has up to its end.
    """

    start: int
    end: int
    by: int
    shift: int


class _Region(NamedTuple):
    """A region that one side or both changed, with its range in each text."""

    base: Range
    ours: Range
    theirs: Range
    by: int


@dataclass(frozen=True, slots=True)
class _Sides:
    base: list[str]
    ours: list[str]
    theirs: list[str]

    def changed(self) -> Iterator[_Region]:
        """Yields the changed regions in order; unchanged lines of the base separate them."""
        shifts = [0, 0, 0]
        ours, theirs = _changes(self.base, self.ours, _OURS), _changes(self.base, self.theirs, _THEIRS)
        for changes in _grouped([*ours, *theirs]):
            before = tuple(shifts)
            for change in changes:
                shifts[change.by] = change.shift
            start, end = changes[0].start, max(change.end for change in changes)
            our, their = ((start + before[side], end + shifts[side]) for side in (_OURS, _THEIRS))
            yield _Region((start, end), our, their, sum({change.by for change in changes}))


def _changes(base: list[str], side: list[str], by: int) -> Iterator[_Change]:
    for op in opcodes(base, side):
        if op.tag != "equal":
            yield _Change(op.i1, op.i2, by, op.j2 - op.i2)


def _grouped(changes: list[_Change]) -> Iterator[list[_Change]]:
    """Groups changes that overlap or are adjacent."""
    group: list[_Change] = []
    end = -1
    for change in sorted(changes):
        if group and change.start > end:
            yield group
            group = []
        group.append(change)
        end = change.end if len(group) == 1 else max(end, change.end)
    if group:
        yield group


def _with_markers(ours: list[str], theirs: list[str], our_label: str, their_label: str) -> list[str]:
    """Returns both sides between markers, with the line ends of the lines."""
    eol = "\r\n" if all(line.endswith("\r\n") for line in [*ours, *theirs]) else "\n"
    ours, theirs = _ended(ours, eol), _ended(theirs, eol)
    return [f"<<<<<<< {our_label}{eol}", *ours, f"======={eol}", *theirs, f">>>>>>> {their_label}{eol}"]


def _ended(lines: list[str], eol: str) -> list[str]:
    return lines if not lines or lines[-1].endswith("\n") else [*lines[:-1], lines[-1] + eol]
