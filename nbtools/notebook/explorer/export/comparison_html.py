"""Script-free HTML of two sessions side by side: their first difference, their facts, their steps."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import groupby, zip_longest
from typing import TYPE_CHECKING, TypeVar

from nbtools.notebook.cards.markup import render
from nbtools.notebook.cards.phrases import elapsed
from nbtools.notebook.cards.style import AMBER, GREY, RED
from nbtools.notebook.explorer.recorded_card import icon_of, outcome_of
from nbtools.notebook.explorer.replay.call_cells import trace_line
from nbtools.notebook.explorer.summary import short_number

if TYPE_CHECKING:
    from nbtools.traces.query.alignment import Step
    from nbtools.traces.query.compare import ChangedFile, Comparison, Side

_MAX_STEPS = 200
_BEFORE = 20
"""Steps shown before the first difference of a long comparison."""

NameT = TypeVar("NameT", "str", "ChangedFile")


def comparison_html(comparison: Comparison) -> str:
    steps = comparison.steps
    first = max(0, (comparison.parted or 0) - _BEFORE) if len(steps) > _MAX_STEPS else 0
    displayed = steps[first : first + _MAX_STEPS]
    return render(
        "explorer/comparison",
        comparison=comparison,
        runs=[list(run) for _, run in groupby(displayed, key=lambda step: step.differs)],
        before=first,
        after=len(steps) - first - len(displayed),
        commands=_commands(comparison),
        side_by_side=_side_by_side,
        own_and_common=_own_and_common,
        icon_of=icon_of,
        GREY=GREY,
        outcome_of=outcome_of,
        time_of=_time,
        tokens_of=_tokens,
        cost_of=_cost,
        AMBER=AMBER,
        RED=RED,
    )


def _own_and_common(names: Sequence[NameT], others: Sequence[NameT]) -> tuple[list[NameT], list[NameT]]:
    """Returns the names of one side that the other does not have, and those that it has."""
    known = {_path(name) for name in others}
    return [name for name in names if _path(name) not in known], [name for name in names if _path(name) in known]


def _path(name: str | ChangedFile) -> str:
    return name if isinstance(name, str) else name.path


def _time(side: Side) -> str:
    parts = [] if side.seconds is None else [elapsed(side.seconds)]
    return ", ".join([*parts, *([] if side.in_tools is None else [f"{elapsed(side.in_tools)} in calls"])])


def _tokens(side: Side) -> str:
    tokens = side.tokens
    named = (("in", tokens.input), ("from cache", tokens.cache_read), ("to cache", tokens.cache_write), ("out", tokens.output))
    return ", ".join(f"{short_number(count)} {name}" for name, count in named if count)


def _cost(side: Side) -> str:
    return "" if side.cost is None else f"${side.cost:,.2f}"


def _side_by_side(steps: Sequence[Step]) -> Iterator[tuple[Step | None, Step | None]]:
    """Pairs steps that only one side has with those that only the other side has, within the same gap."""
    for lone, run in groupby(steps, key=lambda step: step.is_one_sided):
        steps_of_run = list(run)
        if lone:
            yield from zip_longest((one for one in steps_of_run if one.a), (one for one in steps_of_run if one.b))
        else:
            yield from ((step, step) for step in steps_of_run)


def _commands(comparison: Comparison) -> list[str]:
    """Returns the commands that open both logs at the first difference."""
    logs = [log for log in comparison.logs if log]
    if len(logs) < 2 or comparison.parted is None:
        return []
    numbers = comparison.numbers_of(*comparison.parting)
    return [trace_line(log, f"--step {number}") for log, number in zip(logs, numbers, strict=True) if number]
