"""Failures for a text that was not found, or not as often as expected."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

from nbtools.core.errors import ErrorCode, ToolFailure
from nbtools.diff.text_lines import displayable, with_lf
from nbtools.workspace.text.file_body import TextBody
from nbtools.workspace.text.match import MIN_SIMILARITY, CloseMatch, Span, TextMatch, describe_nearest, find_exact, find_nearest

_MAX_LINES_NAMED = 20
_WHOLE = 8_000_000
"""Files up to this size, in bytes, are searched for the nearest text in every way; larger ones only by similar lines."""
_AROUND = 2_000
_LOOSE_IN = {"trailing blanks": "with other trailing whitespace", "indentation": "with another indentation"}


@dataclass(frozen=True, slots=True)
class Occurrences:
    """The number of times a text was expected (None: any) and found, and the first lines (from 1) where it was found."""

    expected: int | None
    found: int
    lines: tuple[int, ...] = ()


def text_not_found(body: TextBody, found: TextMatch, old: str, new: str, subject: str) -> ToolFailure:
    """Returns the failure for an old text that is not in the file, with the most similar text."""
    already = find_exact(body, new).spans if len(new.strip()) > 8 else ()
    hint = f"the new text is already there, in line {body.line_number(already[0][0])}" if already else _nearest(body, found, with_lf(old))
    message = f"{subject}: the old text is not in it; {hint}. Nothing was changed. Read the file and give the text exactly as it is there."
    return ToolFailure(ErrorCode.EDIT_NO_OCCURRENCE_FOUND, message, Occurrences(None, 0))


def count_mismatch(body: TextBody, found: TextMatch, expected: int, subject: str) -> ToolFailure:
    """Returns the failure for an old text that was found more or less often than expected, with the lines."""
    n = len(found.spans)
    lines = _lines(body, found.spans)
    named = f"line{'s' if n > 1 else ''} {', '.join(map(str, lines))}{', …' if n > len(lines) else ''}"
    advice = "Add lines around it until it is the only one" if n > expected else "Give the number that is there"
    times = f"{n} time{'s' if n > 1 else ''}"
    if found.is_inexact:
        where = f"the old text is not in it exactly, and {_LOOSE_IN[found.how]} it is there {times} ({named})"
        message = f"{subject}: {where}. Nothing was changed. {advice}."
    elif any(later < end for (_, end), (later, _) in pairwise(found.spans)):
        message = f"{subject}: the old text is there {times} ({named}), and these overlap. Nothing was changed. {advice}."
    else:
        message = (
            f"{subject}: the old text is there {times} ({named}), not {expected}. Nothing was changed. "
            f'{advice}, or change {f"all {n}" if n > 1 else "it"} with count={n} or count="all".'
        )
    return ToolFailure(ErrorCode.EDIT_EXPECTED_OCCURRENCE_MISMATCH, message, Occurrences(expected, n, lines))


def overlap_failure(body: TextBody, one: tuple[int, Span], other: tuple[int, Span], subject: str) -> ToolFailure:
    """Returns the failure for two changes, by number and span, of the same text."""
    (first, span), (second, its) = one, other
    message = (
        f"{subject}: edits {first} and {second} overlap ({_range(body, span)} and {_range(body, its)}). Nothing was changed. "
        "Make only one of them, or apply them in order (in_turn)."
    )
    return ToolFailure(ErrorCode.EDIT_PREPARATION_FAILURE, message)


def _lines(body: TextBody, spans: tuple[Span, ...]) -> tuple[int, ...]:
    lines, line, done = [], 1, 0
    for start, _ in spans[:_MAX_LINES_NAMED]:
        line += body.data.count(b"\n", done, start)
        lines.append(line)
        done = start
    return tuple(lines)


def _range(body: TextBody, span: Span) -> str:
    first, last = body.line_number(span[0]), body.line_number(max(span[1] - 1, span[0]))
    return f"line {first}" if first == last else f"lines {first} to {last}"


def _nearest(body: TextBody, found: TextMatch, old: str) -> str:
    """Describes, as half a sentence, the most similar text and its difference; or two places that are equally similar."""
    best, other = found.nearest or find_nearest(body, displayable(old))
    if best is not None and other is not None and best.fits and best.likeness >= MIN_SIMILARITY:
        return f"{_likeness(body, best)} and {_likeness(body, other)} are both similar to it, so neither was changed"
    if len(body.data) <= _WHOLE:
        return describe_nearest(with_lf(displayable(body.text())), old)
    if best is None:
        return "it contains no similar text"
    start = body.data.rfind(b"\n", 0, max(best.start - _AROUND, 0)) + 1
    around = body.data[start : best.end + _AROUND].decode("utf-8", "replace")
    return describe_nearest(with_lf(around), old, body.line_number(start))


def _likeness(body: TextBody, near: CloseMatch) -> str:
    return f"line {body.line_number(near.start)} ({near.likeness:.0%})"
