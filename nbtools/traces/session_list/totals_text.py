"""Prints the sums over sessions: ``nbtools trace --totals``."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence

from msgspec.structs import asdict

from nbtools.core.errors import TraceError
from nbtools.traces.explorer.summary import cost_text, short_number
from nbtools.traces.session_index.session_totals import usage_of
from nbtools.traces.session_list.session_messages import SessionFilter
from nbtools.traces.session_list.session_text import cell_width, total_row
from nbtools.traces.session_list.view import query_of, session_catalog
from nbtools.traces.usage.cost import prices_name
from nbtools.traces.usage.totals import Total, TotalsBy, add_up

_HEAD = ("Sessions", "Calls", "Failed", "Tokens", "Cost")


def totals_table(chosen: SessionFilter, by: TotalsBy, *, as_json: bool = False) -> str:
    """Returns the sums over the selected sessions as a table, or as JSON, after all logs have been read."""
    if chosen.text:
        raise TraceError("--totals adds up sessions by agent, project and time: it takes no --search.")
    catalog = session_catalog()
    catalog.refresh()
    catalog.read_now()
    query = query_of(chosen)
    found = add_up(usage_of(catalog.index, catalog.ids(query)), by, query.since)
    if as_json:
        return json.dumps([asdict(one) for one in found], indent=2)
    if not found:
        return "No session matches."
    costs = prices_name() or "the logs; no price lists are installed: pip install 'nbtools-agent[prices]'"
    bound = "≥ where requests have no price or no true number of output tokens"
    return "\n".join([*_lines(found, by), f"Costs are by {costs}; {bound}."])


def _lines(found: Sequence[Total], by: TotalsBy) -> Iterator[str]:
    rows = [(by.capitalize(), *_HEAD), *(_cells(one, by) for one in found)]
    widths = [max(cell_width(row[index]) for row in rows) for index in range(len(_HEAD) + 1)]
    for name, *numbers in rows:
        cells = [text.rjust(width) for text, width in zip(numbers, widths[1:], strict=True)]
        yield "  ".join([name + " " * (widths[0] - cell_width(name)), *cells]).rstrip()


def _cells(total: Total, by: TotalsBy) -> tuple[str, ...]:
    row = total_row(total, by)
    counts = ("" if count is None else f"{count:,}" for count in (row.sessions, row.calls, row.failed))
    cost = cost_text(row.cost, is_lower_bound=row.lower_bound)
    return (row.label, *counts, short_number(row.tokens), cost)
