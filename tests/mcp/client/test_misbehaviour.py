"""Servers that misbehave: each call ends with a clear error, the loop never stands still,
no process is left.
"""

from __future__ import annotations

import asyncio
import json
from pathlib import Path

import psutil
import pytest

from nbtools.core.tool_names import MAX_LENGTH
from tests.mcp.watching import Displays, bad, runs, serving, under_way, until


@pytest.mark.parametrize(
    ("way", "seconds", "message"),
    [
        ("crash", 60, "bad: it ended with exit code 3: out of memory."),
        ("killed", 60, "bad: it was ended by signal 9."),
        (
            "endless",
            60,
            "bad: it sent more than 20,000 messages faster than they could be read, and was stopped.",
        ),
        ("endless_line", 60, "bad: it sent a message of more than 32 MB, and was stopped."),
        ("huge", 60, "bad: it sent a message of more than 32 MB, and was stopped."),
        ("heavy", 60, "bad: it sent a message with too many values."),
        ("broken", 60, 'bad: it sent a malformed message: {"jsonrpc": "2.0", "id": '),
        ("misshapen", 60, 'bad: it sent a malformed message: {"jsonrpc": "2.0", "id": '),
        (
            "nothing",
            60,
            "bad: its answer does not conform to MCP: content.0.TextContent.text: field required.",
        ),
        ("mute", 60, "bad: it closed its output."),
        ("unknown", 2, "bad did not answer in 2 seconds. Give the server a longer timeout if it needs more."),
        ("deaf", 2, "bad did not answer in 2 seconds. Give"),
        ("wrong_ids", 2, "bad did not answer in 2 seconds (it answered request 100"),
    ],
)
async def test_a_call_ends_with_a_clear_error(tmp_path: Path, way: str, seconds: float, message: str) -> None:
    async with serving(tmp_path, "bad", bad(way), seconds) as session:
        result = await session.call("mcp__bad__do")
        assert result.error is not None
        assert message in result.error.message
        assert len(result.error.message) < 500


@pytest.mark.parametrize(
    ("way", "message"),
    [
        ("silent", "it did not answer in 1 seconds"),
        ("gone", "it ended with exit code 1: no licence"),
        ("no_such", "KeyError"),
    ],
)
async def test_one_that_cannot_be_connected_to_says_why(tmp_path: Path, way: str, message: str) -> None:
    async with serving(tmp_path, "bad", bad(way, timeout=1_000 if way == "silent" else 60_000)) as session:
        assert session.mcp.get("bad").state == "failed"
        assert message in session.mcp.get("bad").problem


@pytest.mark.parametrize("way", ["chatty", "loud", "twice", "stubborn", "strict"])
async def test_harmless_violations_are_ignored(tmp_path: Path, way: str) -> None:
    async with serving(tmp_path, "bad", bad(way)) as session:
        assert [name for name in session.tools.names() if name.startswith("mcp__")] == ["mcp__bad__do"]
        assert (
            session.mcp.get("bad").tools[0].description == "Does it."
        )  # the first of several with the same name
        assert (await session.call("mcp__bad__do")).llm_content == "done"


async def test_blocks_of_unknown_kinds_become_text_and_the_others_stay(tmp_path: Path) -> None:
    async with serving(tmp_path, "bad", bad("novel")) as session:
        result = await session.call("mcp__bad__do")
        assert isinstance(result.llm_content, tuple)
        texts = [part.get("text", "image") for part in result.llm_content]
        assert (result.ok, texts[0], texts[2], texts[4]) == (True, "before", "image", "after")
        assert json.loads(texts[1]) == {"type": "hologram", "data": {"é": [1]}}
        assert json.loads(texts[3])["type"] == "tool_use"


async def test_processes_of_a_server_end_with_it(tmp_path: Path) -> None:
    async with serving(tmp_path, "bad", bad("parent")) as session:
        left = psutil.Process(int(str((await session.call("mcp__bad__do")).llm_content)))
        assert runs(left)
    await until(lambda: not runs(left))  # it was killed, and ends when it next has its turn


async def test_a_cancelled_call_ends_at_once_and_the_server_is_notified(tmp_path: Path) -> None:
    async with serving(tmp_path, "bad", bad("unknown")) as session:
        shown = Displays()
        session.observe(shown)
        call = asyncio.create_task(session.call("mcp__bad__do"))
        await until(lambda: shown.seen)
        call.cancel()
        done, _ = await asyncio.wait([call], timeout=30)
        assert done
        heard = str((await session.call("mcp__bad__heard")).llm_content)
        assert heard.startswith("notifications/initialized")
        assert "notifications/cancelled" in heard


async def test_a_cancelled_call_does_not_wait_for_one_that_does_not_listen(tmp_path: Path) -> None:
    async with serving(tmp_path, "bad", bad("deaf"), call_seconds=90) as session:
        long = {"text": "x" * 200_000}
        calls = await under_way(session, ("mcp__bad__do", long))
        calls += [asyncio.create_task(session.call("mcp__bad__do", long)) for _ in range(3)]
        for call in calls:
            call.cancel()
        done, _ = await asyncio.wait(calls, timeout=30)
        assert len(done) == 4


async def test_progress_gives_a_call_more_time(tmp_path: Path) -> None:
    async with serving(tmp_path, "bad", bad("steady"), call_seconds=3) as session:
        shown = Displays()
        session.observe(shown)
        assert (await session.call("mcp__bad__do")).llm_content == "done"
        assert shown.seen[-1].endswith("12 of 12")


async def test_schemas_with_cycles(tmp_path: Path) -> None:
    async with serving(tmp_path, "bad", bad("cyclic")) as session:
        nested = {"node": {"name": "a", "next": {"name": "b", "next": {}}}}
        assert (await session.call("mcp__bad__do", nested)).ok
        wrong = await session.call("mcp__bad__do", {"node": {"next": {"name": 7}}})
        assert wrong.error is not None
        assert wrong.error.code == "invalid_tool_params"
        endless = await session.call("mcp__bad__loop", {"a": 1})
        assert endless.error is not None
        assert "schema" in endless.error.message


async def test_five_thousand_tools(tmp_path: Path) -> None:
    async with serving(tmp_path, "bad", bad("many")) as session:
        assert len([name for name in session.tools.names() if name.startswith("mcp__bad__")]) == 5_000
        assert (await session.call("mcp__bad__do4999")).ok


async def test_names_of_three_hundred_characters(tmp_path: Path) -> None:
    async with serving(tmp_path, "bad", bad("long")) as session:
        names = [name for name in session.tools.names() if name.startswith("mcp__bad__")]
        assert [len(name) for name in names] == [MAX_LENGTH, MAX_LENGTH]
        assert [(await session.call(name)).llm_content for name in names] == ["a", "b"]


async def test_tools_that_change_in_the_middle_of_a_call(tmp_path: Path) -> None:
    async with serving(tmp_path, "bad", bad("changing")) as session:
        stays = session.tools["mcp__bad__stay"]
        changes: list[int] = []
        session.mcp.watch(lambda one: changes.append(len(one.tools)))
        assert (await session.call("mcp__bad__do")).llm_content == "done"
        await until(lambda: "mcp__bad__new19" in session.tools.names())
        assert "mcp__bad__do" not in session.tools.names()
        assert session.tools["mcp__bad__stay"] is stays
        assert 1 <= len(changes) <= 20
        gone = await session.call("mcp__bad__do")
        assert gone.error is not None
        assert gone.error.code == "tool_not_registered"


async def test_a_call_of_a_tool_that_has_gone_ends_with_its_time(tmp_path: Path) -> None:
    async with serving(tmp_path, "bad", bad("changing"), call_seconds=3) as session:
        result = await session.call("mcp__bad__do", {"hang": True})
        assert result.error is not None
        assert "bad did not answer in 3 seconds (it no longer has do)" in result.error.message
