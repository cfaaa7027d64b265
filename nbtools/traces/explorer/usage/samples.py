"""The table of the samples of an evaluation, from which they are opened."""

from __future__ import annotations

from nbtools.cards.hidden_characters import one_line
from nbtools.cards.phrases import elapsed
from nbtools.traces.explorer.redaction import redacted
from nbtools.traces.explorer.summary import score_texts
from nbtools.traces.explorer.timeline import Timeline
from nbtools.traces.explorer.usage.model import TraceUsage, UsageRow, UsageTable
from nbtools.traces.model import SampleResult
from nbtools.traces.trace import Trace

MAX_ROWS = 1_000
_VALUES = {"C": "correct", "P": "partly correct", "I": "incorrect", "N": "no answer"}
"""Inspect's values of scores; others, such as numbers, have no meaning that every scorer shares."""
_COLUMNS = ("sample", "epoch", "outcome", "scores", "error", "limit", "tokens", "time")


def samples_table(trace: Trace, lines: Timeline) -> TraceUsage:
    """Returns a row for each sample, in the order of the log, which goes to the beginning of its session."""
    starts: dict[str, int] = {}
    for line, row in enumerate(lines.rows):
        starts.setdefault(getattr(row, "session", getattr(row, "id", "")), line)
    samples = trace.samples
    rows = tuple(UsageRow(cells=_cells(one), line=starts.get(one.session)) for one in samples[:MAX_ROWS])
    note = f"The first {MAX_ROWS:,} of {len(samples):,} samples." if len(samples) > MAX_ROWS else ""
    return TraceUsage(
        tables=(UsageTable(title="Samples", columns=_COLUMNS, rows=rows, note=note),), priced=True
    )


def _outcome(sample: SampleResult) -> str:
    """Returns how the sample ended: ``error``, else what its scores say, else that a limit ended it;
    empty where the log does not say.
    """
    if sample.error is not None:
        return "error"
    values = [_VALUES.get(value) for value in (sample.scores or {}).values() if isinstance(value, str)]
    said = list(dict.fromkeys(value for value in values if value))
    return " and ".join(said) or ("limit reached" if sample.limit_reached else "")


def _cells(sample: SampleResult) -> tuple[str, ...]:
    return (
        one_line(redacted(sample.id), 100) or "?",
        "" if sample.epoch is None else str(sample.epoch),
        _outcome(sample),
        ", ".join(score_texts(sample)),
        one_line(redacted(sample.error or ""), 100),
        one_line(sample.limit_reached or "", 40),
        "" if sample.total_tokens is None else f"{sample.total_tokens:,}",
        "" if sample.duration is None else elapsed(sample.duration),
    )
