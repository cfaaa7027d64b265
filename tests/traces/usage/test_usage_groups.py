"""Groups of requests have the price of their requests, and the counts of the log."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from genai_prices import Usage, calc_price, data
from hypothesis import given
from hypothesis import strategies as st
from msgspec import structs

from nbtools import traces
from nbtools.traces.model import RequestUsage, Tokens
from nbtools.traces.session_index.figures import read_figures
from nbtools.traces.usage.cost import log_cost, priced_cost
from nbtools.traces.usage.usage_groups import PRICE_STEPS, REST, CallGroup, LogUsage, UsageGroup, usage_groups
from tests.traces.recorded import SAMPLES

MODELS = ("claude-sonnet-4-5", "gemini-2.5-pro", "gpt-5-codex")
COUNTS = st.integers(0, 600_000)
REQUESTS = st.builds(
    lambda model, at, new, read, written, output: RequestUsage(
        "s", model=model, at=at, tokens=Tokens(new, read, written, output)
    ),
    st.sampled_from(MODELS),
    st.sampled_from((1.75e9, 1.75e9 + 100, 1.76e9)),
    COUNTS,
    COUNTS,
    COUNTS,
    st.integers(1, 50_000),
)


def test_the_steps_of_prices_are_those_of_the_price_lists() -> None:
    """If this fails, genai-prices has prices with another limit, which belongs into ``PRICE_STEPS``."""
    found = re.findall(r"\bTier\(\s*start=(\d+)", Path(data.__file__).read_text(encoding="utf-8"))
    assert set(map(int, found)) <= set(PRICE_STEPS)
    assert found


@given(st.lists(REQUESTS, max_size=8))
def test_groups_cost_what_their_requests_cost(requests: list[RequestUsage]) -> None:
    single = 0.0
    for one in requests:
        tokens = one.tokens
        usage = Usage(
            input_tokens=(tokens.input or 0) + (tokens.cache_read or 0) + (tokens.cache_write or 0),
            cache_read_tokens=tokens.cache_read,
            cache_write_tokens=tokens.cache_write,
            output_tokens=tokens.output,
        )
        single += float(calc_price(usage, one.model).total_price)
    groups = list(usage_groups(requests, {}))
    costs = log_cost(LogUsage(tuple(groups)))
    assert sum(cost or 0 for cost in costs.by_group) == pytest.approx(single, rel=1e-9)
    assert sum(group.requests for group in groups) == len(requests)


@given(
    st.lists(
        st.builds(
            UsageGroup,
            st.text(st.characters(exclude_categories=())),
            st.none() | st.integers(),
            st.integers(REST, 9),
            *[st.integers()] * 6,
            st.booleans(),
        )
    ),
    st.lists(st.builds(CallGroup, st.none() | st.integers(), st.integers(), st.integers())),
)
def test_usage_is_read_as_it_was_stored(groups: list[UsageGroup], calls: list[CallGroup]) -> None:
    usage = LogUsage(tuple(groups), tuple(calls))
    assert LogUsage.from_json(usage.as_json()) == usage
    assert len(log_cost(usage).by_group) in {0, len(groups)}


LOGS = sorted(path for path in SAMPLES.rglob("*") if path.is_file())


@pytest.mark.parametrize("path", LOGS, ids=lambda path: str(path.relative_to(SAMPLES)))
def test_the_groups_of_a_log_have_its_counts_and_its_cost(path: Path) -> None:
    figures = read_figures(str(path))
    if figures.counts is None:
        return
    groups, calls, counts = figures.usage.groups, figures.usage.calls, figures.counts
    assert sum(group.input for group in groups) == (counts.input_tokens or 0)
    assert sum(group.output for group in groups) == (counts.output_tokens or 0)
    assert sum(one.calls for one in calls) == counts.calls
    assert sum(one.failed_calls for one in calls) == (counts.failed_calls or 0)
    costs = [cost for cost in log_cost(figures.usage).by_group if cost is not None]
    total = traces.load(path).cost(prices=True).total
    assert (sum(costs) if costs else None) == (total if total is None else pytest.approx(total))


def test_a_rest_has_the_price_of_the_day_on_which_its_session_began() -> None:
    trace = traces.load(SAMPLES / "openhands/openhands_trajectory.json")
    rest = [structs.replace(one, at=None, scope="rest", model="") for one in trace.usage]
    cost = priced_cost(trace.sessions, rest)
    assert cost.price_dates is not None
    assert trace.sessions[0].started is not None
    assert cost.total == pytest.approx(trace.cost(prices=True).total)
