"""Rows of a list as columns in one binary buffer, which a page reads without decoding every row.

All values are little-endian; each column begins at a multiple of 8 bytes, so that a page can view it as a
typed array.  ``labextension/src/shared/columns.ts`` reads them.
"""

from __future__ import annotations

import sys
from array import array
from collections.abc import Iterable, Sequence
from itertools import accumulate, chain
from typing import Literal, TypeAlias

from nbtools.cards.card_model import Wire

NumberKind: TypeAlias = Literal["u8", "u16", "u32", "f64"]
_CODES: dict[NumberKind, str] = {"u8": "B", "u16": "H", "u32": "I", "f64": "d"}
_LARGEST: dict[NumberKind, int] = {"u8": 0xFF, "u16": 0xFFFF, "u32": 0xFFFFFFFF}
_ALIGNMENT = 8


class ColumnPart(Wire):
    """A column, which begins ``at`` this byte of the buffer.

    ``u8`` … ``f64``: one value for each row; a NaN is unknown.  ``text``: the byte offset of each row's text
    and of the end, as u32, then the texts in UTF-8.  ``word``: an index into ``words`` for each row, as u32.
    ``list``: the index of each row's first value and the number of all values, then the values, all as u32.
    """

    name: str
    kind: Literal["u8", "u16", "u32", "f64", "text", "word", "list"]
    at: int
    words: tuple[str, ...] = ()


class ColumnBlock(Wire):
    """``count`` rows; the buffer that comes with it has their columns."""

    count: int
    columns: tuple[ColumnPart, ...]


class Columns:
    """Collects the columns of ``count`` rows; each must have that many values."""

    def __init__(self, count: int) -> None:
        self._count = count
        self._parts: list[ColumnPart] = []
        self._buffer = bytearray()

    def numbers(self, name: str, kind: NumberKind, values: Sequence[float]) -> None:
        """Adds numbers; those that the kind cannot represent become the nearest one that it can."""
        try:
            data = array(_CODES[kind], values)
        except OverflowError:
            largest = _LARGEST.get(kind, sys.float_info.max)
            smallest = 0 if kind in _LARGEST else -largest
            data = array(_CODES[kind], [min(max(value, smallest), largest) for value in values])
        self._add(name, kind, len(data), _little_endian(data))

    def texts(self, name: str, values: Iterable[str]) -> None:
        """Adds texts, in which a lone surrogate becomes ``?``."""
        encoded = [value.encode("utf-8", "replace") for value in values]
        offsets = array("I", accumulate(map(len, encoded), initial=0))
        self._add(name, "text", len(encoded), _little_endian(offsets) + b"".join(encoded))

    def words(self, name: str, values: Iterable[str]) -> None:
        """Adds texts of which few are distinct: each is in the header once."""
        ids: dict[str, int] = {}
        places = array("I", [ids.setdefault(value, len(ids)) for value in values])
        words = tuple(word.encode("utf-8", "replace").decode() for word in ids)
        self._add(name, "word", len(places), _little_endian(places), words)

    def lists(self, name: str, values: Iterable[Sequence[int]]) -> None:
        """Adds a list of numbers for each row, from 0 to 2³² − 1."""
        lists = values if isinstance(values, Sequence) else list(values)
        starts = array("I", accumulate(map(len, lists), initial=0))
        items = array("I", chain.from_iterable(lists))
        self._add(name, "list", len(lists), _little_endian(starts) + _little_endian(items))

    def finish(self) -> tuple[ColumnBlock, bytes]:
        """Returns the description of the columns, and their buffer."""
        return ColumnBlock(count=self._count, columns=tuple(self._parts)), bytes(self._buffer)

    def _add(
        self,
        name: str,
        kind: Literal["u8", "u16", "u32", "f64", "text", "word", "list"],
        count: int,
        data: bytes,
        words: tuple[str, ...] = (),
    ) -> None:
        if count != self._count:
            raise ValueError(f"Column {name} has {count} values, but the block has {self._count} rows.")
        self._parts.append(ColumnPart(name=name, kind=kind, at=len(self._buffer), words=words))
        self._buffer += data
        self._buffer += bytes(-len(self._buffer) % _ALIGNMENT)


def _little_endian(data: array[int] | array[float]) -> bytes:
    if sys.byteorder == "big":
        data.byteswap()
    return data.tobytes()
