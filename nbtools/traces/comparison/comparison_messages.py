"""Wire format of a comparison, ``application/vnd.nbtools.comparison.v1+json``,
and of the requests of its page.

The page names runs and steps by number, checks by their text; it never names a path.
``labextension/src/comparison/model.ts`` is generated from this file.
"""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from nbtools.cards.card_model import Wire

COMPARISON_MIME = "application/vnd.nbtools.comparison.v1+json"
MAX_CHECKS = 12
Mark = Literal["", "same", "alike", "failed"]


class ComparedRun(Wire):
    """A run.  ``name`` is its letter, ``about`` its agent, model and log;
    ``totals`` are the cells under the view's ``totals``.

    ``parts`` says where it parts from the baseline, empty for the baseline and for the same steps;
    ``step`` is its step number there.
    """

    name: str
    title: str
    about: str
    totals: tuple[str, ...]
    parts: str = ""
    step: str = ""


class ComparedTotal(Wire):
    """A column of totals; ``title`` says what is counted."""

    label: str
    title: str


class ComparedCheck(Wire):
    """A column of outcomes.  ``source`` is the check as it is written, ``states`` what it states,
    ``rate`` how many runs passed.
    """

    source: str
    states: str
    rate: str


class ComparedCell(Wire):
    """The finding of a check in a run.  ``step`` is the number of the step that says so, empty for none."""

    state: Literal["passed", "failed", "unknown", ""]
    text: str
    step: str = ""


class ComparedGroup(Wire):
    """Runs with the same first prompt, by their indexes, and the rates of the checks among them."""

    title: str
    runs: tuple[int, ...]
    rates: tuple[str, ...]


class ComparedOutcomes(Wire):
    """The outcomes of each run, in the order of the runs.
    ``tasks`` is empty where the runs are of one task, or of one each.
    """

    type: Literal["outcomes"] = "outcomes"
    checks: tuple[ComparedCheck, ...]
    cells: tuple[tuple[ComparedCell, ...], ...]
    tasks: tuple[ComparedGroup, ...] = ()


class ComparedCall(Wire):
    """The call of a run whose call differs from the one that the row names."""

    run: int
    text: str
    ending: str = ""


class ComparedRow(Wire):
    """A step, or ``count`` steps from ``index`` on that all runs have in common and that are folded.

    ``numbers`` are the step numbers of the runs, empty where a run has no such step, and ``marks`` how each
    ended.  ``others`` are calls that are only similar to the one named; ``parts`` are the names of the runs
    that part here.
    """

    index: int
    count: int = 0
    icon: str = ""
    name: str = ""
    subject: str = ""
    ending: str = ""
    note: str = ""
    numbers: tuple[str, ...] = ()
    marks: tuple[Mark, ...] = ()
    others: tuple[ComparedCall, ...] = ()
    parts: str = ""
    differs: bool = False


class ComparedPage(Wire):
    """Rows from ``first`` on, ``total`` of them.  ``partings`` are the rows at which runs part."""

    type: Literal["compared"] = "compared"
    first: int
    total: int
    rows: tuple[ComparedRow, ...]
    partings: tuple[int, ...] = ()


class ComparedForm(Wire):
    """A form of checks, and what it states."""

    form: str
    states: str


class ComparisonView(Wire):
    """The comparison against one baseline.  ``explorer`` is its id in the kernel, which requests name;
    ``facts`` summarise it.  ``forms`` are the forms of checks.
    """

    type: Literal["comparison"] = "comparison"
    explorer: str
    baseline: int
    facts: str
    runs: tuple[ComparedRun, ...]
    totals: tuple[ComparedTotal, ...]
    outcomes: ComparedOutcomes
    page: ComparedPage
    forms: tuple[ComparedForm, ...] = ()


class ComparedTask(Wire):
    """Asks for ``count`` rows from ``first`` on; ``unfolded`` are the indexes of folds that are open."""

    type: Literal["compared"] = "compared"
    baseline: int
    first: int
    count: int
    unfolded: tuple[int, ...] = Field((), max_length=10_000)


class BaselineTask(Wire):
    """Asks for the comparison with another baseline."""

    type: Literal["baseline"] = "baseline"
    baseline: int


class OutcomesTask(Wire):
    """Asks what these checks find."""

    type: Literal["outcomes"] = "outcomes"
    baseline: int
    checks: tuple[Annotated[str, Field(max_length=1_000)], ...] = Field(min_length=1, max_length=MAX_CHECKS)


class OpenRunTask(Wire):
    """Asks for the explorer of a run, at one of its steps."""

    type: Literal["open_run"] = "open_run"
    run: int
    step: str = Field("", max_length=100)


class CompareWithTask(Wire):
    """Asks to compare this log with listed sessions, by their ids."""

    type: Literal["compare_with"] = "compare_with"
    ids: tuple[Annotated[str, Field(max_length=40)], ...] = Field(min_length=1, max_length=19)
