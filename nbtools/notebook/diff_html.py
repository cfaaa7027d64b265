"""A diff as tables: side by side or unified, unchanged stretches behind a line that opens."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Literal, TypeAlias

from nbtools.notebook.markup import element, spans_html, styled_element
from nbtools.notebook.phrases import counted
from nbtools.notebook.style import STYLES
from nbtools.notebook.wire import DiffBlock, Hunk, Line, Row

View: TypeAlias = Literal["split", "unified"]

_COLUMNS = {
    "split": '<col style="width:4.2em"><col><col style="width:4.2em"><col>',
    "unified": '<col style="width:3.4em"><col style="width:4.2em"><col>',
}


def diff_html(block: DiffBlock, view: View) -> str:
    """One side alone needs no second column: a new or emptied file is drawn unified."""
    shown = "unified" if _one_sided(block) else view
    return element("div", "block", "".join(_hunk(hunk, shown) for hunk in block.hunks))


def _one_sided(block: DiffBlock) -> bool:
    rows = [row for hunk in block.hunks for row in hunk.rows]
    return block.created or all(row.old is None for row in rows) or all(row.new is None for row in rows)


def _hunk(hunk: Hunk, view: str) -> str:
    if not hunk.folded:
        return _table(hunk.rows, view) + (_gap(counted(hunk.hidden, "more line")) if hunk.hidden else "")
    label = counted(len(hunk.rows) + hunk.hidden, "unchanged line")
    if not hunk.rows:
        return _gap(label)
    summary = element("summary", "fold", f"{_quiet(f'⋯ {label}')}")
    return f"<details>{summary}{_table(hunk.rows, view)}</details>"


def _gap(label: str) -> str:
    return styled_element("div", "fold", "cursor:default", _quiet(f"⋯ {label}"))


def _quiet(text: str) -> str:
    return f'<span style="{STYLES["dim"]}">{text}</span>'


def _table(rows: Iterable[Row], view: str) -> str:
    lines = map(_split_row, rows) if view == "split" else _unified_rows(rows)
    body = "".join(f'<tr style="{STYLES["row"]}">{cells}</tr>' for cells in lines)
    return element("table", "table", f"<colgroup>{_COLUMNS[view]}</colgroup><tbody>{body}</tbody>") if body else ""


def _split_row(row: Row) -> str:
    left, right = _sides(row)
    return _gutter(row.old, left) + _text(row.old, left) + _gutter(row.new, right, middle=True) + _text(row.new, right)


def _sides(row: Row) -> tuple[str, str]:
    return ("removed" if row.changed else "", "added" if row.changed else "")


def _gutter(line: Line | None, side: str, *, middle: bool = False) -> str:
    ground = _ground(line, side) + (f";{STYLES['middle']}" if middle else "")
    sign = {"added": "+", "removed": "−"}.get(side, "\u00a0")
    return styled_element("td", "gutter", ground, "" if line is None else f"{_quiet(str(line.number))} {sign} ")


def _text(line: Line | None, side: str) -> str:
    return styled_element("td", "line", _ground(line, side), "" if line is None else spans_html(line.spans, side))


def _ground(line: Line | None, side: str) -> str:
    return STYLES["absent"] if line is None else STYLES[side] if side else "background:none"


def _unified_rows(rows: Iterable[Row]) -> Iterator[str]:
    """Of a run of changed rows first all that goes, then all that comes."""
    run: list[Row] = []
    for row in rows:
        if row.changed:
            run.append(row)
            continue
        yield from _run(run)
        run = []
        yield _unified(row.old, row.new, "")
    yield from _run(run)


def _run(rows: list[Row]) -> Iterator[str]:
    yield from (_unified(row.old, None, "removed") for row in rows if row.old is not None)
    yield from (_unified(None, row.new, "added") for row in rows if row.new is not None)


def _unified(old: Line | None, new: Line | None, side: str) -> str:
    line = new or old
    ground = STYLES[side] if side else "background:none"
    sign = {"added": "+", "removed": "−"}.get(side, "\u00a0")
    first = styled_element("td", "gutter", ground, _quiet(str(old.number)) if old else "")
    second = styled_element("td", "gutter", ground, f"{_quiet(str(new.number) if new else '')} {sign} ")
    return first + second + _text(line, side)
