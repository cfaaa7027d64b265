"""nbtools' server against the MCP project's conformance suite: every scenario that a server of tools has a part in."""

from __future__ import annotations

import asyncio
import subprocess
import sys
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import pytest_asyncio

from tests.conformance.suite import installed, run

pytestmark = [installed, pytest.mark.asyncio(loop_scope="module")]

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
"""The others are about what nbtools does not offer: prompts, resources, completion, logging, and questions by way of the client."""


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def url() -> AsyncIterator[str]:
    """A server for all of them."""
    program = Path(__file__).with_name("server_program.py")
    server = await asyncio.create_subprocess_exec(sys.executable, str(program), stdout=subprocess.PIPE)
    assert server.stdout is not None
    yield (await server.stdout.readline()).decode().strip()
    server.terminate()
    await server.wait()


@pytest.mark.parametrize("scenario", PASS)
async def test_scenario(url: str, scenario: str, tmp_path: Path) -> None:
    outcome = await run(tmp_path, "server", "--url", url, "--scenario", scenario)
    assert outcome.checks, outcome.said
    assert not outcome.failed, outcome.said
