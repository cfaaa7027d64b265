"""Removes secrets from the JSON of a step's details, also where a text is cut into spans or lines."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, TypeAlias

from nbtools.traces.export.removal import Removal, cleaned, texts_of

Spans: TypeAlias = list[list[str]]
"""One line: pairs of text and style words."""
_MEDIA = frozenset({"image", "audio", "pages"})
"""Types of blocks whose ``data`` is base64."""
_SIDES = ("old", "new")


def texts_in(value: Any) -> Iterator[str]:
    """Yields every text of a JSON, with lines of spans as one text, without pictures and sounds."""
    for block in _blocks(value):
        for lines in _texts_of_lines(block):
            yield _text_of(lines)
    yield from texts_of(value, _is_left)


def remove_from(value: Any, removal: Removal) -> Any:
    """Returns JSON without secrets.  Lines of spans are changed in place; the other texts are replaced."""
    for block in _blocks(value):
        for lines in _texts_of_lines(block):
            _remove_from_lines(lines, removal)
    return cleaned(value, removal, _is_left)


def remove_from_card(card: dict[str, Any], removal: Removal) -> dict[str, Any]:
    """Returns the JSON of a card without secrets; lines of spans are changed in place."""
    clean: dict[str, Any] = remove_from({"opened": {"card": card}}, removal)["opened"]["card"]
    return clean


def _blocks(value: Any) -> list[Any]:
    """Returns the parts whose lines belong together: the blocks of a step's card, or the value itself."""
    return (
        list(value["opened"]["card"]["blocks"]) if isinstance(value, dict) and "opened" in value else [value]
    )


def _texts_of_lines(block: Any) -> Iterator[list[Spans]]:
    """Yields the texts of a block as lists of lines: the two sides of a diff, or all lines in order."""
    sides: dict[str, list[Spans]] = {}
    _collect(block, "", sides)
    yield from sides.values()


def _collect(value: Any, side: str, sides: dict[str, list[Spans]]) -> None:
    if is_spans(value):
        sides.setdefault(side, []).append(value)
    elif isinstance(value, dict):
        for name, part in value.items():
            _collect(part, name if name in _SIDES else side, sides)
    elif isinstance(value, list):
        for part in value:
            _collect(part, side, sides)


def is_spans(value: Any) -> bool:
    return (
        isinstance(value, list)
        and bool(value)
        and all(
            isinstance(one, list) and len(one) == 2 and isinstance(one[0], str) and isinstance(one[1], str)
            for one in value
        )
    )


def _text_of(lines: list[Spans]) -> str:
    return "\n".join("".join(piece for piece, _ in spans) for spans in lines)


def _remove_from_lines(lines: list[Spans], removal: Removal) -> None:
    removed = removal.spans(_text_of(lines))
    if not removed:
        return
    start = 0
    for spans in lines:
        end = start + sum(len(piece) for piece, _ in spans)
        touched = [one for one in removed if one[0] < end and one[1] > start]
        if touched:
            spans[:] = _without(spans, start, touched)
        start = end + 1


def _without(spans: Spans, start: int, removed: list[tuple[int, int, str]]) -> Spans:
    """Returns a line, which begins at ``start`` of the text, with the replacement where each secret begins,
    and nothing of the rest.
    """
    rest: Spans = []
    for piece, style in spans:
        end = start + len(piece)
        kept, position = "", start
        for first, last, label in removed:
            if first < end and last > position:
                kept += piece[position - start : max(first, position) - start] + (
                    label if first >= start else ""
                )
                position = max(position, min(last, end))
        rest.append([kept + piece[position - start :], style])
        start = end
    return rest


def _is_left(value: Any, parent: Any, name: str) -> bool:
    """Whether it is a line of spans, of which all lines are one text, or the data of a picture or sound."""
    media = name == "data" and (parent.get("type") in _MEDIA or parent.keys() == {"number", "data"})
    return media or is_spans(value)
