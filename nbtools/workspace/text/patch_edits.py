"""Computes the edits of a text that hunks and search/replace blocks describe, and applies them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate, pairwise

from nbtools.core.errors import ErrorCode, ToolFailure
from nbtools.diff.patch_model import Block, Hunk, HunkLine, Replacement, Sign
from nbtools.diff.text_lines import split_lines, with_lf
from nbtools.workspace.files.encoding import DecodedText
from nbtools.workspace.files.line_endings import main_ending, with_original_endings
from nbtools.workspace.text.file_body import TextBody
from nbtools.workspace.text.indentation import Indentation, indentation_unit
from nbtools.workspace.text.match import MatchMode
from nbtools.workspace.text.patch_match import LEVELS, HunkMatch, Lines, MatchLevel, ambiguous_failure, locate_hunks
from nbtools.workspace.text.replace import Replacement as TextReplacement
from nbtools.workspace.text.replace import ReplacementResult, apply_replacements


@dataclass(frozen=True, slots=True)
class Edit:
    """``new`` for the characters from ``start`` to ``end``; ``name`` is the hunk or block that it belongs to."""

    start: int
    end: int
    new: str
    name: str


@dataclass(frozen=True, slots=True)
class Edits:
    """The edits of a text, and notes on how their places were found."""

    edits: tuple[Edit, ...]
    notes: tuple[str, ...] = ()


def apply_edits(text: str, edits: Sequence[Edit], subject: str) -> str:
    """Applies ``edits``, which all refer to the same text, so that their order does not matter.

    Raises ``ToolFailure`` (``edit_preparation_failure``) if two of them overlap or insert at the same place.
    """
    ordered = sorted(edits, key=lambda edit: (edit.start, edit.end))
    for one, other in pairwise(ordered):
        if other.start < one.end or (one.start == one.end == other.start == other.end):
            raise _overlap(text, one, other, subject)
    return "".join(_pieces(text, ordered))


def _pieces(text: str, edits: Sequence[Edit]) -> Iterator[str]:
    position = 0
    for edit in edits:
        yield text[position : edit.start]
        yield edit.new
        position = edit.end
    yield text[position:]


def _overlap(text: str, one: Edit, other: Edit, subject: str) -> ToolFailure:
    line = text.count("\n", 0, other.start) + 1
    names = f"two parts of {one.name}" if one.name == other.name else f"{one.name} and {other.name}"
    return ToolFailure(
        ErrorCode.EDIT_PREPARATION_FAILURE, f"{subject}: {names} overlap at line {line}. Nothing was changed. Make only one of the two."
    )


_AROUND = 200
"""Lines before and after a place from which the file's indentation is derived."""


def hunk_edits(text: str, hunks: Sequence[Hunk], match: MatchMode, subject: str) -> Edits:
    """Returns the edits of ``hunks``.  Raises ``ToolFailure`` as ``locate`` does."""
    lines = Lines(text)
    offsets = [0, *accumulate(len(line) for line in lines.lines)]
    placed = locate_hunks(lines, hunks, match, subject)
    edits = tuple(edit for one in placed for edit in edits_of_hunk(lines, offsets, one))
    return Edits(edits, tuple(f"{subject}, {note}" for one in placed for note in one.notes()))


def edits_of_hunk(lines: Lines, offsets: Sequence[int], placed: HunkMatch) -> Iterator[Edit]:
    """Yields one edit for each run of removed and added lines; context keeps its bytes.  ``offsets`` are where the lines begin."""
    position = placed.start
    removed, added = 0, list[str]()
    for line in (*placed.hunk.lines, HunkLine(" ", "")):
        if line.sign == "-":
            removed += 1
        elif line.sign == "+":
            added.append(line.text)
        else:
            if removed or added:
                yield _edit(lines.text, offsets[position], offsets[position + removed], "".join(_indented(lines, placed, added)), placed)
            position, removed, added = position + removed + 1, 0, []


def _indented(lines: Lines, placed: HunkMatch, added: Sequence[str]) -> Sequence[str]:
    """Returns the new lines, re-indented if the file's lines are indented differently from the patch's."""
    if placed.level < MatchLevel.INDENTATION:
        return added
    old, found = ([line.rstrip("\r\n") for line in some] for some in (placed.hunk.old(), lines.lines[placed.start : placed.end]))
    surrounding = lines.lines[max(placed.start - _AROUND, 0) : placed.end + _AROUND]
    new = [line.text.removesuffix("\n") for line in placed.hunk.lines if line.sign == "+"]
    indentation = Indentation(old, found, new, indentation_unit(surrounding), f"{placed.hunk.name}, line {placed.start + 1}")
    return [indentation.reindent(line.removesuffix("\n")) + "\n" * line.endswith("\n") for line in added]


def _edit(text: str, start: int, end: int, new: str, placed: HunkMatch) -> Edit:
    """Returns the edit: the new text as in the patch if the old lines match exactly, else with the line endings of the file there."""
    ending = _ending_around(text, start)
    literal = placed.level is MatchLevel.NOTHING and (placed.hunk.old() or "\r" in new)
    after = new if literal else with_original_endings(text[start:end], with_lf(new), ending)
    joins = after and start > 0 and text[start - 1] != "\n"
    return Edit(start, end, ending + after if joins else after, placed.hunk.name)


def _ending_around(text: str, position: int) -> str:
    """Returns the ending of the line before a position; the file's main ending if there is none."""
    before = text.rfind("\n", 0, position)
    if before < 0:
        return main_ending(text)
    return "\r\n" if text[max(before - 1, 0) : before] == "\r" else "\n"


def block_edits(text: DecodedText, blocks: Iterable[Block], match: MatchMode, subject: str) -> Edits:
    """Finds all blocks in the unchanged text: whole lines first, then as ``apply_replacements`` finds a text.

    Raises ``ToolFailure``: as ``apply_replacements`` does; ``invalid_tool_params`` for an empty old text if the file is not empty.
    """
    finder = _Finder(text, match, subject)
    found = [finder.find(block) for block in blocks]
    return Edits(tuple(edit for one in found for edit in one.edits), tuple(f"{subject}, {note}" for one in found for note in one.notes))


class _Finder:
    def __init__(self, text: DecodedText, match: MatchMode, subject: str) -> None:
        self.match, self.subject = match, subject
        self.lines = Lines(text.text)
        self.offsets = [0, *accumulate(len(line) for line in self.lines.lines)]
        self.body = TextBody(text.text.encode("utf-8", text.encoding.errors), text.encoding)

    def find(self, block: Block) -> Edits:
        """Returns the edits of a block; of several readings, that with the longest old text in the file counts."""
        first = block.replacements[0]
        if len(block.replacements) == 1:
            return self._replace(block.name, first) if first.old else self._fill(block.name, first)
        for reading in block.replacements:
            if reading.old and self.lines.find(split_lines(reading.old), MatchLevel.LAST_END):
                found = self._replace(block.name, reading)
                note = f"{block.name} has several ======= lines: the longest old text that is in the file counts"
                return Edits(found.edits, (*found.notes, note))
        raise ToolFailure(
            ErrorCode.EDIT_NO_OCCURRENCE_FOUND,
            f"{self.subject}, {block.name}: it has {len(block.replacements)} ======= lines, and with none of them as the divider "
            "its old text is in the file. Nothing was changed. Read the file and give the text exactly as it is there, or use edit.",
        )

    def _fill(self, name: str, reading: Replacement) -> Edits:
        if self.lines.text.strip():
            raise ToolFailure(
                ErrorCode.INVALID_TOOL_PARAMS,
                f"{self.subject}, {name}: its old text is empty, but the file is not. Nothing was changed. Give the lines to replace.",
            )
        return Edits((Edit(0, len(self.lines.text), reading.new, name),))

    def _replace(self, name: str, reading: Replacement) -> Edits:
        if reading.old == reading.new:
            return Edits((), (f"{name} changes nothing",))
        hunk = Hunk(name, (*_signed("-", reading.old), *_signed("+", reading.new)))
        for level in LEVELS["exact"]:
            starts = self.lines.find(hunk.old(), level)
            if len(starts) > 1:
                raise ambiguous_failure(
                    starts, f"{self.subject}, {name}: its old text is there", "Add lines around it until it is the only one."
                )
            if starts:
                return Edits(tuple(self._whole_lines(HunkMatch(hunk, starts[0], level))))
        return self._part(name, reading)

    def _whole_lines(self, placed: HunkMatch) -> Iterable[Edit]:
        """Replaces lines by lines; a file without a final newline gets none."""
        unterminated = placed.end == len(self.lines) and not self.lines.lines[-1].endswith("\n")
        for edit in edits_of_hunk(self.lines, self.offsets, placed):
            yield Edit(edit.start, edit.end, edit.new.removesuffix("\n").removesuffix("\r"), edit.name) if unterminated else edit

    def _part(self, name: str, reading: Replacement) -> Edits:
        """Replaces lines that did not match exactly, or parts of lines; the text around stays."""
        if not reading.old.strip():
            # Whitespace alone is a part of nearly every line.
            reason = "its old text is blank, and no such lines are in the file. Nothing was changed. Add lines around it."
            raise ToolFailure(ErrorCode.EDIT_NO_OCCURRENCE_FOUND, f"{self.subject}, {name}: {reason}")
        old, new = (reading.old.removesuffix("\n"), reading.new.removesuffix("\n")) if reading.new else (reading.old, "")
        result = apply_replacements(self.body, (TextReplacement(old, new),), f"{self.subject}, {name}", match=self.match)
        return Edits(tuple(self._edits(result, name)), tuple(self._notes(result, name)))

    def _edits(self, result: ReplacementResult, name: str) -> Iterable[Edit]:
        for region in result.regions:
            start, end = (len(self.body.text(0, place)) for place in (region.start, region.end))
            yield Edit(start, end, result.body.text(region.new_start, region.new_end), name)

    def _notes(self, result: ReplacementResult, name: str) -> Iterable[str]:
        for loose in result.loose:
            similarity = f" ({loose.likeness:.0%} similar)" if loose.how == "close match" else ""
            yield f"{name} was found at line {loose.line} by {loose.how}{similarity}"
        if not result.loose:
            yield f"{name} was found inside line {self.body.line_number(result.regions[0].start)}; the rest of it stays"


def _signed(sign: Sign, text: str) -> Sequence[HunkLine]:
    return [HunkLine(sign, line) for line in split_lines(text)]
