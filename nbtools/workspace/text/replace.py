"""Replaces texts in a file; everything around them keeps its bytes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

from nbtools.core.errors import ErrorCode, ToolFailure
from nbtools.diff.text_lines import split_lines, with_lf
from nbtools.workspace.files.line_endings import LineEndingFinder, with_original_endings
from nbtools.workspace.text.file_body import TextBody
from nbtools.workspace.text.indentation import apply_reindented, indentation_unit
from nbtools.workspace.text.match import MatchMethod, MatchMode, Span, TextMatch, find_exact, find_text
from nbtools.workspace.text.match_errors import count_mismatch, overlap_failure, text_not_found
from nbtools.workspace.text.regions import Region, compose_regions

_AROUND = 1 << 14
"""Bytes before and after a place from which the file's indentation is derived."""
_MIN_DISTINCTIVE_LENGTH = 8


@dataclass(frozen=True, slots=True)
class Replacement:
    """``new`` for ``old``, which must occur ``count`` times; None: at least once, and all occurrences are replaced."""

    old: str
    new: str
    count: int | None = 1


@dataclass(frozen=True, slots=True)
class LooseMatch:
    """A text that was found, but not exactly: its line (from 1), how it was matched, and its similarity (0 to 1)."""

    line: int
    how: MatchMethod
    likeness: float


@dataclass(frozen=True, slots=True)
class ReplacementResult:
    """The file after the replacements.

    ``regions`` are the replaced texts, by positions in the data before and after, in order.
    """

    body: TextBody
    regions: tuple[Region, ...]
    places: int
    loose: tuple[LooseMatch, ...] = ()


@dataclass(frozen=True, slots=True)
class _Piece:
    span: Span
    new: bytes


def apply_replacements(
    body: TextBody, changes: Sequence[Replacement], subject: str, *, match: MatchMode = "exact", in_turn: bool = False
) -> ReplacementResult:
    """Makes all replacements, or none; each is searched for in the original ``body``, with ``in_turn`` in the result of those before.

    Raises ``ToolFailure``: ``edit_no_change``, ``edit_no_occurrence_found`` with the most similar text,
    ``edit_expected_occurrence_mismatch`` with the lines of all occurrences, ``edit_preparation_failure`` if two replacements overlap.
    """
    for number, change in enumerate(changes, 1):
        if change.old == change.new:
            reason = "old and new are the same. Nothing was changed. Give the changed text as new."
            raise ToolFailure(ErrorCode.EDIT_NO_CHANGE, f"{_named(subject, number, changes)}: {reason}")
    result = _in_turn(body, changes, subject, match) if in_turn else _at_once(body, changes, subject, match)
    if result.body.data == body.data:
        reason = "old and new differ only in line endings, which always follow the file's"
        if result.loose:
            reason = "the text that is similar to old already equals new"
        raise ToolFailure(ErrorCode.EDIT_NO_CHANGE, f"{subject}: {reason}. Nothing was changed. Give the changed text as new.")
    return result


def _at_once(body: TextBody, changes: Sequence[Replacement], subject: str, match: MatchMode) -> ReplacementResult:
    pieces: list[tuple[_Piece, int]] = []
    loose: list[LooseMatch] = []
    for number, change in enumerate(changes, 1):
        found = _find(body, change, _named(subject, number, changes), match)
        pieces += [(piece, number) for piece in _pieces(body, found, change, _named(subject, number, changes))]
        loose += [LooseMatch(body.line_number(found.spans[0][0]), found.how, found.likeness)] if found.is_inexact else []
    if len(changes) > 1:
        pieces.sort(key=lambda pair: (pair[0].span, pair[1]))
        _refuse_overlaps(body, pieces, subject)
    edits = [piece for piece, _ in pieces]
    return ReplacementResult(body.with_parts(_splice(body, edits)), tuple(_regions(edits)), len(edits), tuple(loose))


def _in_turn(body: TextBody, changes: Sequence[Replacement], subject: str, match: MatchMode) -> ReplacementResult:
    regions: tuple[Region, ...] = ()
    loose: tuple[LooseMatch, ...] = ()
    places = 0
    for number, change in enumerate(changes, 1):
        step = _at_once(body, (change,), _named(subject, number, changes), match)
        regions, places, loose = compose_regions(regions, step.regions), places + step.places, loose + step.loose
        body = step.body
    return ReplacementResult(body, regions, places, loose)


def _find(body: TextBody, change: Replacement, subject: str, match: MatchMode) -> TextMatch:
    open_end = change.old.endswith("\n") and change.new.endswith("\n")
    found = find_text(body, change.old, "exact" if change.count != 1 else match, open_end=open_end, one=change.count == 1)
    if found.how == "close match" and _is_already_made(body, change):
        found = TextMatch((), nearest=found.nearest)
    if not found.spans:
        raise text_not_found(body, found, change.old, change.new, subject)
    if change.count is not None and len(found.spans) != change.count:
        raise count_mismatch(body, found, change.count, subject)
    return found


def _is_already_made(body: TextBody, change: Replacement) -> bool:
    """Returns whether the change seems to be made already: the text similar to ``old`` is then ``new``."""
    return len(change.new.strip()) > _MIN_DISTINCTIVE_LENGTH and bool(find_exact(body, change.new).spans)


def _pieces(body: TextBody, found: TextMatch, change: Replacement, subject: str) -> Iterator[_Piece]:
    endings = LineEndingFinder(body.data)
    encoded: dict[tuple[bytes, str], bytes] = {}
    new, lf = body.encode_part(change.new), with_lf(change.new)
    for start, end in found.spans:
        original = body.data[start:end]
        if found.is_inexact:
            yield _Piece((start, end), body.encode_part(_adapted(body, (start, end), change, endings.at(start), subject)))
        elif found.how == "exact" and b"\r" in original + new:
            yield _Piece((start, end), new)
        else:
            ending = endings.at(start) if "\n" in lf else "\n"
            if (original, ending) not in encoded:
                encoded[original, ending] = body.encode_part(with_original_endings(body.text(start, end), lf, ending))
            yield _Piece((start, end), encoded[original, ending])


def _adapted(body: TextBody, span: Span, change: Replacement, ending: str, subject: str) -> str:
    start, end = span
    first = body.data.rfind(b"\n", 0, max(start - _AROUND, 0)) + 1
    surrounding = body.data[max(first, start - 2 * _AROUND) : end + _AROUND].decode("utf-8", "replace").split("\n")
    original, old, new = body.text(start, end), with_lf(change.old), with_lf(change.new)
    if original.count("\n") < old.count("\n"):  # the file has no final newline, and gets none
        old, new = old.removesuffix("\n"), new.removesuffix("\n")
    return apply_reindented(original, old, new, ending, indentation_unit(surrounding), f"{subject}, line {body.line_number(start)}")


def _splice(body: TextBody, pieces: Sequence[_Piece]) -> Iterator[bytes | memoryview]:
    data, position = memoryview(body.data), 0
    for piece in pieces:
        start, end = piece.span
        yield data[position:start]
        yield piece.new
        position = end
    yield data[position:]


def _regions(pieces: Sequence[_Piece]) -> Iterator[Region]:
    shift = 0
    for piece in pieces:
        start, end = piece.span
        yield Region(start, end, start + shift, start + shift + len(piece.new))
        shift += len(piece.new) - (end - start)


def _refuse_overlaps(body: TextBody, pieces: Sequence[tuple[_Piece, int]], subject: str) -> None:
    for (one, first), (other, second) in pairwise(pieces):
        if other.span[0] < one.span[1] or other.span == one.span:
            raise overlap_failure(body, (first, one.span), (second, other.span), subject)


def _named(subject: str, number: int, changes: Sequence[Replacement]) -> str:
    return subject if len(changes) == 1 else f"{subject}, edit {number} of {len(changes)}"


def smallest_replacement(original: str, proposed: str) -> Replacement:
    """Returns the replacement that turns ``original`` into ``proposed`` (both with LF): as few whole lines as occur only once."""
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
