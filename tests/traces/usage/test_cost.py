"""Money: as recorded, and by price lists where these are wanted."""

from __future__ import annotations

import sys
from datetime import date

import pytest
from msgspec import structs

from nbtools import traces
from nbtools.traces.usage.cost import priced_cost
from tests.traces.recorded import SAMPLES


def test_without_prices_the_cost_is_the_recorded_one() -> None:
    assert traces.load(SAMPLES / "pi/made--tree.jsonl").cost().total == pytest.approx(0.01)
    cost = traces.load(SAMPLES / "codex/skills--019d78fc-c449-7300-92a1-1e92604a4f6a.jsonl").cost()
    assert (cost.total, cost.prices, cost.price_dates) == (None, "", None)


def test_prices_are_those_of_the_day_of_the_request() -> None:
    trace = traces.load(SAMPLES / "openhands/openhands_trajectory.json")
    cost = trace.cost(prices=True)
    assert cost.recorded == pytest.approx(0.01934775)
    assert cost.total == pytest.approx(cost.recorded)
    assert cost.by_model == {"gpt-5-2025-08-07": cost.total}
    assert cost.price_dates == (date(2025, 10, 10), date(2025, 10, 10))
    assert cost.prices.startswith("genai-prices ")
    assert not cost.lower_bound


@pytest.mark.parametrize(("form", "billed"), [("codex", False), ("gemini-cli", True)])
def test_reasoning_is_billed_where_the_output_tokens_do_not_include_it(form: str, billed: bool) -> None:
    trace = traces.load(SAMPLES / "openhands/openhands_trajectory.json")
    sessions = [structs.replace(session, format=form) for session in trace.sessions]
    plain, reasoned = (
        priced_cost(
            sessions,
            [
                structs.replace(one, tokens=structs.replace(one.tokens, reasoning=reasoning))
                for one in trace.usage
            ],
        ).total
        for reasoning in (None, 1_000)
    )
    assert plain is not None
    assert reasoned is not None
    assert (reasoned > plain) is billed


def test_models_without_a_price_are_named() -> None:
    cost = traces.load(SAMPLES / "atif/harbor--openhands.no_function_calling.json").cost(prices=True)
    assert cost.total is None or cost.by_model
    assert sum(cost.unpriced.values()) + bool(cost.by_model) >= 1
    copilot = traces.load(SAMPLES / "copilot-cli/made--events.jsonl").cost(prices=True)
    assert copilot.unpriced == {"": 1}  # the rest, which no model is named for


def test_placeholders_make_the_cost_a_lower_bound() -> None:
    assert traces.load(SAMPLES / "claude-code/cctrace--main.jsonl").cost(prices=True).lower_bound


def test_a_missing_library_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "genai_prices", None)
    trace = traces.load(SAMPLES / "pi/made--tree.jsonl")
    with pytest.raises(traces.TraceError, match="prices"):
        trace.cost(prices=True)
