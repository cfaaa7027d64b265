"""The token usage of the requests of every log sums up to the totals of its sessions."""

from __future__ import annotations

import pytest

from nbtools import traces
from nbtools.traces.query.tables import TOKEN_COLUMNS
from nbtools.traces.usage.requests import TOKEN_KINDS, input_of, sum_of_tokens
from tests.traces.recorded import LOGS, SAMPLES

RESTS = {
    "claude-stream-json/made--action.json",  # the cost is recorded for the whole run
    "copilot-cli/made--events.jsonl",  # only output tokens are recorded for each answer
    "swe-agent/pydicom__pydicom-1458.traj",  # only totals are recorded
}
"""The logs whose totals are not those of their requests, and why."""


@pytest.mark.parametrize("log", LOGS)
def test_the_sums_are_the_totals_of_the_session(log: str) -> None:
    trace = traces.load(SAMPLES / log)
    for session in trace.sessions:
        own = [row for row in trace.usage if row.session == session.id]
        spent = sum_of_tokens(row.tokens for row in own)
        assert [getattr(spent, kind) or 0 for kind in TOKEN_KINDS] == [
            getattr(session.tokens, kind) or 0 for kind in TOKEN_KINDS
        ]
        if session.cost is not None:
            assert sum(row.cost or 0.0 for row in own) == pytest.approx(session.cost)
        assert sum(row.scope == "rest" for row in own) <= 1
    assert {row.session for row in trace.usage} <= {session.id for session in trace.sessions}
    assert any(row.scope == "rest" for row in trace.usage) == (log in RESTS)


@pytest.mark.parametrize("log", LOGS)
def test_the_steps_of_a_request_are_steps_of_its_session(log: str) -> None:
    trace = traces.load(SAMPLES / log)
    steps = {(row.session, row.seq) for row in (*trace.events, *trace.calls)}
    for request in trace.usage:
        if request.seq is not None and request.last is not None:
            assert request.seq <= request.last
            assert (request.session, request.seq) in steps
            assert (request.session, request.last) in steps


@pytest.mark.parametrize("log", LOGS)
def test_sql_has_the_same_sums(log: str) -> None:
    trace = traces.load(SAMPLES / log)
    columns = ", ".join(f"sum({column})" for column in TOKEN_COLUMNS)
    ((sent, *found),) = trace.sql(f"select sum(input_tokens), {columns} from usage").fetchall()
    total = sum_of_tokens(session.tokens for session in trace.sessions)
    assert [int(count or 0) for count in found] == [getattr(total, kind) or 0 for kind in TOKEN_KINDS]
    assert int(sent or 0) == (input_of(total) or 0)
