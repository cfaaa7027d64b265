"""Builds what is displayed of a comparison: runs with totals, outcomes, and rows of steps."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate
from pathlib import PurePath
from typing import Literal, TypeAlias

from nbtools.cards.hidden_characters import one_line
from nbtools.cards.phrases import elapsed
from nbtools.core.message import counted
from nbtools.traces.columns import ColumnBlock, Columns
from nbtools.traces.comparison.comparison import Comparison, Step
from nbtools.traces.comparison.comparison_messages import (
    ComparedCell,
    ComparedCheck,
    ComparedGroup,
    ComparedOutcomes,
    ComparedRun,
    ComparedTotal,
    ComparisonView,
)
from nbtools.traces.comparison.outcomes import Outcome, Outcomes
from nbtools.traces.comparison.run import Run
from nbtools.traces.counts import DEFINITIONS
from nbtools.traces.explorer.line_style import CHANGE_OPS, outcome_of
from nbtools.traces.explorer.redaction import redacted
from nbtools.traces.explorer.summary import dollars, short_number
from nbtools.traces.model import Call
from nbtools.traces.reviews.statistics import Rate
from nbtools.traces.session_index.places import label_of
from nbtools.traces.session_list.session_text import home_relative

Mark: TypeAlias = Literal["", "same", "alike", "failed"]
STEP_MARKS: tuple[Mark, ...] = ("", "same", "alike", "failed")
"""How the step of a run ended; pages get the index."""
_MARKS = {"passed": "✓", "failed": "✗", "unknown": "?", "": ""}
_FOLDED = 4
"""Steps in common, one after the other, from which they are folded."""
TOTALS = (
    ComparedTotal(label="Tokens in", title=DEFINITIONS["input_tokens"], leads=True),
    ComparedTotal(label="Tokens out", title=DEFINITIONS["output_tokens"], leads=True),
    ComparedTotal(label="Duration", title=DEFINITIONS["duration"], leads=True),
    ComparedTotal(label="Cost", title="US dollars, as recorded, or priced if that was asked for", leads=True),
    ComparedTotal(label="Calls", title=DEFINITIONS["calls"]),
    ComparedTotal(label="Failed", title=DEFINITIONS["failed_calls"]),
    ComparedTotal(label="Edits", title=DEFINITIONS["edits"]),
    ComparedTotal(label="Files", title=DEFINITIONS["edited_files"]),
    ComparedTotal(label="Compared", title="Calls of the session's own model: those of the compared steps"),
)


@dataclass(frozen=True, slots=True)
class Fold:
    """``count`` steps from ``first`` on; ``folded``: they are one row."""

    first: int
    count: int
    folded: bool


@dataclass(frozen=True, slots=True)
class OtherCall:
    """The call of a run whose call differs from the one that the row names."""

    run: int
    text: str
    ending: str = ""


@dataclass(frozen=True, slots=True)
class StepRow:
    """A step.  ``numbers`` are the step numbers of the runs, empty where a run has no such step,
    and ``marks`` how each ended.

    ``others`` are calls that are only similar to the one named; ``parts`` are the names of the runs that part
    here.
    """

    name: str = ""
    subject: str = ""
    ending: str = ""
    note: str = ""
    numbers: tuple[str, ...] = ()
    marks: tuple[Mark, ...] = ()
    others: tuple[OtherCall, ...] = ()
    parts: str = ""
    differs: bool = False


def run_rows(comparison: Comparison) -> tuple[ComparedRun, ...]:
    abouts = [_about(run) for run in comparison.runs]
    names = Counter((run.title, about) for run, about in zip(comparison.runs, abouts, strict=True))
    columns = zip(*map(_amounts, comparison.runs), strict=True)
    shares = list(zip(*map(_shares, columns), strict=True))
    rows: list[ComparedRun] = []
    for at, (run, about, parting) in enumerate(
        zip(comparison.runs, abouts, comparison.partings, strict=True)
    ):
        file = PurePath(run.log).name if names[run.title, about] > 1 else ""
        text = "" if parting is None else comparison.parting_text(parting)
        rows.append(
            ComparedRun(
                name=run.name,
                title=one_line(redacted(run.title), 200),
                about=one_line(redacted(" · ".join(filter(None, (file, about)))), 300),
                log=one_line(redacted(home_relative(run.log)), 500),
                totals=_totals(run),
                shares=shares[at],
                parts="baseline" if at == comparison.baseline else text or "the same steps",
                step="" if parting is None else comparison.number(at, parting.call),
            )
        )
    return tuple(rows)


def _about(run: Run) -> str:
    return " · ".join(filter(None, [", ".join(map(label_of, run.agents)), ", ".join(run.models[:3])]))


def _amounts(run: Run) -> tuple[float | None, ...]:
    """Returns the numbers under ``TOTALS``."""
    effort = (run.input_tokens, run.output_tokens, run.duration, run.cost)
    return (*effort, run.calls, run.failed_calls, run.edits, run.edited_files, run.compared)


def _totals(run: Run) -> tuple[str, ...]:
    tokens_in, tokens_out, duration, cost, *counts = _amounts(run)
    return (
        *("" if count is None else short_number(int(count)) for count in (tokens_in, tokens_out)),
        "" if duration is None else elapsed(duration),
        "" if cost is None else dollars(cost),
        *("" if count is None else f"{count:,}" for count in counts),
    )


def _shares(amounts: Sequence[float | None]) -> tuple[float, ...]:
    """Returns what part of the largest each amount is; zeros where none is larger than another.
    Only the largest is 1.
    """
    known = [amount for amount in amounts if amount is not None]
    largest = max(known, default=0)
    if largest <= 0 or min(known) == largest:
        return (0.0,) * len(amounts)
    return tuple(
        1.0 if amount == largest else min(round(max(amount or 0, 0) / largest, 3), 0.999)
        for amount in amounts
    )


def facts_of(comparison: Comparison) -> str:
    steps = len(comparison.steps)
    parts = [counted(len(comparison.runs), "run")]
    if comparison.same == steps:
        parts.append(f"no difference in {counted(steps, 'step')}")
    else:
        parts += [
            f"{counted(comparison.shared, 'step')} shared at the beginning",
            f"{comparison.same:,} of {counted(steps, 'step')} the same",
        ]
    tokens = [run.input_tokens for run in comparison.runs]
    if None not in tokens and (shares := _shares(tokens)).count(1.0) == 1:
        most = shares.index(1.0)
        parts.append(f"most tokens in: {comparison.runs[most].name} ({short_number(tokens[most] or 0)})")
    return " · ".join(parts)


def outcome_rows(comparison: Comparison, outcomes: Outcomes) -> ComparedOutcomes:
    checks = tuple(
        ComparedCheck(source=one_line(check.source, 300), states=check.states, rate=rate)
        for check, rate in zip(outcomes.checks, rate_texts(outcomes), strict=True)
    )
    groups = tuple(
        ComparedGroup(
            title=one_line(redacted(task), 200) or "No prompt recorded",
            runs=tuple(at for at, run in enumerate(outcomes.runs) if run.task == task),
            rates=rate_texts(outcomes, task),
        )
        for task in outcomes.tasks
    )
    cells = tuple(tuple(_cell(comparison, at, one) for one in row) for at, row in enumerate(outcomes.cells))
    return ComparedOutcomes(checks=checks, cells=cells, tasks=groups)


def rate_texts(outcomes: Outcomes, task: str | None = None) -> tuple[str, ...]:
    """Returns the rate of each check, of one task where it is named: ``3 of 4 (30–95 %), 2 inferred``."""
    return tuple(map(_rate_text, outcomes.rates(task), outcomes.inferred(task)))


def _rate_text(rate: Rate | None, inferred: int) -> str:
    if rate is None or rate.low is None or rate.high is None:
        return ""
    text = f"{rate.count} of {rate.total} ({100 * rate.low:.0f}–{100 * rate.high:.0f} %)"
    return f"{text}, {inferred:,} inferred" if inferred else text


def _cell(comparison: Comparison, run: int, outcome: Outcome) -> ComparedCell:
    return ComparedCell(
        state=outcome.state,
        text=one_line(redacted(outcome.text), 200),
        step=comparison.number(run, outcome.row),
        inferred=outcome.inferred,
        note=one_line(redacted(outcome.note), 300),
    )


def outcome_mark(outcome: Outcome | ComparedCell) -> str:
    """Returns the sign of an outcome; ``≈`` beside it says that it is inferred."""
    return f"{_MARKS[outcome.state]}{' ≈' if outcome.inferred else ''}"


class ComparisonRows:
    """The rows of a comparison's steps.
    ``folds`` divides them into stretches that all runs have in common, and others; ``partings`` are the names
    of the runs that part at a step.
    """

    def __init__(self, comparison: Comparison) -> None:
        self.comparison = comparison
        self.folds = tuple(_folds(comparison.steps))
        self.partings: dict[int, list[str]] = {}
        for one in comparison.partings:
            if one is not None:
                self.partings.setdefault(one.step, []).append(comparison.runs[one.run].name)

    @property
    def count(self) -> int:
        """The number of steps, folded ones included."""
        return len(self.comparison.steps)

    def steps(self, first: int, count: int) -> Iterator[StepRow]:
        """Yields the rows of steps, without folds."""
        return (self._row(at) for at in range(first, min(first + count, self.count)))

    def block(self, first: int, count: int) -> tuple[ColumnBlock, ColumnBlock, tuple[bytes, bytes]]:
        """Returns the columns of steps, those of the similar calls that they refer to, and both buffers.

        ``number0``, ``mark0`` and so on are of the runs; a mark is an index into ``STEP_MARKS``.
        """
        rows = list(self.steps(first, count))
        calls = [call for row in rows for call in row.others]
        ends = list(accumulate((len(row.others) for row in rows), initial=0))
        columns, others = Columns(len(rows)), Columns(len(calls))
        for name in ("name", "ending", "note", "parts"):
            columns.words(name, [getattr(row, name) for row in rows])
        columns.texts("subject", [row.subject for row in rows])
        columns.numbers("differs", "u8", [row.differs for row in rows])
        columns.lists("others", [range(*ends[at : at + 2]) for at in range(len(rows))])
        for run in range(len(self.comparison.runs)):
            columns.texts(f"number{run}", [row.numbers[run] for row in rows])
            columns.numbers(f"mark{run}", "u8", [STEP_MARKS.index(row.marks[run]) for row in rows])
        others.numbers("run", "u8", [call.run for call in calls])
        others.texts("text", [call.text for call in calls])
        (block, data), (other_block, other_data) = columns.finish(), others.finish()
        return block, other_block, (data, other_data)

    def _other(self, at: int, run: int, named: Call) -> OtherCall:
        """Returns the call of a run that is similar to the one that the row names."""
        call = self.comparison.steps[at].calls[run] or named
        is_change = (call.op, call.paths) == (named.op, named.paths) and call.op in CHANGE_OPS
        text = (
            f"{one_line(call.name, 100)}"
            f" {_subject(self.comparison.runs[run], call)}{' (another change)' if is_change else ''}"
        )
        return OtherCall(run=run, text=text, ending=outcome_of(call))

    def _row(self, at: int) -> StepRow:
        step, comparison = self.comparison.steps[at], self.comparison
        run = _named_run(step, comparison.baseline)
        calls = list(enumerate(step.calls))
        call = next(one for at, one in calls if at == run and one is not None)
        return StepRow(
            name=one_line(call.name, 100),
            subject=_subject(comparison.runs[run], call),
            ending=outcome_of(call) if not step.note else "",
            note=step.note,
            numbers=tuple(comparison.number(other, one) for other, one in calls),
            marks=tuple(_mark(one, is_alike=other in step.alike) for other, one in calls),
            others=tuple(self._other(at, other, call) for other in sorted(step.alike)),
            parts=", ".join(self.partings.get(at, ())),
            differs=step.differs,
        )


def _folds(steps: Sequence[Step]) -> Iterator[Fold]:
    """Divides steps into stretches that all runs have in common, folded where long, and others."""
    first = 0
    for at in range(1, len(steps) + 1):
        if at == len(steps) or steps[at].differs != steps[first].differs:
            yield Fold(first, at - first, not steps[first].differs and at - first >= _FOLDED)
            first = at


def _named_run(step: Step, baseline: int) -> int:
    """Returns the run whose call names the row: the baseline, else the first that is not only similar."""
    if step.calls[baseline] is not None:
        return baseline
    having = [at for at, call in enumerate(step.calls) if call is not None]
    return next((at for at in having if at not in step.alike), having[0])


def _subject(run: Run, call: Call) -> str:
    return one_line(redacted(run.relative_subject(call.subject)), 200)


def _mark(call: Call | None, *, is_alike: bool) -> Mark:
    if call is None:
        return ""
    if call.is_failure:
        return "failed"
    return "alike" if is_alike else "same"


def columns_in_use(view: ComparisonView) -> list[tuple[int, ComparedTotal]]:
    """Returns the columns of totals that have a value, with their indexes."""
    return [(at, total) for at, total in enumerate(view.totals) if any(run.totals[at] for run in view.runs)]
