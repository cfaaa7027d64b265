"""The outcome of a sample in the table of samples: what the log says, and nothing else."""

from __future__ import annotations

from typing import Any

import pytest

from nbtools.traces.explorer.samples import outcome_of
from nbtools.traces.model import SampleResult


@pytest.mark.parametrize(
    ("fields", "outcome"),
    [
        ({"scores": {"match": "C"}}, "correct"),
        ({"scores": {"match": "I", "model": "P"}}, "incorrect and partly correct"),
        ({"scores": {"a": "C", "b": "C"}}, "correct"),
        ({"scores": {"match": "N"}, "limit_reached": "token"}, "no answer"),
        ({"scores": {"match": 1}}, ""),
        ({"scores": {"match": True}}, "correct"),
        ({"scores": {"match": False}}, "incorrect"),
        ({"scores": {"match": "c"}}, ""),
        ({"scores": {"match": ["C"]}}, ""),
        ({"scores": {"match": 0.5}, "limit_reached": "time"}, "limit reached"),
        ({"scores": {"match": "C"}, "error": "out of memory"}, "error"),
        ({"error": ""}, "error"),
        ({"scores": {}}, ""),
        ({}, ""),
    ],
)
def test_outcome(fields: dict[str, Any], outcome: str) -> None:
    assert outcome_of(SampleResult(session="s", id="1", **fields)) == outcome
