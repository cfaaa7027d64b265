"""The MCP project's conformance suite against nbtools as a client."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from tests.conformance.expected import CLIENT
from tests.conformance.suite import installed, run

COMMAND = f"{sys.executable} {Path(__file__).with_name('client.py')}"


@installed
@pytest.mark.slow
async def test_every_scenario_is_known(tmp_path: Path) -> None:
    said = (await run(tmp_path, "list", "--client", notes=False)).said
    assert [line.split()[1] for line in said.splitlines() if line.startswith("  - ")] == list(CLIENT)


@installed
@pytest.mark.slow
@pytest.mark.parametrize("scenario", CLIENT)
async def test_scenario(scenario: str, tmp_path: Path) -> None:
    outcome = await run(tmp_path, "client", "--command", COMMAND, "--scenario", scenario, "--timeout", "100000", seconds=110)
    assert outcome.checks, outcome.said
    assert (*outcome.failed, *outcome.warned) == CLIENT[scenario].failing, outcome.said
    assert CLIENT[scenario].failing or "OVERALL: PASSED" in outcome.said, outcome.said
