"""The tables ``labels`` and ``signals`` of SQL queries."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from nbtools.traces.query.tables import arrow_without_texts

if TYPE_CHECKING:
    from nbtools.traces.trace_rows import TraceRows

_NAMES = {name: re.compile(rf"\b{name}\b", re.IGNORECASE) for name in ("labels", "signals")}


def review_tables(trace: TraceRows, query: str) -> Iterator[tuple[str, Any]]:
    """Yields those of the tables ``labels`` and ``signals`` that a query names, as Arrow tables.
    Raises ``TraceError``.
    """
    for name in _NAMES:
        if names_table(query, name):
            from nbtools.traces.reviews.review import review  # noqa: PLC0415 - loaded on first use

            rows = getattr(review(trace), name)
            yield name, arrow_without_texts(rows, rows.kind)


def names_table(query: str, name: str) -> bool:
    return _NAMES[name].search(query) is not None
