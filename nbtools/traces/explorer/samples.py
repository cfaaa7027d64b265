"""The samples of an evaluation: how each ended, and its input, target, answer and scores."""

from __future__ import annotations

import math
from collections.abc import Iterator
from functools import cached_property
from typing import Any

from nbtools.cards.blocks import text_block
from nbtools.cards.card_model import Block, Card
from nbtools.cards.hidden_characters import one_line
from nbtools.cards.phrases import elapsed
from nbtools.core.errors import TraceError
from nbtools.traces.columns import Columns
from nbtools.traces.explorer.cell_sources import CellSources
from nbtools.traces.explorer.explorer_messages import TraceContext, TraceLink, TraceOpened
from nbtools.traces.explorer.redaction import redacted
from nbtools.traces.explorer.sample_messages import TraceSamples
from nbtools.traces.explorer.timeline import Timeline
from nbtools.traces.json_access import to_json
from nbtools.traces.model import PREVIEW, SampleResult, Session
from nbtools.traces.reader import LogFile
from nbtools.traces.readers.inspect.log import SampleTexts, read_sample
from nbtools.traces.trace import Trace

MAX_SAMPLES = 100_000
_MAX_SCORERS = 8
"""Largest number of scorers that have columns; a sample's detail has all."""
_MAX_CELL = 200
_MAX_TEXT = 1_000_000
"""Characters of a text in a sample's detail."""
_MOST = 1e308
"""Numbers of JSON may be larger than a float can be."""
_OUTCOMES = {"C": "correct", "P": "partly correct", "I": "incorrect", "N": "no answer"}
"""Inspect's values of scores; others, such as numbers, have no meaning that every scorer shares."""
_NUMBERS = {"C": 1.0, "P": 0.5, "I": 0.0, "N": -1.0}
"""What Inspect's values are sorted by."""


class Samples:
    """The samples of ``trace``, in the order of the log; ``lines`` are those of the explorer."""

    def __init__(self, trace: Trace, lines: Timeline) -> None:
        self._lines = lines
        rows = zip(trace.sessions, trace.sessions.log_files, strict=True)
        self._found = [(one, one.sample, log) for one, log in rows if one.sample is not None]

    def columns(self) -> tuple[TraceSamples, bytes]:
        """Returns the columns for the page."""
        samples = [sample for _, sample, _ in self._found[:MAX_SAMPLES]]
        scorers = [*dict.fromkeys(name for one in samples for name in one.scores or {})][:_MAX_SCORERS]
        columns = Columns(len(samples))
        for name in ("id", "input", "target", "answer", "error"):
            columns.texts(name, [_cell(getattr(one, name)) for one in samples])
        columns.words("outcome", [outcome_of(one) for one in samples])
        columns.words("limit", [one_line(one.limit_reached or "", 40) for one in samples])
        numbers = {
            "epoch": "epoch",
            "tokens": "total_tokens",
            "scorer_tokens": "scorer_tokens",
            "seconds": "duration",
        }
        for name, field in numbers.items():
            columns.numbers(name, "f64", [_number(getattr(one, field)) for one in samples])
        starts = (self._starts.get(one.session) for one in samples)
        columns.numbers("line", "f64", [math.nan if line is None else line for line in starts])
        for number, scorer in enumerate(scorers):
            values = [(one.scores or {}).get(scorer) for one in samples]
            columns.texts(f"score{number}", [_cell(value) for value in values])
            columns.numbers(f"value{number}", "f64", [_number(value) for value in values])
        block, data = columns.finish()
        names = tuple(one_line(redacted(name), 60) for name in scorers)
        return TraceSamples(total=len(self._found), scorers=names, block=block), data

    def open(self, number: int, cells: CellSources) -> TraceOpened:
        """Returns the detail of a sample with its whole texts.
        Raises ``TraceError`` if there is no such sample, or the log has changed since it was read.
        """
        if not 0 <= number < len(self._found):
            raise TraceError(f"Sample {number} does not exist: the log has {len(self._found):,} samples.")
        session, sample, log = self._found[number]
        line = self._starts.get(session.id)
        step = "" if line is None else self._lines.numbers[line]
        around = TraceContext(label="Steps", parts=(TraceLink(text=f"from step {step}", line=line),))
        return TraceOpened(
            line=line or 0,
            number=step,
            card=_card(session, sample, log),
            foot=" · ".join(_foot(sample)),
            around=() if line is None else (around,),
            link=cells.link(step) if step else "",
            place=cells.place,
        )

    @cached_property
    def _starts(self) -> dict[str, int]:
        """The first line of each session."""
        starts: dict[str, int] = {}
        for line, row in enumerate(self._lines.rows):
            name = row.id if isinstance(row, Session) else row.session
            starts.setdefault(name, line)
        return starts


def outcome_of(sample: SampleResult) -> str:
    """Returns how the sample ended: an error, else its scores, else a limit; empty if that is unknown."""
    if sample.error is not None:
        return "error"
    values = [_OUTCOMES.get(_letter(value)) for value in (sample.scores or {}).values()]
    known = dict.fromkeys(value for value in values if value)
    return " and ".join(known) or ("limit reached" if sample.limit_reached else "")


def _letter(value: Any) -> str:
    """Returns Inspect's letter for a score: truth is written as a letter, too."""
    if isinstance(value, bool):
        return "C" if value else "I"
    return value if isinstance(value, str) else ""


def _number(value: Any) -> float:
    """Returns what a value is sorted by; NaN for one that is no number."""
    if isinstance(value, int | float) and not isinstance(value, bool):
        return float(min(max(value, -_MOST), _MOST))
    return _NUMBERS.get(_letter(value), math.nan)


def _cell(value: Any) -> str:
    """Returns the beginning of a text, or of a value as JSON, in one line without secrets.

    A secret may be longer than the cell, so more than the cell is searched.
    """
    if value is None:
        return ""
    text = value if isinstance(value, str) else to_json(value)
    return one_line(redacted(text[: 2 * PREVIEW].strip()), _MAX_CELL)


def _card(session: Session, sample: SampleResult, log: LogFile) -> Card:
    outcome = outcome_of(sample)
    return Card(
        id="",
        state="error" if outcome == "error" else "success",
        tool="Sample",
        icon="session",
        subject=_cell(sample.id) or "?",
        status=outcome,
        failed="incorrect" in outcome,
        blocks=tuple(_blocks(sample, read_sample(log.source, session.ref))),
        root="/",
    )


def _blocks(sample: SampleResult, texts: SampleTexts) -> Iterator[Block]:
    """Yields the texts with their names, which are quiet."""
    yield from _named("Input", texts.input)
    yield from _named("Target", texts.target)
    for score in texts.scores:
        value = score.fields.get("value")
        text = value if isinstance(value, str) else to_json(value)
        word = _OUTCOMES.get(_letter(value))
        yield from _named(f"Score of {score.scorer}", f"{text} ({word})" if word else text)
        yield from _named(f"Answer, by {score.scorer}", score.text("answer"))
        yield from _named(f"Explanation of {score.scorer}", score.text("explanation"))
    if sample.limit_reached:
        yield from _named("Limit", f"{sample.limit_reached} limit reached")
    if texts.error:
        yield from _named("Error", texts.error)


def _named(name: str, text: str) -> Iterator[Block]:
    if text.strip():
        yield text_block(one_line(redacted(name), 100), tone="quiet")
        yield text_block(redacted(text), most=_MAX_TEXT)


def _foot(sample: SampleResult) -> Iterator[str]:
    if sample.epoch is not None:
        yield f"epoch {sample.epoch}"
    if sample.total_tokens is not None:
        scorers = f", {sample.scorer_tokens:,} of them by scorers" if sample.scorer_tokens else ""
        yield f"{sample.total_tokens:,} tokens{scorers}"
    if sample.duration is not None:
        yield elapsed(sample.duration)
