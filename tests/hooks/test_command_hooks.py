"""Hooks that are real commands: their exit codes, their JSON, and the ways they fail."""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from nbtools import ErrorCode, Policy, Session, Settings
from nbtools.core.errors import SessionError
from nbtools.hooks import claude_hooks, command_hook


def session(root: Path, *hooks: Any, **options: Any) -> Session:
    (root / "a.txt").write_text("one\ntwo\n")
    return Session(root, hooks=hooks, settings=Settings(read_first=False), **options)


def script(root: Path, name: str, text: str) -> str:
    path = root / name
    path.write_text(text)
    path.chmod(0o755)
    return f'"$CLAUDE_PROJECT_DIR"/{name}'


def printing(root: Path, *, exit_code: int = 0, **answer: Any) -> str:
    code = f"import sys, json\njson.load(sys.stdin)\nprint({json.dumps(answer)!r})\nsys.exit({exit_code})\n"
    return script(root, "says.py", f"#!{sys.executable}\n{code}")


def specific(**answer: Any) -> dict[str, Any]:
    return {"hookSpecificOutput": {"hookEventName": "PreToolUse", **answer}}


async def test_a_guard_written_for_claude_code_guards_the_canonical_call(tmp_path: Path) -> None:
    guard = script(
        tmp_path,
        "guard.py",
        f"""#!{sys.executable}
import json, sys
call = json.load(sys.stdin)
if call["tool_name"] == "Bash" and "rm -rf" in call["tool_input"]["command"]:
    print("No rm -rf in this project.", file=sys.stderr)
    sys.exit(2)
""",
    )
    async with session(
        tmp_path, command_hook("before", guard, matcher="Bash", name="guard"), policy=Policy(mode="yolo")
    ) as s:
        for name in ("shell", "Bash"):
            s.dialect = "claude" if name == "Bash" else "nbtools"
            refused = await s.call(name, {"command": "rm -rf important"})
            assert refused.error.code is ErrorCode.POLICY_VIOLATION
            assert "the hook guard blocks it: No rm -rf in this project." in refused.error.message
            assert (await s.call(name, {"command": "echo fine"})).ok


async def test_the_input_is_what_claude_code_sends(tmp_path: Path) -> None:
    async with session(
        tmp_path, command_hook("before", "cat > before.json"), command_hook("after", "cat > after.json")
    ) as s:
        result = await s.call("read", {"path": "a.txt"}, id="call-7")
    before, after = (json.loads((tmp_path / f"{name}.json").read_text()) for name in ("before", "after"))
    assert before["hook_event_name"] == "PreToolUse"
    assert before["tool_name"] == "Read"
    assert before["tool_input"]["file_path"] == str(tmp_path / "a.txt")
    assert (before["tool_use_id"], before["cwd"], before["permission_mode"]) == (
        "call-7",
        str(tmp_path),
        "default",
    )
    assert before["nbtools"] == {"tool": "read", "arguments": {"path": "a.txt"}, "kind": "read"}
    assert set(after) - set(before) == {"tool_response", "duration_ms"}
    assert after["hook_event_name"] == "PostToolUse"
    assert after["tool_response"]["content"] == result.llm_content


@pytest.mark.parametrize(
    ("answer", "error"),
    [
        (specific(permissionDecision="allow"), None),
        (specific(permissionDecision="deny", permissionDecisionReason="no such thing"), "no such thing"),
        (specific(permissionDecision="ask", permissionDecisionReason="sure?"), "sure?"),
        (specific(permissionDecision="defer"), "needs approval"),
        ({"decision": "approve"}, None),
        ({"decision": "block", "reason": "old style"}, "old style"),
        ({"continue": False, "stopReason": "enough"}, "enough"),
        ({"suppressOutput": True}, "needs approval"),
    ],
)
async def test_the_output_of_a_hook_decides(
    tmp_path: Path, answer: dict[str, Any], error: str | None
) -> None:
    async with session(tmp_path, command_hook("before", printing(tmp_path, **answer))) as s:
        result = await s.call("write", {"path": "new.txt", "content": "x"})
    assert (result.error is None) is (error is None), result
    assert error is None or error in result.error.message
    assert (tmp_path / "new.txt").exists() is (error is None)


async def test_changed_input_is_read_back_from_claudes_words(tmp_path: Path) -> None:
    changed = specific(
        permissionDecision="allow",
        updatedInput={"command": "echo safe", "timeout": 5000},
        additionalContext="made safe",
    )
    async with session(
        tmp_path, command_hook("before", printing(tmp_path, **changed), matcher="Bash", name="safe")
    ) as s:
        result = await s.call("shell", {"command": "echo danger"})
        assert result.ok
        assert result.llm_content.startswith("safe\n")
        assert "[hook safe] made safe" in result.llm_content
        assert s.history[-1].last.plan.arguments["timeout"] == 5


async def test_a_command_in_a_carried_folder_stays_there(tmp_path: Path) -> None:
    """A hook gets the folder as ``cwd``, and what it changes runs in that folder."""
    (tmp_path / "sub").mkdir()
    changed = specific(permissionDecision="allow", updatedInput={"command": "pwd", "timeout": 5000})
    hook = command_hook(
        "before", f"tee {tmp_path}/seen.json | {printing(tmp_path, **changed)}", matcher="Bash"
    )
    async with session(tmp_path, dialect="claude", policy=Policy(allow=["shell(cd:*)"])) as s:
        assert (await s.call("Bash", {"command": "cd sub"})).ok
        s.hooks = (hook,)
        result = await s.call("Bash", {"command": "ls", "timeout": 60_000})
    seen = json.loads((tmp_path / "seen.json").read_text())
    assert seen["cwd"] == str(tmp_path / "sub")
    assert seen["tool_input"] == {"command": "ls", "timeout": 60_000}
    assert str(result.llm_content).startswith(f"{tmp_path / 'sub'}\n")


async def test_input_changed_to_nonsense_stops_the_call(tmp_path: Path) -> None:
    """Passing it over would run what the hook did not want."""
    changed = specific(updatedInput={"nonsense": 1})
    async with session(tmp_path, command_hook("before", printing(tmp_path, **changed))) as s:
        result = await s.call("read", {"path": "a.txt"})
    assert result.error.code is ErrorCode.POLICY_VIOLATION
    assert "changed the input to an invalid one" in result.error.message


async def test_exit_code_2_overrides_the_output(tmp_path: Path) -> None:
    command = printing(tmp_path, exit_code=2, **specific(permissionDecision="allow"))
    async with session(tmp_path, command_hook("before", command)) as s:
        assert (await s.call("read", {"path": "a.txt"})).error.code is ErrorCode.POLICY_VIOLATION


async def test_other_exit_codes_are_reported_and_json_still_counts(tmp_path: Path) -> None:
    command = printing(
        tmp_path, exit_code=1, **specific(permissionDecision="deny", permissionDecisionReason="heard")
    )
    async with session(tmp_path, command_hook("before", command)) as s:
        assert "heard" in (await s.call("read", {"path": "a.txt"})).error.message


FAULTS = [
    ("./no-such-script.sh", "is missing or cannot be run"),
    ("./a.txt", "is missing or cannot be run"),
    ("echo trouble >&2; exit 1", "ended with exit code 1: trouble"),
    ("kill -9 $$", "was ended by SIGKILL"),
    ("sleep 60", "took longer than 1 seconds"),
    ("echo '{broken'", "printed JSON that cannot be used"),
    (
        """echo '{"hookSpecificOutput": {"permissionDecision": "maybe"}}'""",
        "printed JSON that cannot be used (hookSpecificOutput",
    ),
]


def patience(command: str) -> int:
    """Seconds that a hook gets: few for the one that needs them all."""
    return 1 if command.startswith("sleep") else 60


@pytest.mark.parametrize(("command", "problem"), FAULTS)
async def test_failures_of_hooks_are_reported_and_skipped(tmp_path: Path, command: str, problem: str) -> None:
    async with session(tmp_path, command_hook("before", command, timeout=patience(command), name="bad")) as s:
        result = await s.call("read", {"path": "a.txt"})
    assert result.ok
    assert "[the hook bad was skipped: it" in result.llm_content
    assert problem in result.llm_content


@pytest.mark.parametrize(("command", "problem"), FAULTS)
async def test_faults_of_a_closed_hook_stop_the_call(tmp_path: Path, command: str, problem: str) -> None:
    started = time.monotonic()
    async with session(
        tmp_path, command_hook("before", command, timeout=patience(command), closed=True)
    ) as s:
        result = await s.call("read", {"path": "a.txt"})
    assert result.error.code is ErrorCode.POLICY_VIOLATION
    assert problem in result.error.message
    assert time.monotonic() - started < 50


async def test_a_flood_is_a_fault(tmp_path: Path) -> None:
    async with session(tmp_path, command_hook("before", "yes", timeout=30)) as s:
        assert "printed too much on stdout" in (await s.call("read", {"path": "a.txt"})).llm_content


@pytest.mark.parametrize(
    ("command", "message"),
    [
        ("echo mind the style >&2; exit 2", "objects: mind the style]"),
        ("""echo '{"decision": "block", "reason": "tests fail"}'""", "objects: tests fail]"),
        ("""echo '{"hookSpecificOutput": {"additionalContext": "formatted"}}'""", "] formatted"),
    ],
)
async def test_a_hook_after_a_call_sends_a_message_to_the_model(
    tmp_path: Path, command: str, message: str
) -> None:
    async with session(tmp_path, command_hook("after", command, name="critic")) as s:
        result = await s.call("read", {"path": "a.txt"})
    assert result.ok
    assert "two" in result.llm_content
    assert result.llm_content.endswith(message)


@pytest.mark.parametrize("output", ["hidden", {"content": "hidden"}])
async def test_the_output_is_replaced(tmp_path: Path, output: Any) -> None:
    answer = {"hookSpecificOutput": {"hookEventName": "PostToolUse", "updatedToolOutput": output}}
    async with session(tmp_path, command_hook("after", printing(tmp_path, **answer))) as s:
        assert (await s.call("read", {"path": "a.txt"})).llm_content == "hidden"


async def test_success_and_failure_are_events_of_their_own(tmp_path: Path) -> None:
    hooks = (command_hook("after", "echo ok >> log"), command_hook("failure", "echo failed >> log"))
    async with session(tmp_path, *hooks) as s:
        await s.call("read", {"path": "a.txt"})
        await s.call("read", {"path": "missing.txt"})
    assert (tmp_path / "log").read_text() == "ok\nfailed\n"


async def test_a_tool_that_claude_does_not_have_goes_by_the_names_of_its_like(tmp_path: Path) -> None:
    """A hook for Edit and Write also guards patches, moves and deletions."""
    async with session(
        tmp_path, command_hook("before", "cat > seen.json; exit 2", matcher="Edit|Write")
    ) as s:
        if "delete" in s.tools.names():
            assert (await s.call("delete", {"path": "a.txt"})).error.code is ErrorCode.POLICY_VIOLATION
            assert json.loads((tmp_path / "seen.json").read_text())["tool_name"] == "delete"
        assert (await s.call("read", {"path": "a.txt"})).ok


def settings_file(root: Path, settings: object) -> str:
    path = root / "settings.json"
    path.write_text(settings if isinstance(settings, str) else json.dumps(settings))
    return str(path)


async def test_a_settings_file_of_claude_code_is_taken_as_it_is(tmp_path: Path) -> None:
    groups = {
        "PreToolUse": [
            {
                "matcher": "Bash",
                "hooks": [{"type": "command", "command": "echo never >&2; exit 2", "timeout": 10}],
            }
        ],
        "PostToolUse": [{"hooks": [{"type": "command", "command": "echo after >> log"}]}],
        "SessionStart": [{"anything": "goes"}],
    }
    hooks = claude_hooks(settings_file(tmp_path, {"hooks": groups, "model": "x"}))
    assert [hook.timeout for hook in hooks] == [10, 60]
    async with session(tmp_path, *hooks, policy=Policy(mode="yolo")) as s:
        assert "never" in (await s.call("shell", {"command": "true"})).error.message
        assert (await s.call("read", {"path": "a.txt"})).ok
    assert (tmp_path / "log").read_text() == "after\n"


def test_unsupported_entries_of_a_settings_file_are_reported(tmp_path: Path) -> None:
    listed = [{"type": "prompt", "prompt": "?"}, {"type": "command", "command": "true", "if": "Bash(git *)"}]
    path = settings_file(tmp_path, {"hooks": {"PreToolUse": [{"hooks": listed}]}})
    with pytest.warns(UserWarning, match="not supported") as message:
        hooks = claude_hooks(path)
    assert len(hooks) == 1
    assert [
        "type 'prompt'" in str(message[0].message),
        "condition 'Bash(git *)'" in str(message[1].message),
    ] == [True, True]
    assert (
        claude_hooks(
            settings_file(tmp_path, {"hooks": {"PreToolUse": [{"hooks": listed}]}, "disableAllHooks": True})
        )
        == ()
    )


@pytest.mark.parametrize(
    "settings",
    ["{", {"hooks": 3}, {"hooks": {"PreToolUse": 3}}, {"hooks": {"PreToolUse": [{"matcher": "("}]}}],
)
def test_a_settings_file_that_cannot_be_read_is_refused(tmp_path: Path, settings: object) -> None:
    if (
        isinstance(settings, dict)
        and isinstance(settings["hooks"], dict)
        and isinstance(settings["hooks"]["PreToolUse"], list)
    ):
        settings["hooks"]["PreToolUse"][0]["hooks"] = [{"command": "true"}]
    with pytest.raises(SessionError):
        claude_hooks(settings_file(tmp_path, settings))


def test_a_settings_file_that_is_not_there_is_refused(tmp_path: Path) -> None:
    with pytest.raises(SessionError, match="cannot be read"):
        claude_hooks(str(tmp_path / "missing.json"))
