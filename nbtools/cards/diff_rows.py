"""Builds the rows of a diff: paired lines with the differences inside them, folded unchanged lines,
and the same as unified lines.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property
from itertools import groupby, zip_longest
from typing import NamedTuple, TypeAlias

from nbtools.cards.card_model import DiffBlock, Hunk, Line, Row, Span
from nbtools.cards.hidden_characters import seen
from nbtools.cards.highlighting import Range, coloured, line_spans
from nbtools.diff.line_diff import Op, changed_spans, opcodes

CONTEXT = 3
"""Unchanged lines shown on each side of a change."""
FOLD_SENT = 30
"""Longest folded hunk whose lines are part of the card and can be unfolded;
of longer ones only the number of lines is.
"""
MAX_ROWS = 400
"""Rows of one diff that a card shows."""
_PAIRING = 900
"""Old times new lines of a change up to which similar lines are paired;
beyond that, lines are paired in order.
"""

Place: TypeAlias = tuple[int | None, int | None]
"""A row by the indices of its lines on the old and the new side."""


def diff_block(
    path: str, old: str | None, new: str, *, titled: bool = False, language: str = ""
) -> DiffBlock:
    """Returns the diff from ``old`` (None: there was no file) to ``new``, in at most ``MAX_ROWS`` rows.

    ``language`` says that the texts are parts of a file in that language,
    so that a missing line end at their end is no difference.
    """
    sides = Sides(path, _lines(old or "", language), _lines(new, language), language)
    ops = opcodes(sides.old, sides.new)
    added = sum(op.j2 - op.j1 for op in ops if op.tag != "equal")
    removed = sum(op.i2 - op.i1 for op in ops if op.tag != "equal")
    hunks = tuple(_limited(_hunks(ops, sides), sides))
    return DiffBlock(
        path=seen(path), added=added, removed=removed, hunks=hunks, created=old is None, titled=titled
    )


def _lines(text: str, language: str) -> list[str]:
    return split(f"{text}\n" if language and text else text)


def split(text: str) -> list[str]:
    r"""Splits ``text`` into lines with their ``\n``,
    so that a missing one at the end counts as a difference.
    """
    parts = text.split("\n")
    return [part + "\n" for part in parts[:-1]] + ([parts[-1]] if parts[-1] else [])


def _hunks(ops: Sequence[Op], sides: Sides) -> Iterator[tuple[list[Place], bool]]:
    """Yields hunks, each with whether it is folded:
    changes with their context, and the unchanged lines between them.
    """
    current: list[Place] = []
    for number, op in enumerate(ops):
        if op.tag != "equal":
            current += sides.paired(op)
            continue
        same: list[Place] = list(zip(range(op.i1, op.i2), range(op.j1, op.j2), strict=True))
        head = CONTEXT if number else 0
        tail = CONTEXT if number < len(ops) - 1 else 0
        if len(same) <= head + tail + 1:
            current += same
            continue
        if current or head:
            yield current + same[:head], False
        yield same[head : len(same) - tail], True
        current = same[len(same) - tail :]
    if current:
        yield current, False


def _limited(hunks: Iterator[tuple[list[Place], bool]], sides: Sides) -> Iterator[Hunk]:
    """Yields the hunks as card data until ``MAX_ROWS`` rows are used; the remaining rows are only counted."""
    rows_left, omitted = MAX_ROWS, 0
    for places, folded in hunks:
        if omitted or (not folded and rows_left <= 0):
            omitted += len(places)
        elif folded:
            yield (
                Hunk(rows=sides.rows(places), folded=True)
                if len(places) <= FOLD_SENT
                else Hunk(rows=(), folded=True, hidden=len(places))
            )
        else:
            yield Hunk(rows=sides.rows(places[:rows_left]))
            omitted = max(0, len(places) - rows_left)
            rows_left -= len(places)
    if omitted:
        yield Hunk(rows=(), hidden=omitted)


class Sides:
    """Both versions of a file as lines with their line ends, and the rows made from them."""

    def __init__(self, path: str, old: list[str], new: list[str], language: str = "") -> None:
        self.path = path
        self.language = language
        self.old = old
        self.new = new

    @cached_property
    def _crlf(self) -> bool:
        r"""Whether every line of both versions ends in ``\r\n``; then line ends are not shown."""
        return all(line.endswith("\r\n") for line in (*self.old, *self.new) if line.endswith("\n"))

    def paired(self, op: Op) -> list[Place]:
        """Returns the rows of a change: similar lines side by side, the others in order."""
        places: list[Place] = []
        i, j = op.i1, op.j1
        for old, new in [*self._similar_lines(op), (op.i2, op.j2)]:
            places += zip_longest(range(i, old), range(j, new))
            if old < op.i2 and new < op.j2:
                places.append((old, new))
            i, j = old + 1, new + 1
        return places

    def _similar_lines(self, op: Op) -> list[tuple[int, int]]:
        """Returns pairs of similar lines, ascending on both sides, with the greatest total similarity."""
        height, width = op.i2 - op.i1, op.j2 - op.j1
        if height == width == 1 or height * width > _PAIRING or not height * width:
            return []
        old = [_words(line) for line in self.old[op.i1 : op.i2]]
        new = [_words(line) for line in self.new[op.j1 : op.j2]]
        similarity = [[_similarity(a, b) for b in new] for a in old]
        return [(op.i1 + i, op.j1 + j) for i, j in _best_path(similarity)]

    def rows(self, places: Sequence[Place]) -> tuple[Row, ...]:
        old = self._highlighted(self.old, [i for i, j in places if i is not None and not self._same(i, j)])
        new = self._highlighted(self.new, [j for _, j in places if j is not None])
        return tuple(self._row(i, j, old, new) for i, j in places)

    def _same(self, i: int | None, j: int | None) -> bool:
        return i is not None and j is not None and self.old[i] == self.new[j]

    def _highlighted(self, lines: list[str], indices: Sequence[int]) -> dict[int, list[Span]]:
        if not indices:
            return {}
        first = indices[0]
        bodies = [line.rstrip("\r\n") for line in lines[first : indices[-1] + 1]]
        return dict(enumerate(coloured(self.path, bodies, self.language), first))

    def _row(
        self, i: int | None, j: int | None, old: dict[int, list[Span]], new: dict[int, list[Span]]
    ) -> Row:
        if i is not None and j is not None and self.old[i] == self.new[j]:
            spans = line_spans(new[j])
            return Row(
                old=Line(number=i + 1, spans=spans), new=Line(number=j + 1, spans=spans), changed=False
            )
        marks: tuple[Sequence[Range], Sequence[Range]] = ((), ())
        if i is not None and j is not None:
            marks = changed_spans(self.old[i].rstrip("\r\n"), self.new[j].rstrip("\r\n"))
        return Row(
            old=None if i is None else self._line(self.old, i, old[i], marks[0]),
            new=None if j is None else self._line(self.new, j, new[j], marks[1]),
            changed=True,
        )

    def _line(self, lines: list[str], index: int, spans: list[Span], marks: Sequence[Range]) -> Line:
        """Returns one side of a changed row.
        Unusual line ends are shown, because they may be the only difference.
        """
        return Line(number=index + 1, spans=(*line_spans(spans, marks), *self._end(lines[index])))

    def _end(self, line: str) -> tuple[Span, ...]:
        returns = len(line.rstrip("\n")) - len(line.rstrip("\r\n"))
        unusual = max(0, returns - self._crlf)
        end: list[Span] = [("‹U+000D›", "hidden")] * unusual
        return tuple(end if line.endswith("\n") else [*end, ("‹no line end›", "hidden")])


def _words(line: str) -> Counter[str]:
    return Counter(re.findall(r"\w+|[^\w\s]", line))


def _similarity(a: Counter[str], b: Counter[str]) -> float:
    """Returns the share of words that two lines have in common, from 0 to 1; 0 below one half."""
    total = a.total() + b.total()
    share = 2 * (a & b).total() / total if total else 0.0
    return share if share >= 0.5 else 0.0


def _best_path(similarity: list[list[float]]) -> list[tuple[int, int]]:
    """Returns the ascending pairs with the greatest total similarity."""
    height, width = len(similarity), len(similarity[0])
    best = [[0.0] * (width + 1) for _ in range(height + 1)]
    for i in range(height - 1, -1, -1):
        for j in range(width - 1, -1, -1):
            paired = similarity[i][j] + best[i + 1][j + 1] if similarity[i][j] else 0.0
            best[i][j] = max(paired, best[i + 1][j], best[i][j + 1])
    pairs: list[tuple[int, int]] = []
    i = j = 0
    while i < height and j < width and best[i][j]:
        if similarity[i][j] and best[i][j] == similarity[i][j] + best[i + 1][j + 1]:
            pairs.append((i, j))
            i, j = i + 1, j + 1
        elif best[i][j] == best[i + 1][j]:
            i += 1
        else:
            j += 1
    return pairs


def file_action(block: DiffBlock) -> str:
    """Returns what becomes of a file besides its content: it is new, deleted or moved; empty if it stays."""
    if block.former:
        return f"moved from {block.former}"
    if block.created:
        return "new file"
    return "deleted" if block.deleted else ""


def one_sided(block: DiffBlock) -> bool:
    """Whether one side of the diff is empty."""
    rows = [row for hunk in block.hunks for row in hunk.rows]
    return block.created or all(row.old is None for row in rows) or all(row.new is None for row in rows)


def number_width(block: DiffBlock) -> int:
    """Returns the width of the longest line number, in characters."""
    numbers = [
        line.number
        for hunk in block.hunks
        for row in hunk.rows
        for line in (row.old, row.new)
        if line is not None
    ]
    return len(str(max(numbers, default=0)))


class UnifiedLine(NamedTuple):
    """One line of a unified diff: its numbers on both sides, its side (empty for context) and its text."""

    numbers: str
    side: str
    spans: Sequence[Span]


def unified_lines(rows: Iterable[Row], width: int) -> Iterator[UnifiedLine]:
    """Yields rows as unified lines: of adjacent changed rows first all removed lines, then all added ones.

    Each number has ``width`` characters.
    """
    blank = " " * width
    for changed, run in groupby(rows, key=lambda row: row.changed):
        adjacent = list(run)
        if not changed:
            yield from (
                UnifiedLine(f"{row.old.number:>{width}} {row.new.number:>{width}}", "", row.new.spans)
                for row in adjacent
                if row.old and row.new
            )
            continue
        yield from (
            UnifiedLine(f"{row.old.number:>{width}} {blank}", "removed", row.old.spans)
            for row in adjacent
            if row.old
        )
        yield from (
            UnifiedLine(f"{blank} {row.new.number:>{width}}", "added", row.new.spans)
            for row in adjacent
            if row.new
        )
