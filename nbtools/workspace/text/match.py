"""Finds a text in a file: exactly, else with increasing tolerance.

exact → line endings (LF for CRLF) → trailing whitespace → indentation → close match.  The first step with a result counts; the steps
after line endings are loose: they match whole lines only, and only one place.  Also finds and describes the most similar text, for
messages.
"""

from __future__ import annotations

import difflib
import heapq
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import Literal, TypeAlias

from nbtools.diff.text_lines import displayable, with_lf
from nbtools.workspace.text.file_body import TextBody

_LONG_WORD = re.compile(r"\w{2,}")
_MAX_LINES = 100_000
_MAX_COMPARED_PLACES = 5
_MIN_RATIO = 0.5
_MAX_QUOTED = 120
_LOOK_ALIKE = str.maketrans(
    {
        **dict.fromkeys("\u2018\u2019\u201a\u201b\u2032\u00b4`", "'"),
        **dict.fromkeys("\u201c\u201d\u201e\u201f\u2033\u00ab\u00bb", '"'),
        **dict.fromkeys("\u2010\u2011\u2012\u2013\u2014\u2015\u2212\u00ad", "-"),
        **dict.fromkeys("\u00a0\u2002\u2003\u2007\u2009\u202f\u3000", " "),
        **dict.fromkeys("\u200b\u200c\u200d\u2060\ufeff", None),
        "\u2026": "...",
    }
)


def plain_characters(text: str) -> str:
    """Replaces typographic quotes, dashes and spaces by plain ones; removes invisible characters."""
    return text.translate(_LOOK_ALIKE)


_VIEWS: tuple[tuple[str, Callable[[str], str]], ...] = (
    ("trailing whitespace", str.rstrip),
    ("indentation", str.strip),
    ("whitespace", lambda line: " ".join(line.split())),
    ("quotes, dashes or invisible characters", lambda line: " ".join(plain_characters(line).split())),
    ("upper and lower case", lambda line: line.strip().casefold()),
)
"""What may differ, from the least to the most, and a function that removes that difference from a line."""


def describe_nearest(text: str, wanted: str, first: int = 1) -> str:
    """Describes, as half a sentence, where ``wanted`` nearly occurs in ``text`` (both with LF), and the difference.

    ``first`` is the number of the text's first line.
    """
    lines, block = text.split("\n")[:_MAX_LINES], wanted.replace("\r\n", "\n").strip("\n").split("\n")
    if not text:
        return "the file is empty"
    for difference, view in _VIEWS:
        k = _find([view(line) for line in lines], [view(line) for line in block])
        if k >= 0:
            return f"it differs only in {difference}: {_first_difference(lines, block, k, first)}"
    k = _most_alike(lines, block)
    return "it contains no similar text" if k < 0 else f"the most similar text differs: {_first_difference(lines, block, k, first)}"


def _find(lines: Sequence[str], block: Sequence[str]) -> int:
    """Returns the index of the line where ``block`` begins, also within a line; -1 if nowhere, and for a blank block."""
    text, wanted = "\n".join(lines), "\n".join(block)
    position = text.find(wanted) if wanted.strip() else -1
    return position if position < 0 else text.count("\n", 0, position)


def _first_difference(lines: Sequence[str], block: Sequence[str], place: int, first: int) -> str:
    for k, wanted in enumerate(block):
        found = lines[place + k] if place + k < len(lines) else ""
        if wanted != found:
            return f"line {first + place + k} is {_quoted(found)}, but {_quoted(wanted)} was given"
    return f"line {first + place} is {_quoted(lines[place])}"


def _most_alike(lines: Sequence[str], block: Sequence[str]) -> int:
    """Returns the line with the most rare words of ``block`` after it, if the lines there are similar; else -1."""
    votes = _votes(lines, block)
    best, likeness = -1, _MIN_RATIO
    for place in heapq.nlargest(_MAX_COMPARED_PLACES, votes, key=votes.__getitem__):
        ratio = difflib.SequenceMatcher(None, _sample(block, 0, len(block)), _sample(lines, place, len(block)), autojunk=False).ratio()
        if ratio > likeness:
            best, likeness = place, ratio
    return best


def _votes(lines: Sequence[str], block: Sequence[str]) -> dict[int, float]:
    """Counts votes of words for the line where the block would begin; a word in n lines has one n-th of a vote."""
    words = [(offset, word) for offset, line in enumerate(block) for word in set(_LONG_WORD.findall(line.casefold()))]
    wanted = {word for _, word in words}
    places: dict[str, list[int]] = {}
    for number, line in enumerate(lines):
        for word in wanted.intersection(_LONG_WORD.findall(line.casefold())):
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
    """Returns a line in quotes, with tabs and invisible characters escaped."""
    text = "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in line)
    return f'"{text}"' if len(text) <= _MAX_QUOTED else f'"{text[:_MAX_QUOTED]}…"'


MIN_SIMILARITY = 0.9
"""The similarity from which a place counts as the text: at most one character in ten differs."""
_SHORTEST = 10
"""Shorter texts, in characters, are similar to too much."""
_LINE_MAY_DIFFER = 0.3
"""The share of one line that may differ."""
_ANCHOR_MAY_DIFFER = 0.4
_MARGIN = 0.04
"""How much less similar the next place must be, on top of twice the distance."""
_MOST_CANDIDATES = 2_000
_FEW_CANDIDATES = 20
_CHUNK = 1 << 20
_ENDS_AGREE = 3
_NUMBER = re.compile(rb"\d+")
_WORD = re.compile(r"\w")
_LOGIC = "not|no|never|without|unless|and|or|xor|true|false|none|null|yes"
_OPPOSITES = "min|max|get|set|on|off|in|out|up|down|start|stop|enable|disable|enabled|disabled|first|last|left|right|before|after"
_SIGN = re.compile(rf"\d+|[-+*/%=<>!&|^~]+|(?<![^\W_])(?:{_LOGIC}|{_OPPOSITES})(?![^\W_])")
"""Differences that change a line's meaning, however small: numbers, operators, words of logic and opposites, also in names."""


@dataclass(frozen=True, slots=True)
class CloseMatch:
    """A similar place: whole lines from ``start`` to ``end`` in ``TextBody.data``, without the last line's ending.

    ``fits``: they may be taken for the text.
    """

    start: int
    end: int
    likeness: float
    fits: bool


def is_unambiguous(best: CloseMatch | None, other: CloseMatch | None) -> bool:
    """Returns whether ``best`` may be taken for the text, and ``other`` is clearly less similar.

    Whitespace and similar-looking characters do not count as differences.  Nine tenths of the rest and seven tenths of each line must be
    equal; numbers, operators, words of logic, opposites and the text's first and last characters always.
    """
    if best is None or not best.fits or best.likeness < MIN_SIMILARITY:
        return False
    return other is None or 1 - other.likeness >= 2 * (1 - best.likeness) + _MARGIN


def find_nearest(body: TextBody, old: str) -> tuple[CloseMatch | None, CloseMatch | None]:
    """Returns the place most similar to ``old`` and the next one that does not overlap it; fitting places come first.

    Reads the file in one pass, whatever its size.
    """
    lines = old.split("\n")
    folded = [_folded(line) for line in (lines[:-1] if len(lines) > 1 and not lines[-1] else lines)]
    if sum(map(len, folded)) < _SHORTEST or not _WORD.search(old):
        return None, None
    anchor = max(range(len(folded)), key=lambda k: len(_WORD.findall(folded[k])))
    places = _places_like(body.data, folded[anchor].encode())
    compared = (_compared(body, place, folded, anchor, with_end=len(lines) > len(folded)) for place in places)
    candidates = sorted((near for near in compared if near is not None), key=lambda near: (not near.fits, -near.likeness))
    best = candidates[0] if candidates else None
    rivals = (near for near in candidates if best and near.fits == best.fits and (near.end <= best.start or near.start >= best.end))
    return best, next(rivals, None)


def _places_like(data: bytes, anchor: bytes) -> list[int]:
    """Returns where lines similar to ``anchor`` begin: those with its numbers, else the most similar; none if too many."""
    numbers = _NUMBER.findall(anchor)
    same: list[int] = []
    others: list[tuple[float, int]] = []
    for distance, place, line in _lines_like(data, anchor):
        if all(number in line for number in numbers) and _NUMBER.findall(line) == numbers:
            same.append(place)
        else:
            others.append((distance, place))
            if len(others) > _MOST_CANDIDATES:
                others = heapq.nsmallest(_FEW_CANDIDATES, others)
    if same:
        return same if len(same) <= _MOST_CANDIDATES else []
    return [place for _, place in heapq.nsmallest(_FEW_CANDIDATES, others)]


def _lines_like(data: bytes, anchor: bytes) -> Iterator[tuple[float, int, bytes]]:
    """Yields lines similar to ``anchor``: their distance, position and content."""
    # Not imported at the top: it takes 40 ms, and most edits are exact.
    from rapidfuzz import process  # noqa: PLC0415
    from rapidfuzz.distance import Levenshtein  # noqa: PLC0415

    start = 0
    while start < len(data):
        end = data.find(b"\n", start + _CHUNK) + 1 or len(data)
        lines = data[start:end].split(b"\n")
        stripped = [line.strip() for line in lines]
        # Not extract_iter: in rapidfuzz 3.14 it never frees the tuples it yields.
        hits = process.extract(anchor, stripped, scorer=Levenshtein.normalized_distance, score_cutoff=_ANCHOR_MAY_DIFFER, limit=None)
        if hits:
            starts = list(accumulate((len(line) + 1 for line in lines), initial=start))
            yield from ((distance, starts[number], line) for line, distance, number in hits)
        start = end


def _compared(body: TextBody, place: int, wanted: Sequence[str], anchor: int, *, with_end: bool) -> CloseMatch | None:
    """Compares the lines around the one at ``place`` with all wanted lines; None if the file has too few lines there."""
    data, start = body.data, place
    for _ in range(anchor):
        if start == 0:
            return None
        start = data.rfind(b"\n", 0, start - 1) + 1
    end = start
    for k in range(len(wanted)):
        stop = data.find(b"\n", end + (k > 0))
        if stop < 0 and (k < len(wanted) - 1 or with_end):
            return None
        end = len(data) if stop < 0 else stop
    found = [_folded(line) for line in displayable(body.text(start, end)).split("\n")]
    end -= data[end - 1 : end] == b"\r" and end > start
    distances = [_distance(one, other) for one, other in zip(wanted, found, strict=True)]
    likeness = max(1 - sum(distances) / sum(map(len, wanted)), 0.0)
    fits = _may_stand_for(wanted, found, distances)
    return CloseMatch(start, end + (2 if data[end : end + 1] == b"\r" else 1) if with_end else end, likeness, fits)


def _may_stand_for(wanted: Sequence[str], found: Sequence[str], distances: Sequence[int]) -> bool:
    """Returns False if the difference changes the meaning.

    That is: a line that differs too much, another number or condition, or more text before or after.
    """
    if any(distance > _LINE_MAY_DIFFER * max(len(one), len(other)) for one, other, distance in zip(wanted, found, distances, strict=True)):
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


MatchMode: TypeAlias = Literal["exact", "blanks", "close"]
"""exact: only LF may stand for CRLF.  blanks: also trailing whitespace, then indentation, may differ.  close: similar text."""
MatchMethod: TypeAlias = Literal["exact", "line ends", "trailing blanks", "indentation", "close match"]
Span: TypeAlias = tuple[int, int]

_END = rb"\r?\n"
_END_OR_LAST = rb"(?:\r?\n|\Z)"
_BLANKS = rb"[ \t]*"
_ALL_BLANKS = rb"(?<![ \t])"
"""Before whitespace at the beginning of a text: otherwise each position in a long run of blanks would be tried."""
_UNKNOWN = rb"(?:\xef\xbf\xbd|[\x80-\xff])"
"""What U+FFFD may stand for: itself, or an undecodable byte."""


@dataclass(frozen=True, slots=True)
class TextMatch:
    """The places where a text was found, as positions in ``TextBody.data`` in order, and the step that found them.

    ``nearest``: the most similar places, if they were searched for.
    """

    spans: tuple[Span, ...]
    how: MatchMethod = "exact"
    likeness: float = 1.0
    nearest: tuple[CloseMatch | None, CloseMatch | None] | None = None

    @property
    def is_inexact(self) -> bool:
        return self.how not in {"exact", "line ends"}


def find_text(body: TextBody, old: str, match: MatchMode = "exact", *, open_end: bool = False, one: bool = False) -> TextMatch:
    """Returns all places of the first step that finds any; if none does, the step is ``exact``.

    ``one``: exactly one place is expected, so that overlapping ones (``aba`` in ``ababa``) count as several; a loose step always counts so.
    ``open_end``: at the end of a file without a final newline, a loose step ignores the one at the end of ``old``.
    """
    found = find_exact(body, old, overlapping=one)
    if found.spans or match == "exact" or not old.strip():
        return found
    for how, step in _LOOSE:
        spans = tuple(step(body, with_lf(displayable(old)), _END_OR_LAST if open_end else _END))
        if spans:
            return TextMatch(spans, how)
    return found if match == "blanks" else _closest(body, old)


def find_exact(body: TextBody, old: str, *, overlapping: bool = False) -> TextMatch:
    """Finds occurrences character by character; only if there are none, those with CRLF for LF (or the reverse)."""
    if not old:
        return TextMatch(())
    spans = tuple(_literal(body, old, overlapping=overlapping))
    if spans or not ("\n" in old or "\ufffd" in displayable(old)):
        return TextMatch(spans)
    plain = with_lf(displayable(old))
    wanted = re.compile(_END.join(map(_pattern, plain.split("\n"))))
    found = _found(body, wanted, lambda start, end: _is_whole(body, start, end, plain), overlapping=overlapping)
    return TextMatch(tuple(found), "line ends")


def _literal(body: TextBody, old: str, *, overlapping: bool) -> Iterator[Span]:
    data, wanted = body.data, displayable(old).encode()
    place = data.find(wanted)
    while place >= 0:
        if not (data[place] == 10 and place and data[place - 1] == 13):  # would cut a CRLF in two
            yield place, place + len(wanted)
        place = data.find(wanted, place + (1 if overlapping else len(wanted)))


def _trailing(body: TextBody, old: str, last: bytes) -> Iterator[Span]:
    """Finds places where trailing whitespace may differ; the first and the last line may be parts of lines."""
    lines = old.removesuffix("\n").split("\n")
    end = _BLANKS + last if old.endswith("\n") else _BLANKS + rb"(?=\r?\n|\Z)" if old.endswith((" ", "\t")) else b""
    first = b"" if lines[0].rstrip(" \t") else _ALL_BLANKS
    wanted = re.compile(first + (_BLANKS + _END).join(_pattern(line.rstrip(" \t")) for line in lines) + end)
    return _found(body, wanted, lambda start, stop: _is_whole(body, start, stop, old))


def _indented(body: TextBody, old: str, last: bytes) -> Iterator[Span]:
    """Finds whole lines that may differ in whitespace at both ends; each span starts at the beginning of its first line."""
    lines = [line.strip(" \t") for line in old.removesuffix("\n").split("\n")]
    first, *rest = map(_pattern, lines)
    parts = [first or _ALL_BLANKS, *(_BLANKS + _END + (_BLANKS + line if line else b"") for line in rest)]
    wanted = re.compile(b"".join(parts) + _BLANKS + (last if old.endswith("\n") else rb"(?=\r?\n|\Z)"))
    for start, end in _found(body, wanted, lambda start, stop: _begins_line(body.data, start) and _is_whole(body, start, stop, old)):
        yield body.data.rfind(b"\n", 0, start) + 1, end


_LOOSE: tuple[tuple[MatchMethod, Callable[[TextBody, str, bytes], Iterator[Span]]], ...] = (
    ("trailing blanks", _trailing),
    ("indentation", _indented),
)


def _closest(body: TextBody, old: str) -> TextMatch:
    best, other = find_nearest(body, with_lf(displayable(old)))
    if best is not None and is_unambiguous(best, other):
        return TextMatch(((best.start, best.end),), "close match", best.likeness, (best, other))
    return TextMatch((), nearest=(best, other))


def _pattern(text: str) -> bytes:
    return _UNKNOWN.join(re.escape(part.encode()) for part in text.split("\ufffd"))


def _found(body: TextBody, wanted: re.Pattern[bytes], fits: Callable[[int, int], bool], *, overlapping: bool = True) -> Iterator[Span]:
    """Yields matches with increasing ends; those that differ only in the blanks before them are one."""
    place, done = 0, -1
    while hit := wanted.search(body.data, place):
        start, end = hit.span()
        place = start + 1
        if end > done and fits(start, end):
            yield start, end
            place, done = (start + 1 if overlapping else max(end, start + 1)), end


def _begins_line(data: bytes, place: int) -> bool:
    return not data[data.rfind(b"\n", 0, place) + 1 : place].strip(b" \t")


def _is_whole(body: TextBody, start: int, end: int, wanted: str) -> bool:
    """Returns whether U+FFFD in ``wanted`` stands for undecodable bytes, not for parts of characters."""
    if "\ufffd" not in wanted:
        return True
    first, last = body.data.rfind(b"\n", 0, start) + 1, body.data.find(b"\n", end)
    last = len(body.data) if last < 0 else last
    span = body.text(start, end)
    whole = body.text(first, start) + span + body.text(end, last)
    return whole == body.text(first, last) and displayable(span).count("\ufffd") == wanted.count("\ufffd")
