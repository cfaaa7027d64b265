"""The MCP project's conformance suite against nbtools as a client."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path

import keyring
import pytest
import pytest_asyncio
from keyring.backends import fail

from tests.conformance.client import client
from tests.conformance.expected import CLIENT
from tests.conformance.suite import Outcome, installed, run, run_all

pytestmark = [installed, pytest.mark.asyncio(loop_scope="module")]
LIMIT = 500.0
"""Seconds for all scenarios; the suite starts their programs at once, and each waits for its turn."""


@dataclass(frozen=True)
class Played:
    """``outcomes`` of the scenarios as the suite saw them; ``codes`` with which their programs ended."""

    outcomes: dict[str, Outcome]
    codes: dict[str, int]


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def played(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Played]:
    """All scenarios, one after the other: no login is kept in a keyring."""
    folder = tmp_path_factory.mktemp("client")
    before = keyring.get_keyring()
    keyring.set_keyring(fail.Keyring())
    async with client(folder / "workspaces") as (command, codes):
        outcomes = await run_all(
            folder, "client", "--command", command, "--timeout", f"{LIMIT * 1000:.0f}", seconds=LIMIT
        )
    yield Played(outcomes, codes)
    keyring.set_keyring(before)


async def test_every_scenario_is_known(tmp_path: Path) -> None:
    said = await run(tmp_path, "list", "--client")
    assert [line.split()[1] for line in said.splitlines() if line.startswith("  - ")] == list(CLIENT)


@pytest.mark.parametrize("scenario", CLIENT)
async def test_scenario(scenario: str, played: Played) -> None:
    outcome, expected = played.outcomes[scenario], CLIENT[scenario]
    assert outcome.checks, outcome.said
    assert (*outcome.failed, *outcome.warned) == expected.failing, outcome.said
    assert expected.failing or expected.refused or played.codes[scenario] == 0, outcome.said
