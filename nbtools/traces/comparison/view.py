"""The comparison of several logs as the value of a cell: ``%trace A B C``."""

from __future__ import annotations

import uuid
from collections.abc import Sequence
from copy import copy
from threading import Lock
from typing import Any

from nbtools.cards.hidden_characters import one_line
from nbtools.cards.tables import Sheet
from nbtools.core.errors import TraceError
from nbtools.core.methods import method
from nbtools.traces.comparison.checks import CHECK_FORMS
from nbtools.traces.comparison.comparison import Comparison
from nbtools.traces.comparison.comparison_messages import (
    COMPARISON_MIME,
    BaselineParams,
    ComparedForm,
    ComparedOutcomes,
    ComparedRows,
    ComparedRowsParams,
    ComparisonView,
    OpenRunParams,
    OutcomesParams,
)
from nbtools.traces.comparison.comparison_rows import (
    TOTALS,
    ComparisonRows,
    facts_of,
    outcome_mark,
    outcome_rows,
    rate_texts,
    run_rows,
)
from nbtools.traces.comparison.html import comparison_html
from nbtools.traces.comparison.outcomes import Outcome, Outcomes
from nbtools.traces.comparison.text import comparison_text
from nbtools.traces.explorer.explorer import Explorer
from nbtools.traces.explorer.explorer_messages import OpenedLogs
from nbtools.traces.explorer.notebook_services import connect_page, widget_of
from nbtools.traces.explorer.redaction import redacted
from nbtools.traces.explorer.registry import EXPLORERS


class ComparisonDisplay:
    """Displays a comparison, and answers the requests of its page."""

    def __init__(self, comparison: Comparison) -> None:
        self.id = uuid.uuid4().hex
        self.comparison = comparison
        self.size = sum(run.compared for run in comparison.runs)
        self._rows: dict[int, ComparisonRows] = {}
        self._lock = Lock()

    @method("comparison.rows")
    def rows(self, params: ComparedRowsParams) -> tuple[ComparedRows, Sequence[bytes]]:
        """Returns steps as columns."""
        rows = self._rows_of(self._against(params.baseline))
        block, others, buffers = rows.block(params.first, params.count)
        return ComparedRows(first=params.first, total=rows.count, block=block, others=others), buffers

    @method("comparison.baseline")
    def with_baseline(self, params: BaselineParams) -> ComparisonView:
        return self.view(self._against(params.baseline))

    @method("comparison.outcomes")
    def outcomes(self, params: OutcomesParams) -> ComparedOutcomes:
        against = self._against(params.baseline)
        return outcome_rows(against, against.outcomes(*params.checks))

    @method("comparison.open_run")
    def open_run(self, params: OpenRunParams) -> OpenedLogs:
        return OpenedLogs(view=self._explorer(params.run, params.step).view())

    def bundle(self) -> dict[str, Any]:
        """Returns a MIME bundle: for the extension, a widget where needed, HTML without scripts, and text."""
        view, rows = self.opened(), self._rows_of(self.comparison)
        return {
            COMPARISON_MIME: view.model_dump(mode="json"),
            **connect_page(view),
            "text/html": comparison_html(self.comparison, view, rows),
            "text/plain": comparison_text(view, rows),
        }

    def opened(self) -> ComparisonView:
        """Returns the initial view of a comparison that answers requests from now on."""
        EXPLORERS.add(self)
        return self.view(self.comparison)

    def widget(self) -> Any:
        """Returns the comparison as an anywidget, for every front end that supports ipywidgets."""
        return widget_of(self.opened())

    def view(self, comparison: Comparison) -> ComparisonView:
        return ComparisonView(
            explorer=self.id,
            baseline=comparison.baseline,
            facts=facts_of(comparison),
            runs=run_rows(comparison),
            totals=TOTALS,
            outcomes=outcome_rows(comparison, comparison.outcomes()),
            forms=tuple(ComparedForm(form=form, states=states) for form, states in CHECK_FORMS.items()),
        )

    def _against(self, baseline: int) -> Comparison:
        if not 0 <= baseline < len(self.comparison.runs):
            raise TraceError(f"There is no run {baseline}.")
        return self._rows_of(self.comparison.against(baseline), baseline).comparison

    def _rows_of(self, comparison: Comparison, baseline: int | None = None) -> ComparisonRows:
        """Returns the rows against a baseline, which are aligned once."""
        at = comparison.baseline if baseline is None else baseline
        with self._lock:
            if at not in self._rows:
                self._rows[at] = ComparisonRows(
                    self.comparison if at == self.comparison.baseline else comparison
                )
            return self._rows[at]

    def _explorer(self, run: int, step: str) -> Explorer:
        if not 0 <= run < len(self.comparison.traces):
            raise TraceError(f"There is no run {run}.")
        trace = copy(self.comparison.traces[run])  # it may grow, while what is compared stays as it is
        explorer = Explorer(trace, log=self.comparison.runs[run].log, step=step)
        EXPLORERS.add(explorer)
        return explorer

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
    rates = ("passed", *rate_texts(outcomes))
    return dict(Sheet("Outcomes", (*cells, rates), (), head, code=frozenset()).bundle())


def _cell_text(outcome: Outcome) -> str:
    return f"{outcome_mark(outcome)} {one_line(redacted(outcome.text), 100)}".strip()
