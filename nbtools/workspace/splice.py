"""One text in the place of another, wherever it occurs; everything around keeps its bytes."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from nbtools.core.errors import ErrorCode, ToolFailure
from nbtools.workspace.endings import LfView, carried_over, ending_at, with_lf
from nbtools.workspace.likeness import nearest_text
from nbtools.workspace.text import split_lines

_MOST_LINES_NAMED = 20


@dataclass(frozen=True, slots=True)
class Replacement:
    """``new`` for ``old``, which must occur ``count`` times; None: at least once, and all of them."""

    old: str
    new: str
    count: int | None = 1


@dataclass(frozen=True, slots=True)
class Hits:
    """Where a text occurs, from and to; ``literal`` when it stands there character by character, line ends included."""

    spans: tuple[tuple[int, int], ...]
    literal: bool


def find(text: str, wanted: str) -> Hits:
    """Occurrences that do not overlap: exact ones; only where there are none, those that differ in CRLF for LF (or the reverse)."""
    if not wanted:
        return Hits((), literal=True)
    exact = tuple((place, place + len(wanted)) for place in _places(text, wanted) if not _cuts_crlf(text, place))
    if exact:
        return Hits(exact, literal=True)
    view = LfView(text)
    plain = with_lf(wanted)
    return Hits(tuple((view.place(place), view.place(place + len(plain))) for place in _places(view.text, plain)), literal=False)


def spliced(text: str, change: Replacement, subject: str) -> tuple[str, int]:
    """The changed text and the number of places.

    Raises ``ToolFailure``: ``edit_no_change``, ``edit_no_occurrence_found`` with the nearest text, ``edit_expected_occurrence_mismatch``
    with the lines of all occurrences.
    """
    if change.old == change.new:
        raise ToolFailure(
            ErrorCode.EDIT_NO_CHANGE, f"{subject}: old and new are the same. Nothing was changed. Give the text as it shall be."
        )
    hits = find(text, change.old)
    if not hits.spans:
        raise ToolFailure(ErrorCode.EDIT_NO_OCCURRENCE_FOUND, _not_found(text, change, subject))
    if change.count is not None and len(hits.spans) != change.count:
        raise ToolFailure(ErrorCode.EDIT_EXPECTED_OCCURRENCE_MISMATCH, _mismatch(text, hits, change.count, subject))
    changed = "".join(_pieces(text, hits, change.new))
    if changed == text:
        raise ToolFailure(
            ErrorCode.EDIT_NO_CHANGE,
            f"{subject}: old and new differ only in line ends, which follow the file's. Nothing was changed. Give the text as it shall be.",
        )
    return changed, len(hits.spans)


def _pieces(text: str, hits: Hits, new: str) -> Iterator[str]:
    done = 0
    for start, end in hits.spans:
        yield text[done:start]
        yield new if hits.literal and "\r" in text[start:end] + new else carried_over(text[start:end], with_lf(new), ending_at(text, start))
        done = end
    yield text[done:]


def _places(text: str, wanted: str) -> Iterator[int]:
    place = text.find(wanted)
    while place >= 0:
        yield place
        place = text.find(wanted, place + len(wanted))


def _cuts_crlf(text: str, place: int) -> bool:
    return text[place] == "\n" and text[place - 1 : place] == "\r"


def _not_found(text: str, change: Replacement, subject: str) -> str:
    already = find(text, change.new).spans if len(change.new.strip()) > 8 else ()
    hint = (
        f"the new text is there already, in line {_line(text, already[0][0])}" if already else nearest_text(LfView(text).text, change.old)
    )
    return f"{subject}: the old text is not in it; {hint}. Nothing was changed. Read the file and give the text exactly as it stands there."


def _mismatch(text: str, hits: Hits, expected: int, subject: str) -> str:
    n = len(hits.spans)
    lines = [_line(text, start) for start, _ in hits.spans[:_MOST_LINES_NAMED]]
    named = f"line{'s' if n > 1 else ''} {', '.join(map(str, lines))}{', …' if n > len(lines) else ''}"
    way_out = "Add lines around it until it is the only one" if n > expected else "Give the number that is there"
    return (
        f"{subject}: the old text is there {n} time{'s' if n > 1 else ''} ({named}), not {expected}. Nothing was changed. "
        f'{way_out}, or change {f"all {n}" if n > 1 else "it"} with count={n} or count="all".'
    )


def _line(text: str, place: int) -> int:
    return text.count("\n", 0, place) + 1


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
