"""Texts in the place of others, wherever they occur; everything around keeps its bytes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

from nbtools.core.errors import ErrorCode, ToolFailure
from nbtools.workspace.editing.body import Body
from nbtools.workspace.editing.indentation import transplanted, unit_of
from nbtools.workspace.editing.ladder import How, Located, MatchMode, Span, exact, located
from nbtools.workspace.editing.misses import mismatch, not_found, overlap
from nbtools.workspace.editing.regions import Region, composed
from nbtools.workspace.endings import Endings, LfView, carried_over, with_lf
from nbtools.workspace.text import split_lines

_AROUND = 1 << 14
"""Bytes on either side of a place that tell how the file indents."""
_TOO_SHORT_TO_KNOW = 8


@dataclass(frozen=True, slots=True)
class Replacement:
    """``new`` for ``old``, which must occur ``count`` times; None: at least once, and all of them."""

    old: str
    new: str
    count: int | None = 1


@dataclass(frozen=True, slots=True)
class Loosely:
    """A text that was not there as it was given, but nearly: in which line (from 1), by what it was found, and how like it is (0 to 1)."""

    line: int
    how: How
    likeness: float


@dataclass(frozen=True, slots=True)
class Spliced:
    """The file after it: ``regions`` are what was replaced, by places in the data before and after, in order."""

    body: Body
    regions: tuple[Region, ...]
    places: int
    loose: tuple[Loosely, ...] = ()


@dataclass(frozen=True, slots=True)
class _Piece:
    span: Span
    new: bytes


def spliced(body: Body, changes: Sequence[Replacement], subject: str, *, match: MatchMode = "exact", in_turn: bool = False) -> Spliced:
    """All changes, or none.  Every one is looked for in ``body`` as it is; ``in_turn``: in what those before it made.

    Raises ``ToolFailure``: ``edit_no_change``, ``edit_no_occurrence_found`` with the nearest text, ``edit_expected_occurrence_mismatch``
    with the lines of all occurrences, ``edit_preparation_failure`` where two changes overlap.
    """
    for number, change in enumerate(changes, 1):
        if change.old == change.new:
            why = "old and new are the same. Nothing was changed. Give the text as it shall be."
            raise ToolFailure(ErrorCode.EDIT_NO_CHANGE, f"{_named(subject, number, changes)}: {why}")
    done = _in_turn(body, changes, subject, match) if in_turn else _at_once(body, changes, subject, match)
    if done.body.data == body.data:
        why = "old and new differ only in line ends, which follow the file's"
        if done.loose:
            why = "the place that is like old reads as new does already"
        raise ToolFailure(ErrorCode.EDIT_NO_CHANGE, f"{subject}: {why}. Nothing was changed. Give the text as it shall be.")
    return done


def _at_once(body: Body, changes: Sequence[Replacement], subject: str, match: MatchMode) -> Spliced:
    pieces: list[tuple[_Piece, int]] = []
    loose: list[Loosely] = []
    for number, change in enumerate(changes, 1):
        found = _place_of(body, change, _named(subject, number, changes), match)
        pieces += [(piece, number) for piece in _pieces(body, found, change, _named(subject, number, changes))]
        loose += [Loosely(body.line(found.spans[0][0]), found.how, found.likeness)] if found.loose else []
    if len(changes) > 1:
        pieces.sort(key=lambda pair: (pair[0].span, pair[1]))
        _refuse_overlaps(body, pieces, subject)
    made = [piece for piece, _ in pieces]
    return Spliced(body.with_parts(_joined(body, made)), tuple(_regions(made)), len(made), tuple(loose))


def _in_turn(body: Body, changes: Sequence[Replacement], subject: str, match: MatchMode) -> Spliced:
    regions: tuple[Region, ...] = ()
    loose: tuple[Loosely, ...] = ()
    places = 0
    for number, change in enumerate(changes, 1):
        step = _at_once(body, (change,), _named(subject, number, changes), match)
        regions, places, loose = composed(regions, step.regions), places + step.places, loose + step.loose
        body = step.body
    return Spliced(body, regions, places, loose)


def _place_of(body: Body, change: Replacement, subject: str, match: MatchMode) -> Located:
    open_end = change.old.endswith("\n") and change.new.endswith("\n")
    found = located(body, change.old, "exact" if change.count != 1 else match, open_end=open_end, one=change.count == 1)
    if found.how == "close match" and _is_there_already(body, change):
        found = Located((), nearest=found.nearest)
    if not found.spans:
        raise not_found(body, found, change.old, change.new, subject)
    if change.count is not None and len(found.spans) != change.count:
        raise mismatch(body, found, change.count, subject)
    return found


def _is_there_already(body: Body, change: Replacement) -> bool:
    """Whether the change seems to be made: what is like the old text is then the new one."""
    return len(change.new.strip()) > _TOO_SHORT_TO_KNOW and bool(exact(body, change.new).spans)


def _pieces(body: Body, found: Located, change: Replacement, subject: str) -> Iterator[_Piece]:
    endings = Endings(body.data)
    made: dict[tuple[bytes, str], bytes] = {}
    new, lf = body.spelled(change.new), with_lf(change.new)
    for start, end in found.spans:
        there = body.data[start:end]
        if found.loose:
            yield _Piece((start, end), body.spelled(_adapted(body, (start, end), change, endings.at(start), subject)))
        elif found.how == "exact" and b"\r" in there + new:
            yield _Piece((start, end), new)
        else:
            ending = endings.at(start) if "\n" in lf else "\n"
            if (there, ending) not in made:
                made[there, ending] = body.spelled(carried_over(body.text(start, end), lf, ending))
            yield _Piece((start, end), made[there, ending])


def _adapted(body: Body, span: Span, change: Replacement, ending: str, subject: str) -> str:
    start, end = span
    first = body.data.rfind(b"\n", 0, max(start - _AROUND, 0)) + 1
    around = body.data[max(first, start - 2 * _AROUND) : end + _AROUND].decode("utf-8", "replace").split("\n")
    there, old, new = body.text(start, end), with_lf(change.old), with_lf(change.new)
    if there.count("\n") < old.count("\n"):  # the file's last line has no end, and gets none
        old, new = old.removesuffix("\n"), new.removesuffix("\n")
    return transplanted(there, old, new, ending, unit_of(around), f"{subject}, line {body.line(start)}")


def _joined(body: Body, pieces: Sequence[_Piece]) -> Iterator[bytes | memoryview]:
    data, done = memoryview(body.data), 0
    for piece in pieces:
        start, end = piece.span
        yield data[done:start]
        yield piece.new
        done = end
    yield data[done:]


def _regions(pieces: Sequence[_Piece]) -> Iterator[Region]:
    shift = 0
    for piece in pieces:
        start, end = piece.span
        yield Region(start, end, start + shift, start + shift + len(piece.new))
        shift += len(piece.new) - (end - start)


def _refuse_overlaps(body: Body, pieces: Sequence[tuple[_Piece, int]], subject: str) -> None:
    for (one, first), (other, second) in pairwise(pieces):
        if other.span[0] < one.span[1] or other.span == one.span:
            raise overlap(body, (first, one.span), (second, other.span), subject)


def _named(subject: str, number: int, changes: Sequence[Replacement]) -> str:
    return subject if len(changes) == 1 else f"{subject}, edit {number} of {len(changes)}"


@dataclass(frozen=True, slots=True)
class Hits:
    """Where a text occurs, from and to; ``literal`` when it stands there character by character, line ends included."""

    spans: tuple[tuple[int, int], ...]
    literal: bool


def find(text: str, wanted: str) -> Hits:
    """``ladder.exact`` for a text that is decoded already.

    Occurrences that do not overlap: exact ones; only where there are none, those that differ in CRLF for LF (or the reverse).
    """
    if not wanted:
        return Hits((), literal=True)
    exact = tuple((place, place + len(wanted)) for place in _places(text, wanted) if not _cuts_crlf(text, place))
    if exact:
        return Hits(exact, literal=True)
    view = LfView(text)
    plain = with_lf(wanted)
    return Hits(tuple((view.place(place), view.place(place + len(plain))) for place in _places(view.text, plain)), literal=False)


def _places(text: str, wanted: str) -> Iterator[int]:
    place = text.find(wanted)
    while place >= 0:
        yield place
        place = text.find(wanted, place + len(wanted))


def _cuts_crlf(text: str, place: int) -> bool:
    return text[place] == "\n" and text[place - 1 : place] == "\r"


def smallest(original: str, proposed: str) -> Replacement:
    """The replacement that makes ``proposed`` of ``original`` (both with LF): whole lines, as few as occur only once."""
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
