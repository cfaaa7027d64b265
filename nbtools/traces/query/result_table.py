"""Renders a query result as a script-free HTML table.

Numbers are right-aligned, times readable, and long texts cut, with the full text as tooltip.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from datetime import datetime, timedelta
from decimal import Decimal
from typing import Any

from nbtools.traces.html import render

MAX_ROWS = 50
"""Maximum number of rows in the table."""
_CELL = 200
_TOOLTIP = 2_000
"""Maximum number of characters in a tooltip; fifty long outputs would make a notebook large."""
_NUMBERS = (int, float, Decimal, timedelta)
_EXPONENT_FROM = 1e6
"""Numbers from here on would be written with an exponent at six digits."""


def query_result_html(columns: tuple[str, ...], rows: list[tuple[Any, ...]], count: int) -> str:
    """Renders the first ``rows`` of a result with ``count`` rows. Pass at most ``MAX_ROWS``."""
    numeric = [_is_numeric([row[index] for row in rows]) for index in range(len(columns))]
    return render(
        "query_result",
        columns=columns,
        numeric=numeric,
        rows=[list(map(_cell, row)) for row in rows],
        count=count,
    )


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


def _is_numeric(values: list[Any]) -> bool:
    present = [value for value in values if value is not None]
    return bool(present) and all(
        isinstance(value, _NUMBERS) and not isinstance(value, bool) for value in present
    )


def _cell(value: Any) -> tuple[str, str]:
    """Returns the text of a cell and its tooltip."""
    text = format_value(value)
    if isinstance(value, datetime):
        return text, value.isoformat()
    if len(text) <= _CELL:
        return text, ""
    return f"{text[:_CELL]}…", text[:_TOOLTIP] + ("…" if len(text) > _TOOLTIP else "")
