"""Counts in real logs equal those of an independent counter."""

from __future__ import annotations

import json
from typing import Any

import pytest

from nbtools import traces
from tests.traces.recorded import SAMPLES

EXPECTED: dict[str, dict[str, Any]] = json.loads((SAMPLES / "facts.json").read_text())


@pytest.mark.parametrize("sample", EXPECTED)
def test_the_facts_of_a_sample_are_the_expected_ones(sample: str) -> None:
    assert traces.load(SAMPLES / sample).facts() == EXPECTED[sample]
