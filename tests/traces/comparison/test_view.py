"""The display of a comparison: what its page gets on request, and what it cannot ask for."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from msgspec import structs

from nbtools.notebook.traces.widget import ExplorerWidget
from nbtools.traces.comparison.comparison import compare
from nbtools.traces.comparison.comparison_messages import COMPARISON_MIME, ComparedRowsParams, OpenRunParams
from nbtools.traces.comparison.comparison_rows import STEP_MARKS, facts_of, run_rows
from nbtools.traces.comparison.view import ComparisonDisplay
from tests.browser.run_logs import MARKUP, PROMPT, RUNS, write_run, write_runs
from tests.traces.column_reader import rows
from tests.traces.method_calls import call, result


@pytest.fixture
def display(tmp_path: Path) -> ComparisonDisplay:
    names = write_runs(tmp_path)
    display = ComparisonDisplay(compare(*[tmp_path / name for name in names], baseline=0))
    display.opened()
    return display


def ask(display: ComparisonDisplay, method: str, **params: Any) -> dict[str, Any]:
    return result(display, f"comparison.{method}", **params)


def steps(display: ComparisonDisplay, first: int, count: int, runs: int = 2) -> list[dict[str, Any]]:
    """Returns steps as a page reads them: numbers and marks of the runs in lists."""
    params = ComparedRowsParams(explorer=display.id, baseline=0, first=first, count=count)
    reply, (data, other_data) = display.rows(params)
    others = rows(reply.others, other_data)
    found = rows(reply.block, data)
    for row in found:
        row["numbers"] = [row.pop(f"number{run}") for run in range(runs)]
        row["marks"] = [row.pop(f"mark{run}") for run in range(runs)]
        row["others"] = [others[at] for at in row["others"]]
    return found


def test_steps_are_sent_as_columns(tmp_path: Path) -> None:
    logs = [write_run(tmp_path / f"{name}.jsonl", RUNS[name]) for name in ("usual", "careful")]
    display = ComparisonDisplay(compare(*logs, baseline=0))
    reply, _ = display.rows(ComparedRowsParams(explorer=display.id, baseline=0, first=0, count=50))
    assert (reply.first, reply.total) == (0, 9)
    every = steps(display, 0, 50)
    assert [row["numbers"] for row in every[6:]] == [["", "8"], ["8", "9"], ["9", "10"]]
    assert [row["differs"] for row in every] == [0] * 6 + [1, 0, 0]
    assert [row["parts"] for row in every] == [""] * 6 + ["B", "", ""]
    marks = [[STEP_MARKS[mark] for mark in row["marks"]] for row in every]
    assert marks[5:7] == [["same", "same"], ["", "failed"]]
    assert steps(display, 2, 3) == every[2:5]
    assert steps(display, 9, 3) == []


def test_similar_calls_are_sent_beside_the_steps(display: ComparisonDisplay) -> None:
    found = [row["others"] for row in steps(display, 0, 50, runs=5) if row["others"]]
    rows = [row for row in display._rows_of(display.comparison).steps(0, 50) if row.others]
    expected = [[{"run": call.run, "text": call.text} for call in row.others] for row in rows]
    assert found
    assert found == expected


def test_another_baseline_and_other_checks(display: ComparisonDisplay) -> None:
    view = ask(display, "baseline", baseline=3)
    assert (view["baseline"], view["runs"][3]["parts"]) == (3, "baseline")
    assert view["runs"][0]["parts"] == "at step 5 (D: 5)"
    outcomes = ask(display, "outcomes", baseline=0, checks=["tests", "file part1.py changed"])
    assert [check["source"] for check in outcomes["checks"]] == ["tests", "file part1.py changed"]
    states = [cells[0]["state"] for cells in outcomes["cells"]]
    assert states == ["passed", "passed", "failed", "unknown", "unknown"]
    assert (outcomes["cells"][2][0]["step"], outcomes["checks"][0]["rate"]) == ("9", "2 of 3 (21–94 %)")


def test_a_run_opens_at_its_step(display: ComparisonDisplay) -> None:
    opened = display.open_run(OpenRunParams(explorer=display.id, run=3, step="5")).view
    assert opened is not None
    step = result(opened.explorer, "trace.open", line=opened.step)
    assert (step["number"], MARKUP in str(step)) == ("5", True)


@pytest.mark.parametrize(
    ("method", "params"),
    [
        ("open_run", {"run": 5, "step": ""}),
        ("open_run", {"run": -1, "step": ""}),
        ("open_run", {"run": 0, "step": "99"}),
        ("open_run", {"run": 0, "step": "../etc"}),
        ("baseline", {"baseline": 7}),
        ("rows", {"baseline": -1, "first": 0, "count": 1}),
        ("rows", {"baseline": 0, "first": -5, "count": 1}),
        ("rows", {"baseline": 0, "first": 0, "count": 10**9}),
        ("outcomes", {"baseline": 0, "checks": ["rm -rf /"]}),
        ("outcomes", {"baseline": 0, "checks": ["tests"] * 13}),
        ("outcomes", {"baseline": 0, "checks": []}),
        ("open", {"line": 0}),
        ("compare_with", {"ids": ["x"]}),
    ],
)
def test_anything_else_is_a_problem(display: ComparisonDisplay, method: str, params: dict[str, Any]) -> None:
    assert call(display, f"comparison.{method}", **params)[0]["problem"]


def test_the_bundle_has_a_form_for_every_front_end(display: ComparisonDisplay) -> None:
    bundle = display.bundle()
    assert (
        bundle[COMPARISON_MIME]["facts"]
        == "5 runs · 3 steps shared at the beginning · 3 of 13 steps the same"
    )
    assert MARKUP not in bundle["text/html"]
    assert re.search(
        r"^B  Make the total of the cart .*…  careful\.jsonl ", bundle["text/plain"], re.MULTILINE
    )
    assert "← parts: D" in bundle["text/plain"]
    shown = display.view(display.comparison).runs
    assert [run.title for run in shown] == [PROMPT] * len(RUNS)
    assert [run.about.split(" · ")[0] for run in shown] == [f"{name}.jsonl" for name in RUNS]


@pytest.mark.parametrize(
    ("tokens", "shares", "most"),
    [
        ((4_000_000, 3_999_900), (1.0, 0.999), "most tokens in: A (4.0 M)"),
        ((100, 50), (1.0, 0.5), "most tokens in: A (100)"),
        ((100, None), (0.0, 0.0), ""),
        ((100, 50, None), (1.0, 0.5, 0.0), ""),
        ((100, 100), (0.0, 0.0), ""),
        ((None, None), (0.0, 0.0), ""),
    ],
)
def test_only_the_largest_of_several_numbers_is_named_the_largest(
    tmp_path: Path, tokens: tuple[int | None, ...], shares: tuple[float, ...], most: str
) -> None:
    runs = [write_run(tmp_path / f"{at}.jsonl", RUNS["careful"]) for at in range(len(tokens))]
    comparison = compare(*runs)
    comparison.runs = tuple(
        replace(run, counts=structs.replace(run.counts, input_tokens=count))
        for run, count in zip(comparison.runs, tokens, strict=True)
    )
    assert tuple(run.shares[0] for run in run_rows(comparison)) == shares
    assert facts_of(comparison).partition("most tokens")[1:] == most.partition("most tokens")[1:]


def test_a_widget_answers_only_about_what_it_opened(
    display: ComparisonDisplay, monkeypatch: pytest.MonkeyPatch
) -> None:
    widget, sent = display.widget(), list[Any]()
    monkeypatch.setattr(ExplorerWidget, "send", lambda _, content, buffers: sent.append(content))
    other = ComparisonDisplay(display.comparison).opened()

    def send(explorer: str, method: str, **params: Any) -> Any:
        message = {"id": 1, "method": method, "params": {"explorer": explorer, **params}}
        widget._on_request(widget, message, None)
        return sent.pop()

    assert send(other.explorer, "comparison.open_run", run=0) == {"id": 1, "gone": True}
    opened = send(display.id, "comparison.open_run", run=0)["result"]["view"]["explorer"]
    assert send(opened, "trace.sessions")["result"]["sessions"]
