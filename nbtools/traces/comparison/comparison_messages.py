"""Wire format of a comparison, ``application/vnd.nbtools.comparison.v1+json``,
and of the methods of its page.

The page gets all steps once, as columns; it folds those that all runs have in common.
It names runs and steps by number, checks by their text; never a path.
``labextension/src/comparison/model.ts`` is generated from this file.
"""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from nbtools.cards.card_model import Wire
from nbtools.traces.columns import ColumnBlock

COMPARISON_MIME = "application/vnd.nbtools.comparison.v1+json"
MAX_CHECKS = 12
MAX_ROWS = 25_000
"""Most steps of one reply."""


class ComparedRun(Wire):
    """A run.  ``name`` is its letter, ``about`` its agent and model, ``log`` where its log is;
    ``totals`` are the cells under the view's ``totals``, and ``shares`` what part each is of the largest in
    its column, from 0 to 1; 0: not recorded, or the same in all runs.

    ``parts`` says where it parts from the baseline, empty for the baseline and for the same steps;
    ``step`` is its step number there.
    """

    name: str
    title: str
    about: str
    log: str
    totals: tuple[str, ...]
    shares: tuple[float, ...]
    parts: str = ""
    step: str = ""


class ComparedTotal(Wire):
    """A column of totals; ``title`` says what is counted.
    ``leads``: it stands beside the names of the runs.
    """

    label: str
    title: str
    leads: bool = False


class ComparedCheck(Wire):
    """A column of outcomes.  ``source`` is the check as it is written, ``states`` what it states,
    ``rate`` how many runs passed, and how many of these outcomes are inferred.
    """

    source: str
    states: str
    rate: str


class ComparedCell(Wire):
    """The finding of a check in a run.  ``step`` is the number of the step that says so, empty for none.
    ``inferred``: not the log says so, but the output of the tests; ``note`` says why.
    """

    state: Literal["passed", "failed", "unknown", ""]
    text: str
    step: str = ""
    inferred: bool = False
    note: str = ""


class ComparedGroup(Wire):
    """Runs with the same first prompt, by their indexes, and the rates of the checks among them."""

    title: str
    runs: tuple[int, ...]
    rates: tuple[str, ...]


class ComparedOutcomes(Wire):
    """The outcomes of each run, in the order of the runs.
    ``tasks`` is empty where the runs are of one task, or of one each.
    """

    checks: tuple[ComparedCheck, ...]
    cells: tuple[tuple[ComparedCell, ...], ...]
    tasks: tuple[ComparedGroup, ...] = ()


class ComparedRows(Wire):
    """Steps from ``first`` on, of ``total``.  ``block`` has their columns, and ``others`` those of calls that
    are only similar to the one that a step names (``comparison.comparison_rows``).
    """

    first: int
    total: int
    block: ColumnBlock
    others: ColumnBlock


class ComparedForm(Wire):
    """A form of checks, and what it states."""

    form: str
    states: str


class ComparisonView(Wire):
    """The comparison against one baseline.  ``explorer`` is its id in the kernel, which requests name;
    ``facts`` summarise it.  ``forms`` are the forms of checks.
    """

    explorer: str
    baseline: int
    facts: str
    runs: tuple[ComparedRun, ...]
    totals: tuple[ComparedTotal, ...]
    outcomes: ComparedOutcomes
    forms: tuple[ComparedForm, ...] = ()


class ComparedRowsParams(Wire):
    """Asks for ``count`` steps from ``first`` on."""

    explorer: str
    baseline: int
    first: int = Field(ge=0)
    count: int = Field(ge=0, le=MAX_ROWS)


class BaselineParams(Wire):
    """Asks for the comparison with another baseline."""

    explorer: str
    baseline: int


class OutcomesParams(Wire):
    """Asks what these checks find."""

    explorer: str
    baseline: int
    checks: tuple[Annotated[str, Field(max_length=1_000)], ...] = Field(min_length=1, max_length=MAX_CHECKS)


class OpenRunParams(Wire):
    """Asks for the explorer of a run, at one of its steps."""

    explorer: str
    run: int
    step: str = Field("", max_length=100)


class CompareWithParams(Wire):
    """Asks to compare this log with listed sessions, by their ids."""

    explorer: str
    ids: tuple[Annotated[str, Field(max_length=40)], ...] = Field(min_length=1, max_length=19)
