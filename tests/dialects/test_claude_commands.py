"""Claude Code's Bash, TaskOutput, TaskStop, BashOutput and KillShell."""

from __future__ import annotations

import asyncio
import json
import re
from pathlib import Path

import pytest

from nbtools import Session
from nbtools.core.errors import ErrorCode
from nbtools.core.result import ToolResult
from tests.dialects.claude_calls import Case, check, speaking_claude

BASH = {
    "output of both streams": Case(
        "Bash",
        {"command": "echo out; echo err >&2", "description": "Print"},
        "out\nerr",
        means=(
            "shell",
            {
                "command": "echo out; echo err >&2",
                "timeout": 120,
                "silence": 600,
                "keep": True,
                "carry": True,
            },
        ),
        data={"stdout": "out\nerr", "stderr": "", "interrupted": False, "isImage": False},
    ),
    "no output": Case("Bash", {"command": "true"}, "(Bash completed with no output)"),
    "a failure": Case(
        "Bash",
        {"command": "echo gone wrong; exit 3"},
        "Exit code 3\ngone wrong",
        code=ErrorCode.EXECUTION_FAILED,
        data={"stdout": "gone wrong"},
    ),
    "a failure without output": Case(
        "Bash", {"command": "false"}, "Exit code 1", code=ErrorCode.EXECUTION_FAILED
    ),
    "a signal": Case("Bash", {"command": "kill -KILL $$"}, "Exit code 137", code=ErrorCode.EXECUTION_FAILED),
    "grep finds nothing": Case(
        "Bash",
        {"command": "grep nowhere a.py"},
        "(Bash completed with no output)",
        data={"returnCodeInterpretation": "No matches found"},
    ),
    "diff finds something": Case(
        "Bash",
        {"command": "diff a.py src/b.py"},
        says=("< import os", "> TODO = 1"),
        data={"returnCodeInterpretation": "Files differ"},
    ),
    "a test is not so": Case(
        "Bash", {"command": "test -e nope"}, data={"returnCodeInterpretation": "Condition is false"}
    ),
    "a pipe hides nothing": Case(
        "Bash", {"command": "false | grep nowhere"}, "Exit code 1", code=ErrorCode.EXECUTION_FAILED
    ),
    "grep that cannot read": Case(
        "Bash",
        {"command": "grep x nope.py"},
        says=("Exit code 2\n", "No such file"),
        code=ErrorCode.EXECUTION_FAILED,
    ),
    "milliseconds": Case(
        "Bash",
        {"command": "true", "timeout": "5000"},
        means=("shell", {"command": "true", "timeout": 5, "silence": 600, "keep": True, "carry": True}),
    ),
    "at most ten minutes": Case(
        "Bash",
        {"command": "true", "timeout": 3_600_000},
        means=("shell", {"command": "true", "timeout": 600, "silence": 600, "keep": True, "carry": True}),
    ),
    "git is never kept": Case(
        "Bash",
        {"command": "true && git --version"},
        says=("git version",),
        means=(
            "shell",
            {
                "command": "true && git --version",
                "timeout": 120,
                "silence": 600,
                "keep": False,
                "carry": True,
            },
        ),
    ),
    "sleep is ended when its time is over": Case(
        "Bash",
        {"command": "echo a; sleep 60", "timeout": 300},
        says=("Exit code 143\nCommand timed out: ", "with timeout=600000 ", "\na"),
        means=(
            "shell",
            {"command": "echo a; sleep 60", "timeout": 0.3, "silence": 600, "keep": False, "carry": True},
        ),
        data={"interrupted": True, "stdout": "a"},
        code=ErrorCode.TIMEOUT,
    ),
    "the sandbox switch changes nothing": Case(
        "Bash", {"command": "echo a", "dangerouslyDisableSandbox": True}, "a"
    ),
    "in the background": Case(
        "Bash",
        {"command": "echo a", "run_in_background": True},
        says=("Command running in background with ID: 1. Output is being written to: ",),
        means=("shell", {"command": "echo a", "background": True}),
        data={"backgroundTaskId": "1"},
    ),
    "what is left behind is ended and told": Case(
        "Bash",
        {"command": "tail -f /dev/null & echo a"},
        "a\n\n(1 background process was ended (tail))",
        data={"stdout": "a", "stderr": "(1 background process was ended (tail))"},
    ),
    "no command": Case(
        "Bash", {"command": " "}, says=("<tool_use_error>", "empty"), code=ErrorCode.INVALID_TOOL_PARAMS
    ),
    "nothing given": Case(
        "Bash",
        {"timeout": "soon"},
        "<tool_use_error>InputValidationError: Bash failed due to the following issues:\n"
        "The required parameter `command` is missing\n"
        "The parameter `timeout` type is expected as `number` but provided as `string`</tool_use_error>",
        code=ErrorCode.INVALID_TOOL_PARAMS,
    ),
    "output of nobody": Case(
        "TaskOutput",
        {"task_id": "7"},
        says=("<tool_use_error>", "7"),
        means=("shell_output", {"id": "7", "wait": 30, "whole": True}),
        code=ErrorCode.INVALID_TOOL_PARAMS,
    ),
    "without waiting": Case(
        "TaskOutput",
        {"task_id": "7", "block": False},
        says=("<tool_use_error>",),
        means=("shell_output", {"id": "7", "whole": True}),
        code=ErrorCode.INVALID_TOOL_PARAMS,
    ),
    "the former output": Case(
        "BashOutput",
        {"bash_id": "7", "filter": "x"},
        says=("<tool_use_error>",),
        means=("shell_output", {"id": "7", "filter": "x"}),
        code=ErrorCode.INVALID_TOOL_PARAMS,
    ),
    "stop nobody": Case(
        "TaskStop",
        {"task_id": "7"},
        says=("<tool_use_error>",),
        means=("shell_kill", {"id": "7"}),
        code=ErrorCode.INVALID_TOOL_PARAMS,
    ),
    "stop by the former parameter": Case(
        "TaskStop",
        {"shell_id": "7"},
        says=("<tool_use_error>",),
        means=("shell_kill", {"id": "7"}),
        code=ErrorCode.INVALID_TOOL_PARAMS,
    ),
    "stop what": Case(
        "TaskStop",
        {},
        "<tool_use_error>Missing required parameter: task_id</tool_use_error>",
        code=ErrorCode.INVALID_TOOL_PARAMS,
    ),
    "the former name": Case(
        "KillBash",
        {"shell_id": "7"},
        says=("<tool_use_error>",),
        means=("shell_kill", {"id": "7"}),
        code=ErrorCode.INVALID_TOOL_PARAMS,
    ),
}


@pytest.mark.parametrize("case", BASH.values(), ids=BASH)
async def test_bash(tmp_path: Path, case: Case) -> None:
    await check(tmp_path, case)


async def _until(session: Session, name: str, arguments: dict[str, object], wanted: str) -> ToolResult:
    """Looks until ``wanted`` is in the reply; each look waits for something new."""
    while wanted not in (result := await session.call(name, arguments)).llm_content:
        assert result.ok
    return result


async def test_in_the_background(tmp_path: Path) -> None:
    async with speaking_claude(tmp_path) as session:
        command = "echo one; read line < go; echo two; exit 3"
        assert (await session.call("Bash", {"command": "mkfifo go"})).ok
        started = await session.call("Bash", {"command": command, "run_in_background": True})
        path = re.search(r"Output is being written to: (\S+)\.", started.llm_content)
        assert path is not None
        first = await _until(session, "TaskOutput", {"task_id": "1", "block": False}, "one")
        assert first.llm_content == (
            "<retrieval_status>not_ready</retrieval_status>\n\n<task_id>1</task_id>\n\n<task_type>local_bash</task_type>\n\n"
            "<status>running</status>\n\n<output>\none\n</output>"
        )
        late = await session.call("TaskOutput", {"task_id": "1", "timeout": 50})
        assert (late.data.retrieval_status, late.data.task.output) == ("timeout", "one")
        assert (await session.call("BashOutput", {"bash_id": "1"})).llm_content == "<status>running</status>"
        looking = asyncio.create_task(session.call("TaskOutput", {"task_id": "1"}))
        assert (await session.call("Bash", {"command": "echo > go"})).ok
        ended = await looking
        assert (
            "<status>failed</status>\n\n<exit_code>3</exit_code>\n\n<output>\none\ntwo\n</output>"
            in ended.llm_content
        )
        assert (ended.data.retrieval_status, ended.data.as_json()["task"]["exit_code"]) == ("success", 3)
        assert Path(path[1]).read_text() == "one\ntwo\n"


@pytest.mark.parametrize("pause", [0, 0.3])
async def test_the_whole_output_at_the_end(tmp_path: Path, pause: float) -> None:
    """However the output arrives, and whatever was returned before."""
    command = f"for i in 1 2 3 4 5; do echo line $i; sleep {pause}; done"
    async with speaking_claude(tmp_path) as session:
        await session.call("Bash", {"command": command, "run_in_background": True})
        await session.call("BashOutput", {"bash_id": "1"})
        for _ in range(2):
            ended = await session.call("TaskOutput", {"task_id": "1"})
            assert ended.data.task.output.split("\n") == [f"line {number}" for number in range(1, 6)]
            assert (ended.data.retrieval_status, ended.data.task.status) == ("success", "completed")
        again = await session.call("BashOutput", {"bash_id": "1"})
        assert again.llm_content == "<status>completed</status>\n\n<exit_code>0</exit_code>"


async def test_a_filter(tmp_path: Path) -> None:
    async with speaking_claude(tmp_path) as session:
        await session.call(
            "Bash",
            {"command": "printf 'a1\\nb2\\na3\\n' > made; cat made; echo > done", "run_in_background": True},
        )
        await session.call("Bash", {"command": "until [ -e done ]; do :; done"})
        looked = await session.call("BashOutput", {"bash_id": "1", "filter": "^a"})
    assert "<stdout>\na1\na3\n</stdout>" in looked.llm_content
    assert looked.data.as_json()["filterPattern"] == "^a"


async def test_ending_commands(tmp_path: Path) -> None:
    async with speaking_claude(tmp_path) as session:
        for _ in range(2):
            await session.call("Bash", {"command": "tail -f /dev/null", "run_in_background": True})
        stopped = await session.call("TaskStop", {"task_id": "1"})
        killed = await session.call("KillShell", {"shell_id": "2"})
        looked = await session.call("BashOutput", {"bash_id": "2"})
    message = {"message": "Successfully stopped task: 1 (tail -f /dev/null)", "task_id": "1"}
    assert json.loads(stopped.llm_content) == {
        **message,
        "task_type": "local_bash",
        "command": "tail -f /dev/null",
    }
    assert json.loads(killed.llm_content) == {
        "message": "Successfully killed shell: 2 (tail -f /dev/null)",
        "shell_id": "2",
    }
    assert looked.llm_content == "<status>killed</status>"


@pytest.mark.parametrize(
    ("name", "argument"), [("TaskStop", "task_id"), ("KillShell", "shell_id"), ("KillBash", "shell_id")]
)
@pytest.mark.parametrize(
    ("command", "status"), [("true", "completed"), ("exit 3", "failed"), ("tail -f /dev/null", "killed")]
)
async def test_an_ended_command_is_not_ended_again(
    tmp_path: Path, name: str, argument: str, command: str, status: str
) -> None:
    async with speaking_claude(tmp_path) as session:
        await session.call("Bash", {"command": command, "run_in_background": True})
        if status == "killed":
            assert (await session.call(name, {argument: "1"})).ok
        assert (await session.call("TaskOutput", {"task_id": "1"})).data.task.status == status
        again = await session.call(name, {argument: "1"})
    assert again.error.code is ErrorCode.INVALID_TOOL_PARAMS
    assert "1 is not running" in again.llm_content
    assert status in again.llm_content


async def test_a_command_goes_on_when_its_time_is_over(tmp_path: Path) -> None:
    async with speaking_claude(tmp_path) as session:
        result = await session.call("Bash", {"command": "echo a; tail -f /dev/null", "timeout": 300})
        assert result.ok
        assert result.llm_content.startswith(
            "a\nCommand did not complete within its 0.3s timeout and was moved to the background (ID: 1)."
        )
        assert result.data.as_json()["timedOutAfterMs"] == 300
        assert (
            "<status>running</status>"
            in (await session.call("TaskOutput", {"task_id": "1", "block": False})).llm_content
        )


async def test_long_output_is_stored_in_a_file(tmp_path: Path) -> None:
    async with speaking_claude(tmp_path) as session:
        result = await session.call("Bash", {"command": "seq 100000"})
    path = result.data.persisted_output_path
    assert path in result.llm_content
    assert len(Path(path).read_text().splitlines()) == 100_000
    assert len(result.llm_content) < 50_000
