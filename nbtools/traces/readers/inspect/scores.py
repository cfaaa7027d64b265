"""Reads how samples of Inspect AI ended: input and target, scores, error, the limit that was reached, time;
and the metrics of a run.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import msgspec

from nbtools.traces.conversation import TextPart, parts_of_message
from nbtools.traces.json_access import (
    float_of,
    id_text,
    integer_of,
    mapping,
    mappings,
    string,
    text_of,
)
from nbtools.traces.model import PREVIEW, SAMPLE_TEXT, Metric, RequestUsage, SampleResult, Tokens
from nbtools.traces.usage.requests import sum_of_tokens

_MAX_SCORES = 100
_MAX_METRICS = 200
_MAX_VALUE = 2_000
_MAX_PARTS = 100
"""Maximum number of bytes, and of lists and objects, of a value;
the beginning of the JSON of a larger one is kept.
"""
Resolve = Callable[[Any], Any]
"""Replaces references to texts that are stored elsewhere in the log."""


class _Record(Protocol):
    id: Any
    epoch: Any
    input: Any
    target: Any
    error: Any
    score: Any
    scores: Any
    limit: Any
    total_time: Any
    working_time: Any


@dataclass(frozen=True)
class Score:
    """The score that a scorer gives a sample, with its answer and explanation."""

    scorer: str
    fields: Mapping[str, Any]

    def text(self, name: str) -> str:
        """Returns the field ``answer`` or ``explanation``."""
        return text_of(self.fields.get(name))


def sample_result(
    session: str, record: _Record, tokens: Tokens, of_scorers: Sequence[RequestUsage], resolve: Resolve
) -> SampleResult:
    """``of_scorers`` are the requests of scorers."""
    scores = [*scores_of(record.scores, record.score, resolve)]
    values = {score.scorer: _value(score.fields["value"]) for score in scores if "value" in score.fields}
    error = string(resolve(mapping(record.error).get("message")))
    return SampleResult(
        session=session,
        id=id_text(record.id),
        epoch=integer_of(record.epoch),
        input=_beginning(input_text(resolve(record.input))),
        target=_beginning(target_text(resolve(record.target))),
        answer=_beginning(next(filter(None, (score.text("answer") for score in scores)), "")),
        explanation=_beginning(next(filter(None, (score.text("explanation") for score in scores)), "")),
        scores=values or None,
        error=error[:PREVIEW] or None,
        limit_reached=string(mapping(record.limit).get("type"))[:PREVIEW] or None,
        total_tokens=_total(tokens),
        scorer_tokens=_total(sum_of_tokens(request.tokens for request in of_scorers)) if of_scorers else None,
        duration=float_of(record.total_time),
        working_time=float_of(record.working_time),
    )


def scores_of(scores: Any, single: Any, resolve: Resolve) -> Iterator[Score]:
    """Yields the scores of a sample; old logs have a ``single`` one without the name of its scorer."""
    named: Mapping[str, Any] = mapping(scores)
    if not named and isinstance(single, dict):
        named = {"score": single}
    for name, score in [*named.items()][:_MAX_SCORES]:
        yield Score(name[:PREVIEW], mapping(resolve(score)))


def input_text(value: Any) -> str:
    """Returns the input of a sample: a text, or messages, with their roles where there are several."""
    if not isinstance(value, list):
        return text_of(value)
    messages = [(mapping(one).get("role"), "".join(_texts(one))) for one in value]
    if len(messages) == 1:
        return messages[0][1]
    return "\n\n".join(f"{string(role) or 'message'}: {text}" for role, text in messages)


def target_text(value: Any) -> str:
    """Returns the target of a sample: a text, or several, one of which is wanted."""
    return ", ".join(map(text_of, value)) if isinstance(value, list) else text_of(value)


def metrics_of(results: Mapping[str, Any]) -> tuple[Metric, ...]:
    """Returns the metrics in the results of a run; old logs have those of a single scorer."""
    found = mappings(results.get("scores"))
    if not found and results.get("metrics"):
        found = [{**mapping(results.get("scorer")), "metrics": results.get("metrics")}]
    return tuple(metric for score in found for metric in _metrics(score))[:_MAX_METRICS]


def _metrics(score: Mapping[str, Any]) -> Iterator[Metric]:
    metrics = score.get("metrics")
    named = mapping(metrics) or {string(one.get("name")): one for one in mappings(metrics)}
    for name, metric in named.items():
        fields = mapping(metric)
        yield Metric(
            scorer=(string(score.get("name")) or string(score.get("scorer")))[:PREVIEW],
            name=(string(fields.get("name")) or name)[:PREVIEW],
            value=float_of(fields.get("value") if fields else metric),
            reducer=string(score.get("reducer"))[:PREVIEW],
            params=_params(fields.get("params") or fields.get("options")),
            scorer_params=_params(score.get("params")),
            samples=integer_of(score.get("scored_samples")),
        )


def _params(value: Any) -> dict[str, Any]:
    """Returns parameters, each at most as large as a score may be."""
    return {name[:PREVIEW]: _value(one) for name, one in [*mapping(value).items()][:_MAX_PARTS]}


def _texts(message: Any) -> Iterable[str]:
    return (part.text for part in parts_of_message(message) if isinstance(part, TextPart))


def _beginning(text: str) -> str | None:
    return text[:SAMPLE_TEXT] or None


def _total(tokens: Tokens) -> int | None:
    counts = (tokens.input, tokens.cache_read, tokens.cache_write, tokens.output)
    counted = [count for count in counts if count is not None]
    return sum(counted) if counted else None


def _value(value: Any) -> Any:
    if isinstance(value, str):
        return value[:PREVIEW]
    if isinstance(value, list | dict):
        text = msgspec.json.encode(value)
        small = len(text) <= _MAX_VALUE and text.count(b"[") + text.count(b"{") <= _MAX_PARTS
        return value if small else text[:PREVIEW].decode(errors="ignore")
    return value
