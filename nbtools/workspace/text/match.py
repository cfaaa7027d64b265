"""Finds a text in a file: exactly, else with increasing tolerance.

The ladder: exact → line endings → whitespace between tokens → indentation → look-alike characters → fuzzy.
Each rung also allows the differences of those before, and the first that finds the text counts.  Edits,
hunks, search/replace blocks and suggestions use it.
"""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Literal, TypeAlias

from nbtools.diff.text_lines import displayable, plain_characters, with_lf
from nbtools.workspace.text.fuzzy_match import NearMatch, find_nearest, is_unambiguous

MatchMode: TypeAlias = Literal["exact", "blanks", "close"]
"""exact: only line endings may differ. blanks: also whitespace and indentation. close: every rung."""
MatchMethod: TypeAlias = Literal[
    "exact", "line endings", "whitespace", "indentation", "look-alike characters", "close match"
]
"""A rung of the ladder."""
Span: TypeAlias = tuple[int, int]

_RUNGS: dict[MatchMode, tuple[MatchMethod, ...]] = {
    "exact": ("line endings",),
    "blanks": ("line endings", "whitespace", "indentation"),
    "close": ("line endings", "whitespace", "indentation", "look-alike characters"),
}
_PARTIAL = frozenset({"line endings", "whitespace"})
"""Rungs on which the first and the last line may be parts of lines."""
_WORD = re.compile(r"\w+")
_WORD_BETWEEN_SPACES = re.compile(r"\S+")
_ESCAPE = re.compile(r"\\u([0-9A-Fa-f]{4})")
_FEW = 100


def _collapsed(line: str) -> str:
    words = " ".join(line.split())
    return line[: len(line) - len(line.lstrip())] + words if words else ""


def _unindented(line: str) -> str:
    return " ".join(line.split())


_FOLDS: dict[str, Callable[[str], str]] = {
    "line endings": str,
    "whitespace": _collapsed,
    "indentation": _unindented,
    "look-alike characters": lambda line: _unindented(plain_characters(line)),
    "upper and lower case": lambda line: _unindented(plain_characters(line)).casefold(),
    "blanks beside signs": lambda line: "".join(plain_characters(line).split()),
    "escapes": lambda line: _unindented(_ESCAPE.sub(lambda found: chr(int(found[1], 16)), line)),
}
"""Functions that remove from a line what may differ.  The last three are only for suggestions."""


@dataclass(frozen=True, slots=True)
class TextMatch:
    """The places of a text, in order, and the rung that found them; ``nearest``: the most similar ones."""

    spans: tuple[Span, ...] = ()
    how: MatchMethod = "exact"
    likeness: float = 1.0
    nearest: tuple[NearMatch | None, NearMatch | None] | None = None

    @property
    def is_inexact(self) -> bool:
        return self.how not in {"exact", "line endings"}

    @property
    def may_differ_in_indentation(self) -> bool:
        return self.is_inexact and self.how != "whitespace"


@dataclass(frozen=True, slots=True)
class LooseMatch:
    """A text not found exactly: its line (from 1), the rung that found it, its similarity (0 to 1)."""

    line: int
    how: MatchMethod
    likeness: float


class TextIndex:
    """A text prepared for searches. Positions are those in ``text``, with its lone surrogates."""

    def __init__(self, text: str) -> None:
        self.text = text
        self._folded: dict[str, list[str]] = {}
        self._with_word: dict[str, Sequence[int]] = {}

    @cached_property
    def lines(self) -> list[str]:
        """The lines without their ends, U+FFFD for undecodable bytes, and an empty last one."""
        lines = displayable(with_lf(self.text)).split("\n")
        return [*lines, ""] if lines[-1] else lines

    @cached_property
    def has_crlf(self) -> bool:
        return "\r" in self.text and "\r\n" in self.text

    @cached_property
    def starts(self) -> list[int]:
        """The positions where the lines begin, and the end of the text."""
        return [0, *(newline.end() for newline in re.finditer("\n", self.text)), len(self.text)]

    def line_at(self, position: int) -> int:
        """Returns the index of the line at ``position``."""
        return self.text.count("\n", 0, position)

    def find(self, old: str, match: MatchMode, *, one: bool = False, open_end: bool = False) -> TextMatch:
        """Returns what the first successful rung finds; see ``matches``."""
        return next(self.matches(old, match, one=one, open_end=open_end), TextMatch())

    def matches(
        self,
        old: str,
        match: MatchMode,
        *,
        one: bool = False,
        open_end: bool = False,
        whole_lines: bool = False,
        first: int = 0,
    ) -> Iterator[TextMatch]:
        """Yields what each rung finds, if anything; the last in ``close`` mode always has ``nearest``.

        ``one``: a single place is expected, so that overlapping ones (``aba`` in ``ababa``) count as several;
        on the rungs after line endings they always do.  ``open_end``: on these, a newline at the end of
        ``old`` also matches the end of the file.  ``whole_lines``: only lines from the index ``first`` on,
        and on all rungs but ``exact`` as with ``open_end``.
        """
        if not old:
            return
        if spans := tuple(self._literal(old, overlapping=one, whole_lines=whole_lines, first=first)):
            yield TextMatch(spans)
        for how in _RUNGS[match]:
            strict = how == "line endings"
            if strict and not (whole_lines or "\n" in old or "\ufffd" in displayable(old)):
                continue
            pattern = _LinePattern(
                old,
                how,
                open_end=whole_lines or (open_end and not strict),
                whole_lines=whole_lines or how not in _PARTIAL,
            )
            found = self._spans(pattern, first)
            if spans := tuple(found if one or not strict else _without_overlaps(found)):
                yield TextMatch(spans, how)
        if match == "close":
            yield self._closest(old, open_end=whole_lines, first=first)

    def loose_matches(self, found: TextMatch) -> list[LooseMatch]:
        """Returns what to report of a match: nothing if it is exact or differs only in line endings."""
        return [
            LooseMatch(self.line_at(start) + 1, found.how, found.likeness)
            for start, _ in found.spans
            if found.is_inexact
        ]

    def find_lines(self, block: Sequence[str], how: str) -> int | None:
        """Returns the index of the line where ``block`` begins, also within a line; None if it is nowhere."""
        return next(self._lines_with(_LinePattern("\n".join(block), how)), None)

    def span_of(self, near: NearMatch, *, with_end: bool) -> Span:
        """Returns the positions of a similar place, ``with_end`` including the last line's end."""
        last = near.end - 1
        return self.starts[near.start], (
            self.starts[near.end] if with_end else self.starts[last] + len(self.lines[last])
        )

    def _literal(self, old: str, *, overlapping: bool, whole_lines: bool, first: int) -> Iterator[Span]:
        text = self.text
        place = text.find(old, self.starts[first] if first else 0)
        while place >= 0:
            end = place + len(old)
            cuts_crlf = text[place] == "\n" and text[place - 1 : place] == "\r" and place > 0
            begins_and_ends = not whole_lines or (
                text[place - 1 : place] in {"", "\n"} and (old.endswith("\n") or end == len(text))
            )
            if begins_and_ends and not cuts_crlf:
                yield place, end
            place = text.find(old, place + 1 if overlapping or whole_lines else end)

    def _spans(self, pattern: _LinePattern, first: int) -> Iterator[Span]:
        is_unterminated = not self.text.endswith("\n")
        for start in self._lines_with(pattern, first):
            end = start + len(pattern.wanted)
            if not (
                pattern.is_terminated and is_unterminated and end == len(self.lines) and not pattern.open_end
            ):
                yield from pattern.spans(self, start)

    def _lines_with(self, pattern: _LinePattern, first: int = 0) -> Iterator[int]:
        if pattern.how != "line endings" and not any(pattern.wanted):
            return
        if pattern.how == "look-alike characters" and pattern.is_ascii and self.text.isascii():
            return
        offset, word = pattern.longest_word()
        numbers = self._lines_containing(word) if pattern.how in _RUNGS["blanks"] else range(len(self.lines))
        fold, count = _FOLDS[pattern.how], len(pattern.wanted)
        keys = self._keys(pattern.how) if len(numbers) > _FEW else None
        for number in numbers:
            start = number - offset
            if start < first:
                continue
            found = (
                [fold(line) for line in self.lines[start : start + count]]
                if keys is None
                else keys[start : start + count]
            )
            if len(found) == count and pattern.agrees(found):
                yield start

    def _lines_containing(self, word: str) -> Sequence[int]:
        if word not in self._with_word:
            self._with_word[word] = (
                [number for number, line in enumerate(self.lines) if word in line]
                if word in self.text
                else []
            )
        return self._with_word[word]

    def _keys(self, how: str) -> list[str]:
        if how not in self._folded:
            self._folded[how] = list(map(_FOLDS[how], self.lines))
        return self._folded[how]

    def _closest(self, old: str, *, open_end: bool, first: int) -> TextMatch:
        best, other = nearest = self.nearest(old, open_end=open_end, first=first)
        if best is not None and is_unambiguous(best, other):
            return TextMatch(
                (self.span_of(best, with_end=old.endswith("\n")),), "close match", best.likeness, nearest
            )
        return TextMatch(nearest=nearest)

    def nearest(
        self, old: str, *, open_end: bool = False, first: int = 0
    ) -> tuple[NearMatch | None, NearMatch | None]:
        """Returns the two places most similar to ``old``; for ``open_end``, ``first`` see ``matches``."""
        lines = self.lines if open_end or self.text.endswith("\n") else self.lines[:-1]
        return find_nearest(lines, displayable(with_lf(old)), first)


class _LinePattern:
    """The lines of a text to find on one rung, and how they agree with lines of the file."""

    def __init__(self, old: str, how: str, *, open_end: bool = False, whole_lines: bool = False) -> None:
        self.how, self.open_end, self.whole_lines = how, open_end, whole_lines
        self.is_ascii = old.isascii()
        lines = displayable(with_lf(old)).split("\n")
        if whole_lines and open_end and lines[-1]:
            lines.append("")
        self.is_terminated = len(lines) > 1 and not lines[-1]
        self.ends_line = how == "whitespace" and lines[-1].endswith((" ", "\t"))
        self.wanted = list(map(_FOLDS[how], lines))

    def longest_word(self) -> tuple[int, str]:
        words = ((offset, word) for offset, line in enumerate(self.wanted) for word in _WORD.findall(line))
        return max(words, key=lambda pair: len(pair[1]), default=(0, ""))

    def agrees(self, found: Sequence[str]) -> bool:
        wanted = self.wanted
        if self.whole_lines:
            return found[:-1] == wanted[:-1] and (self.is_terminated or found[-1] == wanted[-1])
        if len(wanted) == 1:
            return found[0].endswith(wanted[0]) if self.ends_line else wanted[0] in found[0]
        last = found[-1] == wanted[-1] if self.ends_line else found[-1].startswith(wanted[-1])
        return last and found[0].endswith(wanted[0]) and found[1:-1] == wanted[1:-1]

    def spans(self, index: TextIndex, start: int) -> Iterator[Span]:
        """Yields the positions at lines from ``start`` that match; several only within a line."""
        last = start + len(self.wanted) - 1
        base, last_base, last_line = index.starts[start], index.starts[last], index.lines[last]
        if self.whole_lines:
            yield base, last_base if self.is_terminated else last_base + len(last_line)
            return
        first_line = index.lines[start]
        folded, wanted = _FOLDS[self.how](first_line), self.wanted
        columns = self._columns(first_line)
        if len(wanted) == 1 and not self.ends_line:
            column = folded.find(wanted[0])
            while column >= 0:
                yield base + columns.begin(column), base + columns.end(column + len(wanted[0]))
                column = folded.find(wanted[0], column + 1)
        else:
            end = len(last_line) if self.ends_line else self._columns(last_line).end(len(wanted[-1]))
            yield base + columns.begin(len(folded) - len(wanted[0])), last_base + end

    def _columns(self, line: str) -> _Columns:
        return _Columns(line if self.how == "whitespace" else "")


class _Columns:
    """The columns of a line for those of its ``_collapsed`` form; the same if it has no words."""

    def __init__(self, line: str) -> None:
        self._words: list[int] = []
        self._collapsed_words: list[int] = []
        column = 0
        for word in _WORD_BETWEEN_SPACES.finditer(line):
            column = column + 1 if self._words else word.start()
            self._words.append(word.start())
            self._collapsed_words.append(column)
            column += len(word[0])

    def begin(self, column: int) -> int:
        """Returns the last column of the line that fits."""
        word = bisect_right(self._collapsed_words, column) - 1
        return column if word < 0 else self._words[word] + column - self._collapsed_words[word]

    def end(self, column: int) -> int:
        """Returns the first column of the line that fits."""
        word = bisect_left(self._collapsed_words, column) - 1
        return column if word < 0 else self._words[word] + column - self._collapsed_words[word]


def _without_overlaps(spans: Iterator[Span]) -> Iterator[Span]:
    position = 0
    for start, end in spans:
        if start >= position:
            yield start, end
            position = end
