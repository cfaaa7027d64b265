"""A comparison as script-free HTML, for saved notebooks and exported pages."""

from __future__ import annotations

from collections.abc import Iterator

from nbtools.cards.hidden_characters import one_line
from nbtools.cards.style import AMBER, GREEN, GREY, RED
from nbtools.traces.comparison.comparison import Comparison
from nbtools.traces.comparison.comparison_messages import ComparisonView
from nbtools.traces.comparison.comparison_rows import (
    ComparisonRows,
    StepRow,
    columns_in_use,
    outcome_mark,
)
from nbtools.traces.comparison.run import ChangedFile
from nbtools.traces.explorer.cell_sources import trace_line
from nbtools.traces.explorer.export.static_html import render
from nbtools.traces.explorer.redaction import redacted

MAX_STEPS = 120
_MAX_FILES = 30
_MAX_COMMANDS = 4


def comparison_html(comparison: Comparison, view: ComparisonView, rows: ComparisonRows) -> str:
    blocks, more = _blocks(rows)
    return render(
        "comparison",
        view=view,
        outcomes=view.outcomes,
        totals=columns_in_use(view),
        files=list(_files(comparison)),
        blocks=blocks,
        more=more,
        commands=_commands(comparison),
        mark_of=outcome_mark,
        tints={"passed": GREEN, "failed": RED, "unknown": GREY},
        AMBER=AMBER,
        RED=RED,
        GREY=GREY,
    )


def _blocks(rows: ComparisonRows) -> tuple[list[tuple[bool, list[StepRow]]], int]:
    """Returns the first rows, in blocks that are folded or not, and the number of steps that are left out."""
    blocks: list[tuple[bool, list[StepRow]]] = []
    left = MAX_STEPS
    for fold in rows.folds:
        steps = list(rows.steps(fold.first, min(fold.count, left)))
        left -= len(steps)
        if not fold.folded and blocks and not blocks[-1][0]:
            blocks[-1][1].extend(steps)
        elif steps:
            blocks.append((fold.folded, steps))
    return blocks, rows.count - (MAX_STEPS - left)


def _files(comparison: Comparison) -> Iterator[tuple[str, list[str]]]:
    """Yields the changed files, those of most runs first, with each run's added and removed lines."""
    changed: dict[str, dict[int, ChangedFile]] = {}
    for at, run in enumerate(comparison.runs):
        for one in run.changed:
            changed.setdefault(one.path, {})[at] = one
    for path, by_run in sorted(changed.items(), key=lambda item: -len(item[1]))[:_MAX_FILES]:
        yield one_line(redacted(path), 200), [_lines(by_run.get(at)) for at in range(len(comparison.runs))]


def _lines(file: ChangedFile | None) -> str:
    if file is None:
        return ""
    counts = (f"+{file.added:,}" if file.added else "", f"−{file.removed:,}" if file.removed else "")
    return " ".join(filter(None, counts)) or "changed"


def _commands(comparison: Comparison) -> list[str]:
    """Returns the commands that open the first logs where they part."""
    partings = [one for one in comparison.partings if one is not None]
    places = [(comparison.baseline, one.baseline_call) for one in partings[:1]] + [
        (one.run, one.call) for one in partings
    ]
    numbers = ((comparison.runs[run].log, comparison.number(run, call)) for run, call in places)
    return [trace_line(log, f"--step {number}") for log, number in numbers if log and number][:_MAX_COMMANDS]
