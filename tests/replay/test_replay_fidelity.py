"""Recorded calls give the recorded results: the table of bench/replay_fidelity.py does not get worse."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

SCRIPT = Path(__file__).parents[2] / "bench" / "replay_fidelity.py"
LEAST = {
    # agent: calls with a counterpart, with the recorded text (but for what versions word otherwise),
    # with the recorded files
    "codex": (130, 45, 6),
    "qwen-code": (5, 2, 1),
    "opencode": (6, 3, 2),
    "pi": (4, 2, 1),
}
"""What a machine with sed, cat, ls and grep gives; one with ripgrep gives more."""


@pytest.fixture(scope="module")
def printed() -> str:
    """The table of all of them."""
    return subprocess.run(
        [sys.executable, SCRIPT, *LEAST], capture_output=True, text=True, check=True, timeout=300
    ).stdout


@pytest.mark.parametrize("agent", LEAST)
def test_at_least_as_many_calls_are_replayed_faithfully_as_recorded(agent: str, printed: str) -> None:
    row = re.search(rf"(?m)^{agent} +\d+ +(\d+) +\d+ +(\d+) +(\d+) +(\d+)/", printed)
    assert row, printed
    counterpart, text, wording, files = map(int, row.groups())
    found = (counterpart, text + wording, files)
    assert all(count >= least for count, least in zip(found, LEAST[agent], strict=True)), printed
