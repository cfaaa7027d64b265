"""Merges a change into loosely found text: where old and new text agree, the file's characters stay."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Callable, Iterator, Sequence
from itertools import accumulate
from typing import TypeAlias

from nbtools.diff.line_diff import Op, opcodes
from nbtools.diff.matching import matching_blocks
from nbtools.diff.text_lines import plain_characters

_INVISIBLE = "[\u200b\u200c\u200d\u2060\ufeff]*"
"""Belongs to the character before it, so that it stays with that one."""
_UNIT = re.compile(rf"(?:[^\S\n]*\n|[^\S\n]+|\.\.\.|.){_INVISIBLE}", re.DOTALL)
_TOKEN = re.compile(rf"(?:[^\S\n]*\n|[^\S\n]+|\w(?:{_INVISIBLE}\w)*|\.\.\.|.){_INVISIBLE}", re.DOTALL)
_Block: TypeAlias = tuple[int, int, int]


def merge_lines(
    old: Sequence[str], found: Sequence[str], new: Sequence[str], reindent: Callable[[str], str]
) -> list[str]:
    """Returns ``new`` as it replaces the lines ``found``, which were matched with ``old``, line by line.

    Lines that ``old`` and ``new`` share stay as they are in ``found``; in the others, the words, quotes,
    dashes, blanks, invisible characters and trailing blanks that they share.  ``reindent`` gives a line of
    ``new`` its indentation in the file.
    """
    lines: list[str] = []
    for op in opcodes(old, new):
        lines += found[op.i1 : op.i2] if op.tag == "equal" else _merged(old, found, new, op, reindent)
    return lines


def _merged(
    old: Sequence[str], found: Sequence[str], new: Sequence[str], op: Op, reindent: Callable[[str], str]
) -> Iterator[str]:
    lines = new[op.j1 : op.j2]
    contents = merge_contents(old[op.i1 : op.i2], found[op.i1 : op.i2], lines)
    for line, content in zip(lines, contents, strict=True):
        moved = reindent(line)
        yield moved[: len(moved) - len(moved.lstrip())] + content if content.strip() else moved


def merge_contents(old: Sequence[str], found: Sequence[str], new: Sequence[str]) -> Sequence[str]:
    """Returns ``new`` without indentation, with ``found``'s characters where ``old`` and ``new`` agree."""
    if list(old) == list(found) or not old or not new:
        return [line.lstrip() for line in new]
    return _Alignment(old, found).merge(old, new)


class _Alignment:
    """The characters of lines, and those of the file that stand for them."""

    def __init__(self, old: Sequence[str], found: Sequence[str]) -> None:
        self._old: list[str] = []
        self._found: list[str] = []
        self._blocks: list[_Block] = []
        for one, other in zip(old, found, strict=True):
            ours, theirs = _tokens(_UNIT, [one]), _tokens(_UNIT, [other])
            i, j = len(self._old), len(self._found)
            self._blocks += ((i + x, j + y, size) for x, y, size in _same_units(ours, theirs))
            self._old += ours
            self._found += theirs
        self._starts = [start for start, _, _ in self._blocks]

    def merge(self, old: Sequence[str], new: Sequence[str]) -> Sequence[str]:
        """Returns ``new`` without indentation; what ``old`` has, too, is taken from the file."""
        ours, theirs = _tokens(_TOKEN, old), _tokens(_TOKEN, new)
        bounds = [0, *accumulate(len(_UNIT.findall(token)) for token in ours)]
        pieces, done = list[str](), 0
        for i, j, size in matching_blocks(ours, theirs):
            pieces += theirs[done:j]
            pieces += self._in_file(bounds[i], bounds[i + size])
            done = j + size
        return "".join([*pieces, *theirs[done:]]).removesuffix("\n").split("\n")

    def _in_file(self, start: int, end: int) -> Iterator[str]:
        """Yields the characters of the file that correspond to those from ``start`` to ``end``.

        Where more differs than the look of a character,
        the file's text counts only if all of the difference is between the two.
        """
        number = max(bisect_right(self._starts, start) - 1, 0)
        position = start
        while position < end:
            i, j, size = self._blocks[number]
            stop = min(end, i + size)
            if i <= position < stop:
                yield from self._found[j + position - i : j + stop - i]
                position = stop
                continue
            following = self._blocks[number + 1][:2] if number + 1 < len(self._blocks) else (end + 1, 0)
            if position == i + size and position > start and following[0] <= end:
                yield from self._found[j + size : following[1]]
                position = following[0]
            else:
                stop = min(end, following[0])
                yield from self._old[position:stop]
                position = stop
            number += 1


def _tokens(pattern: re.Pattern[str], lines: Sequence[str]) -> list[str]:
    """Returns the tokens of lines without indentation; blanks at a line's end belong to its newline."""
    return pattern.findall("".join(f"{line.lstrip()}\n" for line in lines))


def _same_units(old: Sequence[str], found: Sequence[str]) -> list[_Block]:
    """Returns the matching blocks of the characters of one line: those that look alike are the same."""
    ours, theirs = list(map(_folded, old)), list(map(_folded, found))
    return [(0, 0, len(ours))] if ours == theirs else matching_blocks(ours, theirs)


def _folded(unit: str) -> str:
    plain = plain_characters(unit)
    if plain.endswith("\n"):
        return "\n"
    return " " if plain.isspace() else plain
