"""A server's life: connected, ended, connected again."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
from pathlib import Path

import pytest

from nbtools import Policy, Session
from nbtools.core.errors import ToolFailure
from nbtools.mcp.client.timeouts import Backoff
from nbtools.mcp.config.entries import parse_server
from tests.mcp.watching import bad, serving, ticking, until


async def test_one_that_has_died_is_started_again_by_the_next_call(tmp_path: Path) -> None:
    async with serving(tmp_path, "bad", bad("crash")) as session:
        for _ in range(2):
            assert "exit code 3" in str((await session.call("mcp__bad__do")).llm_content)
            await until(lambda: session.mcp.get("bad").state == "failed")
        waiting = await session.call("mcp__bad__do")
        assert "it ended soon after its start more than once. It can be started again in" in str(
            waiting.llm_content
        )
        await session.mcp.restart("bad")
        assert session.mcp.get("bad").state == "connected"


async def test_the_description_of_a_server_is_known_once_it_is_connected(tmp_path: Path) -> None:
    async with serving(tmp_path, "bad", bad("chatty")) as session:
        one = session.mcp.get("bad")
        assert (one.server_info.instructions, one.server_info.protocol, one.server_info.version) == (
            "Beware.",
            "2025-11-25",
            "7",
        )
        assert not one.server_info.has_resources
        assert await one.prompts() == await one.resources() == await one.resource_templates() == ()
        with pytest.raises(ToolFailure, match="no method resources/read"):
            await one.read_resource("file:///none")


async def test_a_call_while_its_server_is_being_closed_starts_it_again(tmp_path: Path) -> None:
    async with serving(tmp_path, "bad", bad("chatty")) as session:
        await session.mcp.connect("bad")
        closing = asyncio.create_task(session.mcp.get("bad").close())
        await asyncio.sleep(0)
        assert (await session.call("mcp__bad__do")).llm_content == "done"
        await closing


async def test_closing_waits_for_no_server_that_is_being_connected(tmp_path: Path) -> None:
    async with ticking(), Session(tmp_path, policy=Policy(mode="yolo")) as session:
        session.mcp.add([parse_server("bad", bad("silent"), {})])
        connecting = asyncio.create_task(session.mcp.connect("bad"))
        await until(lambda: session.mcp.get("bad").state == "connecting")
        async with asyncio.timeout(50):
            await session.mcp.get("bad").close()
            await connecting
        assert session.mcp.get("bad").state == "disconnected"


async def test_one_that_is_slow_delays_no_other(tmp_path: Path) -> None:
    async with Session(tmp_path, policy=Policy(mode="yolo")) as session:
        session.mcp.add(
            [
                parse_server(name, bad(way, timeout=60_000), {})
                for name, way in (("slow", "silent"), ("good", "chatty"))
            ]
        )
        connecting = asyncio.create_task(session.mcp.connect())
        await until(lambda: session.mcp.get("good").state == "connected")
        assert (await session.call("mcp__good__do")).llm_content == "done"
        assert session.mcp.get("slow").state == "connecting"
        await session.mcp.close()
        await connecting


async def test_a_program_or_folder_that_is_not_there(tmp_path: Path) -> None:
    entries = {
        "none": {"command": "/no/such"},
        "lost": {"command": sys.executable, "cwd": "nowhere"},
        "file": {"command": str(tmp_path)},
    }
    async with Session(tmp_path) as session:
        session.mcp.add([parse_server(name, entry, dict(os.environ)) for name, entry in entries.items()])
        await session.mcp.connect()
        problems = {name: one.problem for name, one in session.mcp.connections.items()}
    assert problems == {
        "none": "there is no program /no/such",
        "lost": f"the folder {tmp_path / 'nowhere'} does not exist",
        "file": f"{tmp_path} cannot be executed (permission denied)",
    }


def test_one_that_ends_soon_again_and_again_waits_longer_each_time() -> None:
    backoff = Backoff()
    waits = []
    for end in range(8):
        backoff.record_end(1_000.0 * end, lived=1)
        waits.append(backoff.seconds_left(1_000.0 * end))
    assert waits == [0, 2, 4, 8, 16, 32, 60, 60]
    backoff.record_end(10_000, lived=100)
    assert backoff.seconds_left(10_000) == 0


FIRST_CALL = """
import asyncio, sys
from tests.mcp.watching import bad, serving
from pathlib import Path

async def main():
    async with serving(Path(sys.argv[1]), "bad", bad("chatty")) as session:
        assert (await session.call("mcp__bad__do")).llm_content == "done"
    print(sorted({"jsonschema", "rfc3987_syntax"} & set(sys.modules)))

asyncio.run(main())
"""


def test_a_first_call_compiles_no_grammar(tmp_path: Path) -> None:
    """``jsonschema`` alone, which the SDK needs: the grammar that it takes along in Jupyter costs seconds."""
    ran = subprocess.run(
        [sys.executable, "-c", FIRST_CALL, tmp_path], capture_output=True, text=True, check=True, timeout=120
    )
    assert ran.stdout.strip() == "['jsonschema']"
