"""The rows of a trace that a saved filter lists: ``trace.filter(name)``."""

from __future__ import annotations

from nbtools.traces.explorer.explorer import Explorer
from nbtools.traces.explorer.model import TraceFilter
from nbtools.traces.explorer.nesting import LineRow
from nbtools.traces.explorer.saved_filters.store import FilterFile
from nbtools.traces.trace import Trace


def filtered_rows(trace: Trace, name: str) -> list[LineRow]:
    """Raises ``TraceError`` if there is no such filter, or it has a chip that this log does not have."""
    saved = FilterFile().named(name)
    return Explorer(trace).rows_under(TraceFilter(text=saved.text, chips=saved.chips, order=saved.order))
