"""Edits single values in JSON text and preserves all other bytes."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from itertools import chain, zip_longest
from typing import Any, Self

_BLANKS = re.compile(r"[ \t\n\r]*")
_BETWEEN = re.compile(r"[ \t\n\r]*,?[ \t\n\r]*")
_COLON = re.compile(r"[ \t\n\r]*:[ \t\n\r]*")
_ESCAPED = re.compile(r"\\u(?!00[0-7])[0-9a-fA-F]{4}")
_DECODER = json.JSONDecoder()


@dataclass(frozen=True, slots=True)
class JsonItems:
    """The text between two brackets: ``items`` and the ``gaps`` before, between (with comma) and after."""

    items: tuple[str, ...]
    gaps: tuple[str, ...]

    @property
    def text(self) -> str:
        return "".join(chain.from_iterable(zip_longest(self.gaps, self.items, fillvalue="")))

    def replace(self, place: int, item: str) -> Self:
        return self._with(_put(self.items, place, place + 1, item), self.gaps)

    def remove(self, place: int) -> Self:
        """Removes one item and its comma; if none remain, the gap is removed as well."""
        gap = max(place, 1)
        gaps = _put(self.gaps, gap, gap + 1) if len(self.items) > 1 else ("",)
        return self._with(_put(self.items, place, place + 1), gaps)

    def insert(self, place: int, item: str, style: JsonStyle, depth: int) -> Self:
        """Inserts an item at ``place``, formatted like the others, which are ``depth`` levels deep."""
        if not self.items:
            return self._with((item,), (style.gap(depth), style.gap(depth - 1)))
        comma = self.gaps[1] if len(self.items) > 1 else style.comma(self.gaps[0])
        gap = max(place, 1)
        return self._with(_put(self.items, place, place, item), _put(self.gaps, gap, gap, comma))

    def move(self, place: int, to: int) -> Self:
        """Moves the item at ``place`` to ``to``; the gaps are unchanged."""
        rest = _put(self.items, place, place + 1)
        return self._with(_put(rest, to, to, self.items[place]), self.gaps)

    def _with(self, items: tuple[str, ...], gaps: tuple[str, ...]) -> Self:
        return type(self)(items, gaps)


def _put(items: tuple[str, ...], start: int, end: int, *new: str) -> tuple[str, ...]:
    return (*items[:start], *new, *items[end:])


@dataclass(frozen=True, slots=True)
class JsonStyle:
    """The format of a JSON file: ``indent`` for each level (None: one line), ``ascii``: others escaped."""

    indent: str | None
    newline: str
    colon: str
    ascii: bool

    def dump(self, value: Any, depth: int) -> str:
        """Formats ``value`` in this style; ``depth`` is the number of enclosing brackets."""
        comma = "," if self.indent is not None or self.colon == ":" else ", "
        text = json.dumps(value, indent=self.indent, ensure_ascii=self.ascii, separators=(comma, self.colon))
        return text.replace("\n", self.gap(depth))

    def gap(self, depth: int) -> str:
        return "" if self.indent is None else self.newline + self.indent * depth

    def comma(self, gap: str) -> str:
        return "," + (gap or ("" if self.indent is not None or self.colon == ":" else " "))


def style_of(text: str) -> JsonStyle:
    """Detects the style of a file that contains an object, from its first member and its characters."""
    inside = items_at(text, _skip(text, 0))
    lead = inside.gaps[0]
    newline = "\r\n" if "\r\n" in lead else "\n"
    colon = _COLON.match(inside.items[0], key_of(inside.items[0])[1]) if inside.items else None
    return JsonStyle(
        indent=lead.rpartition("\n")[2] if "\n" in lead else None,
        newline=newline,
        colon=colon.group() if colon and colon.group() in {":", ": "} else ": ",
        ascii=text.isascii() and _ESCAPED.search(text) is not None,
    )


def items_at(text: str, start: int) -> JsonItems:
    """Splits the array or object that opens at ``start``; the text must be valid JSON."""
    in_object = text[start] == "{"
    place = _skip(text, start + 1)
    items, gaps = [], [text[start + 1 : place]]
    while text[place] not in "]}":
        end = _DECODER.raw_decode(text, value_at(text, place) if in_object else place)[1]
        after = _end(_BETWEEN, text, end)
        items.append(text[place:end])
        gaps.append(text[end:after])
        place = after
    return JsonItems(tuple(items), tuple(gaps))


def key_of(text: str, start: int = 0) -> tuple[str, int]:
    """Returns the name of the member at ``start``, and the end position of the name."""
    name, end = _DECODER.raw_decode(text, start)
    return str(name), end


def value_at(text: str, start: int = 0) -> int:
    """Returns the position of the value of the member at ``start``."""
    return _end(_COLON, text, key_of(text, start)[1])


def _skip(text: str, start: int) -> int:
    return _end(_BLANKS, text, start)


def _end(pattern: re.Pattern[str], text: str, start: int) -> int:
    found = pattern.match(text, start)
    return found.end() if found else start
