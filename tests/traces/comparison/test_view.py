"""The display of a comparison: what its page gets on request, and what it cannot ask for."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from nbtools.notebook.traces.widget import ExplorerWidget
from nbtools.traces.comparison.comparison import compare
from nbtools.traces.comparison.comparison_messages import COMPARISON_MIME
from nbtools.traces.comparison.view import ComparisonDisplay
from nbtools.traces.explorer.registry import EXPLORERS
from tests.browser.run_logs import MARKUP, RUNS, write_run, write_runs


@pytest.fixture
def display(tmp_path: Path) -> ComparisonDisplay:
    names = write_runs(tmp_path)
    return ComparisonDisplay(compare(*[tmp_path / name for name in names], baseline=0))


def ask(display: ComparisonDisplay, **task: Any) -> Any:
    display.opened()
    return EXPLORERS.respond({"id": 1, "explorer": display.id, "task": task}).reply


def test_rows_are_sent_as_the_page_asks_for_them(tmp_path: Path) -> None:
    logs = [write_run(tmp_path / f"{name}.jsonl", RUNS[name]) for name in ("usual", "careful")]
    display = ComparisonDisplay(compare(*logs, baseline=0))
    fold, *rest = ask(display, type="compared", baseline=0, first=0, count=50).rows
    assert (fold.index, fold.count, fold.numbers) == (0, 6, ())
    assert [row.numbers for row in rest] == [("", "8"), ("8", "9"), ("9", "10")]
    assert rest[0].parts == "B"
    page = ask(display, type="compared", baseline=0, first=0, count=50, unfolded=[0])
    assert (page.total, len(page.rows), page.partings) == (9, 9, (6,))
    assert ask(display, type="compared", baseline=0, first=2, count=3, unfolded=[0]).rows == page.rows[2:5]
    assert ask(display, type="compared", baseline=0, first=-5, count=10**9).total == 4


def test_another_baseline_and_other_checks(display: ComparisonDisplay) -> None:
    view = ask(display, type="baseline", baseline=3)
    assert (view.baseline, view.runs[3].parts, view.runs[0].parts) == (3, "baseline", "at step 5 (D: 5)")
    outcomes = ask(display, type="outcomes", baseline=0, checks=["tests", "file part1.py changed"])
    assert [check.source for check in outcomes.checks] == ["tests", "file part1.py changed"]
    assert [cells[0].state for cells in outcomes.cells] == [
        "passed",
        "passed",
        "failed",
        "unknown",
        "unknown",
    ]
    assert (outcomes.cells[2][0].step, outcomes.checks[0].rate) == ("9", "2 of 3 (21–94 %)")


def test_a_run_opens_at_its_step(display: ComparisonDisplay) -> None:
    opened = ask(display, type="open_run", run=3, step="5").view
    assert opened.page.lines[opened.step].subject == f"echo {MARKUP}"
    assert (
        EXPLORERS.respond({"id": 2, "explorer": opened.explorer, "task": {"type": "open", "line": 0}}).reply
        is not None
    )


@pytest.mark.parametrize(
    "task",
    [
        {"type": "open_run", "run": 5, "step": ""},
        {"type": "open_run", "run": -1, "step": ""},
        {"type": "open_run", "run": 0, "step": "99"},
        {"type": "open_run", "run": 0, "step": "../etc"},
        {"type": "baseline", "baseline": 7},
        {"type": "compared", "baseline": -1, "first": 0, "count": 1},
        {"type": "outcomes", "baseline": 0, "checks": ["rm -rf /"]},
        {"type": "outcomes", "baseline": 0, "checks": ["tests"] * 13},
        {"type": "outcomes", "baseline": 0, "checks": []},
        {"type": "open", "line": 0},
        {"type": "compare_with", "ids": ["x"]},
    ],
)
def test_anything_else_is_a_problem(display: ComparisonDisplay, task: dict[str, Any]) -> None:
    assert ask(display, **task).type == "problem"


def test_the_bundle_has_a_form_for_every_front_end(display: ComparisonDisplay) -> None:
    bundle = display.bundle()
    assert (
        bundle[COMPARISON_MIME]["facts"]
        == "5 runs · 3 steps shared at the beginning · 3 of 13 steps the same"
    )
    assert MARKUP not in bundle["text/html"]
    assert "B  careful.jsonl" in bundle["text/plain"]
    assert "← parts: D" in bundle["text/plain"]
    assert [run.title for run in display.view(display.comparison).runs] == [f"{name}.jsonl" for name in RUNS]


def test_a_widget_answers_only_about_what_it_opened(
    display: ComparisonDisplay, monkeypatch: pytest.MonkeyPatch
) -> None:
    widget, sent = display.widget(), list[Any]()
    monkeypatch.setattr(ExplorerWidget, "send", lambda _, content: sent.append(content["answer"]))
    other = ComparisonDisplay(display.comparison).opened()
    for number, explorer in enumerate((display.id, other.explorer)):
        request = {"id": number, "explorer": explorer, "task": {"type": "open_run", "run": 0, "step": ""}}
        widget._on_request(widget, {"request": request}, None)
    assert [answer["id"] for answer in sent] == [0]
    opened = sent[0]["reply"]["view"]["explorer"]
    widget._on_request(
        widget, {"request": {"id": 2, "explorer": opened, "task": {"type": "open", "line": 0}}}, None
    )
    assert sent[1]["reply"]["type"] == "opened"
