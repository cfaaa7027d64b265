"""Sums over sessions by day, project, model and agent."""

from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import structs

from nbtools.traces.usage.totals import TOTALS_BY, SessionUsage, Total, add_up
from nbtools.traces.usage.usage_groups import HALF_HOUR, CallGroup, LogUsage, UsageGroup


def half_hour(day: int, hour: int = 12) -> int:
    return int(time.mktime((2026, 11, day, hour, 0, 0, 0, 0, -1)) // HALF_HOUR)


def noon(day: int) -> float:
    return float(half_hour(day) * HALF_HOUR)


def group(model: str, day: int, tokens: int) -> UsageGroup:
    return UsageGroup(model, half_hour(day), 0, 2, tokens, 0, 0, tokens // 10)


SESSIONS = (
    SessionUsage(
        1,
        "Codex",
        "/work/shop",
        noon(1),
        LogUsage(
            (group("gpt", 1, 100), group("gpt", 3, 300), group("local", 3, 50)),
            (CallGroup(half_hour(1), 4, 1), CallGroup(half_hour(3), 6)),
        ),
        (1.0, 3.0, None),
    ),
    SessionUsage(
        2,
        "Claude",
        "/work/shop",
        noon(3),
        LogUsage((group("opus", 3, 70),), (CallGroup(None, 2, 2),)),
        (0.5,),
    ),
    SessionUsage(3, "Pi", "", noon(4), LogUsage((group("opus", 4, 10),)), (), 0.25),
    SessionUsage(4, "Pi", "/work/new", noon(5), LogUsage()),
)


def by_name(by, **period) -> dict[str, tuple]:
    return {
        one.name: (one.sessions, one.calls, one.failed_calls, one.input_tokens, one.cost, one.unpriced)
        for one in add_up(SESSIONS, by, **period)
    }


def test_each_request_and_call_counts_on_its_day() -> None:
    assert by_name("day") == {
        "2026-11-01": (1, 4, 1, 100, 1.0, 0),
        "2026-11-03": (2, 8, 2, 420, 3.5, 2),
        "2026-11-04": (1, 0, 0, 10, 0.25, 0),
        "2026-11-05": (1, 0, 0, 0, None, 0),
    }
    assert [one.name for one in add_up(SESSIONS, "day")] == sorted(by_name("day"))


def test_a_cost_is_a_lower_bound_where_requests_have_no_price_or_placeholders() -> None:
    bounds = {one.name: one.lower_bound for one in add_up(SESSIONS, "day")}
    assert bounds == {"2026-11-01": False, "2026-11-03": True, "2026-11-04": False, "2026-11-05": False}
    doubtful = structs.replace(group("opus", 3, 70), placeholders=True)
    session = SessionUsage(1, "Claude", "", noon(3), LogUsage((doubtful,)), (0.5,))
    assert [one.lower_bound for one in add_up([session], "model")] == [True]


def test_sums_by_project_agent_and_model() -> None:
    assert by_name("project") == {
        "/work/shop": (2, 12, 3, 520, 4.5, 2),
        "": (1, 0, 0, 10, 0.25, 0),
        "/work/new": (1, 0, 0, 0, None, 0),
    }
    assert by_name("agent")["Codex"] == (1, 10, 1, 450, 4.0, 2)
    assert by_name("model") == {
        "gpt": (1, None, None, 400, 4.0, 0),
        "opus": (2, None, None, 80, 0.75, 0),
        "local": (1, None, None, 50, None, 2),
    }
    assert [one.name for one in add_up(SESSIONS, "model")] == ["gpt", "opus", "local"]


def test_a_period_counts_only_its_own_calls_and_requests() -> None:
    assert by_name("agent", since=noon(2), until=noon(3) + 60) == {
        "Codex": (1, 6, 0, 350, 3.0, 2),
        "Claude": (1, 2, 2, 70, 0.5, 0),
    }
    assert by_name("day", since=noon(6)) == {}


def test_a_recorded_cost_counts_at_the_beginning_and_nothing_else_is_free() -> None:
    usage = LogUsage((group("a", 1, 10), group("b", 2, 20)))
    recorded = SessionUsage(1, "Pi", "", noon(1), usage, (), 0.25)
    days = [(one.name, one.input_tokens, one.cost, one.unpriced) for one in add_up([recorded], "day")]
    assert days == [("2026-11-01", 10, 0.25, 0), ("2026-11-02", 20, None, 0)]
    models = {one.name: one.cost for one in add_up([recorded], "model")}
    assert models == {"": 0.25, "a": None, "b": None}


def test_a_time_that_no_calendar_has_is_no_day() -> None:
    strange = SessionUsage(1, "a", "", 1e300, LogUsage())
    assert [one.name for one in add_up([strange], "day")] == [""]


@given(st.lists(st.tuples(st.integers(1, 28), st.sampled_from("abc"), st.integers(1, 10_000)), max_size=20))
def test_the_sums_of_all_tables_are_the_same(parts: list[tuple[int, str, int]]) -> None:
    sessions = [
        SessionUsage(
            number,
            model,
            f"/{tokens % 3}",
            noon(day),
            LogUsage((group(model, day, tokens),), (CallGroup(half_hour(day), tokens, 1),)),
            (tokens / 1000,),
        )
        for number, (day, model, tokens) in enumerate(parts)
    ]

    def summed(by) -> tuple[float, ...]:
        found: list[Total] = add_up(sessions, by)
        return (
            sum(one.input_tokens for one in found),
            sum(one.output_tokens for one in found),
            sum(one.requests for one in found),
            pytest.approx(sum(one.cost or 0 for one in found)),
        )

    for by in TOTALS_BY:
        assert summed(by) == summed("day")


def test_a_hundred_thousand_groups_are_added_up_in_a_second() -> None:
    usage = LogUsage(tuple(group("gpt", 1 + number % 28, 100) for number in range(50)))
    sessions = [SessionUsage(number, "a", "/p", noon(1), usage, (0.1,) * 50) for number in range(2_000)]
    start = time.process_time()
    add_up(sessions, "day")
    assert time.process_time() - start < 5
