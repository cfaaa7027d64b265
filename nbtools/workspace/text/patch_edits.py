"""Finds where search/replace blocks and hunks of a patch belong in a text that may have changed."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

from nbtools.core.errors import ErrorCode, ToolFailure
from nbtools.core.message import Advice, Message, ToolName
from nbtools.diff.patch_model import Block, Hunk, HunkLine, Replacement, Sign
from nbtools.diff.text_lines import split_lines, with_lf
from nbtools.workspace.files.line_endings import ending_at, main_ending, with_original_endings
from nbtools.workspace.text.character_merge import merge_lines
from nbtools.workspace.text.indentation import Reindenter
from nbtools.workspace.text.match import MatchMode, TextIndex, TextMatch
from nbtools.workspace.text.match_errors import ambiguous_failure, describe_match, describe_nearest
from nbtools.workspace.text.replace import (
    Edit,
    find_replacement,
    is_already_made,
    replacement_edits,
    surrounding_unit,
)

_CLOSERS = ("}", ")", "]", "end", "*/", "fi", "done", "esac", "</")


@dataclass(frozen=True, slots=True)
class Edits:
    """The edits of a text, and notes on how their places were found."""

    edits: tuple[Edit, ...] = ()
    notes: tuple[str, ...] = ()
    is_loose: bool = False
    """Whether a place was not found exactly."""


@dataclass(frozen=True, slots=True)
class HunkMatch:
    """The place of a hunk: the line (0-based) where its old lines begin, and how they were found.

    ``drift``: its distance in lines from the line number in the hunk.
    ``not_last``: the hunk claims the end of the file, but is not there.
    """

    hunk: Hunk
    start: int
    found: TextMatch
    drift: int = 0
    not_last: bool = False

    @property
    def end(self) -> int:
        return self.start + len(self.hunk.old())

    def notes(self, index: TextIndex) -> Iterator[str]:
        """Yields notes for the caller on how the hunk was found."""
        where = f"{self.hunk.name} was found at line {self.start + 1}"
        if self.found.is_inexact:
            yield from _match_notes(index, self.found, self.hunk.name)
        elif self.drift:
            lines = "line" if abs(self.drift) == 1 else "lines"
            yield (
                f"{where}, {abs(self.drift)} {lines} {'below' if self.drift > 0 else 'above'} its line number"
            )
        if self.not_last:
            yield f"{where}, which is not the end of the file"


def _match_notes(index: TextIndex, found: TextMatch, name: str) -> Iterator[str]:
    yield from (
        f"{name} is not in the file exactly as given: {describe_match(match)}"
        for match in index.loose_matches(found)
    )


def hunk_edits(text: str, hunks: Sequence[Hunk], match: MatchMode, subject: str) -> Edits:
    """Returns the edits of ``hunks``.  Raises ``ToolFailure`` as ``locate_hunks`` does."""
    index = TextIndex(text)
    placed = locate_hunks(index, hunks, match, subject)
    edits = tuple(edit for one in placed for edit in _edits_of_hunk(index, one))
    notes = tuple(f"{subject}, {note}" for one in placed for note in one.notes(index))
    return Edits(edits, notes, any(one.found.is_inexact for one in placed))


def locate_hunks(index: TextIndex, hunks: Sequence[Hunk], match: MatchMode, subject: str) -> list[HunkMatch]:
    """Finds the places of all hunks in the same text.

    A hunk belongs to the only place where its old lines are.  If there are several, that with its line number
    counts, or one that is at most half as far from there as any other; else the only one after the previous
    hunk.  Raises ``ToolFailure``: ``edit_no_occurrence_found`` with the most similar text,
    ``edit_expected_occurrence_mismatch`` with the lines of all places.
    """
    placed: list[HunkMatch] = []
    drift = 0
    for hunk in hunks:
        one = _locate(index, hunk, match, subject, placed[-1].end if placed else 0, drift)
        drift += one.drift
        placed.append(replace(one, drift=drift))
    return placed


def _locate(
    index: TextIndex, hunk: Hunk, match: MatchMode, subject: str, after: int, drift: int
) -> HunkMatch:
    """Returns the place of one hunk; ``drift`` is that of the previous hunk, to which it adds its own."""
    expected = None if hunk.line is None else hunk.line - bool(hunk.old()) + drift
    if not hunk.old():
        return _insertion(index, hunk, subject, expected)
    first, last = _scope(index, hunk, subject)
    found = TextMatch()
    for found in index.matches("".join(hunk.old()), match, one=True, whole_lines=True, first=first):
        if found.how == "close match" and is_already_made(index, "".join(hunk.new())):
            break
        starts = [
            start
            for start in (index.line_at(start) for start, _ in found.spans)
            if _may_end(index, hunk, start)
        ]
        if starts:
            start = _chosen(starts, hunk, index, None if found.is_inexact else expected, after, last)
            if start is None:
                raise ambiguous_failure(
                    starts,
                    f"{subject}, {hunk.name}: its old lines are there",
                    "Give more of the lines around it.",
                )
            not_last = hunk.at_end and start + len(hunk.old()) < _count(index)
            span = index.starts[start], index.starts[start + len(hunk.old())]
            return HunkMatch(
                hunk,
                start,
                replace(found, spans=(span,)),
                0 if expected is None else start - expected,
                not_last,
            )
    raise _missing(index, hunk, found, subject)


def _count(index: TextIndex) -> int:
    return len(index.lines) - 1


def _may_end(index: TextIndex, hunk: Hunk, start: int) -> bool:
    """Returns False for a hunk that removes the final newline, anywhere but at the end of the file."""
    return not hunk.ends_new_file or start + len(hunk.old()) == _count(index)


def _chosen(
    found: list[int], hunk: Hunk, index: TextIndex, expected: int | None, after: int, last: int | None
) -> int | None:
    """Returns the intended place; None if it is ambiguous."""
    if len(found) == 1:
        return found[0]
    if hunk.at_end:
        found = [start for start in found if start + len(hunk.old()) == _count(index)] or found
    elif last is not None:
        found = [start for start in found if start < last] or found
    elif expected is not None:
        best, other = sorted(found, key=lambda start: abs(start - expected))[:2]
        return best if 2 * abs(best - expected) <= abs(other - expected) else None
    else:
        found = [start for start in found if start >= after] or found
    return found[0] if len(found) == 1 else None


def _insertion(index: TextIndex, hunk: Hunk, subject: str, expected: int | None) -> HunkMatch:
    """Places a hunk without old lines: after the line that it names, or at the end of the file."""
    if expected is not None and 0 <= expected <= _count(index) and _may_end(index, hunk, expected):
        return HunkMatch(hunk, expected, TextMatch())
    if expected is None and not hunk.headers:
        return HunkMatch(hunk, _count(index), TextMatch())
    reason = "it only adds lines and does not say where"
    if expected is not None:
        reason = f"its line number does not exist, because the file has only {_count(index)} lines"
    raise ToolFailure(
        ErrorCode.EDIT_NO_OCCURRENCE_FOUND,
        f"{subject}, {hunk.name}: {reason}. Nothing was changed. Give the lines around as context.",
    )


def _scope(index: TextIndex, hunk: Hunk, subject: str) -> tuple[int, int | None]:
    """Returns the first line for a hunk's search, and the end of the block that its last header begins.

    A header line may itself be the hunk's first line.
    """
    start, last = 0, None
    for header in hunk.headers:
        matches = index.matches(f"{header}\n", "close", one=True, whole_lines=True, first=start)
        best = next((one for one in matches if one.how != "close match"), TextMatch())
        found = [index.line_at(place) for place, _ in best.spans]
        if not found:
            raise ToolFailure(
                ErrorCode.EDIT_NO_OCCURRENCE_FOUND,
                f"{subject}, {hunk.name}: its header line is not in the file;"
                f" {describe_nearest(index, header)}. Nothing was changed. Give a header line that is in the"
                " file, or leave it out.",
            )
        inside = [line for line in found if last is None or line < last]
        if len(inside or found) > 1:
            raise ambiguous_failure(
                inside or found,
                f"{subject}, {hunk.name}: its header line is there",
                "Put the header of the enclosing block before it.",
            )
        start = (inside or found)[0]
        last = _end_of_block(index, start)
    return start, last


def _end_of_block(index: TextIndex, header: int) -> int:
    """Returns the next line that is indented no deeper than ``header`` and closes nothing."""
    width = _width(index.lines[header])
    for number in range(header + 1, _count(index)):
        line = index.lines[number]
        if line.strip() and _width(line) <= width and not line.strip().startswith(_CLOSERS):
            return number
    return _count(index)


def _width(line: str) -> int:
    return len(line[: len(line) - len(line.lstrip(" \t"))].expandtabs())


def _missing(index: TextIndex, hunk: Hunk, found: TextMatch, subject: str) -> ToolFailure:
    """Returns the failure for old lines that are not in the file, with the most similar text."""
    new = "".join(hunk.new())
    already = (
        next(index.matches(new, "exact", whole_lines=True), None)
        if any(len(line.strip()) > 2 for line in hunk.new())
        else None
    )
    hint = (
        f"the new lines are already there, at line {index.line_at(already.spans[0][0]) + 1}"
        if already
        else None
    )
    return ToolFailure(
        ErrorCode.EDIT_NO_OCCURRENCE_FOUND,
        f"{subject}, {hunk.name}: its old lines are not in the file;"
        f" {hint or describe_nearest(index, ''.join(hunk.old()), found)}. Nothing was changed. Read the file"
        " and make a new patch.",
    )


def _edits_of_hunk(index: TextIndex, placed: HunkMatch) -> Iterator[Edit]:
    """Yields one edit for each run of removed and added lines; context stays as it is in the file."""
    starts, position = index.starts, placed.start
    old = [line.removesuffix("\n") for line in placed.hunk.old()]
    removed, added = 0, list[str]()
    for line in (*placed.hunk.lines, HunkLine(" ", "")):
        if line.sign == "-":
            removed += 1
        elif line.sign == "+":
            added.append(line.text)
        else:
            if removed or added:
                first = position - placed.start
                new = _moved(
                    index,
                    placed,
                    added,
                    old[first : first + removed],
                    index.lines[position : position + removed],
                )
                # The new text as in the patch if the old lines match exactly, else with the line endings of
                # the file there.
                start = starts[position]
                end = starts[position + removed]
                ending = (
                    ending_at(index.text, start - 1)
                    if index.text.rfind("\n", 0, start) >= 0
                    else main_ending(index.text)
                )
                literal = placed.found.how == "exact" and (placed.hunk.old() or "\r" in new)
                after = new if literal else with_original_endings(index.text[start:end], with_lf(new), ending)
                joins = after and start > 0 and index.text[start - 1] != "\n"
                yield Edit(start, end, ending + after if joins else after, placed.hunk.name)
            position, removed, added = position + removed + 1, 0, []


def _moved(
    index: TextIndex, placed: HunkMatch, added: Sequence[str], old: Sequence[str], found: Sequence[str]
) -> str:
    """Returns the new lines for ``found``, given as ``old``, with the file's characters and indentation."""
    if not placed.found.is_inexact or not added:
        return "".join(added)
    reindenter = _reindenter(index, placed) if placed.found.may_differ_in_indentation else None
    new = [line.removesuffix("\n") for line in added]
    try:
        lines = merge_lines(old, found, new, reindenter.reindent if reindenter else str)
    except ToolFailure:
        if not _context_is_exact(index, placed):
            raise
        lines = merge_lines(old, found, new, str)
    return "\n".join(lines) + "\n" * added[-1].endswith("\n")


def _reindenter(index: TextIndex, placed: HunkMatch) -> Reindenter:
    old = [line.rstrip("\r\n") for line in placed.hunk.old()]
    new = [line.text.removesuffix("\n") for line in placed.hunk.lines if line.sign == "+"]
    unit = surrounding_unit(index, placed.start, placed.end)
    return Reindenter(
        old, index.lines[placed.start : placed.end], new, unit, f"{placed.hunk.name}, line {placed.start + 1}"
    )


def _context_is_exact(index: TextIndex, placed: HunkMatch) -> bool:
    """Whether the context has the file's indentation, so that only removed lines had another."""
    signs = [line.sign for line in placed.hunk.lines if line.sign != "+"]
    context = [
        (old, line)
        for sign, old, line in zip(
            signs, placed.hunk.old(), index.lines[placed.start : placed.end], strict=True
        )
        if sign == " " and old.strip()
    ]
    return bool(context) and all(old.rstrip() == line.rstrip() for old, line in context)


def block_edits(text: str, blocks: Iterable[Block], match: MatchMode, subject: str) -> Edits:
    """Finds blocks in the unchanged text: whole lines first, then parts of lines and inexact matches.

    Raises ``ToolFailure``: as ``find_replacement`` does;
    ``invalid_tool_params`` for an empty old text if the file is not empty.
    """
    index = TextIndex(text)
    found = [_find_block(index, block, match, subject) for block in blocks]
    notes = tuple(f"{subject}, {note}" for one in found for note in one.notes)
    return Edits(
        tuple(edit for one in found for edit in one.edits), notes, any(one.is_loose for one in found)
    )


def _find_block(index: TextIndex, block: Block, match: MatchMode, subject: str) -> Edits:
    """Returns the edits of a block: the reading with the longest old text in the file."""
    first = block.replacements[0]
    if len(block.replacements) == 1:
        fills = not first.old or not (first.old.strip() or index.text.strip())
        if fills:
            return _fill(index, block.name, first, subject)
        return _replace(index, block.name, first, match, subject)
    for reading in block.replacements:
        if reading.old and next(index.matches(reading.old, "exact", whole_lines=True), None):
            found = _replace(index, block.name, reading, match, subject)
            note = f"{block.name} has several ======= lines: the longest old text that is in the file counts"
            return Edits(found.edits, (*found.notes, note))
    raise ToolFailure(
        ErrorCode.EDIT_NO_OCCURRENCE_FOUND,
        Message.of(
            f"{subject}, {block.name}: it has {len(block.replacements)} ======= lines, and with none of them"
            " as the divider its old text is in the file. Nothing was changed. Read the file and give the"
            " text exactly as it is there",
            Advice(", or use ", ToolName("edit", "write")),
            ".",
        ),
    )


def _fill(index: TextIndex, name: str, reading: Replacement, subject: str) -> Edits:
    if index.text.strip():
        raise ToolFailure(
            ErrorCode.INVALID_TOOL_PARAMS,
            f"{subject}, {name}: its old text is empty, but the file is not. Nothing was changed. Give the"
            " lines to replace.",
        )
    return Edits((Edit(0, len(index.text), reading.new, name),))


def _replace(index: TextIndex, name: str, reading: Replacement, match: MatchMode, subject: str) -> Edits:
    if reading.old == reading.new:
        return Edits(notes=(f"{name} changes nothing",))
    found = next(index.matches(reading.old, "exact", one=True, whole_lines=True), None)
    if found is None:
        return _replace_part(index, name, reading, match, subject)
    starts = [index.line_at(start) for start, _ in found.spans]
    if len(starts) > 1:
        raise ambiguous_failure(
            starts,
            f"{subject}, {name}: its old text is there",
            "Add lines around it until it is the only one.",
        )
    hunk = Hunk(name, (*_signed("-", reading.old), *_signed("+", reading.new)))
    return Edits(tuple(_whole_lines(index, HunkMatch(hunk, starts[0], found))))


def _whole_lines(index: TextIndex, placed: HunkMatch) -> Iterator[Edit]:
    """Replaces lines by lines; a file without a final newline gets none."""
    unterminated = placed.end == _count(index) and not index.text.endswith("\n")
    for edit in _edits_of_hunk(index, placed):
        yield replace(edit, new=edit.new.removesuffix("\n").removesuffix("\r")) if unterminated else edit


def _replace_part(index: TextIndex, name: str, reading: Replacement, match: MatchMode, subject: str) -> Edits:
    """Replaces lines that did not match exactly, or parts of lines; the text around stays."""
    if not reading.old.strip():
        # Whitespace alone is a part of nearly every line.
        reason = (
            "its old text is blank, and no such lines are in the file. Nothing was changed. Add lines"
            " around it."
        )
        raise ToolFailure(ErrorCode.EDIT_NO_OCCURRENCE_FOUND, f"{subject}, {name}: {reason}")
    old, new = (
        (reading.old.removesuffix("\n"), reading.new.removesuffix("\n")) if reading.new else (reading.old, "")
    )
    change = Replacement(old, new)
    found = find_replacement(index, change, f"{subject}, {name}", match, whole_lines=True)
    line = index.line_at(found.spans[0][0]) + 1
    notes = tuple(_match_notes(index, found, name)) or (
        f"{name} was found inside line {line}; the rest of it stays",
    )
    return Edits(
        tuple(replacement_edits(index, found, change, f"{subject}, {name}", name)), notes, found.is_inexact
    )


def _signed(sign: Sign, text: str) -> Sequence[HunkLine]:
    return [HunkLine(sign, line) for line in split_lines(text)]
