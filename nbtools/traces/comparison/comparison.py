"""Compares two to twenty sessions: their totals, steps, where each parts, and how each ended."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from nbtools.cards.hidden_characters import one_line
from nbtools.core.errors import TraceError
from nbtools.core.extension_points import extension
from nbtools.traces.comparison.alignment import Row, align, central_run
from nbtools.traces.comparison.outcomes import Outcomes, outcomes_of, parse_checks
from nbtools.traces.comparison.run import Run, comparable_calls, run_of
from nbtools.traces.comparison.steps import ChangeDigests, ComparableCall, end_differently, ending_of
from nbtools.traces.explorer.redaction import redacted
from nbtools.traces.log_arguments import LETTERS
from nbtools.traces.model import Call, Event
from nbtools.traces.repeated_records import find_repeats, without_repeats
from nbtools.traces.trace import Trace, load

MAX_RUNS = len(LETTERS)


@dataclass(frozen=True, slots=True)
class Step:
    """A step of several runs, or of one.
    ``calls`` has the call of each run, None where a run has no such step.

    ``alike`` are the indexes of runs whose call is similar to the others', and not the same.
    ``note`` says how the same call ended differently.
    """

    calls: tuple[Call | None, ...]
    alike: frozenset[int] = frozenset()
    note: str = ""

    @property
    def differs(self) -> bool:
        """Whether it is not the same step, with the same end, in all runs."""
        return bool(self.alike or self.note) or None in self.calls


@dataclass(frozen=True, slots=True)
class Parting:
    """The index of the step where ``run`` parts from the baseline, and each one's next call, if any."""

    run: int
    step: int
    call: Call | None
    baseline_call: Call | None


class Comparison:
    """The comparison of ``traces``; ``runs`` describes them, in the same order.
    ``checks`` are the columns of outcomes.

    ``steps`` has every call of each run's main session once, in its order; ``baseline`` is the index of the
    run with which the others are aligned. Its HTML display runs no scripts.
    """

    def __init__(
        self,
        traces: Sequence[Trace],
        *,
        baseline: int | None = None,
        checks: Sequence[str] = (),
        prices: bool = False,
    ) -> None:
        if not 2 <= len(traces) <= MAX_RUNS:
            raise TraceError(
                f"{len(traces)} runs cannot be compared: give 2 to {MAX_RUNS}. nbtools.traces.Corpus queries"
                " more in SQL."
            )
        if baseline is not None and not 0 <= baseline < len(traces):
            raise TraceError(
                f"There is no run {baseline} to be the baseline (there are 0–{len(traces) - 1})."
            )
        self.checks = tuple(check.source for check in parse_checks(checks))
        self.traces = tuple(traces)
        self._calls = [comparable_calls(trace) for trace in self.traces]
        self.runs: tuple[Run, ...] = tuple(
            run_of(trace, LETTERS[at], len(calls), prices=prices)
            for at, (trace, calls) in enumerate(zip(_counted_once(self.traces), self._calls, strict=True))
        )
        self._digests = ChangeDigests()
        self.baseline = central_run(self._calls) if baseline is None else baseline

    def against(self, baseline: int) -> Comparison:
        """Returns the same comparison with another baseline."""
        other = Comparison.__new__(Comparison)
        other.__dict__ |= {name: value for name, value in self.__dict__.items() if name not in _BY_BASELINE}
        other.baseline = baseline
        return other

    @cached_property
    def steps(self) -> tuple[Step, ...]:
        return tuple(self._step(row) for row in align(self._calls, self.baseline))

    @cached_property
    def shared(self) -> int:
        """The number of steps that all runs have in common at their beginning."""
        return next((number for number, step in enumerate(self.steps) if step.differs), len(self.steps))

    @property
    def same(self) -> int:
        """The number of steps that all runs have in common."""
        return sum(not step.differs for step in self.steps)

    @cached_property
    def partings(self) -> tuple[Parting | None, ...]:
        """The partings from the baseline; None for itself, and for runs that do the same."""
        return tuple(self._parting(run) for run in range(len(self.runs)))

    def outcomes(self, *checks: str) -> Outcomes:
        """Returns the table of what ``checks`` find in each run, by default those of the comparison.

        Checks are texts such as ``command pytest``, ``label loop``, ``file src/cart.py contains round(``
        (``CHECK_FORMS``). Raises ``TraceError`` for one that is not understood.
        """
        return outcomes_of(self.traces, self.runs, parse_checks(checks or self.checks), self.baseline)

    def number(self, run: int, row: Call | Event | None) -> str:
        """Returns the step number of a run's call or message in ``%trace``; empty for None or without one."""
        return "" if row is None else self._numbers[run].get((row.session, row.seq), "")

    @cached_property
    def _numbers(self) -> tuple[Mapping[tuple[str, int], str], ...]:
        from nbtools.traces.explorer.nesting import rows_by_step  # noqa: PLC0415 - loaded on first use

        rows = map(rows_by_step, self.traces)
        return tuple(
            {(row.session, row.seq): number for number, row in one.items() if isinstance(row, Call | Event)}
            for one in rows
        )

    def parting_text(self, parting: Parting) -> str:
        """Returns where a run parts, by its own and the baseline's step numbers: ``at step 3 (A: 4)``."""
        ours = self.number(parting.run, parting.call)
        theirs = self.number(self.baseline, parting.baseline_call) or "its end"
        place = f"step {ours}" if ours else "its end"
        return f"at {place} ({self.runs[self.baseline].name}: {theirs})"

    def _step(self, row: Row) -> Step:
        runs = enumerate(self._calls)
        calls = tuple(known[row.at[run]] if run in row.at else None for run, known in runs)
        alike = frozenset(row.alike | self._changed_differently(calls))
        return Step(tuple(None if one is None else one.call for one in calls), alike, _note(calls))

    def _changed_differently(self, calls: Sequence[ComparableCall | None]) -> set[int]:
        """Returns the runs that changed a file in another way than the baseline, else than most runs."""
        made = [(run, one.call) for run, one in enumerate(calls) if one is not None and one.group == "change"]
        if len(made) < 2:
            return set()
        digests = {run: digest for run, call in made if (digest := self._digests.digest_of(call)) is not None}
        counts = Counter(digests.values())
        most = max(counts, key=lambda digest: (counts[digest], digest), default=b"")
        usual = digests.get(self.baseline) or most
        return {run for run, digest in digests.items() if digest != usual}

    def _parting(self, run: int) -> Parting | None:
        base = self.baseline
        for number, step in enumerate(self.steps):
            ours, theirs = step.calls[run], step.calls[base]
            parts = (ours is None) != (theirs is None)
            if ours and theirs:
                parts = run in step.alike or end_differently(map(ending_of, (ours, theirs)))
            if parts:
                return Parting(run, number, self._next_call(number, run), self._next_call(number, base))
        return None

    def _next_call(self, number: int, run: int) -> Call | None:
        return next((call for step in self.steps[number:] if (call := step.calls[run]) is not None), None)

    def _repr_mimebundle_(self, **_: Any) -> dict[str, Any]:
        bundle: dict[str, Any] = extension("traces.comparison_bundle")(self)
        return bundle

    def __repr__(self) -> str:
        partings = filter(None, self.partings)
        parted = [f"{self.runs[one.run].name} parts {self.parting_text(one)}" for one in partings]
        titles = [one_line(redacted(run.title), 40) for run in self.runs]
        names = [f"{run.name} “{title}”" for run, title in zip(self.runs, titles, strict=True)]
        if len(set(titles)) == 1:
            names = [f"{len(self.runs)} runs of “{titles[0]}”"]
        same = f"{self.same:,} of {len(self.steps):,} steps the same"
        return f"<Comparison of {', '.join(names)}; {same}, {', '.join(parted) or 'no difference'}>"


_BY_BASELINE = frozenset({"steps", "shared", "partings"})


def compare(
    *logs: Trace | str | Path, baseline: int | None = None, checks: Sequence[str] = (), prices: bool = False
) -> Comparison:
    """Compares two to twenty runs, of the same agent or of different ones. A path is loaded first.

    ``baseline`` is the index of the run with which the others are aligned; by default the one that has most
    in common with the others. ``checks`` are the columns of outcomes; by default the last test command and
    the final answer. With ``prices``, requests are priced.

    Raises ``TraceError`` where a log has no session, or cannot be read.
    """
    return Comparison(
        [one if isinstance(one, Trace) else load(one) for one in logs],
        baseline=baseline,
        checks=checks,
        prices=prices,
    )


def _counted_once(traces: Sequence[Trace]) -> list[Trace]:
    """Returns the runs without the records of a fork that another run has, too."""
    repeats = iter(find_repeats([batch for trace in traces for batch in trace.batches]))
    found = [[next(repeats) for _ in trace.batches] for trace in traces]
    pairs = zip(traces, found, strict=True)
    return [
        Trace(trace.readings, map(without_repeats, trace.batches, own)) if any(own) else trace
        for trace, own in pairs
    ]


def _note(calls: Sequence[ComparableCall | None]) -> str:
    """Says how the runs' calls ended, if they ended in different ways."""
    runs_by_ending: dict[str, list[str]] = {}
    for run, one in enumerate(calls):
        if one is not None and (ending := ending_of(one.call)) != "unknown":
            runs_by_ending.setdefault(ending, []).append(LETTERS[run])
    if not end_differently(runs_by_ending):
        return ""
    return " · ".join(f"{', '.join(runs)}: {ending}" for ending, runs in runs_by_ending.items())
