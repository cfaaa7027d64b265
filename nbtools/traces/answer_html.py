"""An answer as a table of HTML, without scripts: numbers at the right, times to read, long text cut and whole in its title."""

from __future__ import annotations

import json
from collections.abc import Callable
from datetime import datetime, timedelta
from decimal import Decimal
from html import escape
from typing import Any

SHOWN = 50
"""Rows of a table."""
_CELL = 200
_TITLE = 2_000
"""Characters of what the pointer shows; fifty long outputs would make a notebook large."""
_LEFT = ' style="text-align:left;vertical-align:top;overflow-wrap:anywhere;max-width:48em"'
_RIGHT = ' style="text-align:right;vertical-align:top;font-variant-numeric:tabular-nums;white-space:nowrap"'
_NUMBERS = (int, float, Decimal, timedelta)
_EXPONENT = 1e6
"""A number that six digits would write with an exponent."""


def answer_html(columns: tuple[str, ...], rows: list[tuple[Any, ...]], count: int) -> str:
    """``rows`` are the first of ``count``, no more than ``SHOWN``."""
    styles = [_style([row[place] for row in rows]) for place in range(len(columns))]
    head = "".join(f"<th{style}>{escape(name)}</th>" for name, style in zip(columns, styles, strict=True))
    body = "".join(f"<tr>{''.join(map(_cell, row, styles))}</tr>" for row in rows)
    counted = f"{count:,} row{'' if count == 1 else 's'} × {len(columns)} column{'' if len(columns) == 1 else 's'}"
    left = f"<b>{count - len(rows):,} more</b> of " if count > len(rows) else ""
    table = f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"
    return f'<div class="tex2jax_ignore mathjax_ignore" dir="ltr">{table}<p>{left}{counted}</p></div>'


def readable(value: Any) -> str:
    """In a cell; times are UTC, to the second."""
    return _WORDS.get(type(value), str)(value)


def _real(value: Any) -> str:
    return f"{value:,.6g}" if abs(value) < _EXPONENT else f"{value:,.0f}"


def _list(values: list[Any]) -> str:
    return ", ".join(values) if all(isinstance(one, str) for one in values) else _json(values)


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, default=str)


_WORDS: dict[type, Callable[[Any], str]] = {
    type(None): lambda _: "",
    bool: lambda value: "true" if value else "false",
    int: lambda value: f"{value:,}",
    float: _real,
    Decimal: _real,
    datetime: lambda value: f"{value:%Y-%m-%d %H:%M:%S}",
    timedelta: lambda value: str(timedelta(seconds=round(value.total_seconds()))),
    list: _list,
    dict: _json,
}


def _style(values: list[Any]) -> str:
    known = [value for value in values if value is not None]
    return _RIGHT if known and all(isinstance(value, _NUMBERS) and not isinstance(value, bool) for value in known) else _LEFT


def _cell(value: Any, style: str) -> str:
    text = readable(value)
    if isinstance(value, datetime):
        return f'<td{style} title="{escape(value.isoformat())}">{text}</td>'
    if len(text) <= _CELL:
        return f"<td{style}>{escape(text)}</td>"
    title = text[:_TITLE] + ("…" if len(text) > _TITLE else "")
    return f'<td{style} title="{escape(title)}">{escape(text[:_CELL])}…</td>'
