"""Where a text nearly occurs, and what keeps it from occurring."""

from __future__ import annotations

import difflib
import heapq
import re
from collections.abc import Callable, Sequence

_WORD = re.compile(r"\w{2,}")
_MOST_LINES = 100_000
_MOST_CANDIDATES = 5
_LEAST_LIKE = 0.5
_LONGEST_SHOWN = 120

_VIEWS: tuple[tuple[str, Callable[[str], str]], ...] = (
    ("blanks at the ends of lines", str.rstrip),
    ("indentation", str.strip),
    ("blanks", lambda line: " ".join(line.split())),
    ("upper and lower case", lambda line: line.strip().casefold()),
)
"""What may differ, from the least to the most, and lines without that difference."""


def nearest_text(text: str, wanted: str) -> str:
    """Half a sentence: the line where ``wanted`` nearly occurs in ``text`` (both with LF), and what differs there."""
    lines, block = text.split("\n")[:_MOST_LINES], wanted.replace("\r\n", "\n").strip("\n").split("\n")
    if not text:
        return "the file is empty"
    for what, view in _VIEWS:
        place = _find([view(line) for line in lines], [view(line) for line in block])
        if place >= 0:
            return f"it differs only in {what}: {_first_difference(lines, block, place)}"
    place = _most_alike(lines, block)
    return "nothing in it is much like it" if place < 0 else f"the nearest text differs: {_first_difference(lines, block, place)}"


def _find(lines: Sequence[str], block: Sequence[str]) -> int:
    """The first line of ``lines`` where ``block`` begins, parts of lines included; what is blank in the end is nowhere."""
    text, wanted = "\n".join(lines), "\n".join(block)
    place = text.find(wanted) if wanted.strip() else -1
    return place if place < 0 else text.count("\n", 0, place)


def _first_difference(lines: Sequence[str], block: Sequence[str], place: int) -> str:
    for k, given in enumerate(block):
        there = lines[place + k] if place + k < len(lines) else ""
        if given != there:
            return f"line {place + k + 1} is {_quoted(there)}, given was {_quoted(given)}"
    return f"line {place + 1} is {_quoted(lines[place])}"


def _most_alike(lines: Sequence[str], block: Sequence[str]) -> int:
    """The place where most rare words of ``block`` are, if the lines there are alike; -1 if they are not."""
    votes = _votes(lines, block)
    best, likeness = -1, _LEAST_LIKE
    for place in heapq.nlargest(_MOST_CANDIDATES, votes, key=votes.__getitem__):
        ratio = difflib.SequenceMatcher(None, _sample(block, 0, len(block)), _sample(lines, place, len(block)), autojunk=False).ratio()
        if ratio > likeness:
            best, likeness = place, ratio
    return best


def _votes(lines: Sequence[str], block: Sequence[str]) -> dict[int, float]:
    """Each word votes for the place where the block would begin; a word that is in n lines has one n-th of a vote."""
    words = [(offset, word) for offset, line in enumerate(block) for word in set(_WORD.findall(line.casefold()))]
    wanted = {word for _, word in words}
    places: dict[str, list[int]] = {}
    for number, line in enumerate(lines):
        for word in wanted.intersection(_WORD.findall(line.casefold())):
            places.setdefault(word, []).append(number)
    votes: dict[int, float] = {}
    for offset, word in words:
        found = places.get(word, ())
        for number in found[:1000]:
            start = max(number - offset, 0)
            votes[start] = votes.get(start, 0) + 1 / len(found)
    return votes


def _sample(lines: Sequence[str], place: int, count: int) -> str:
    return "\n".join(line.strip() for line in lines[place : place + min(count, 40)])[:2000]


def _quoted(line: str) -> str:
    """A line in quotes, its tabs and hidden characters spelled out."""
    text = "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in line)
    return f'"{text}"' if len(text) <= _LONGEST_SHOWN else f'"{text[:_LONGEST_SHOWN]}…"'
