"""The comparison of several logs as the value of a cell: ``%trace A B C``."""

from __future__ import annotations

import uuid
from typing import Any

from nbtools.notebook.cards.tables import Sheet
from nbtools.notebook.comparison.html import MARKS, comparison_html
from nbtools.notebook.comparison.model import ComparisonView
from nbtools.notebook.comparison.rows import TOTALS, Rows, facts_of, outcome_rows, rate_text, run_row
from nbtools.notebook.comparison.text import comparison_text
from nbtools.notebook.explorer.redaction import redacted
from nbtools.notebook.hidden_characters import one_line
from nbtools.traces.comparison.checks import CHECK_FORMS
from nbtools.traces.comparison.comparison import Comparison
from nbtools.traces.comparison.outcomes import Outcome, Outcomes

INITIAL_ROWS = 200


class ComparisonDisplay:
    """Displays a comparison."""

    def __init__(self, comparison: Comparison) -> None:
        self.id = uuid.uuid4().hex
        self.comparison = comparison

    def bundle(self) -> dict[str, Any]:
        """Returns a MIME bundle: HTML without scripts, and text."""
        view, rows = self.view(), Rows(self.comparison)
        return {"text/html": comparison_html(self.comparison, view, rows), "text/plain": comparison_text(view, rows)}

    def view(self) -> ComparisonView:
        comparison = self.comparison
        return ComparisonView(
            explorer=self.id,
            baseline=comparison.baseline,
            facts=facts_of(comparison),
            runs=tuple(run_row(comparison, at) for at in range(len(comparison.runs))),
            totals=TOTALS,
            outcomes=outcome_rows(comparison, comparison.outcomes()),
            page=Rows(comparison).page(0, INITIAL_ROWS),
            forms=tuple(CHECK_FORMS.items()),
        )

    def _repr_mimebundle_(self, **_: Any) -> dict[str, Any]:
        return self.bundle()


def comparison_bundle(comparison: Comparison) -> dict[str, Any]:
    """Returns what a notebook displays of a comparison."""
    return ComparisonDisplay(comparison).bundle()


def outcomes_bundle(outcomes: Outcomes) -> dict[str, Any]:
    """Returns what a notebook displays of a table of outcomes."""
    head = ("Run", *(one_line(check.source, 100) for check in outcomes.checks))
    rows = zip(outcomes.runs, outcomes.cells, strict=True)
    cells = [(f"{run.name}: {one_line(redacted(run.title), 80)}", *map(_cell_text, row)) for run, row in rows]
    rates = ("passed", *map(rate_text, outcomes.rates()))
    return dict(Sheet("Outcomes", (*cells, rates), (), head, code=frozenset()).bundle())


def _cell_text(outcome: Outcome) -> str:
    return f"{MARKS[outcome.state]} {one_line(redacted(outcome.text), 100)}".strip()
