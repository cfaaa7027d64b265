"""Counts in real logs equal those of an independent counter."""

from __future__ import annotations

import json
from typing import Any

import pytest
from msgspec.structs import asdict

from nbtools import traces
from tests.traces.recorded import SAMPLES

EXPECTED: dict[str, dict[str, Any]] = json.loads((SAMPLES / "facts.json").read_text())


@pytest.mark.parametrize("sample", EXPECTED)
def test_the_facts_of_a_sample_are_the_expected_ones(sample: str) -> None:
    trace = traces.load(SAMPLES / sample)
    facts = trace.facts()
    numbers = {**asdict(trace.counts), "duration": trace.counts.duration}
    assert {name: facts.pop(name) for name in numbers} == numbers
    assert facts == EXPECTED[sample]
