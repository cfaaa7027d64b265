"""The tables ``labels`` and ``signals`` of SQL queries."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from nbtools.traces.query.tables import arrow_without_texts
from nbtools.traces.review.model import Label, Signal
from nbtools.traces.rows import Rows

if TYPE_CHECKING:
    from nbtools.traces.trace import Trace

_NAMES = {name: re.compile(rf"\b{name}\b", re.IGNORECASE) for name in ("labels", "signals")}


def review_tables(trace: Trace, query: str) -> Iterator[tuple[str, Any]]:
    """Yields those of the tables ``labels`` and ``signals`` that a query names, as Arrow tables.
    Raises ``TraceError``.
    """
    if names_table(query, "labels"):
        yield "labels", arrow_without_texts(label_rows(trace), Label)
    if names_table(query, "signals"):
        yield "signals", arrow_without_texts(trace.signals, Signal)


def names_table(query: str, name: str) -> bool:
    return _NAMES[name].search(query) is not None


def label_rows(trace: Trace) -> Rows[Label]:
    """Returns the labels of a trace as rows, which can be converted to data frames."""
    rows: Rows[Label] = Rows(Label)
    logs = {str(log.source.path): log for log in trace.readings}
    for label in trace.review.labels:
        rows.append(label)
        if label.source in logs:
            rows.assign_log_file(logs[label.source])
    return rows
