"""Renders a diff as HTML: side by side (a table) or unified (preformatted text), with unchanged lines folded."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from itertools import groupby
from typing import Literal, NamedTuple, TypeAlias

from nbtools.notebook.cards.markup import element, spans_html, styled_element
from nbtools.notebook.cards.model import DiffBlock, Hunk, Line, Row
from nbtools.notebook.cards.phrases import counted
from nbtools.notebook.cards.style import STYLES

View: TypeAlias = Literal["split", "unified"]

_COLUMNS = '<colgroup><col style="width:3.9em"><col><col style="width:3.9em"><col></colgroup>'
_SIGNS = {"added": "+", "removed": "−"}


def diff_html(block: DiffBlock, view: View) -> str:
    """Returns a diff as HTML.  A diff with one side only, such as a new file, is always unified, which needs no styles to be read."""
    draw = partial(_pre, wide=number_width(block)) if view == "unified" or one_sided(block) else _table
    return "".join(_hunk(hunk, draw) for hunk in block.hunks)


def one_sided(block: DiffBlock) -> bool:
    """Whether one side of the diff is empty."""
    rows = [row for hunk in block.hunks for row in hunk.rows]
    return block.created or all(row.old is None for row in rows) or all(row.new is None for row in rows)


def _hunk(hunk: Hunk, draw: Callable[[Sequence[Row]], str]) -> str:
    if not hunk.folded:
        return draw(hunk.rows) + (_gap(counted(hunk.hidden, "more line")) if hunk.hidden else "")
    label = counted(len(hunk.rows) + hunk.hidden, "unchanged line")
    if not hunk.rows:
        return _gap(label)
    summary = element("summary", "fold", _quiet(f"⋯ {label}"))
    return f"<details>{summary}{draw(hunk.rows)}</details>"


def _gap(label: str) -> str:
    return styled_element("div", "fold", "cursor:default", _quiet(f"⋯ {label}"))


def _quiet(text: str) -> str:
    return f'<span style="{STYLES["dim"]}">{text}</span>'


def _table(rows: Sequence[Row]) -> str:
    body = "".join(f'<tr style="{STYLES["row"]}">{_split_row(row)}</tr>' for row in rows)
    return element("table", "table", f"{_COLUMNS}<tbody>{body}</tbody>") if body else ""


def _split_row(row: Row) -> str:
    left, right = _sides(row)
    return _gutter(row.old, left) + _text(row.old, left) + _gutter(row.new, right, middle=True) + _text(row.new, right)


def _sides(row: Row) -> tuple[str, str]:
    return ("removed" if row.changed else "", "added" if row.changed else "")


def _gutter(line: Line | None, side: str, *, middle: bool = False) -> str:
    background = _background(line, side) + (f";{STYLES['middle']}" if middle else "")
    sign = _SIGNS.get(side, "\u00a0")
    return styled_element("td", "gutter", background, "" if line is None else f"{_quiet(str(line.number))} {sign}")


def _text(line: Line | None, side: str) -> str:
    return styled_element("td", "line", _background(line, side), "" if line is None else spans_html(line.spans, side))


def _background(line: Line | None, side: str) -> str:
    return STYLES["absent"] if line is None else STYLES[side] if side else "background:none"


def number_width(block: DiffBlock) -> int:
    """Returns the width of the longest line number, in characters."""
    numbers = [line.number for hunk in block.hunks for row in hunk.rows for line in (row.old, row.new) if line is not None]
    return len(str(max(numbers, default=0)))


def _pre(rows: Sequence[Row], wide: int) -> str:
    lines = [_unified_line(line, wide) for line in unified_lines(rows)]
    return element("pre", "lines", "\n".join(lines)) if lines else ""


class UnifiedLine(NamedTuple):
    """One line of a unified diff: its numbers on both sides, its side (empty for context) and its text."""

    old: int | None
    new: int | None
    side: str
    line: Line


def unified_lines(rows: Iterable[Row]) -> Iterator[UnifiedLine]:
    """Yields rows as unified lines: of adjacent changed rows first all removed lines, then all added ones."""
    for changed, run in groupby(rows, key=lambda row: row.changed):
        adjacent = list(run)
        if not changed:
            yield from (UnifiedLine(row.old.number, row.new.number, "", row.new) for row in adjacent if row.old and row.new)
            continue
        yield from (UnifiedLine(row.old.number, None, "removed", row.old) for row in adjacent if row.old)
        yield from (UnifiedLine(None, row.new.number, "added", row.new) for row in adjacent if row.new)


def _unified_line(line: UnifiedLine, wide: int) -> str:
    numbers = f"  {'' if line.old is None else line.old:>{wide}} {'' if line.new is None else line.new:>{wide}}"
    text = f"{element('span', 'number', numbers)} {_SIGNS.get(line.side, ' ')} {spans_html(line.line.spans, line.side)}"
    return styled_element("span", "ground", STYLES[line.side], text) if line.side else text
