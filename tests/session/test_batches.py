"""The calls of one message: waiting for earlier ones,
and the end of the batch after a denial or a hook's stop.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest

from nbtools import ErrorCode, Policy, Session, ToolResult
from nbtools.core.call import CancelledCall
from nbtools.core.confirmation import Answer, ToolConfirmationOutcome
from nbtools.dialects import dialect_names
from nbtools.mcp.config.entries import parse_server
from nbtools.testing import CANCEL, ONCE, RecordingObserver, ScriptedConfirmer

SERVER = {"command": sys.executable, "args": [str(Path(__file__).parents[1] / "mcp" / "content_server.py")]}


def codes(results: list[ToolResult]) -> list[str]:
    return [result.error.code if result.error else "" for result in results]


def write(name: str) -> tuple[str, dict[str, Any]]:
    return "write_file", {"file_path": name, "content": "x\n"}


READ = ("list_directory", {"dir_path": "."})


async def test_after_a_denial_the_rest_of_the_message_is_cancelled(tmp_path: Path) -> None:
    person, seen = ScriptedConfirmer(ONCE, CANCEL), RecordingObserver()
    async with Session(tmp_path, dialect="gemini", confirmer=person, observers=[seen]) as session:
        results = await session.call_many(
            [write("a"), write("b"), READ, write("c"), ("run_shell_command", {"command": "touch d"})]
        )
        assert codes(results) == ["", ErrorCode.CONFIRMATION_DENIED, *[ErrorCode.CANCELLED] * 3]
        assert results[1].llm_content == "User denied execution."
        assert all("User cancelled operation" in str(result.llm_content) for result in results[2:])
        assert [path.name for path in tmp_path.iterdir()] == ["a"]
        assert [isinstance(call, CancelledCall) for call in session.history] == [
            False,
            True,
            True,
            True,
            True,
        ]
        assert len(person.asked) == 2
        assert codes(await session.call_many([READ])) == [""]


async def test_a_denials_reason_reaches_the_model(tmp_path: Path) -> None:
    person = ScriptedConfirmer(Answer(ToolConfirmationOutcome.CANCEL, reason="use b instead"))
    async with Session(tmp_path, dialect="gemini", confirmer=person) as session:
        assert "use b instead" in str((await session.call(*write("a"))).llm_content)


@pytest.mark.parametrize("dialect", [name for name in dialect_names() if name != "gemini"])
async def test_elsewhere_every_call_is_put_to_the_person(tmp_path: Path, dialect: str) -> None:
    person = ScriptedConfirmer(CANCEL, ONCE)
    async with Session(tmp_path, dialect=dialect, confirmer=person) as session:
        results = await session.call_many([("write", {"path": name, "content": "x"}) for name in ("a", "b")])
    assert codes(results) == [ErrorCode.CONFIRMATION_DENIED, ""]


async def test_a_call_that_waits_runs_alone_after_the_earlier_ones(tmp_path: Path) -> None:
    seen = RecordingObserver()
    async with Session(tmp_path, dialect="gemini", observers=[seen]) as session:
        waiting = (READ[0], {**READ[1], "wait_for_previous": True})
        assert codes(await session.call_many([READ, READ, waiting, READ])) == [""] * 4
        order = [(call.request.id, call.state) for call in seen.calls]
        ids = list(dict.fromkeys(call_id for call_id, _ in order))
        begins = order.index((ids[2], "validating"))
        assert all(order.index((call_id, "success")) < begins for call_id in ids[:2])
        assert order.index((ids[3], "validating")) > order.index((ids[2], "success"))


async def test_every_tool_of_gemini_declares_that_it_can_wait(tmp_path: Path) -> None:
    async with Session(tmp_path, dialect="gemini", policy=Policy(mode="yolo")) as session:
        session.mcp.add([parse_server("content", SERVER, {})])
        await session.mcp.connect()
        declared = session.declarations("gemini")
        assert "mcp_content_everything" in [one["name"] for one in declared]
        for one in declared:
            schema = one["parametersJsonSchema"]
            assert schema["properties"]["wait_for_previous"]["type"] == "boolean", one["name"]
            assert "wait_for_previous" not in schema.get("required", ())
        result = await session.call("mcp_content_look", {"id": 3, "wait_for_previous": True})
        assert result.ok
        assert "wait_for_previous" not in str(result.llm_content)
        assert session.tools["mcp_content_look"].build({"id": 3, "wait_for_previous": False}).params == {
            "id": 3
        }


@pytest.mark.parametrize("name", ["mcp_content_everything", "mcp__content__everything", "mcp_content_broken"])
async def test_results_of_a_server_are_marked_as_untrusted(tmp_path: Path, name: str) -> None:
    async with Session(tmp_path, dialect="gemini", policy=Policy(mode="yolo")) as session:
        session.mcp.add([parse_server("content", SERVER, {})])
        await session.mcp.connect()
        result = await session.call(name, {})
        texts = (
            [result.llm_content]
            if isinstance(result.llm_content, str)
            else [p["text"] for p in result.llm_content if "text" in p]
        )
        assert texts
        assert all(
            text.startswith("<untrusted_context>\n") and text.endswith("\n</untrusted_context>")
            for text in texts
        )
        assert "untrusted_context" not in str(result.return_display)
        session.dialect = "nbtools"
        assert "untrusted_context" not in str(
            (await session.call("mcp__content__everything", {})).llm_content
        )
