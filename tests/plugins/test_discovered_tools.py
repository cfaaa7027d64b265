"""Tools that a real command lists and another runs."""

from __future__ import annotations

import asyncio
import json
import shlex
import sys
from pathlib import Path
from typing import Any

import psutil
import pytest

from nbtools import ErrorCode, Policy, Session, ToolFailure, discover
from nbtools.plugins.discovered_tools import DiscoveredTool, DiscoveryResult
from nbtools.testing import CANCEL, ScriptedConfirmer
from nbtools.workspace.workspace import Workspace

ECHO = {
    "name": "echo",
    "description": "Says it.",
    "parameters": {"type": "object", "properties": {"text": {"type": "string"}}},
}

CALL = """
import json, os, signal, sys, time
name, arguments = sys.argv[1], json.load(sys.stdin)
match name:
    case "echo": print(arguments["text"])
    case "warn": print("done"); print("careful", file=sys.stderr)
    case "fail": print("half"); print("trouble", file=sys.stderr); sys.exit(3)
    case "die": os.kill(os.getpid(), signal.SIGKILL)
    case "sleep": print("started", os.getpid(), flush=True); time.sleep(60)
    case "flood": sys.stdout.write("x" * 3_000_000)
"""


def listing(root: Path, printed: Any) -> str:
    path = root / "list.json"
    path.write_text(printed if isinstance(printed, str) else json.dumps(printed))
    return f"cat {shlex.quote(str(path))}"


def caller(root: Path) -> list[str]:
    path = root / "call.py"
    path.write_text(CALL)
    return [sys.executable, str(path)]


async def found(root: Path, printed: Any, **options: Any) -> DiscoveryResult:
    return await discover(listing(root, printed), caller(root), Workspace(root), **options)


def tool(root: Path, name: str, **options: Any) -> DiscoveredTool:
    return DiscoveredTool(
        Workspace(root), f"discovered_tool_{name}", name, "", {"type": "object"}, caller(root), **options
    )


@pytest.mark.parametrize(
    "printed",
    [
        [ECHO],
        [{"function_declarations": [ECHO]}],
        [{"functionDeclarations": [ECHO]}],
        [{"name": "echo", "description": "Says it.", "parametersJsonSchema": ECHO["parameters"]}],
        [{"name": "echo", "description": "Says it.", "inputSchema": ECHO["parameters"]}],
        [{**ECHO, "parameters": {"type": "OBJECT", "properties": {"text": {"type": "STRING"}}}}],
    ],
)
async def test_every_shape_of_declaration_is_read(tmp_path: Path, printed: Any) -> None:
    discovered = await found(tmp_path, printed)
    assert discovered.problems == ()
    assert discovered.tools[0].schema == {**ECHO, "name": "discovered_tool_echo"}
    assert discovered.tools[0].kind == "other"


@pytest.mark.parametrize(
    ("declared", "problem"),
    [
        ({"description": "x"}, "has no name"),
        ({"name": "has space"}, "is not a valid name"),
        ({"name": "x" * 60}, "is not a valid name"),
        ({"name": "echo"}, "a tool named discovered_tool_echo exists already"),
        ({"name": "taken"}, "a tool named discovered_tool_taken exists already"),
        ({"name": "a", "parameters": {"type": "nonsense"}}, "not a valid JSON Schema"),
        ({"name": "a", "parameters": [1]}, "not a JSON Schema"),
        ({"name": "a", "parameters": {"type": "string"}}, "must be an object"),
        (
            {"name": "a", "parameters": {"properties": {"x": {"$ref": "#/$defs/Missing"}}}},
            "refers to #/$defs/Missing",
        ),
        (
            {"name": "a", "parameters": {"properties": {"x": {"$ref": "http://example.org/x.json"}}}},
            "refers to http://example.org/x.json",
        ),
        ("text", "is not a function declaration"),
    ],
)
async def test_unusable_tools_are_reported_and_left_out(tmp_path: Path, declared: Any, problem: str) -> None:
    discovered = await found(tmp_path, [ECHO, declared], taken={"discovered_tool_taken"})
    assert [one.name for one in discovered.tools] == ["discovered_tool_echo"]
    assert problem in discovered.problems[0]


async def test_a_schema_with_a_cycle_is_found_and_still_checks_parameters(tmp_path: Path) -> None:
    node = {"type": "object", "properties": {"next": {"$ref": "#/$defs/Node"}}, "additionalProperties": False}
    declared = {
        "name": "echo",
        "parameters": {
            "type": "object",
            "properties": {"node": {"$ref": "#/$defs/Node"}},
            "$defs": {"Node": node},
        },
    }
    discovered = await found(tmp_path, [declared])
    assert "refers to itself" in discovered.problems[0]
    discovered.tools[0].build({"node": {"next": {"next": {}}}})
    with pytest.raises(ToolFailure, match="unexpected"):
        discovered.tools[0].build({"node": {"next": {"nonsense": 1}}})


@pytest.mark.parametrize(
    ("command", "code", "reported"),
    [
        ("false", "discovered_tool_execution_error", "Exit Code: 1"),
        ("no-such-command-here", "discovered_tool_execution_error", "Error: the program was not found"),
        ("echo '{}'", "discovered_tool_execution_error", "must print a JSON array"),
        ("echo no", "discovered_tool_execution_error", "did not print JSON"),
        ("sleep 60", "timeout", "it took longer than 0.3 seconds"),
        ("yes", "discovered_tool_execution_error", "stopped because it printed too much on stdout"),
    ],
)
async def test_a_listing_that_fails_says_why(tmp_path: Path, command: str, code: str, reported: str) -> None:
    with pytest.raises(ToolFailure) as failure:
        await discover(
            command, "true", Workspace(tmp_path), seconds=0.3 if command == "sleep 60" else 20, most=100_000
        )
    assert failure.value.code == code
    assert reported in failure.value.message


async def test_a_call_gets_the_name_and_its_arguments(tmp_path: Path) -> None:
    async with Session(tmp_path, policy=Policy(mode="yolo")) as session:
        discovered = await session.discover(listing(tmp_path, [ECHO]), caller(tmp_path))
        assert len(discovered.tools) == 1
        result = await session.call("discovered_tool_echo", {"text": "grün"})
        assert result.llm_content == "grün\n"
        assert (
            await session.call("discovered_tool_echo", {"text": 3})
        ).error.code is ErrorCode.INVALID_TOOL_PARAMS


async def test_an_approval_request_shows_the_command_and_its_arguments(tmp_path: Path) -> None:
    person = ScriptedConfirmer(CANCEL)
    async with Session(tmp_path, confirmer=person) as session:
        await session.discover(listing(tmp_path, [ECHO]), caller(tmp_path))
        assert not (await session.call("discovered_tool_echo", {"text": "x"})).ok
    assert "call.py echo" in person.asked[0].details.prompt
    assert '"text": "x"' in person.asked[0].details.prompt


async def test_a_second_discovery_replaces_the_tools_of_the_first(tmp_path: Path) -> None:
    async with Session(tmp_path) as session:
        await session.discover(listing(tmp_path, [ECHO, {"name": "warn"}]), caller(tmp_path))
        again = await session.discover(listing(tmp_path, [ECHO, {"name": "fail"}]), caller(tmp_path))
        assert again.problems == ()
        assert {name for name in session.tools.names() if name.startswith("disc")} == {
            "discovered_tool_echo",
            "discovered_tool_fail",
        }
        with pytest.raises(ToolFailure):
            await session.discover("false", caller(tmp_path))
        assert "discovered_tool_fail" in session.tools


async def test_errors_beside_a_success_are_shown_and_are_no_failure(tmp_path: Path) -> None:
    result = await tool(tmp_path, "warn").build({}).execute()
    assert result.ok
    assert result.llm_content == "done\n\nStderr: careful\n"


@pytest.mark.parametrize(
    ("name", "code", "text"),
    [
        (
            "fail",
            "discovered_tool_execution_error",
            "Stdout: half\n\nStderr: trouble\n\nError: (none)\nExit Code: 3\nSignal: (none)",
        ),
        (
            "die",
            "discovered_tool_execution_error",
            "Stdout: (empty)\nStderr: (empty)\nError: (none)\nExit Code: (none)\nSignal: SIGKILL",
        ),
        ("flood", "discovered_tool_execution_error", "Error: stopped because it printed too much on stdout"),
        ("sleep", "timeout", "Error: stopped because it took longer than 0.5 seconds"),
    ],
)
async def test_a_call_that_fails_says_all_there_is_to_know(
    tmp_path: Path, name: str, code: str, text: str
) -> None:
    result = (
        await tool(tmp_path, name, seconds=0.5 if name == "sleep" else 20, most=1_000_000).build({}).execute()
    )
    assert result.error.code == code
    assert text in result.llm_content
    assert text in result.error.message


async def test_a_cancelled_call_leaves_nothing_running(tmp_path: Path) -> None:
    seen: asyncio.Future[str] = asyncio.get_running_loop().create_future()
    task = asyncio.create_task(
        tool(tmp_path, "sleep")
        .build({})
        .execute(lambda text: None if seen.done() or "\n" not in text else seen.set_result(text))
    )
    pid = int((await asyncio.wait_for(seen, 60)).split()[1])
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert not psutil.pid_exists(pid) or psutil.Process(pid).status() == psutil.STATUS_ZOMBIE
