"""Renders a query result as a script-free HTML table.

Numbers are right-aligned, times readable, and long texts cut, with the full text as tooltip.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from datetime import datetime, timedelta
from decimal import Decimal
from html import escape
from typing import Any

MAX_ROWS = 50
"""Maximum number of rows in the table."""
_CELL = 200
_TOOLTIP = 2_000
"""Maximum number of characters in a tooltip; fifty long outputs would make a notebook large."""
_LEFT = ' style="text-align:left;vertical-align:top;overflow-wrap:anywhere;max-width:48em"'
_RIGHT = ' style="text-align:right;vertical-align:top;font-variant-numeric:tabular-nums;white-space:nowrap"'
_NUMBERS = (int, float, Decimal, timedelta)
_EXPONENT_FROM = 1e6
"""Numbers from here on would be written with an exponent at six digits."""


def query_result_html(columns: tuple[str, ...], rows: list[tuple[Any, ...]], count: int) -> str:
    """Renders the first ``rows`` of a result with ``count`` rows. Pass at most ``MAX_ROWS``."""
    styles = [_style([row[index] for row in rows]) for index in range(len(columns))]
    head = "".join(f"<th{style}>{escape(name)}</th>" for name, style in zip(columns, styles, strict=True))
    body = "".join(f"<tr>{''.join(map(_cell, row, styles))}</tr>" for row in rows)
    counted = f"{count:,} row{'' if count == 1 else 's'} × {len(columns)} column{'' if len(columns) == 1 else 's'}"
    left = f"<b>{count - len(rows):,} more</b> of " if count > len(rows) else ""
    table = f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"
    return f'<div class="tex2jax_ignore mathjax_ignore" dir="ltr">{table}<p>{left}{counted}</p></div>'


def format_value(value: Any) -> str:
    """Formats a value for a cell; times are UTC, to the second."""
    return _FORMATTERS.get(type(value), str)(value)


def _format_float(value: Any) -> str:
    return f"{value:,.6g}" if abs(value) < _EXPONENT_FROM else f"{value:,.0f}"


def _format_list(values: list[Any]) -> str:
    return ", ".join(values) if all(isinstance(one, str) for one in values) else _format_json(values)


def _format_json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, default=str)


_FORMATTERS: dict[type, Callable[[Any], str]] = {
    type(None): lambda _: "",
    bool: lambda value: "true" if value else "false",
    int: lambda value: f"{value:,}",
    float: _format_float,
    Decimal: _format_float,
    datetime: lambda value: f"{value:%Y-%m-%d %H:%M:%S}",
    timedelta: lambda value: str(timedelta(seconds=round(value.total_seconds()))),
    list: _format_list,
    dict: _format_json,
}


def _style(values: list[Any]) -> str:
    present = [value for value in values if value is not None]
    return _RIGHT if present and all(isinstance(value, _NUMBERS) and not isinstance(value, bool) for value in present) else _LEFT


def _cell(value: Any, style: str) -> str:
    text = format_value(value)
    if isinstance(value, datetime):
        return f'<td{style} title="{escape(value.isoformat())}">{text}</td>'
    if len(text) <= _CELL:
        return f"<td{style}>{escape(text)}</td>"
    title = text[:_TOOLTIP] + ("…" if len(text) > _TOOLTIP else "")
    return f'<td{style} title="{escape(title)}">{escape(text[:_CELL])}…</td>'
