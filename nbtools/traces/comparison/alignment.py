"""Aligns the steps of several runs against one of them, with bounded work.

The beginning that all runs share is taken first. Each other run is then aligned with the baseline: identical
steps by a diff, and between them similar steps. Steps that the baseline does not have are put after the step
at which their run left it, where equal steps of different runs share a row. The order of the runs makes no
difference.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import zip_longest
from typing import TypeAlias

from nbtools.diff.line_diff import opcodes
from nbtools.diff.matching import common_start, matching_blocks
from nbtools.traces.comparison.steps import ComparableCall, ending_of, similarity

_MAX_PAIRS = 40_000
"""Pairs of calls in one gap that are compared with each other;
in a larger gap no similar calls are matched.
"""
_ALL_PAIRS = 2_000_000
"""Pairs that are compared with each other in all gaps of all runs: each run may use an equal part."""
_MAX_SLOT = 20_000
"""Rows at one place with which further runs' steps are matched; beyond, every step has a row of its own."""


Pair: TypeAlias = tuple[int | None, int | None, bool]
"""Positions in both sequences, None where one has no such step, and whether the steps are only similar."""


class Row:
    """The positions of calls in a row, by run. ``alike`` are runs whose call is only similar."""

    __slots__ = ("alike", "at", "key")

    def __init__(self, run: int, position: int, key: str) -> None:
        self.at = {run: position}
        self.alike: set[int] = set()
        self.key = key


def align(runs: Sequence[Sequence[ComparableCall]], baseline: int) -> list[Row]:
    """Returns rows in which every call of every run occurs once, in its run's order."""
    keys = [[one.key for one in run] for run in runs]
    shared = min((common_start(keys[0], other) for other in keys[1:]), default=len(keys[0]))
    rows = [Row(baseline, position, key) for position, key in enumerate(keys[baseline])]
    slots: list[list[Row]] = [[] for _ in range(len(rows) + 1)]
    for position in range(shared):
        rows[position].at |= dict.fromkeys(range(len(runs)), position)
    for run in sorted(set(range(len(runs))) - {baseline}, key=lambda run: _digest(runs[run])):
        limit = _ALL_PAIRS // max(len(runs) - 1, 1)
        pairs = aligned_pairs(runs[baseline][shared:], runs[run][shared:], limit)
        _add(rows, slots, run, keys[run], pairs, shared)
    ordered: list[Row] = []
    for slot, base in zip_longest(slots, rows):
        ordered += slot
        ordered += [base] if base else []
    return ordered


def central_run(runs: Sequence[Sequence[ComparableCall]]) -> int:
    """Returns the run with most steps in common with the others; the shorter one of two equal ones."""
    known = [{one.key for one in run} for run in runs]
    in_runs = Counter(key for keys in known for key in keys)
    scores = [sum(in_runs[key] - 1 for key in keys) for keys in known]
    return min(range(len(runs)), key=lambda run: (-scores[run], len(runs[run]), _digest(runs[run])))


def _digest(run: Sequence[ComparableCall]) -> bytes:
    """Orders runs by what they did, so that the order in which they were named does not matter."""
    digest = hashlib.blake2b(digest_size=16)
    for one in run:
        digest.update(f"{one.key}\0{ending_of(one.call)}\0".encode("utf-8", "surrogatepass"))
    return digest.digest()


def _add(
    rows: list[Row], slots: list[list[Row]], run: int, keys: Sequence[str], pairs: Iterator[Pair], shared: int
) -> None:
    """Adds a run: steps that the baseline has to its rows, others to the slot after the step before them."""
    slot, pending = shared, list[int]()
    for i, j, alike in pairs:
        if i is not None and j is not None:
            slots[slot] = _merged(slots[slot], run, pending, keys)
            row = rows[i + shared]
            row.at[run] = j + shared
            if alike:
                row.alike.add(run)
            slot, pending = i + shared + 1, []
        elif j is not None:
            pending.append(j + shared)
    slots[slot] = _merged(slots[slot], run, pending, keys)


def _merged(slot: list[Row], run: int, positions: list[int], keys: Sequence[str]) -> list[Row]:
    """Returns a slot with the steps of a run: in rows with the same step, and new rows between them."""
    blocks: Sequence[tuple[int, int, int]] = ()
    if slot and len(slot) < _MAX_SLOT:
        blocks = matching_blocks([row.key for row in slot], [keys[at] for at in positions])
    rows: list[Row] = []
    i = j = 0
    for x, y, size in [*blocks, (len(slot), len(positions), 0)]:
        rows += slot[i:x]
        rows += [Row(run, at, keys[at]) for at in positions[j:y]]
        for row, at in zip(slot[x : x + size], positions[y : y + size], strict=True):
            row.at[run] = at
            rows.append(row)
        i, j = x + size, y + size
    return rows


def aligned_pairs(a: Sequence[ComparableCall], b: Sequence[ComparableCall], pairs: int) -> Iterator[Pair]:
    """Yields every position of both sequences once, in order: pairs, and positions of one side."""
    for op in opcodes([one.key for one in a], [one.key for one in b]):
        if op.tag == "equal":
            yield from ((op.i1 + at, op.j1 + at, False) for at in range(op.i2 - op.i1))
            continue
        size = (op.i2 - op.i1) * (op.j2 - op.j1)
        found: list[tuple[int, int]] = []
        if 0 < size <= min(_MAX_PAIRS, pairs):
            found = _most_similar(a[op.i1 : op.i2], b[op.j1 : op.j2])
            pairs -= size
        i, j = op.i1, op.j1
        for x, y in [*((op.i1 + x, op.j1 + y) for x, y in found), (op.i2, op.j2)]:
            yield from ((at, None, False) for at in range(i, x))
            yield from ((None, at, False) for at in range(j, y))
            if x < op.i2 and y < op.j2:
                yield x, y, True
            i, j = x + 1, y + 1


def _most_similar(a: Sequence[ComparableCall], b: Sequence[ComparableCall]) -> list[tuple[int, int]]:
    """Returns the order-preserving pairing with the largest total similarity."""
    best = [[0.0] * (len(b) + 1) for _ in range(len(a) + 1)]
    for i in range(len(a) - 1, -1, -1):
        for j in range(len(b) - 1, -1, -1):
            best[i][j] = max(best[i + 1][j], best[i][j + 1], best[i + 1][j + 1] + similarity(a[i], b[j]))
    pairs: list[tuple[int, int]] = []
    i = j = 0
    while i < len(a) and j < len(b):
        if best[i][j] == best[i + 1][j]:
            i += 1
        elif best[i][j] == best[i][j + 1]:
            j += 1
        else:
            pairs.append((i, j))
            i, j = i + 1, j + 1
    return pairs
