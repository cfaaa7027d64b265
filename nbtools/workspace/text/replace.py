"""Replaces texts in a file's text; everything around them stays as it is."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

from nbtools.core.errors import ErrorCode, ToolFailure
from nbtools.core.message import Advice, Message, Parameter
from nbtools.diff.line_diff import Change
from nbtools.diff.patch_model import Replacement
from nbtools.diff.text_lines import displayable, split_lines, with_lf
from nbtools.workspace.files.line_endings import ending_at, with_original_endings
from nbtools.workspace.text.character_merge import merge_lines
from nbtools.workspace.text.indentation import Reindenter, indentation_unit, missing_margin
from nbtools.workspace.text.match import LooseMatch, MatchMode, Span, TextIndex, TextMatch
from nbtools.workspace.text.match_errors import count_mismatch, overlap_failure, text_not_found

_AROUND = 200
"""Lines before and after a place from which the file's indentation is derived."""
_MIN_DISTINCTIVE_LENGTH = 8


@dataclass(frozen=True, slots=True)
class Edit:
    """``new`` for the characters from ``start`` to ``end``; ``name`` is the edit, hunk or block."""

    start: int
    end: int
    new: str
    name: str


@dataclass(frozen=True, slots=True)
class ReplacementResult:
    """The replaced text, and how many places changed; ``changes``: which, unless made in turn."""

    text: str
    places: int
    loose: tuple[LooseMatch, ...] = ()
    changes: tuple[Change, ...] = ()


def apply_replacements(
    text: str,
    changes: Sequence[Replacement],
    subject: str,
    *,
    match: MatchMode = "exact",
    in_turn: bool = False,
) -> ReplacementResult:
    """Makes all replacements, or none: in the original ``text``, or ``in_turn``, each after those before.

    Raises ``ToolFailure``: ``edit_no_change``, ``edit_no_occurrence_found`` with the most similar text,
    ``edit_expected_occurrence_mismatch`` with the lines of all occurrences, ``edit_preparation_failure`` if
    two replacements overlap.
    """
    names = [
        subject if len(changes) == 1 else f"{subject}, edit {number} of {len(changes)}"
        for number in range(1, len(changes) + 1)
    ]
    for change, name in zip(changes, names, strict=True):
        if change.old == change.new:
            raise _no_change(name, "the old and the new text are the same")
    after, places, loose, made = text, 0, list[LooseMatch](), list[Edit]()
    index, edits = TextIndex(text), list[Edit]()
    for number, (change, name) in enumerate(zip(changes, names, strict=True), 1):
        found = find_replacement(index, change, name, match)
        edits += replacement_edits(index, found, change, name, f"edit {number}")
        loose += index.loose_matches(found)
        if in_turn or number == len(changes):
            after, places = apply_edits(index.text, edits, subject), places + len(edits)
            index, edits, made = TextIndex(after), [], edits
    if after == text:
        reason = "the old and the new text differ only in line endings, which always follow the file's"
        if loose:
            reason = "the text that is similar to the old one already equals the new one"
        raise _no_change(subject, reason)
    changed = sorted((edit.start, edit.end, len(edit.new) - (edit.end - edit.start)) for edit in made)
    return ReplacementResult(after, places, tuple(loose), () if in_turn else tuple(changed))


def _no_change(subject: str, reason: str) -> ToolFailure:
    give = Advice(" Give the changed text as ", Parameter("new"), ".")
    return ToolFailure(
        ErrorCode.EDIT_NO_CHANGE, Message.of(f"{subject}: {reason}. Nothing was changed.", give)
    )


def find_replacement(
    index: TextIndex, change: Replacement, subject: str, match: MatchMode, *, whole_lines: bool = False
) -> TextMatch:
    """Returns the places of ``change.old``. Raises ``ToolFailure`` if there are more or fewer than expected.

    ``whole_lines``: the texts are meant as whole lines.
    """
    open_end = change.old.endswith("\n") and change.new.endswith("\n")
    rungs = index.matches(
        change.old, "exact" if change.count != 1 else match, one=change.count == 1, open_end=open_end
    )
    found = next(rungs, TextMatch())
    if (
        "\n" not in change.old.rstrip("\n")
        and "\n" in change.new.rstrip("\n")
        and _cuts_indentation(index, found, whole_lines=whole_lines)
    ):
        # Only the first line of the new text would get the rest of the indentation.
        found = next((one for one in rungs if one.how == "indentation"), found)
    if found.how == "close match" and is_already_made(index, change.new):
        found = TextMatch(nearest=found.nearest)
    if not found.spans:
        raise text_not_found(index, found, change.old, change.new, subject)
    if change.count is not None and len(found.spans) != change.count:
        raise count_mismatch(index, found, change.count, subject)
    return found


def _cuts_indentation(index: TextIndex, found: TextMatch, *, whole_lines: bool) -> bool:
    """Whether the only place begins in its line's indentation; for ``whole_lines``, also after it."""
    if len(found.spans) != 1 or found.may_differ_in_indentation:
        return False
    start, text = found.spans[0][0], index.text
    before = text[text.rfind("\n", 0, start) + 1 : start]
    return bool(before) and not before.strip(" \t") and (whole_lines or text[start] in " \t")


def is_already_made(index: TextIndex, new: str) -> bool:
    """Returns whether a change seems to be made already: the text similar to its old text is then ``new``."""
    return len(new.strip()) > _MIN_DISTINCTIVE_LENGTH and bool(index.find(new, "exact").spans)


def replacement_edits(
    index: TextIndex, found: TextMatch, change: Replacement, subject: str, name: str
) -> Iterator[Edit]:
    """Yields a replacement's edits, with a place's line endings, after a loose match its indentation."""
    text, lf = index.text, with_lf(change.new)
    is_literal = found.how == "exact" and "\r" in change.new
    has_endings = "\n" in lf and index.has_crlf
    news: dict[tuple[str, str], str] = {}
    for start, end in found.spans:
        original, ending = text[start:end], ending_at(text, start) if has_endings else "\n"
        if (original, ending) not in news:
            if found.is_inexact:
                lf = _merged(index, found, (start, end), change, subject)
            literal = is_literal or (found.how == "exact" and "\r" in original)
            news[original, ending] = change.new if literal else with_original_endings(original, lf, ending)
        first, last = _whole_lines(text, start, end) if found.is_inexact and not change.new else (start, end)
        yield Edit(first, last, news[original, ending], name)


def _whole_lines(text: str, start: int, end: int) -> Span:
    """Returns the span with blanks and line end around it if it is alone: no empty line is left."""
    first, last = text.rfind("\n", 0, start) + 1, text.find("\n", end)
    last = len(text) if last < 0 else last
    only = (
        not text[first:start].strip()
        and not text[end:last].strip()
        and not (end > start and text[end - 1] == "\n")
    )
    return (first, min(last + 1, len(text))) if only else (start, end)


def _merged(index: TextIndex, found: TextMatch, span: Span, change: Replacement, subject: str) -> str:
    """Returns the new text for a loosely found place, with the file's characters and indentation."""
    start, end = span
    original, old, new = (
        displayable(with_lf(index.text[start:end])),
        displayable(with_lf(change.old)),
        with_lf(change.new),
    )
    if original.count("\n") < old.count("\n"):  # the file has no final newline, and gets none
        old, new = old.removesuffix("\n"), new.removesuffix("\n")
    first = index.line_at(start)
    ours, lines, theirs = old.split("\n"), original.split("\n"), new.split("\n")
    where = f"{subject}, line {first + 1}"
    if found.may_differ_in_indentation:
        reindenter = Reindenter(
            ours, lines, theirs, surrounding_unit(index, first, first + len(lines)), where
        )
        return "\n".join(merge_lines(ours, lines, theirs, reindenter.reindent))
    before = index.text[index.starts[first] : start]
    margin = "" if before.strip(" \t") else missing_margin(before, ours, theirs, where)
    merged = merge_lines(ours, lines, theirs, str)
    return "\n".join([*merged[:1], *(f"{margin}{line}" if line.strip() else line for line in merged[1:])])


def surrounding_unit(index: TextIndex, start: int, end: int) -> str:
    """Returns one level of indentation around the lines from ``start`` to ``end``."""
    return indentation_unit(index.lines[max(start - _AROUND, 0) : end + _AROUND])


def apply_edits(text: str, edits: Sequence[Edit], subject: str) -> str:
    """Applies ``edits``, which all refer to the same text, so that their order does not matter.

    Raises ``ToolFailure`` (``edit_preparation_failure``) if two of them overlap or insert at the same place.
    """
    ordered = sorted(edits, key=lambda edit: (edit.start, edit.end))
    for one, other in pairwise(ordered):
        if other.start < one.end or (one.start, one.end) == (other.start, other.end):
            raise overlap_failure(one.name, other.name, text.count("\n", 0, other.start) + 1, subject)
    return "".join(_pieces(text, ordered))


def _pieces(text: str, edits: Sequence[Edit]) -> Iterator[str]:
    position = 0
    for edit in edits:
        yield text[position : edit.start]
        yield edit.new
        position = edit.end
    yield text[position:]


def smallest_replacement(original: str, proposed: str) -> Replacement:
    """Returns the replacement from ``original`` to ``proposed``: few whole lines that occur once."""
    old, new = split_lines(original), split_lines(proposed)
    most = min(len(old), len(new))
    head = next((k for k in range(most) if old[k] != new[k]), most)
    tail = next((k for k in range(most - head) if old[-1 - k] != new[-1 - k]), most - head)
    while head or tail:
        text = "".join(old[head : len(old) - tail])
        if text and _occurs_once(original, text):
            break
        head, tail = max(head - 1, 0), max(tail - 1, 0)
    return Replacement("".join(old[head : len(old) - tail]), "".join(new[head : len(new) - tail]))


def _occurs_once(text: str, wanted: str) -> bool:
    first = text.find(wanted)
    return first >= 0 and text.find(wanted, first + 1) < 0
