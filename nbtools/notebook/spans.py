"""Lines as spans: laying marks over them, cutting long ones, reading them back."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from nbtools.notebook.visible import reveal
from nbtools.notebook.wire import Span

MAX_COLUMNS = 500
"""Characters of a line that a card shows."""

Range = tuple[int, int]


def text_of(spans: Iterable[Span]) -> str:
    return "".join(text for text, _ in spans)


def line_spans(spans: Sequence[Span], ranges: Sequence[Range] = (), word: str = "mark") -> tuple[Span, ...]:
    """A line ready to be drawn: ``word`` over the character ``ranges``, cut so that the first of them shows, hidden characters visible."""
    marked = overlay(spans, ranges, word) if ranges else spans
    first = min((start for start, _ in ranges), default=0)
    return tuple(shown for text, style in _window(marked, first) for shown in reveal(text, style))


def overlay(spans: Iterable[Span], ranges: Sequence[Range], word: str) -> list[Span]:
    """``spans`` with ``word`` added wherever one of the ascending ``ranges`` covers them."""
    result: list[Span] = []
    position = 0
    for text, style in spans:
        end = position + len(text)
        cursor = position
        for start, stop in ranges:
            low, high = max(start, position), min(stop, end)
            if low >= high:
                continue
            _append(result, text[cursor - position : low - position], style)
            _append(result, text[low - position : high - position], f"{style} {word}".strip())
            cursor = high
        _append(result, text[cursor - position :], style)
        position = end
    return result


def _append(spans: list[Span], text: str, style: str) -> None:
    if text:
        spans.append((text, style))


def _window(spans: Sequence[Span], first: int) -> Sequence[Span]:
    """At most ``MAX_COLUMNS`` characters of a line, with ``first`` among them; what is missing is said."""
    total = sum(len(text) for text, _ in spans)
    if total <= MAX_COLUMNS:
        return spans
    start = 0 if first < MAX_COLUMNS - 100 else first - 100
    end = min(total, start + MAX_COLUMNS)
    shown = cut(spans, start, end)
    before = [(f"‹{start:,} characters›", "hidden")] if start else []
    after = [(f"‹{total - end:,} more characters›", "hidden")] if end < total else []
    return [*before, *shown, *after]


def cut(spans: Iterable[Span], start: int, end: int) -> list[Span]:
    """Characters ``start`` to ``end`` of a line."""
    result: list[Span] = []
    position = 0
    for text, style in spans:
        _append(result, text[max(0, start - position) : max(0, end - position)], style)
        position += len(text)
    return result
