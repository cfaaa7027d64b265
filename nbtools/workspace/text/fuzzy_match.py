"""Finds the lines of a file that are most similar to a text, and decides whether they may be taken for it."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from nbtools.diff.text_lines import plain_characters

MIN_SIMILARITY = 0.9
"""The similarity from which a place counts as the text: at most one character in ten differs."""
_SHORTEST = 10
"""Shorter texts, in characters, are similar to too much."""
_LINE_MAY_DIFFER = 0.3
"""The share of one line that may differ."""
_ANCHOR_MAY_DIFFER = 0.4
_MARGIN = 0.04
"""How much less similar the next place must be, on top of twice the distance."""
_ANCHORS = 2
_MOST_CANDIDATES = 2_000
_FEW_CANDIDATES = 20
_ENDS_AGREE = 3
_NUMBER = re.compile(r"\d+")
_WORD = re.compile(r"\w")
_LOGIC = "not|no|never|without|unless|and|or|xor|true|false|none|null|yes"
_OPPOSITES = (
    "min|max|get|set|on|off|in|out|up|down|start|stop|enable|disable|enabled|disabled|first|last|left|right"
    "|before|after"
)
_SIGN = re.compile(rf"\d+|[-+*/%=<>!&|^~]+|(?<![^\W_])(?:{_LOGIC}|{_OPPOSITES})(?![^\W_])")
"""Small differences that change a meaning: numbers, operators, words of logic, opposites (in names)."""


@dataclass(frozen=True, slots=True)
class NearMatch:
    """A similar place: lines ``start`` to ``end`` (0-based, exclusive). ``fits``: it may be the text."""

    start: int
    end: int
    likeness: float
    fits: bool


def is_unambiguous(best: NearMatch | None, other: NearMatch | None) -> bool:
    """Returns whether ``best`` may be taken for the text, and ``other`` is clearly less similar.

    Whitespace and look-alike characters do not count as differences.  Nine tenths of the rest and seven
    tenths of each line must be equal; numbers, operators, words of logic, opposites and the text's first and
    last characters always.
    """
    if best is None or not best.fits or best.likeness < MIN_SIMILARITY:
        return False
    return other is None or 1 - other.likeness >= 2 * (1 - best.likeness) + _MARGIN


def find_nearest(lines: Sequence[str], old: str, first: int = 0) -> tuple[NearMatch | None, NearMatch | None]:
    """Returns the place most similar to ``old`` from line ``first`` on, and the next one apart from it.

    Fitting places come first.  The last of ``lines`` is what comes after the file's last newline.
    """
    wanted = [_folded(line) for line in old.removesuffix("\n").split("\n")]
    if sum(map(len, wanted)) < _SHORTEST or not _WORD.search(old):
        return None, None
    last = len(lines) - old.endswith("\n")
    candidates: list[NearMatch] = []
    with_words = [number for number, line in enumerate(wanted) if _WORD.search(line)]
    for anchor in sorted(with_words, key=lambda number: -len(_WORD.findall(wanted[number])))[:_ANCHORS]:
        starts = (number - anchor for number in _lines_like(lines, wanted[anchor], first))
        candidates = [
            _compared(lines, start, wanted) for start in starts if first <= start <= last - len(wanted)
        ]
        if candidates:
            break
    candidates.sort(key=lambda near: (not near.fits, -near.likeness))
    best = candidates[0] if candidates else None
    rivals = (
        near
        for near in candidates
        if best and near.fits == best.fits and (near.end <= best.start or near.start >= best.end)
    )
    return best, next(rivals, None)


def _lines_like(lines: Sequence[str], anchor: str, first: int) -> Sequence[int]:
    """Returns the indexes of lines like ``anchor``: those with its numbers, else the most similar."""
    # Not imported at the top: it takes 40 ms, and most edits are exact.
    from rapidfuzz import process  # noqa: PLC0415
    from rapidfuzz.distance import Levenshtein  # noqa: PLC0415

    stripped = [line.strip() for line in lines[first:]]
    # Not extract_iter: in rapidfuzz 3.14 it never frees the tuples it yields.
    hits = process.extract(
        anchor, stripped, scorer=Levenshtein.normalized_distance, score_cutoff=_ANCHOR_MAY_DIFFER, limit=None
    )
    numbers = _NUMBER.findall(anchor)
    same = [
        first + index
        for line, _, index in hits
        if all(number in line for number in numbers) and _NUMBER.findall(line) == numbers
    ]
    if same:
        return same if len(same) <= _MOST_CANDIDATES else []
    return [first + index for _, _, index in hits[:_FEW_CANDIDATES]]


def _compared(lines: Sequence[str], start: int, wanted: Sequence[str]) -> NearMatch:
    found = [_folded(line) for line in lines[start : start + len(wanted)]]
    distances = [_distance(one, other) for one, other in zip(wanted, found, strict=True)]
    likeness = max(1 - sum(distances) / sum(map(len, wanted)), 0.0)
    return NearMatch(start, start + len(wanted), likeness, _may_stand_for(wanted, found, distances))


def _may_stand_for(wanted: Sequence[str], found: Sequence[str], distances: Sequence[int]) -> bool:
    """Returns False if the difference changes the meaning.

    That is: a line that differs too much, another number or condition, or more text before or after.
    """
    if any(
        distance > _LINE_MAY_DIFFER * max(len(one), len(other))
        for one, other, distance in zip(wanted, found, distances, strict=True)
    ):
        return False
    if any(_signs(one) != _signs(other) for one, other in zip(wanted, found, strict=True)):
        return False
    first, last = wanted[0][:_ENDS_AGREE], wanted[-1][-_ENDS_AGREE:]
    return found[0].startswith(first) and found[-1].endswith(last)


def _signs(line: str) -> list[str]:
    return _SIGN.findall(line.casefold())


def _distance(one: str, other: str) -> int:
    from rapidfuzz.distance import Levenshtein  # noqa: PLC0415 - as above

    return 0 if one == other else Levenshtein.distance(one, other)


def _folded(line: str) -> str:
    return " ".join(plain_characters(line).split())
