"""A row of a terminal's screen, and text styles as SGR parameters."""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from itertools import groupby

BLANK = " "
_SECOND_HALF = ""
"""The second cell of a character that is two columns wide."""


class Row:
    """A row of cells with their styles; ``wrapped``: the line continues in the next row."""

    __slots__ = ("cells", "styles", "wrapped")

    def __init__(self, columns: int) -> None:
        self.cells = [BLANK] * columns
        self.styles = [""] * columns
        self.wrapped = False

    def write(self, column: int, text: str, style: str) -> None:
        """Writes characters of one column each at ``column``; they must fit."""
        end = column + len(text)
        self._split(column)
        self._split(end)
        self.cells[column:end] = text
        self.styles[column:end] = [style] * len(text)

    def write_wide(self, column: int, character: str, style: str) -> None:
        self._split(column)
        self._split(column + 2)
        self.cells[column : column + 2] = character, _SECOND_HALF
        self.styles[column : column + 2] = style, style

    def combine(self, column: int, mark: str) -> None:
        """Adds a combining mark to the character at ``column``."""
        at = column - (self.cells[column] == _SECOND_HALF)
        self.cells[max(at, 0)] += mark

    def erase(self, start: int, end: int, style: str) -> None:
        self._split(start)
        self._split(end)
        self.cells[start:end] = [BLANK] * (end - start)
        self.styles[start:end] = [style] * (end - start)

    def insert(self, column: int, count: int, style: str) -> None:
        """Inserts blanks at ``column``; cells moved past the right edge are lost."""
        columns = len(self.cells)
        count = min(count, columns - column)
        self._split(column)
        self._split(columns - count)
        self.cells[column:] = [BLANK] * count + self.cells[column : columns - count]
        self.styles[column:] = [style] * count + self.styles[column : columns - count]

    def delete(self, column: int, count: int, style: str) -> None:
        count = min(count, len(self.cells) - column)
        self._split(column)
        self._split(column + count)
        self.cells[column:] = self.cells[column + count :] + [BLANK] * count
        self.styles[column:] = self.styles[column + count :] + [style] * count

    def resize(self, columns: int) -> None:
        more = columns - len(self.cells)
        if more < 0:
            self._split(columns)
        self.cells = self.cells[:columns] + [BLANK] * more
        self.styles = self.styles[:columns] + [""] * more
        self.wrapped = self.wrapped and more == 0

    def text(self) -> str:
        """Returns the text without trailing blanks."""
        return self.full().rstrip(BLANK)

    def full(self) -> str:
        return "".join(self.cells)

    def styled(self) -> str:
        """Returns the text with its styles as escape sequences."""
        last = max((at for at, cell in enumerate(self.cells) if cell != BLANK or self.styles[at]), default=-1)
        pairs = zip(self.styles[: last + 1], self.cells, strict=False)
        runs = [
            (style, "".join(cell for _, cell in run))
            for style, run in groupby(pairs, key=lambda pair: pair[0])
        ]
        return "".join(f"\x1b[{style}m{text}\x1b[0m" if style else text for style, text in runs)

    def _split(self, column: int) -> None:
        """Replaces a wide character that spans ``column`` by blanks: half of it cannot be displayed."""
        if 0 < column < len(self.cells) and self.cells[column] == _SECOND_HALF:
            self.cells[column - 1] = self.cells[column] = BLANK


_WEIGHTS = {
    1: "bold",
    2: "dim",
    3: "italic",
    4: "underline",
    5: "blink",
    7: "reverse",
    8: "hidden",
    9: "strike",
}
_OFF = {
    22: ("bold", "dim"),
    23: ("italic",),
    24: ("underline",),
    25: ("blink",),
    27: ("reverse",),
    28: ("hidden",),
    29: ("strike",),
}
_ORDER = (*_WEIGHTS.values(), "fore", "back")


@lru_cache(maxsize=4096)
def apply_sgr(style: str, parameters: str) -> str:
    """Returns the style after ``CSI parameters m``: SGR parameters in a fixed order, empty for plain text."""
    slots = _slots(style)
    numbers = iter(_numbers(parameters))
    for number in numbers:
        _apply(slots, number, numbers)
    return ";".join(slots[name] for name in _ORDER if name in slots)


@lru_cache(maxsize=4096)
def background_of(style: str) -> str:
    """Returns the background part of a style, which erased cells get."""
    return _slots(style).get("back", "")


def _slots(style: str) -> dict[str, str]:
    slots: dict[str, str] = {}
    numbers = iter(_numbers(style) if style else ())
    for number in numbers:
        _apply(slots, number, numbers)
    return slots


def _numbers(parameters: str) -> list[int]:
    return [
        int(part[:6] or 0) if part.isdigit() or not part else -1
        for part in parameters.replace(":", ";").split(";")
    ]


def _apply(slots: dict[str, str], number: int, rest: Iterator[int]) -> None:
    if number == 0:
        slots.clear()
    elif number in _WEIGHTS:
        slots[_WEIGHTS[number]] = str(number)
    elif number in _OFF:
        for name in _OFF[number]:
            slots.pop(name, None)
    elif number in (38, 48):
        _extended(slots, "fore" if number == 38 else "back", number, rest)
    elif 30 <= number <= 37 or 90 <= number <= 97:
        slots["fore"] = str(number)
    elif 40 <= number <= 47 or 100 <= number <= 107:
        slots["back"] = str(number)
    elif number in (39, 49):
        slots.pop("fore" if number == 39 else "back", None)


def _extended(slots: dict[str, str], name: str, number: int, rest: Iterator[int]) -> None:
    """Sets an indexed (``5;n``) or RGB colour (``2;r;g;b``)."""
    kind = next(rest, -1)
    count = {5: 1, 2: 3}.get(kind, 0)
    values = [value for value in (next(rest, -1) for _ in range(count)) if 0 <= value <= 255]
    if count and len(values) == count:
        slots[name] = ";".join(map(str, (number, kind, *values)))
