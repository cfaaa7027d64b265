"""Shows what a function returned as a person expects to see it:
a data frame as a table, a figure as a picture, a number as one writes it.

Libraries are recognised by what their objects can do, so none is imported.
"""

from __future__ import annotations

import base64
import math
from collections.abc import Iterable, Sequence
from io import BytesIO
from typing import Any

from nbtools.core.result import Markdown, Media, ToolResult

_MOST_ROWS = 50
"""Rows of a table that are shown, and that a model gets; ``data`` has all."""
_MOST_COLUMNS = 30
_LONGEST_CELL = 200
"""Characters."""


def shown_value(value: Any) -> ToolResult | None:
    """Returns the result for a float, a data frame, a series, a figure or a picture;
    None for any other value.
    """
    if isinstance(value, float):
        return ToolResult(repr(value), number_text(value), None, number_text(value), value)
    picture = _png(value)
    if picture is not None:
        part = {"inline_data": {"mime_type": "image/png", "data": base64.b64encode(picture).decode("ascii")}}
        return ToolResult(
            (part,), Media(type(value).__name__, "image/png", picture), None, "a picture", value
        )
    table = _table(value)
    if table is not None:
        return ToolResult(table.text, table, None, _size(value), value)
    return None


def number_text(value: float) -> str:
    """Returns a float as a person writes it, without the digits that binary fractions add:
    ``3.3`` for 1.1 + 2.2.
    """
    short = f"{value:.12g}"
    if not math.isfinite(value) or "e" in short or float(short) != int(float(short)):
        return short
    return f"{float(short):.1f}"


def _png(value: Any) -> bytes | None:
    """Returns the picture of a matplotlib figure, or of an object that IPython would show as one,
    such as an image of PIL.
    """
    if isinstance(value, type):
        return None
    if callable(getattr(value, "savefig", None)):
        file = BytesIO()
        value.savefig(file, format="png", bbox_inches="tight")
        return file.getvalue()
    drawn = value._repr_png_() if callable(getattr(value, "_repr_png_", None)) else None
    return drawn if isinstance(drawn, bytes) else None


def _table(value: Any) -> Markdown | None:
    """Returns the first rows of a data frame of pandas or polars, or of a series, as a table."""
    if isinstance(value, type):
        return None
    frame = (
        value.to_frame() if callable(getattr(value, "to_frame", None)) and hasattr(value, "dtype") else value
    )
    if (
        not hasattr(frame, "columns")
        or not callable(getattr(frame, "head", None))
        or not hasattr(frame, "shape")
    ):
        return None
    first = frame.head(_MOST_ROWS)
    if callable(getattr(first, "itertuples", None)):  # pandas
        names = ["", *map(str, first.columns)]
        rows: Iterable[Sequence[Any]] = first.itertuples(index=True, name=None)
    elif callable(getattr(first, "iter_rows", None)):  # polars
        names, rows = list(map(str, first.columns)), first.iter_rows()
    else:
        return None
    shown = names[:_MOST_COLUMNS]
    lines = [_row(shown), _row(["---"] * len(shown)), *(_row(row[:_MOST_COLUMNS]) for row in rows)]
    left_out = frame.shape[0] > _MOST_ROWS or len(names) > _MOST_COLUMNS
    return Markdown("\n".join(lines) + (f"\n\n{_size(value)}" if left_out else ""))


def _row(cells: Sequence[Any]) -> str:
    return f"| {' | '.join(map(_cell, cells))} |"


def _cell(value: Any) -> str:
    text = number_text(value) if isinstance(value, float) else str(value)
    text = " ".join(text.split()).replace("\\", "\\\\").replace("|", "\\|")
    return text if len(text) <= _LONGEST_CELL else f"{text[: _LONGEST_CELL - 1]}…"


def _size(frame: Any) -> str:
    rows, columns = (*frame.shape, 1)[:2]
    return f"{rows:,} rows × {columns:,} columns"
