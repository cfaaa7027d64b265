"""Adds up the sessions of this machine: ``nbtools.traces.totals``."""

from __future__ import annotations

import json
from collections.abc import Iterable
from datetime import datetime
from pathlib import Path

from nbtools.core.errors import TraceError
from nbtools.traces.rows import Rows
from nbtools.traces.session_index.index import SessionIndex
from nbtools.traces.session_index.listing import Outcome, SessionCatalog, session_query
from nbtools.traces.session_index.repositories import repository_of
from nbtools.traces.usage.totals import TOTALS_BY, SessionUsage, Total, TotalsBy, add_up
from nbtools.traces.usage.usage_groups import LogUsage

_QUERY = (
    "SELECT number, agent, project, ifnull(started, mtime / 1e9), usage, group_costs, recorded_cost FROM logs"
    " WHERE number IN (SELECT value FROM json_each(?))"
)


def totals(
    by: TotalsBy = "day",
    text: str = "",
    *,
    agent: str = "",
    project: str = "",
    outcome: Outcome = "",
    since: float | str | datetime | None = None,
    folders: Iterable[str | Path] = (),
    complete: bool = True,
) -> Rows[Total]:
    """Returns the sums over sessions by day, project, model or agent: see ``Total``. The arguments select
    sessions as those of ``sessions`` do; what they did before ``since`` is not counted.

    A project is a repository: its folders and its linked worktrees count together. With ``complete``, new and
    changed logs are read as a whole first, about 50 MB a second. Raises ``TraceError`` for an unknown name.
    """
    if by not in TOTALS_BY:
        raise TraceError(f"{by!r} is nothing to add up by. Name one of: {', '.join(TOTALS_BY)}.")
    query = session_query(agent, project, outcome, since, text=text)
    catalog = SessionCatalog(folders)
    try:
        catalog.refresh()
        if complete:
            catalog.read_now(contents=False)
        found = usage_of(catalog.index, catalog.ids(query))
    finally:
        catalog.close()
    return Rows(Total, add_up(found, by, query.since))


def usage_of(index: SessionIndex, ids: Iterable[str]) -> list[SessionUsage]:
    """Returns the usage of the sessions with these ids, as far as their logs were read."""
    numbers = json.dumps([int(one, 16) for one in ids])
    return [
        SessionUsage(
            number,
            agent,
            repository_of(project) if project else "",
            started,
            LogUsage.from_json(usage),
            json.loads(costs) if costs else (),
            recorded,
        )
        for number, agent, project, started, usage, costs, recorded in index.read(_QUERY, (numbers,))
    ]
