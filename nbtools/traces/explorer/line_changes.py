"""Compares the lines of two versions of a log: where they are now, and which of them look different."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Mapping, Sequence
from itertools import takewhile

from nbtools.traces.explorer.nesting import CallKey, LineRow, StepTree
from nbtools.traces.explorer.row_messages import TraceMove
from nbtools.traces.explorer.timeline import DrawnLines
from nbtools.traces.following.row_identity import is_same, row_keys
from nbtools.traces.model import Call


def line_moves(
    before: Sequence[LineRow], after: Sequence[LineRow], sessions: Mapping[str, str] | None = None
) -> tuple[tuple[TraceMove, ...], tuple[int, ...]]:
    """Returns where the lines of ``before`` are in ``after``, as stretches that moved together,
    and which lines say something else.

    ``sessions`` are as in ``row_keys``.
    """
    # Rows that were read already are the same objects, so mostly only the last ones need keys.
    start = sum(1 for _ in takewhile(lambda pair: pair[0] is pair[1], zip(before, after, strict=False)))
    places = {key: line for line, key in enumerate(row_keys(after[start:], sessions), start)}
    moves: list[list[int]] = [[0, 0, start]] if start else []
    changed: list[int] = []
    rest = before[start:]
    for line, (row, key) in enumerate(zip(rest, row_keys(rest, sessions), strict=True), start):
        to = places.get(key)
        if to is None:
            continue
        if moves and moves[-1][0] + moves[-1][2] == line and moves[-1][1] + moves[-1][2] == to:
            moves[-1][2] += 1
        else:
            moves.append([line, to, 1])
        if not is_same(row, after[to]):
            changed.append(to)
    return tuple(TraceMove(first=first, to=to, count=count) for first, to, count in moves), tuple(changed)


def new_lines(moves: Sequence[TraceMove], total: int) -> list[int]:
    """Returns the lines to which no line has moved."""
    is_known = bytearray(total)
    for move in moves:
        is_known[move.to : move.to + move.count] = b"\1" * move.count
    return [line for line in range(total) if not is_known[line]]


def redrawn_lines(before: DrawnLines, after: DrawnLines, moves: Sequence[TraceMove]) -> set[int]:
    """Returns lines, as numbered now, that look different although they may say the same: their number,
    their depth, what is nested under them, what their call changed, whether it runs, or their folder.
    """
    return {
        *_renumbered(before.tree, after.tree, moves),
        *_nested_otherwise(before.tree, after.tree, moves),
        *_other_calls(before, after),
    }


def _renumbered(before: StepTree, after: StepTree, moves: Sequence[TraceMove]) -> Iterator[int]:
    for move in moves:
        old, new = slice(move.first, move.first + move.count), slice(move.to, move.to + move.count)
        for was, now in ((before.numbers, after.numbers), (before.depths, after.depths)):
            if was[old] != now[new]:  # mostly they are equal, which takes no loop of ours
                pairs = zip(was[old], now[new], strict=True)
                yield from (line for line, (one, other) in enumerate(pairs, move.to) if one != other)


def _nested_otherwise(before: StepTree, after: StepTree, moves: Sequence[TraceMove]) -> Iterator[int]:
    starts = [move.first for move in moves]
    known: dict[int, tuple[int, int]] = {}
    for line, end in before.ends.items():
        move = moves[at] if (at := bisect_right(starts, line) - 1) >= 0 else None
        if move is not None and line < move.first + move.count:
            known[move.to + line - move.first] = end - line, before.steps.get(line, 0)
    found = {line: (end - line, after.steps.get(line, 0)) for line, end in after.ends.items()}
    yield from (line for line in {**known, **found} if known.get(line) != found.get(line))


def _other_calls(before: DrawnLines, after: DrawnLines) -> Iterator[int]:
    keys: set[CallKey] = {*(before.running ^ after.running)}
    for one, other in ((before.changes, after.changes), (after.changes, before.changes)):
        if one != other:
            keys.update(key for key, change in one.items() if other.get(key) != change)
    sessions = {name for name, folder in after.folders.items() if before.folders.get(name, folder) != folder}
    if keys or sessions:
        for line, row in enumerate(after.tree.rows):
            if type(row) is Call and (row.session in sessions or (row.session, row.id) in keys):
                yield line
