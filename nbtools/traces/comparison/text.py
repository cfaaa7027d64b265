"""A comparison as text, for terminals: totals and outcomes of each run, and where each parts."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import PurePath

from nbtools.cards.hidden_characters import one_line, seen
from nbtools.traces.comparison.comparison_messages import ComparedRun, ComparisonView
from nbtools.traces.comparison.comparison_rows import (
    ComparisonRows,
    Fold,
    StepRow,
    columns_in_use,
    outcome_mark,
)
from nbtools.traces.session_list.session_text import cell_width

_TITLE, _OUTCOME = 40, 36
"""Most characters of a title and of an outcome."""
_LARGEST = "▲"
_AROUND = 2
"""Steps that are printed before and after each place where runs part."""


def comparison_text(view: ComparisonView, rows: ComparisonRows) -> str:
    """Returns the tables of totals and of outcomes, and the steps around each place where a run parts."""
    columns = columns_in_use(view)
    leading, others = ([one for one in columns if one[1].leads is leads] for leads in (True, False))
    has_log = len({run.title for run in view.runs}) < len(view.runs)
    labels = [[one.label for _, one in part] for part in (leading, others)]
    head = ("", "Run", *(["Log"] if has_log else []), *labels[0], "Parts", *labels[1])
    table = [
        (
            run.name,
            one_line(run.title, _TITLE),
            *([one_line(PurePath(run.log).name, _TITLE)] if has_log else []),
            *(_amount(run, at) for at, _ in leading),
            run.parts,
            *(run.totals[at] for at, _ in others),
        )
        for run in view.runs
    ]
    has_largest = any(run.shares[at] == 1 for run in view.runs for at, _ in leading)
    legend = [f"{_LARGEST} the largest of its column"] if has_largest else []
    lines = [view.facts, "", *_table([head, *table]), *legend, "", *_outcomes(view)]
    steps = list(_steps(view, rows))
    return "\n".join(map(seen, [*lines, *(["", *steps] if steps else [])]))


def _amount(run: ComparedRun, at: int) -> str:
    return f"{run.totals[at]} {_LARGEST}" if run.shares[at] == 1 else run.totals[at]


def _outcomes(view: ComparisonView) -> Iterator[str]:
    outcomes = view.outcomes
    head = ("", *(one_line(check.source, _OUTCOME) for check in outcomes.checks))
    rows = [
        (run.name, *(one_line(f"{outcome_mark(cell)} {cell.text}".strip(), _OUTCOME) for cell in cells))
        for run, cells in zip(view.runs, outcomes.cells, strict=True)
    ]
    rates = tuple(check.rate for check in outcomes.checks)
    yield from _table([head, *rows, *([("", *rates)] if any(rates) else [])])
    if any(cell.inferred for cells in outcomes.cells for cell in cells):
        yield "≈ inferred from the last lines of the test runner: the log does not say how the tests ended"


def _steps(view: ComparisonView, rows: ComparisonRows) -> Iterator[str]:
    """Yields the steps around the partings, each with its number in every run."""
    listed = [place for fold in rows.folds for place in _places(fold)]
    partings = [at for at, (step, _) in enumerate(listed) if step in rows.partings]
    near = sorted(
        {
            at
            for parting in partings
            for at in range(max(0, parting - _AROUND), min(len(listed), parting + _AROUND + 1))
        }
    )
    cells: list[tuple[str, ...]] = []
    for before, at in zip([None, *near], near, strict=False):
        cells += [("⋯",)] if before is not None and at > before + 1 else []
        step, folded = listed[at]
        if folded:
            cells.append((*("⋮" for _ in view.runs), f"{folded:,} steps the same"))
        else:
            cells += map(_step, rows.steps(step, 1))
    yield from _table([(*(run.name for run in view.runs), "Step"), *cells]) if cells else ()


def _places(fold: Fold) -> list[tuple[int, int]]:
    """Returns the rows of a fold: their first steps, and how many are folded there."""
    if fold.folded:
        return [(fold.first, fold.count)]
    return [(step, 0) for step in range(fold.first, fold.first + fold.count)]


def _step(row: StepRow) -> tuple[str, ...]:
    numbers = (number or ("·" if mark else "") for number, mark in zip(row.numbers, row.marks, strict=True))
    parts = f"← parts: {row.parts}" if row.parts else ""
    ending = f"[{row.note or row.ending}]" if row.note or row.ending else ""
    return (*numbers, " ".join(filter(None, (row.name, one_line(row.subject, 80), ending, parts))))


def _table(rows: Sequence[Sequence[str]]) -> Iterator[str]:
    columns = max(map(len, rows))
    widths = [
        max(cell_width(row[at]) for row in rows if at < len(row) and len(row) == columns)
        for at in range(columns)
    ]
    for row in rows:
        yield "  ".join(
            cell + " " * (width - cell_width(cell)) for cell, width in zip(row, widths, strict=False)
        ).rstrip()
