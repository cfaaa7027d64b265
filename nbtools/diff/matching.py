"""Finds the matching blocks of two sequences:
patience diff for large gaps, Myers for small ones, with bounded work.

Results on ordinary files are like git's, in about linear time for any input.  The bound matters for generated
inputs (long runs of one line, two alternating lines, few different words), for which ``difflib`` takes
minutes or reports everything as changed.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from collections.abc import Hashable, Iterator, Sequence
from itertools import chain, pairwise
from typing import TypeAlias

Block: TypeAlias = tuple[int, int, int]
"""``(i, j, n)``: n items from i in the old sequence equal those from j in the new one."""
_Gap: TypeAlias = tuple[int, int, int, int]

_WIDEST = 32
"""The longest run of lines tried as an anchor: where no line is unique, runs of two or four may be."""
_SMALL = 64
"""The most items of a gap, both sides together, for which Myers is used at once: exact and cheap."""
_FEW_PAIRS = 200_000


def matching_blocks(old: Sequence[Hashable], new: Sequence[Hashable]) -> list[Block]:
    """Returns the matching blocks in order, adjacent ones joined.  Items are compared by ``==``."""
    head = common_start(old, new)
    tail = common_end(old, new, min(len(old), len(new)) - head)
    ours, theirs = old[head : len(old) - tail], new[head : len(new) - tail]
    names = {item: number for number, item in enumerate(dict.fromkeys(chain(ours, theirs)))}
    a, b = [names[item] for item in ours], [names[item] for item in theirs]
    inner = [(head + i, head + j, size) for i, j, size in sorted(_Matcher(a, b).blocks())]
    ends = (0, 0, head), *inner, (len(old) - tail, len(new) - tail, tail)
    return _joined([block for block in ends if block[2]])


def common_start(a: Sequence[Hashable], b: Sequence[Hashable]) -> int:
    """Returns the length of the common beginning. Slices are many times faster than items."""
    done, step = 0, 1 << 16
    while step:
        piece = a[done : done + step]
        if piece and piece == b[done : done + step]:
            done += len(piece)
        else:
            step //= 2
    return done


def common_end(a: Sequence[Hashable], b: Sequence[Hashable], most: int) -> int:
    """Returns the length of the common end, at most ``most``."""
    done, step = 0, 1 << 16
    while step:
        i, j = len(a) - done, len(b) - done
        if done + step <= most and a[i - step : i] == b[j - step : j]:
            done += step
        else:
            step //= 2
    return done


class _Matcher:
    """Matches gap by gap; ``budget`` limits the total number of steps."""

    def __init__(self, a: list[int], b: list[int]) -> None:
        self.a, self.b = a, b
        self.budget = 1_000_000 + 40 * (len(a) + len(b))

    def blocks(self) -> Iterator[Block]:
        pending: list[_Gap] = [(0, len(self.a), 0, len(self.b))]
        while pending:
            gap, ends = self._trim(pending.pop())
            yield from ends
            if gap[0] == gap[1] or gap[2] == gap[3]:
                continue
            anchors = self._anchors(gap) if _size(gap) > _SMALL else []
            yield from anchors or self._shortest(gap)
            pending += _between(gap, anchors) if anchors else ()

    def _trim(self, gap: _Gap) -> tuple[_Gap, list[Block]]:
        """Returns the gap without its common beginning and end, and the blocks of these two."""
        a, b = self.a, self.b
        i1, i2, j1, j2 = gap
        while i1 < i2 and j1 < j2 and a[i1] == b[j1]:
            i1, j1 = i1 + 1, j1 + 1
        while i1 < i2 and j1 < j2 and a[i2 - 1] == b[j2 - 1]:
            i2, j2 = i2 - 1, j2 - 1
        ends = [(gap[0], gap[2], i1 - gap[0]), (i2, j2, gap[1] - i2)]
        return (i1, i2, j1, j2), [block for block in ends if block[2]]

    def _anchors(self, gap: _Gap) -> list[Block]:
        """Returns lines that are unique on both sides, the most that keep their order;
        where there are none, runs of lines.
        """
        i1, i2, j1, j2 = gap
        left, right = self.a[i1:i2], self.b[j1:j2]
        width = 1
        while width <= _WIDEST and self.budget > 0 and not set(left).isdisjoint(right):
            self.budget -= len(left) + len(right)
            ours, theirs = _unique(left), _unique(right)
            pairs = [(i, theirs[name]) for name, i in ours.items() if name in theirs]
            if pairs:
                return _without_overlaps([(i1 + i, j1 + j, width) for i, j in _longest_increasing(pairs)])
            left, right = _doubled(left, right, width)
            width *= 2
        return []

    def _shortest(self, gap: _Gap) -> list[Block]:
        """Returns a longest match; nothing when the budget is used up: then the gap counts as replaced."""
        i1, i2, j1, j2 = gap
        a, b = self.a[i1:i2], self.b[j1:j2]
        if self.budget <= 0:
            return []
        is_large = _size(gap) > _SMALL and _same_pairs(a, b) <= _FEW_PAIRS
        found = self._hunt(a, b) if is_large else self._myers(a, b)
        return [(i1 + i, j1 + j, size) for i, j, size in found]

    def _hunt(self, a: list[int], b: list[int]) -> list[Block]:
        """Matches by all pairs of equal lines (Hunt and Szymanski 1977):
        fast for few pairs, however different the sides are.
        """
        positions: dict[int, list[int]] = {}
        for j in range(len(b) - 1, -1, -1):
            positions.setdefault(b[j], []).append(j)
        pairs = [(i, j) for i, name in enumerate(a) for j in positions.get(name, ())]
        self.budget -= len(pairs)
        return [(i, j, 1) for i, j in _longest_increasing(pairs)]

    def _myers(self, a: list[int], b: list[int]) -> list[Block]:
        """Matches by the furthest paths with d changes, d increasing (Myers 1986): fast for similar sides."""
        n, m = len(a), len(b)
        rows: list[list[int]] = [[_run(a, b, 0, 0)]]
        while not _reached_end(rows[-1], n, m):
            self.budget -= 8 * len(rows)
            if self.budget <= 0:
                return []
            rows.append(self._next_row(a, b, rows[-1]))
        return _backtrack(rows, n, m)

    def _next_row(self, a: list[int], b: list[int], row: list[int]) -> list[int]:
        """Returns the furthest position with one more change on each diagonal;
        entry i is the position in ``a`` on diagonal 2i - d.
        """
        d = len(row)
        next_row = []
        for i in range(d + 1):
            start = _step(row, i)
            y = start - 2 * i + d
            x = _run(a, b, start, y) if y >= 0 else start
            self.budget -= x - start
            next_row.append(x)
        return next_row


def _step(row: list[int], i: int) -> int:
    """Returns where the change to diagonal i ends: an insertion stays in ``a``, a deletion advances."""
    return row[i] if _inserts(row, i) else row[i - 1] + 1


def _inserts(row: list[int], i: int) -> bool:
    return i == 0 or (i < len(row) and row[i - 1] < row[i])


def _run(a: list[int], b: list[int], x: int, y: int) -> int:
    """Returns the end, in ``a``, of the common run from x and y."""
    n, m = len(a), len(b)
    while x < n and y < m and a[x] == b[y]:
        x, y = x + 1, y + 1
    return x


def _reached_end(row: list[int], n: int, m: int) -> bool:
    d = len(row) - 1
    i, odd = divmod(n - m + d, 2)
    return not odd and 0 <= i <= d and row[i] >= n


def _backtrack(rows: list[list[int]], n: int, m: int) -> list[Block]:
    blocks: list[Block] = []
    i = (n - m + len(rows) - 1) // 2
    for d in range(len(rows) - 1, -1, -1):
        end = rows[d][i]
        start = _step(rows[d - 1], i) if d else 0
        if end > start:
            blocks.append((start, start - 2 * i + d, end - start))
        if d:
            i -= 0 if _inserts(rows[d - 1], i) else 1
    return blocks


def _same_pairs(a: list[int], b: list[int]) -> int:
    ours, theirs = Counter(a), Counter(b)
    return sum(count * theirs[name] for name, count in ours.items())


def _doubled(left: list[int], right: list[int], width: int) -> tuple[list[int], list[int]]:
    """Numbers runs twice as long as ``left`` and ``right`` do, with equal numbers for equal runs."""
    names: dict[tuple[int, int], int] = {}
    first, second = (
        [names.setdefault(pair, len(names)) for pair in zip(side, side[width:], strict=False)]
        for side in (left, right)
    )
    return first, second


def _unique(items: list[int]) -> dict[int, int]:
    """Returns the index of each item that occurs once."""
    counts = Counter(items)
    return {item: index for index, item in enumerate(items) if counts[item] == 1}


def _longest_increasing(pairs: list[tuple[int, int]]) -> list[tuple[int, int]]:
    """Returns a longest subsequence of pairs with increasing second parts (patience sorting)."""
    if all(one[1] < other[1] for one, other in pairwise(pairs)):
        return pairs
    tails: list[int] = []
    ends: list[int] = []
    before: list[int] = []
    for index, (_, j) in enumerate(pairs):
        pile = len(tails) if not tails or j > tails[-1] else bisect_left(tails, j)
        if pile == len(tails):
            tails.append(j)
            ends.append(index)
        else:
            tails[pile], ends[pile] = j, index
        before.append(ends[pile - 1] if pile else -1)
    chain: list[tuple[int, int]] = []
    index = ends[-1] if ends else -1
    while index >= 0:
        chain.append(pairs[index])
        index = before[index]
    return chain[::-1]


def _without_overlaps(blocks: list[Block]) -> list[Block]:
    """Removes overlaps of blocks: those on one diagonal are joined,
    others lose what the block before covers on either side.
    """
    blocks_so_far: list[Block] = []
    i_end = j_end = 0
    for i, j, size in blocks:
        if i <= i_end and i - i_end == j - j_end and blocks_so_far:
            first = blocks_so_far[-1]
            blocks_so_far[-1] = (first[0], first[1], i + size - first[0])
        elif (cut := max(i_end - i, j_end - j, 0)) < size:
            blocks_so_far.append((i + cut, j + cut, size - cut))
        else:
            continue
        i_end, j_end = i + size, j + size
    return blocks_so_far


def _between(gap: _Gap, anchors: list[Block]) -> Iterator[_Gap]:
    i, _, j, _ = gap
    for x, y, size in [*anchors, (gap[1], gap[3], 0)]:
        if i < x or j < y:
            yield i, x, j, y
        i, j = x + size, y + size


def _size(gap: _Gap) -> int:
    return gap[1] - gap[0] + gap[3] - gap[2]


def _joined(blocks: list[Block]) -> list[Block]:
    joined: list[Block] = []
    for i, j, size in blocks:
        if joined and joined[-1][0] + joined[-1][2] == i and joined[-1][1] + joined[-1][2] == j:
            joined[-1] = (joined[-1][0], joined[-1][1], joined[-1][2] + size)
        else:
            joined.append((i, j, size))
    return joined
