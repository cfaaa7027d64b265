"""Commands run for real in a workspace."""

from __future__ import annotations

import asyncio
import os
import time
from pathlib import Path

import pytest

from nbtools.core.confirmation import ToolExecuteConfirmationDetails
from nbtools.core.errors import ErrorCode, ToolFailure
from nbtools.core.result import CommandOutput, ToolResult, ToolResultDisplay
from nbtools.core.result_data import ShellData
from nbtools.core.tool import CommandTarget
from nbtools.tools.commands.shell import ShellTool
from nbtools.workspace.processes.environment import environment
from nbtools.workspace.workspace import Workspace


@pytest.fixture
def tool(tmp_path: Path) -> ShellTool:
    (tmp_path / "sub").mkdir()
    return ShellTool(Workspace(tmp_path))


async def shell(tool: ShellTool, command: str, **params: object) -> ToolResult:
    return await tool.build_and_execute({"command": command, **params})


def output_of(result: ToolResult) -> CommandOutput:
    assert isinstance(result.return_display, CommandOutput)
    return result.return_display


async def test_output_for_model_person_and_program(tool: ShellTool) -> None:
    result = await shell(tool, "printf '\\033[31mred\\033[0m\\n'; echo err >&2")
    assert result.ok
    assert result.llm_content == "red\nerr"
    assert output_of(result).text == "\x1b[31mred\x1b[0m\nerr\n"
    assert (output_of(result).lines, output_of(result).exit_code, output_of(result).note) == (2, 0, "")
    assert result.summary == "exit 0 · 2 lines"
    assert isinstance(result.data, ShellData)
    assert (result.data.exit_code, result.data.signal, result.data.lines, result.data.bytes) == (0, "", 2, 17)


async def test_an_exit_code_is_a_result(tool: ShellTool) -> None:
    result = await shell(tool, "echo no; exit 7")
    assert result.ok
    assert result.llm_content == "no\nexit code 7"
    assert result.summary == "exit 7 · 1 line"


async def test_a_signal_is_a_result(tool: ShellTool) -> None:
    result = await shell(tool, "kill -SEGV $$")
    assert result.ok
    assert result.llm_content == "(no output)\nended by SIGSEGV"


async def test_it_runs_in_the_folder(tool: ShellTool) -> None:
    assert (await shell(tool, "pwd", path="sub")).llm_content == str(tool.workspace.root / "sub")


@pytest.mark.parametrize(
    ("params", "code", "words"),
    [
        ({"command": " \n"}, ErrorCode.INVALID_TOOL_PARAMS, "command is empty"),
        ({"command": "a\0b"}, ErrorCode.INVALID_TOOL_PARAMS, "NUL"),
        ({"command": "a", "timeout": 601}, ErrorCode.INVALID_TOOL_PARAMS, "at most 600"),
        ({"command": "a", "timeout": 0}, ErrorCode.INVALID_TOOL_PARAMS, "greater than 0"),
        ({"command": "a", "path": "/"}, ErrorCode.PATH_NOT_IN_WORKSPACE, "outside"),
    ],
)
def test_invalid_parameters_fail_before_the_call_runs(
    tool: ShellTool, params: dict[str, object], code: ErrorCode, words: str
) -> None:
    with pytest.raises(ToolFailure, match=words) as caught:
        tool.build(params)
    assert caught.value.code == code


@pytest.mark.parametrize(
    ("params", "code"),
    [
        ({"command": "true", "path": "nowhere"}, ErrorCode.FILE_NOT_FOUND),
        ({"command": "true", "path": "file"}, ErrorCode.PATH_IS_NOT_A_DIRECTORY),
        ({"command": "echo " + "x" * 200_000}, ErrorCode.SHELL_EXECUTE_ERROR),
    ],
)
async def test_a_command_that_does_not_start_is_a_clear_failure(
    tool: ShellTool, params: dict[str, object], code: ErrorCode
) -> None:
    (tool.workspace.root / "file").touch()
    with pytest.raises(ToolFailure) as caught:
        await tool.build(params).execute()
    assert caught.value.code == code


async def test_without_a_shell_it_says_so(tool: ShellTool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "/nowhere")
    with pytest.raises(ToolFailure, match="bash was not found on PATH") as caught:
        await shell(tool, "true")
    assert caught.value.code == ErrorCode.SHELL_EXECUTE_ERROR


async def test_the_time_limit_keeps_the_output_so_far(tool: ShellTool) -> None:
    result = await shell(tool, "echo begun; sleep 60", timeout=3)
    assert result.error is not None
    assert result.error.code == ErrorCode.TIMEOUT
    assert "3 seconds" in result.error.message
    assert str(result.llm_content).startswith("begun\n(was stopped after 3 seconds")
    assert output_of(result).text == "begun\n"
    assert result.summary == "stopped · 1 line"


async def test_silence_is_a_limit_too(tmp_path: Path) -> None:
    result = await shell(ShellTool(Workspace(tmp_path), silence=0.2), "sleep 60")
    assert result.error is not None
    assert (result.error.code, "without output" in result.error.message) == (ErrorCode.TIMEOUT, True)


async def test_processes_left_in_the_background_are_ended_and_reported(tool: ShellTool) -> None:
    result = await shell(tool, "sleep 81.5 & sleep 81.5 & echo done")
    assert "2 background processes were ended (sleep)" in str(result.llm_content)
    assert "ended" in output_of(result).note


async def test_much_output_is_cut_and_kept_in_a_file(tool: ShellTool) -> None:
    result = await shell(tool, "seq 100000")
    assert result.data.lines == 100_000
    assert len(str(result.llm_content)) < 40_500
    assert str(result.llm_content).startswith("1\n2\n")
    assert str(result.llm_content).endswith("\n100000")
    assert result.data.full_output in str(result.llm_content)
    assert len(Path(result.data.full_output).read_bytes().split()) == 100_000
    assert output_of(result).full_output == result.data.full_output
    assert output_of(result).text.splitlines() == [str(number) for number in range(99_801, 100_001)]
    Path(result.data.full_output).unlink()


async def test_updates_are_few_and_the_last_one_comes(tool: ShellTool) -> None:
    updates: list[tuple[float, ToolResultDisplay]] = []
    command = "for i in $(seq 300); do echo $i; sleep 0.002; done; sleep 0.4"
    await tool.build({"command": command}).execute(
        lambda display: updates.append((time.monotonic(), display))
    )
    spent = updates[-1][0] - updates[0][0]
    assert 3 <= len(updates) <= 10 * spent + 2
    last = updates[-1][1]
    assert isinstance(last, CommandOutput)
    assert last.text.endswith("300\n")
    assert last.exit_code is None


async def test_cancelling_leaves_nothing(tool: ShellTool) -> None:
    began = asyncio.Event()
    task = asyncio.create_task(
        tool.build({"command": "echo $$; sleep 60"}).execute(lambda display: began.set())
    )
    await asyncio.wait_for(began.wait(), 60)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task


async def test_confirmation_names_every_program(tool: ShellTool) -> None:
    invocation = tool.build({"command": "cd x && rm -r $(ls) | tee log", "path": "sub"})
    assert invocation.target() == CommandTarget("cd x && rm -r $(ls) | tee log", "sub")
    details = await invocation.should_confirm_execute()
    assert isinstance(details, ToolExecuteConfirmationDetails)
    assert details.root_commands == ("cd", "rm", "ls", "tee")
    assert (details.command, details.directory) == ("cd x && rm -r $(ls) | tee log", "sub")


def test_a_kernels_own_variables_stay_with_it() -> None:
    outer = {
        "A": "1",
        "COLUMNS": "80",
        "LINES": "24",
        "FORCE_COLOR": "1",
        "MPLBACKEND": "module://matplotlib_inline.backend_inline",
        "TERM": "dumb",
        "LANG": "de_DE.UTF-8",
    }
    made = environment(outer)
    git = {name: made.pop(name) for name in tuple(made) if name.startswith("GIT_CONFIG")}
    assert made == {
        "A": "1",
        "LANG": "de_DE.UTF-8",
        "PAGER": "cat",
        "GIT_PAGER": "cat",
        "TERM": "xterm-256color",
    }
    assert git == {
        "GIT_CONFIG_COUNT": "1",
        "GIT_CONFIG_KEY_0": "safe.bareRepository",
        "GIT_CONFIG_VALUE_0": "explicit",
    }
    assert environment({"MPLBACKEND": "agg"})["MPLBACKEND"] == "agg"
    assert "PATH" in environment(os.environ)


async def test_the_usual_limit_is_among_the_parameters_of_the_call(tool: ShellTool) -> None:
    assert tool.build({"command": "true"}).params.timeout == 120
    assert tool.build({"command": "true", "timeout": 5}).params.timeout == 5


async def test_an_exit_code_that_is_an_answer_says_so(tool: ShellTool) -> None:
    result = await shell(tool, "grep nothing /dev/null")
    assert result.ok
    assert result.llm_content == "(no output)\nexit code 1\n(no match)"
    assert (result.data.exit_code, result.data.meaning, output_of(result).note) == (1, "no match", "no match")


async def test_the_silence_of_a_call(tool: ShellTool) -> None:
    result = await shell(tool, "sleep 60", silence=0.2)
    assert (result.data.stopped, result.data.signal) == ("silence", "SIGTERM")
    assert "0.2 seconds without output" in str(result.llm_content)
