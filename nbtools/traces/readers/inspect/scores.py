"""Reads how a sample of Inspect AI ended: its scores, its error, the limit that it reached, its time."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Protocol

import msgspec

from nbtools.traces.json_access import float_of, id_text, integer_of, mapping, string
from nbtools.traces.model import PREVIEW, SampleResult, Tokens

_MAX_SCORES = 100
_MAX_VALUE = 2_000
_MAX_PARTS = 100
"""Maximum number of bytes, and of lists and objects, of a value;
the beginning of the JSON of a larger one is kept.
"""


class _Record(Protocol):
    id: Any
    epoch: Any
    error: Any
    score: Any
    scores: Any
    limit: Any
    total_time: Any
    working_time: Any


def sample_result(
    session: str, record: _Record, tokens: Tokens, resolve: Callable[[Any], Any]
) -> SampleResult:
    """``resolve`` replaces references to texts that are stored elsewhere in the log."""
    counts = (tokens.input, tokens.cache_read, tokens.cache_write, tokens.output)
    counted = [count for count in counts if count is not None]
    error = string(resolve(mapping(record.error).get("message")))
    return SampleResult(
        session=session,
        id=id_text(record.id),
        epoch=integer_of(record.epoch),
        scores=_scores(record, resolve),
        error=error[:PREVIEW] or None,
        limit_reached=string(mapping(record.limit).get("type"))[:PREVIEW] or None,
        total_tokens=sum(counted) if counted else None,
        duration=float_of(record.total_time),
        working_time=float_of(record.working_time),
    )


def _scores(record: _Record, resolve: Callable[[Any], Any]) -> dict[str, Any] | None:
    """Returns the values by scorer; old logs have a single score without the name of its scorer."""
    scores: Mapping[str, Any] = mapping(record.scores)
    if not scores and isinstance(record.score, dict):
        scores = {"score": record.score}
    named = [(name[:PREVIEW], mapping(score)) for name, score in scores.items()][:_MAX_SCORES]
    found = {name: _value(resolve(score["value"])) for name, score in named if "value" in score}
    return found or None


def _value(value: Any) -> Any:
    if isinstance(value, str):
        return value[:PREVIEW]
    if isinstance(value, list | dict):
        text = msgspec.json.encode(value)
        small = len(text) <= _MAX_VALUE and text.count(b"[") + text.count(b"{") <= _MAX_PARTS
        return value if small else text[:PREVIEW].decode(errors="ignore")
    return value
