"""Hook commands by Gemini CLI's contract:
what they get, their exit codes and JSON, stopping a message, withholding a result.
"""

from __future__ import annotations

import json
import shlex
import sys
from pathlib import Path
from typing import Any

import pytest

from nbtools import ErrorCode, Policy, Session, ToolResult
from nbtools.core.hooks import AfterCall, AfterHook, BeforeCall, BeforeHook, Hook, Stop, Withhold
from nbtools.hooks import command_hook
from nbtools.mcp.config.entries import parse_server
from nbtools.testing import ONCE, ScriptedConfirmer

SERVER = {"command": sys.executable, "args": [str(Path(__file__).parents[1] / "mcp" / "content_server.py")]}


def before(command: str, **options: Any) -> Hook:
    return command_hook("before", command, speaks="gemini", name="guard", **options)


def after(command: str, **options: Any) -> Hook:
    return command_hook("after", command, speaks="gemini", name="check", **options)


def says(exit_code: int = 0, stream: str = "stdout", **output: Any) -> str:
    """Returns a command that prints JSON."""
    return f"cat >/dev/null; printf %s {shlex.quote(json.dumps(output))}{' >&2' if stream == 'stderr' else ''}; exit {exit_code}"


async def call(
    root: Path, *hooks: Hook, name: str = "run_shell_command", mode: str = "yolo", **arguments: Any
) -> ToolResult:
    async with Session(root, dialect="gemini", hooks=hooks, policy=Policy(mode=mode)) as session:  # type: ignore[arg-type]
        return await session.call(name, arguments or {"command": "echo ran | tee ran"})


def code_of(result: ToolResult) -> str:
    return result.error.code if result.error else ""


async def test_the_input_is_what_gemini_cli_sends(tmp_path: Path) -> None:
    environment = 'echo "$GEMINI_PROJECT_DIR $GEMINI_CWD $CLAUDE_PROJECT_DIR" >env'
    assert (await call(tmp_path, before(f"cat >before.json; {environment}"), after("cat >after.json"))).ok
    first, last = (json.loads((tmp_path / f"{name}.json").read_text()) for name in ("before", "after"))
    assert (first["hook_event_name"], last["hook_event_name"]) == ("BeforeTool", "AfterTool")
    assert first["tool_name"] == last["tool_name"] == "run_shell_command"
    assert first["tool_input"]["command"] == "echo ran | tee ran"
    assert {"session_id", "transcript_path", "cwd", "timestamp"} <= first.keys()
    assert "ran" in last["tool_response"]["llmContent"]
    assert "error" not in last["tool_response"]
    assert (tmp_path / "env").read_text().split() == [str(tmp_path)] * 3


async def test_after_tool_runs_after_failed_calls_too(tmp_path: Path) -> None:
    result = await call(tmp_path, after("cat >after.json"), name="read_file", file_path="missing")
    assert code_of(result) == ErrorCode.FILE_NOT_FOUND
    assert (
        json.loads((tmp_path / "after.json").read_text())["tool_response"]["error"]["type"]
        == "file_not_found"
    )


@pytest.mark.parametrize(
    ("command", "code", "words"),
    [
        ("exit 0", "", ""),
        ("echo fine", "", ""),
        ("echo careful >&2; exit 1", "", "careful"),
        ("echo never >&2; exit 2", ErrorCode.POLICY_VIOLATION, "never"),
        ("echo never; exit 3", ErrorCode.POLICY_VIOLATION, "never"),
        ("exit 17", ErrorCode.POLICY_VIOLATION, "no reason"),
        ("./missing.sh", ErrorCode.POLICY_VIOLATION, "missing.sh"),
        ("kill -9 $$", "", "SIGKILL"),
    ],
)
async def test_exit_codes(tmp_path: Path, command: str, code: str, words: str) -> None:
    result = await call(tmp_path, before(command))
    assert code_of(result) == code
    assert words in str(result.llm_content)
    assert (tmp_path / "ran").exists() is (not code)


@pytest.mark.parametrize("command", ["exit 1", "kill -9 $$", says(decision="maybe"), says(decision=7)])
async def test_a_fault_of_a_closed_hook_blocks(tmp_path: Path, command: str) -> None:
    assert code_of(await call(tmp_path, before(command, closed=True))) == ErrorCode.POLICY_VIOLATION
    assert not (tmp_path / "ran").exists()


@pytest.mark.parametrize("stream", ["stdout", "stderr"])
@pytest.mark.parametrize("decision", ["block", "deny"])
async def test_a_block_has_its_reason(tmp_path: Path, decision: str, stream: str) -> None:
    result = await call(tmp_path, before(says(stream=stream, decision=decision, reason="not on Fridays")))
    assert code_of(result) == ErrorCode.POLICY_VIOLATION
    assert "not on Fridays" in str(result.llm_content)
    assert not (tmp_path / "ran").exists()


@pytest.mark.parametrize("decision", ["allow", "approve"])
async def test_an_allow_does_not_replace_the_approval(tmp_path: Path, decision: str) -> None:
    result = await call(tmp_path, before(says(decision=decision)), mode="default")
    assert code_of(result) == ErrorCode.CONFIRMATION_REQUIRED


async def test_ask_asks_whatever_allows_the_call(tmp_path: Path) -> None:
    person = ScriptedConfirmer(ONCE)
    hooks = [before(says(decision="ask", reason="sure?"))]
    async with Session(
        tmp_path, dialect="gemini", hooks=hooks, policy=Policy(mode="yolo"), confirmer=person
    ) as session:
        assert (await session.call("run_shell_command", {"command": "touch ran"})).ok
    assert "sure?" in person.asked[0].decision.reason


async def test_changed_input_is_merged_and_decided_again(tmp_path: Path) -> None:
    (tmp_path / "sub").mkdir()
    changed = {"hookEventName": "BeforeTool", "tool_input": {"command": "pwd"}}
    result = await call(
        tmp_path, before(says(hookSpecificOutput=changed)), command="echo ran", dir_path="sub"
    )
    assert f"Output: {tmp_path / 'sub'}" in str(result.llm_content)
    assert "changed the arguments" in str(result.llm_content)
    invalid = {"tool_input": {"command": 7}}
    assert (
        code_of(await call(tmp_path, before(says(hookSpecificOutput=invalid)))) == ErrorCode.POLICY_VIOLATION
    )
    assert not (tmp_path / "ran").exists()


async def test_context_is_added_and_cannot_pose_as_tags(tmp_path: Path) -> None:
    context = {"additionalContext": "see </hook_context> docs"}
    result = await call(tmp_path, after(says(hookSpecificOutput=context)))
    assert result.ok
    assert "<hook_context>see &lt;/hook_context&gt; docs</hook_context>" in str(result.llm_content)


async def test_messages_are_noted_unless_suppressed(tmp_path: Path) -> None:
    assert "heads up" in str((await call(tmp_path, before(says(systemMessage="heads up")))).llm_content)
    silent = await call(tmp_path, before(says(systemMessage="heads up", suppressOutput=True)))
    assert "heads up" not in str(silent.llm_content)


@pytest.mark.parametrize(
    "command", [says(decision="block", reason="secret inside"), "echo secret inside >&2; exit 2"]
)
async def test_a_block_after_the_call_withholds_the_result(tmp_path: Path, command: str) -> None:
    result = await call(tmp_path, after(command), command="echo hidden; touch ran")
    assert code_of(result) == ErrorCode.EXECUTION_FAILED
    assert "secret inside" in str(result.llm_content)
    assert "hidden" not in f"{result.llm_content}{result.return_display}{result.data}"
    assert (tmp_path / "ran").exists()


@pytest.mark.parametrize("event", [before, after])
async def test_stop_ends_the_message(tmp_path: Path, event: Any) -> None:
    hook = event(says(**{"continue": False, "stopReason": "enough"}), matcher="run_shell")
    async with Session(tmp_path, dialect="gemini", hooks=[hook], policy=Policy(mode="yolo")) as session:
        calls = [
            ("list_directory", {"dir_path": "."}),
            ("run_shell_command", {"command": "echo hidden; touch ran"}),
            ("write_file", {"file_path": "later", "content": "x"}),
        ]
        results = await session.call_many(calls)
    assert [code_of(result) for result in results] == ["", ErrorCode.STOP_EXECUTION, ErrorCode.CANCELLED]
    assert "enough" in str(results[1].llm_content)
    assert "hidden" not in str(results[1].llm_content)
    assert (tmp_path / "ran").exists() is (event is after)
    assert not (tmp_path / "later").exists()


@pytest.mark.parametrize("dialect", ["nbtools", "claude", "void", "gemini"])
async def test_functions_can_stop_and_withhold_in_every_dialect(tmp_path: Path, dialect: str) -> None:
    def stop(_: BeforeCall) -> Stop:
        return Stop("enough")

    def withhold(_: AfterCall) -> Withhold:
        return Withhold("secret inside")

    (tmp_path / "a").write_text("hidden")
    for hook, code in (
        (BeforeHook(name="s", run=stop), "stop_execution"),
        (AfterHook(name="w", run=withhold), "execution_failed"),
    ):
        async with Session(tmp_path, dialect=dialect, hooks=[hook], policy=Policy(mode="yolo")) as session:
            results = await session.call_many(
                [("read", {"path": "a"}), ("write", {"path": "b", "content": "x"})]
            )
            assert code_of(results[0]) == code
            assert "hidden" not in str(results[0].llm_content)
            assert (code_of(results[1]) == ErrorCode.CANCELLED) is (code == "stop_execution")


@pytest.mark.parametrize(
    ("matcher", "matches"),
    [
        ("", True),
        ("*", True),
        ("shell", True),
        ("run_.*|write", True),
        ("^write", False),
        ("run_shell_command", True),
        ("[", False),
    ],
)
async def test_a_matcher_matches_where_it_occurs(tmp_path: Path, matcher: str, matches: bool) -> None:
    await call(tmp_path, before("touch called", matcher=matcher))
    assert (tmp_path / "called").exists() is matches


async def test_tools_of_servers_have_geminis_names(tmp_path: Path) -> None:
    hooks = [before("cat >before.json", matcher="mcp_content_look")]
    async with Session(tmp_path, hooks=hooks, policy=Policy(mode="yolo")) as session:
        session.mcp.add([parse_server("content", SERVER, {})])
        await session.mcp.connect()
        assert (await session.call("mcp__content__look", {"id": 3})).ok
    assert json.loads((tmp_path / "before.json").read_text())["tool_name"] == "mcp_content_look"


async def test_the_call_of_another_tool_is_reported_as_unsupported(tmp_path: Path) -> None:
    tail = {"tailToolCallRequest": {"name": "read_file", "args": {}}}
    result = await call(tmp_path, after(says(hookSpecificOutput=tail)))
    assert result.ok
    assert "read_file" in str(result.llm_content)
