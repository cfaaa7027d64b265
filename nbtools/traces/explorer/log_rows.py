"""The rows of a log as columns, for the list of a page."""

from __future__ import annotations

import math
from collections.abc import Sequence

from nbtools.traces.columns import ColumnBlock, Columns
from nbtools.traces.explorer.chips import StepChips
from nbtools.traces.explorer.line_style import StepLine
from nbtools.traces.explorer.summary import short_number
from nbtools.traces.explorer.timeline import Timeline
from nbtools.traces.explorer.usage.line_requests import LineRequests, tokens_text
from nbtools.traces.model import Call
from nbtools.traces.usage.timing import seconds_of

CALL, LIVE = 1, 2
"""Bits of a row's flags."""


def row_block(
    lines: Timeline, chips: StepChips, places: Sequence[int], *, with_lines: bool = False
) -> tuple[ColumnBlock, bytes]:
    """Returns the rows of these lines, in this order; ``with_lines``: with the number of each line."""
    return columns_of(
        [lines[place] for place in places],
        [seconds_at(lines, place) for place in places],
        [chips.ids_at(place) for place in places],
        with_lines=with_lines,
    )


def columns_of(
    rows: Sequence[StepLine],
    seconds: Sequence[float],
    chips: Sequence[Sequence[int]],
    *,
    with_lines: bool = False,
) -> tuple[ColumnBlock, bytes]:
    """Returns rows with the duration of each, NaN where it is not known, and the ids of its chips."""
    columns = Columns(len(rows))
    if with_lines:
        columns.numbers("line", "u32", [row.line for row in rows])
    columns.texts("number", [row.number for row in rows])
    columns.words("icon", [row.icon for row in rows])
    columns.words("name", [row.name for row in rows])
    columns.texts("subject", [row.subject for row in rows])
    columns.words("right", [row.right for row in rows])
    columns.words("tone", [row.tone for row in rows])
    columns.numbers("depth", "u16", [row.depth for row in rows])
    columns.numbers("below", "u32", [row.below for row in rows])
    columns.numbers("flags", "u8", [CALL * row.call + LIVE * row.live for row in rows])
    columns.numbers("added", "u32", [row.added for row in rows])
    columns.numbers("removed", "u32", [row.removed for row in rows])
    columns.numbers("seconds", "f64", seconds)
    columns.lists("chips", chips)
    return columns.finish()


def token_block(lines: Timeline, requests: LineRequests) -> tuple[ColumnBlock, bytes]:
    """Returns the tokens of the request that begins at each line, as a number, and as a short and a whole
    text.
    """
    by_line, sizes = requests.by_line, requests.tokens
    columns = Columns(len(lines))
    columns.numbers("tokens", "f64", [sizes.get(line, math.nan) for line in range(len(lines))])
    texts, shorts = [""] * len(lines), [""] * len(lines)
    for line, request in by_line.items():
        texts[line], shorts[line] = tokens_text(request), short_number(sizes[line])
    columns.words("text", texts)
    columns.words("short", shorts)
    return columns.finish()


def line_block(lines: Sequence[int]) -> tuple[ColumnBlock, bytes]:
    """Returns numbers of lines."""
    columns = Columns(len(lines))
    columns.numbers("line", "u32", lines)
    return columns.finish()


def seconds_at(lines: Timeline, place: int) -> float:
    """Returns the duration of the call of a line; NaN where there is none."""
    row = lines.rows[place]
    seconds = seconds_of(row) if type(row) is Call else None
    return math.nan if seconds is None else seconds
