"""What hunks do to a text."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import accumulate

from nbtools.workspace.editing.indentation import Indentation, unit_of
from nbtools.workspace.editing.ladder import MatchMode
from nbtools.workspace.endings import carried_over, main_ending, with_lf
from nbtools.workspace.patches.edits import Edit, Edits
from nbtools.workspace.patches.lines import Level, Lines
from nbtools.workspace.patches.locate import Placed, locate
from nbtools.workspace.patches.model import Hunk, HunkLine

_AROUND = 200
"""Lines on either side that tell how the file indents."""


def hunk_edits(text: str, hunks: Sequence[Hunk], match: MatchMode, subject: str) -> Edits:
    """Raises ``ToolFailure`` as ``locate`` does."""
    lines = Lines(text)
    offsets = [0, *accumulate(len(line) for line in lines.lines)]
    placed = locate(lines, hunks, match, subject)
    edits = tuple(edit for one in placed for edit in edits_of(lines, offsets, one))
    return Edits(edits, tuple(f"{subject}, {note}" for one in placed for note in one.notes()))


def edits_of(lines: Lines, offsets: Sequence[int], placed: Placed) -> Iterator[Edit]:
    """The lines that go and come, run by run; context keeps every byte.  ``offsets`` are where the lines begin."""
    at = placed.start
    gone, come = 0, list[str]()
    for line in (*placed.hunk.lines, HunkLine(" ", "")):
        if line.sign == "-":
            gone += 1
        elif line.sign == "+":
            come.append(line.text)
        else:
            if gone or come:
                yield _edit(lines.text, offsets[at], offsets[at + gone], "".join(_indented(lines, placed, come)), placed)
            at, gone, come = at + gone + 1, 0, []


def _indented(lines: Lines, placed: Placed, come: Sequence[str]) -> Sequence[str]:
    """New lines, indented as those around them are where these are indented in another way than the patch says."""
    if placed.level < Level.INDENTATION:
        return come
    given, there = ([line.rstrip("\r\n") for line in some] for some in (placed.hunk.old(), lines.lines[placed.start : placed.end]))
    around = lines.lines[max(placed.start - _AROUND, 0) : placed.end + _AROUND]
    wanted = [line.text.removesuffix("\n") for line in placed.hunk.lines if line.sign == "+"]
    indentation = Indentation(given, there, wanted, unit_of(around), f"{placed.hunk.name}, line {placed.start + 1}")
    return [indentation.of(line.removesuffix("\n")) + "\n" * line.endswith("\n") for line in come]


def _edit(text: str, start: int, end: int, new: str, placed: Placed) -> Edit:
    """As it stands in the patch where the old lines do, else with the ends that lines have there."""
    ending = _ending_around(text, start)
    literal = placed.level is Level.NOTHING and (placed.hunk.old() or "\r" in new)
    after = new if literal else carried_over(text[start:end], with_lf(new), ending)
    joins = after and start > 0 and text[start - 1] != "\n"
    return Edit(start, end, ending + after if joins else after, placed.hunk.name)


def _ending_around(text: str, place: int) -> str:
    """How the line before a place ends; the file's own way where none does."""
    before = text.rfind("\n", 0, place)
    if before < 0:
        return main_ending(text)
    return "\r\n" if text[max(before - 1, 0) : before] == "\r" else "\n"
