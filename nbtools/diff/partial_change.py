"""Takes some of the hunks of a change: the groups of changed lines that a diff shows one by one."""

from __future__ import annotations

from collections.abc import Sequence

from nbtools.diff.line_diff import Op, opcodes
from nbtools.diff.text_lines import split_lines, with_all_ended

CONTEXT = 3
"""Unchanged lines on each side of a change. Changes with up to twice as many and one between are one hunk."""


def change_groups(ops: Sequence[Op]) -> list[list[Op]]:
    """Groups the changes of a line diff into hunks."""
    groups: list[list[Op]] = []
    apart = True
    for op in ops:
        if op.tag == "equal":
            apart = op.i2 - op.i1 > 2 * CONTEXT + 1
            continue
        if apart or not groups:
            groups.append([])
        groups[-1].append(op)
    return groups


def count_hunks(old: str, new: str) -> int:
    """Returns the number of hunks between two texts."""
    return len(change_groups(opcodes(split_lines(old), split_lines(new))))


def take_hunks(old: str, new: str, taken: Sequence[bool]) -> str:
    """Returns ``old`` with only the hunks of ``new`` for which ``taken`` is true, in their order.

    All true gives ``new``, all false ``old``.
    Raises ``ValueError`` for a number of choices other than the number of hunks.
    """
    before, after = split_lines(old), split_lines(new)
    groups = change_groups(opcodes(before, after))
    pieces: list[str] = []
    position = 0
    for group, take in zip(groups, taken, strict=True):
        first, last = group[0], group[-1]
        pieces += before[position : first.i1]
        pieces += after[first.j1 : last.j2] if take else before[first.i1 : last.i2]
        position = last.i2
    return "".join(with_all_ended([*pieces, *before[position:]]))
