"""Reads blocks of columns as a page does."""

from __future__ import annotations

import struct
from itertools import pairwise
from typing import Any

from nbtools.traces.columns import ColumnBlock, ColumnPart

CODES = {"u8": "B", "u16": "H", "u32": "I", "f64": "d"}


def columns(block: ColumnBlock, data: bytes) -> dict[str, list[Any]]:
    """Returns the values of each column."""
    return {part.name: _values(part, block.count, data) for part in block.columns}


def rows(block: ColumnBlock, data: bytes) -> list[dict[str, Any]]:
    """Returns the values of each row."""
    found = columns(block, data)
    return [{name: values[row] for name, values in found.items()} for row in range(block.count)]


def _values(part: ColumnPart, count: int, data: bytes) -> list[Any]:
    assert part.at % 8 == 0
    if code := CODES.get(part.kind):
        return list(struct.unpack_from(f"<{count}{code}", data, part.at))
    if part.kind == "word":
        return [part.words[place] for place in struct.unpack_from(f"<{count}I", data, part.at)]
    ends = struct.unpack_from(f"<{count + 1}I", data, part.at)
    start = part.at + 4 * (count + 1)
    pairs = list(pairwise(ends))
    if part.kind == "text":
        return [data[start + first : start + end].decode() for first, end in pairs]
    values = struct.unpack_from(f"<{ends[-1]}I", data, start)
    return [list(values[first:end]) for first, end in pairs]
