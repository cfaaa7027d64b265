"""nbtools' server against the MCP project's conformance suite:
every scenario that a server of tools has a part in.
"""

from __future__ import annotations

import asyncio
import subprocess
from pathlib import Path

import pytest
import pytest_asyncio

from tests.conformance.expected import NOT_SERVED
from tests.conformance.suite import Outcome, installed, run_all
from tests.warm_python import warm_python

pytestmark = installed

PASS = (
    "server-initialize",
    "ping",
    "tools-list",
    "tools-call-simple-text",
    "tools-call-image",
    "tools-call-audio",
    "tools-call-embedded-resource",
    "tools-call-mixed-content",
    "tools-call-error",
    "tools-call-with-progress",
    "json-schema-2020-12",
    "server-sse-multiple-streams",
    "dns-rebinding-protection",
)
"""The others are about what nbtools does not offer:
prompts, resources, completion, logging, and questions by way of the client.
"""


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def outcomes(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Outcome]:
    """The suite plays all scenarios with one server."""
    program = Path(__file__).with_name("server_program.py")
    server = await asyncio.create_subprocess_exec(warm_python(), str(program), stdout=subprocess.PIPE)
    assert server.stdout is not None
    try:
        url = (await server.stdout.readline()).decode().strip()
        return await run_all(tmp_path_factory.mktemp("server"), "server", "--url", url, seconds=300)
    finally:
        server.terminate()
        await server.wait()


def test_every_scenario_is_known(outcomes: dict[str, Outcome]) -> None:
    assert outcomes.keys() == {*PASS, *NOT_SERVED}


@pytest.mark.parametrize("scenario", PASS)
def test_scenario(scenario: str, outcomes: dict[str, Outcome]) -> None:
    outcome = outcomes[scenario]
    assert outcome.checks, outcome.said
    assert not outcome.failed, outcome.said
