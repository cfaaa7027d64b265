"""Estimates the tokens of single parts of a context: the tokens of a request are divided by characters.

A log counts the tokens of whole requests. What the input has grown by between two of them is what was added,
so the growth is divided among the texts that were added, by their characters. An estimate is never above the
part's own upper bound, and the estimates of what a request added are together at most what it has grown by.
Where that is not known, a text has the tokens per character that are usual in the session.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from statistics import median

from msgspec import Struct

from nbtools.traces.model import PartKind

ANSWERS: frozenset[PartKind] = frozenset({"text", "thinking", "arguments"})
_LEAST_CHARACTERS = 500
"""Characters of additions from which the session's usual number of tokens per character is taken: those
around a short text count for more than itself.
"""
_MOST_OF_USUAL = 2
"""How many times as many tokens per character as usual a text has at most: the rest are additions that the
log does not have.
"""


class Addition(Struct, gc=False):
    """A part of a context: the request ``start`` is the first that contained it. ``high`` is its upper bound
    in tokens.
    """

    part: PartKind
    characters: int | None
    start: int
    high: int | None


class Growth(Struct, gc=False):
    """By how many tokens the input of a request is larger than that of the one before; the whole of the first
    one, None where that is not known.

    ``answer`` are the tokens of the answer before it, without ``reasoning``; None where that is not known.
    """

    tokens: int | None
    answer: int | None = None
    reasoning: int | None = None


def estimates(additions: Sequence[Addition], growths: Sequence[Growth]) -> list[int | None]:
    """Returns the estimate of each part, None where there is no way to make one. The last growth is that of
    a request that was never sent.

    A part ``unlogged`` gets what the other parts of the first request leave.
    """
    found: list[int | None] = [None] * len(additions)
    by_start: dict[int, list[int]] = defaultdict(list)
    for place, one in enumerate(additions):
        by_start[one.start].append(place)
    usual = _usual(additions, growths, by_start)
    for start, places in by_start.items():
        if start >= len(growths):
            continue
        answers = [place for place in places if additions[place].part in ANSWERS]
        others = [place for place in places if additions[place].part not in ANSWERS]
        growth = growths[start]
        _divide_answer(additions, answers, growth, usual, found)
        if growth.tokens is None:
            for place in others if start + 1 < len(growths) else ():
                characters = additions[place].characters
                if characters is not None and usual is not None:
                    found[place] = _within(int(characters * usual), additions[place].high)
            continue
        unlogged = [place for place in others if additions[place].part == "unlogged"]
        if unlogged:
            _divide_first(additions, others, unlogged[0], growth.tokens, usual, found)
            continue
        if growth.answer is None:  # the answer's texts take part in the growth
            others += [place for place in answers if additions[place].part == "text"]
        _divide(additions, others, _left(growth), usual, found)
    return found


def _left(growth: Growth) -> int:
    """Returns what the input has grown by besides the answer."""
    return max((growth.tokens or 0) - (growth.answer or 0), 0)


def _usual(
    additions: Sequence[Addition], growths: Sequence[Growth], by_start: dict[int, list[int]]
) -> float | None:
    """Returns the usual number of tokens per character, from requests to which only texts were added."""
    ratios = []
    for start, places in by_start.items():
        if not 0 < start < len(growths) or growths[start].tokens is None or growths[start].answer is None:
            continue
        texts = [additions[place].characters for place in places if additions[place].part not in ANSWERS]
        total = _sum(texts)
        if None not in texts and total >= _LEAST_CHARACTERS and (left := _left(growths[start])):
            ratios.append(left / total)
    return median(ratios) if ratios else None


def _sum(counts: Iterable[int | None]) -> int:
    return sum(count or 0 for count in counts)


def _divide(
    additions: Sequence[Addition],
    places: Sequence[int],
    tokens: int,
    usual: float | None,
    found: list[int | None],
) -> None:
    """Divides tokens among texts by their characters; images and the like take what is above the usual."""
    texts = [place for place in places if additions[place].characters is not None]
    total = _sum(additions[place].characters for place in texts)
    has_others = len(texts) < len(places)
    if not total or (has_others and usual is None):
        return
    for place in texts:
        characters = additions[place].characters or 0
        share = tokens * characters // total
        if usual is not None:
            share = min(share, int(characters * usual * (1 if has_others else _MOST_OF_USUAL)))
        if additions[place].part not in ANSWERS or found[place] is None:
            found[place] = _within(share, additions[place].high)


def _divide_first(
    additions: Sequence[Addition],
    places: Sequence[int],
    unlogged: int,
    tokens: int,
    usual: float | None,
    found: list[int | None],
) -> None:
    """Gives the texts of a first request their usual tokens, and the rest to what the log does not have."""
    if usual is None:
        return
    others = [place for place in places if place != unlogged]
    if any(additions[place].characters is None for place in others):
        _divide(additions, others, tokens, usual, found)
        return
    left = tokens
    for place in others:
        found[place] = _within(
            min(int((additions[place].characters or 0) * usual), left), additions[place].high
        )
        left -= found[place] or 0
    found[unlogged] = left


def _divide_answer(
    additions: Sequence[Addition],
    places: Sequence[int],
    growth: Growth,
    usual: float | None,
    found: list[int | None],
) -> None:
    """Divides the tokens of an answer among its parts, those of reasoning among its thinking."""
    thinking = [place for place in places if additions[place].part == "thinking"]
    said = [place for place in places if additions[place].part != "thinking"]
    if growth.reasoning is not None:
        _by_characters(additions, thinking, growth.reasoning, found)
    if growth.answer is None:
        return
    unknown = [place for place in said if additions[place].characters is None]
    if not unknown:
        _by_characters(additions, said, growth.answer, found)
    elif usual is not None or len(said) == len(unknown):
        left = growth.answer
        for place in said:
            if (characters := additions[place].characters) is not None:
                found[place] = min(int(characters * (usual or 0)), left)
                left -= found[place] or 0
        for place in unknown:
            found[place] = left // len(unknown)


def _by_characters(
    additions: Sequence[Addition], places: Sequence[int], tokens: int, found: list[int | None]
) -> None:
    total = _sum(additions[place].characters for place in places)
    for place in places:
        share = tokens // len(places)
        if total:
            share = tokens * (additions[place].characters or 0) // total
        found[place] = _within(share, additions[place].high)


def _within(tokens: int, high: int | None) -> int:
    return max(tokens if high is None else min(tokens, high), 0)
