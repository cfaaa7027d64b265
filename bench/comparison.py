"""Compares 20 runs of 1,000 steps: how long until the page is drawn, against loading the logs;
and what hostile logs cost.
"""

from __future__ import annotations

import random
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from nbtools.traces import load
from nbtools.traces.comparison.alignment import align
from nbtools.traces.comparison.comparison import compare
from nbtools.traces.comparison.comparison_messages import MAX_ROWS, ComparedRowsParams
from nbtools.traces.comparison.steps import ComparableCall
from nbtools.traces.comparison.view import ComparisonDisplay
from nbtools.traces.model import Call
from tests.browser.run_logs import Made, edit, shell, write_run

RUNS, STEPS = 20, 1_000
HOSTILE = 20_000


def calls(run: int) -> Iterator[Made]:
    """A tenth is shared by all; then each run does most of what the others do, and edits,
    tests and looks about by itself.
    """
    own = random.Random(run)
    for number in range(STEPS):
        kind = own.random() if number > STEPS // 10 else 1.0
        if kind < 0.1:
            yield shell(f"grep -rn word{own.randrange(500)} src")
        elif kind < 0.15:
            yield edit(f"x = {own.randrange(50)}")
        elif kind < 0.2:
            yield shell("pytest -q", failed=own.random() < 0.3)
        else:
            yield "Read", {"file_path": f"/home/ada/cart/src/part{number}.py"}, "x = 1", False


def timed(work: Callable[[], object]) -> tuple[float, object]:
    began = time.perf_counter()
    value = work()
    return time.perf_counter() - began, value


def hostile() -> list[tuple[str, ...]]:
    """Twenty runs of 20,000 steps each: all equal, all different, two that alternate."""
    forms: dict[str, Callable[[int, int], str]] = {
        "all steps equal": lambda _, __: "x",
        "all steps different": lambda run, at: f"{run} {at}",
        "two steps in random order": lambda run, at: "ab"[hash((run, at)) % 2],
    }
    rows = []
    for name, form in forms.items():
        runs = [[_call(at, form(run, at)) for at in range(HOSTILE - run)] for run in range(RUNS)]
        seconds, found = timed(lambda runs=runs: align(runs, 0))  # type: ignore[misc]
        rows.append((f"{RUNS} × {HOSTILE:,}: {name}", f"{seconds:.1f} s", f"{len(found):,} rows"))  # type: ignore[arg-type]
    return rows


def _call(at: int, what: str) -> ComparableCall:
    return ComparableCall(
        Call("s", str(at), at, "shell", "shell", None, subject=what, status="ok"), "shell", what, ()
    )  # type: ignore[arg-type]


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        logs = [write_run(Path(folder) / f"{run}.jsonl", list(calls(run))) for run in range(RUNS)]
        loading, traces = timed(lambda: [load(log) for log in logs])
        comparing, display = timed(lambda: ComparisonDisplay(compare(*traces)))  # type: ignore[misc]
        drawing, bundle = timed(display.bundle)  # type: ignore[attr-defined]
        params = ComparedRowsParams(
            explorer=display.id,  # type: ignore[attr-defined]
            baseline=display.comparison.baseline,  # type: ignore[attr-defined]
            first=0,
            count=MAX_ROWS,
        )
        sending, (reply, buffers) = timed(lambda: display.rows(params))  # type: ignore[attr-defined, misc]
        checking, _ = timed(
            lambda: display.comparison.outcomes("tests", "command grep", "file part1.py contains x")
        )  # type: ignore[attr-defined]
    size = f"{len(bundle['text/html']) / 1e3:.0f} kB of HTML"  # type: ignore[index]
    rows = [
        (f"load {RUNS} logs of {STEPS:,} steps", f"{loading:.2f} s", "1"),
        ("describe the runs", f"{comparing:.2f} s", f"{comparing / loading:.2f}"),
        (
            "align, outcomes, first view, HTML and text",
            f"{drawing:.2f} s",
            f"{drawing / loading:.2f}, {size}",
        ),
        (
            f"the columns of {reply.total:,} steps",
            f"{sending:.2f} s",
            f"{sum(map(len, buffers)) / 1e3:.0f} kB",
        ),
        ("three checks", f"{checking:.2f} s", f"{checking / loading:.2f}"),
        *hostile(),
    ]
    for name, seconds, more in rows:
        print(f"{name:55} {seconds:>10}   {more}")


if __name__ == "__main__":
    main()
