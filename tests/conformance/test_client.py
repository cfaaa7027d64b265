"""The MCP project's conformance suite against nbtools as a client."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import keyring
import pytest
from keyring.backends import fail

from tests.conformance.client import client
from tests.conformance.expected import CLIENT
from tests.conformance.suite import installed, run

pytestmark = installed


@pytest.fixture
def nobody_known(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """No login is kept of earlier scenarios, nor in a keyring."""
    monkeypatch.setenv("NBTOOLS_STATE", str(tmp_path / "state"))
    monkeypatch.setenv("NBTOOLS_CONFIG", str(tmp_path / "config"))
    before = keyring.get_keyring()
    keyring.set_keyring(fail.Keyring())
    yield
    keyring.set_keyring(before)


async def test_every_scenario_is_known(tmp_path: Path) -> None:
    said = (await run(tmp_path, "list", "--client", notes=False)).said
    assert [line.split()[1] for line in said.splitlines() if line.startswith("  - ")] == list(CLIENT)


@pytest.mark.parametrize("scenario", CLIENT)
async def test_scenario(scenario: str, tmp_path: Path, nobody_known: None) -> None:
    async with client(tmp_path) as command:
        outcome = await run(tmp_path, "client", "--command", command, "--scenario", scenario, "--timeout", "100000", seconds=110)
    assert outcome.checks, outcome.said
    assert (*outcome.failed, *outcome.warned) == CLIENT[scenario].failing, outcome.said
    assert CLIENT[scenario].failing or "OVERALL: PASSED" in outcome.said, outcome.said
