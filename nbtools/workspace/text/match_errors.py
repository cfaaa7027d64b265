"""Messages on how a text was found, or why not as often as expected, with the most similar text."""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from nbtools.core.errors import ErrorCode, ToolFailure
from nbtools.core.message import Advice, Message, SameCall
from nbtools.diff.text_lines import displayable, with_lf
from nbtools.workspace.text.fuzzy_match import MIN_SIMILARITY, NearMatch
from nbtools.workspace.text.match import LooseMatch, TextIndex, TextMatch

_MAX_LINES_NAMED = 20
_MAX_QUOTED = 120
_MIN_LIKENESS = 0.5
_DIFFERENCES = {
    "whitespace": "whitespace",
    "indentation": "indentation",
    "look-alike characters": "quotes, dashes, spaces or invisible characters that look alike",
    "upper and lower case": "upper and lower case",
    "blanks beside signs": "blanks beside brackets and other signs",
    "escapes": "characters that are escapes in one of them (\\uXXXX)",
}
"""The rungs of the ladder after line endings, and what differs on them; the last three are only suggested."""


@dataclass(frozen=True, slots=True)
class Occurrences:
    """The number of times a text was expected (None: any) and found, and its first lines (from 1)."""

    expected: int | None
    found: int
    lines: tuple[int, ...] = ()


def describe_match(match: LooseMatch) -> str:
    """Describes, as a clause, which text was replaced after a loose match."""
    if match.how == "close match":
        return f"at line {match.line}, the most similar text was replaced ({match.likeness:.0%} similar)"
    follows = "" if match.how == "whitespace" else "; the new text has the indentation of the file"
    return f"at line {match.line}, text that differs in {_DIFFERENCES[match.how]} was replaced{follows}"


def text_not_found(index: TextIndex, found: TextMatch, old: str, new: str, subject: str) -> ToolFailure:
    """Returns the failure for an old text that is not in the file, with the most similar text."""
    already = index.find(new, "exact").spans if len(new.strip()) > 8 else ()
    hint = (
        f"the new text is already there, in line {index.line_at(already[0][0]) + 1}"
        if already
        else describe_nearest(index, old, found)
    )
    message = (
        f"{subject}: the old text is not in it; {hint}. Nothing was changed. Read the file and give the text"
        " exactly as it is there."
    )
    return ToolFailure(ErrorCode.EDIT_NO_OCCURRENCE_FOUND, message, Occurrences(None, 0))


def count_mismatch(index: TextIndex, found: TextMatch, expected: int, subject: str) -> ToolFailure:
    """Returns the failure for an old text that was found more or less often than expected, with the lines."""
    n = len(found.spans)
    lines = tuple(index.line_at(start) + 1 for start, _ in found.spans[:_MAX_LINES_NAMED])
    named = f"line{'s' if n > 1 else ''} {', '.join(map(str, lines))}{', …' if n > len(lines) else ''}"
    advice = (
        "Add lines around it until it is the only one" if n > expected else "Give the number that is there"
    )
    times = f"{n} time{'s' if n > 1 else ''}"
    if found.is_inexact:
        where = (
            f"the old text is not in it exactly, and with other {_DIFFERENCES[found.how]} it is there {times}"
            f" ({named})"
        )
        message = f"{subject}: {where}. Nothing was changed. {advice}."
    elif any(later < end for (_, end), (later, _) in pairwise(found.spans)):
        message = (
            f"{subject}: the old text is there {times} ({named}), and these overlap. Nothing was changed."
            f" {advice}."
        )
    else:
        every = Advice(
            f", or change {f'all {n}' if n > 1 else 'it'} ", SameCall({"count": "all" if n > 1 else n})
        )
        fact = f"{subject}: the old text is there {times} ({named}), not {expected}. Nothing was changed. "
        message = Message.of(fact, advice, every, ".")
    return ToolFailure(ErrorCode.EDIT_EXPECTED_OCCURRENCE_MISMATCH, message, Occurrences(expected, n, lines))


def ambiguous_failure(starts: Sequence[int], what: str, advice: str) -> ToolFailure:
    """Returns the failure for lines that were found at several places (0-based)."""
    named = ", ".join(str(start + 1) for start in starts[:_MAX_LINES_NAMED]) + (
        ", …" if len(starts) > _MAX_LINES_NAMED else ""
    )
    return ToolFailure(
        ErrorCode.EDIT_EXPECTED_OCCURRENCE_MISMATCH,
        f"{what} {len(starts)} times (lines {named}). Nothing was changed. {advice}",
    )


def overlap_failure(one: str, other: str, line: int, subject: str) -> ToolFailure:
    """Returns the failure for two changes, by their names, of the same text."""
    names = f"two parts of {one}" if one == other else " and ".join(sorted((one, other)))
    message = (
        f"{subject}: {names} overlap at line {line}. Nothing was changed. Make only one of them, or one call"
        " after the other."
    )
    return ToolFailure(ErrorCode.EDIT_PREPARATION_FAILURE, message)


def describe_nearest(index: TextIndex, old: str, found: TextMatch | None = None) -> str:
    """Describes, as a clause, where ``old`` nearly occurs and the difference, or two equally similar places.

    ``found``: what a search for it has returned, which may have the most similar places already.
    """
    if not index.text:
        return "the file is empty"
    old = displayable(with_lf(old))
    best, other = (found and found.nearest) or (None, None)
    if best is not None and other is not None and best.fits and best.likeness >= MIN_SIMILARITY:
        return f"{_likeness(best)} and {_likeness(other)} are both similar to it, so neither was changed"
    block = old.strip("\n").split("\n")
    for how, difference in _DIFFERENCES.items():
        line = index.find_lines(block, how)
        if line is not None:
            return f"it differs only in {difference}: {_first_difference(index, block, line)}"
    if best is None:
        best, _ = index.nearest("\n".join(block))
    if best is None or best.likeness < _MIN_LIKENESS:
        return "it contains no similar text"
    return f"the most similar text differs: {_first_difference(index, block, best.start)}"


def _likeness(near: NearMatch) -> str:
    return f"line {near.start + 1} ({near.likeness:.0%})"


def _first_difference(index: TextIndex, block: Sequence[str], start: int) -> str:
    for number, wanted in enumerate(block, start):
        found = index.lines[number] if number < len(index.lines) else ""
        if wanted != found:
            if unicodedata.normalize("NFC", wanted) == unicodedata.normalize("NFC", found):
                return _normalization(number, found, wanted)
            return f"line {number + 1} is {_quoted(found)}, but {_quoted(wanted)} was given"
    return f"line {start + 1} is {_quoted(index.lines[start])}"


def _normalization(number: int, found: str, wanted: str) -> str:
    """Names the Unicode normalization of two lines that look the same, with the first difference."""
    there, given = (
        next((form for form in ("NFC", "NFD") if unicodedata.is_normalized(form, line)), "mixed")
        for line in (found, wanted)
    )
    place = next(
        (k for k, (one, other) in enumerate(zip(found, wanted, strict=False)) if one != other),
        min(len(found), len(wanted)),
    )
    combines = unicodedata.combining(found[place : place + 1] or wanted[place : place + 1] or " ")
    first = max(place - 1, 0) if combines else place
    shown = " and ".join(
        " ".join(f"U+{ord(c):04X}" for c in line[first : first + 2]) for line in (found, wanted)
    )
    return (
        f"line {number + 1} has the same characters in another Unicode normalization ({there}, but {given}"
        f" was given: {shown}); give them as the file has them, or edit the parts around them"
    )


def _quoted(line: str) -> str:
    """Returns a line in quotes, with tabs and invisible characters escaped."""
    text = "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in line)
    return f'"{text}"' if len(text) <= _MAX_QUOTED else f'"{text[:_MAX_QUOTED]}…"'
