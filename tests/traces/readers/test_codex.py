"""Traps of Codex logs, for a naive reader."""

from __future__ import annotations

import base64
import json
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nbtools import traces
from nbtools.core.result import CommandOutput, FileDiff, FileDiffs, Media, TodoList
from nbtools.traces.model import NOWHERE, Call, Event
from nbtools.traces.reader import NO_MESSAGES, Head, LogFile
from nbtools.traces.readers.codex import Codex, CodexExec
from nbtools.traces.readers.codex.call_text import calls_in
from nbtools.traces.readers.codex.records import Payload
from nbtools.traces.source import Source
from tests.examples import examples
from tests.traces.recorded import SAMPLES

Record = dict[str, Any]
Load = Callable[[Iterable[Record | str]], traces.Trace]
PATCH = "*** Begin Patch\n*** Update File: a.py\n@@ def f():\n-    return 1\n+    return 2\n*** Add File: b.py\n+x = 1\n*** End Patch\n"
PARENT = "019a0000-0000-7000-8000-000000000001"
CHILD = "019a0001-0000-7000-8000-000000000002"


@pytest.fixture
def load(tmp_path: Path) -> Load:
    def written(records: Iterable[Record | str]) -> traces.Trace:
        path = tmp_path / "log.jsonl"
        path.write_text("".join(f"{one if isinstance(one, str) else json.dumps(one)}\n" for one in records))
        return traces.load(path)

    return written


def line(type_: str, at: str = "2026-04-24T20:03:32.184Z", **payload: Any) -> Record:
    return {"timestamp": at, "type": type_, "payload": payload}


def meta(id_: str = "s1", **more: Any) -> Record:
    return line(
        "session_meta",
        id=id_,
        timestamp="2026-04-24T20:03:07.272Z",
        cwd="/w",
        cli_version="0.125.0",
        source="cli",
        **more,
    )


def item(type_: str, **payload: Any) -> Record:
    return line("response_item", type=type_, **payload)


def event(type_: str, **payload: Any) -> Record:
    return line("event_msg", type=type_, **payload)


def asks(call_id: str, name: str = "exec_command", **arguments: Any) -> Record:
    return item("function_call", name=name, arguments=json.dumps(arguments), call_id=call_id)


def answers(call_id: str, output: Any) -> Record:
    return item("function_call_output", call_id=call_id, output=output)


def says(role: str, words: str) -> Record:
    return item("message", role=role, content=[{"type": "input_text", "text": words}])


def ran(call_id: str, code: int = 0, **more: Any) -> Record:
    duration = {"secs": 1, "nanos": 500_000_000}
    return event("exec_command_end", call_id=call_id, exit_code=code, duration=duration, cwd="/w", **more)


def statuses(trace: traces.Trace) -> dict[str, tuple[str, str]]:
    return {call.id: (call.status, call.status_source) for call in trace.calls}


def test_a_call_is_put_together_from_its_item_its_event_and_its_output(load: Load) -> None:
    parsed = [{"type": "read", "cmd": "cat a.py", "path": "a.py"}]
    end = ran(
        "c1",
        aggregated_output="hi\n",
        stdout="",
        stderr="",
        command=["/bin/zsh", "-lc", "cat a.py"],
        parsed_cmd=parsed,
    )
    trace = load(
        [
            meta(),
            asks("c1", cmd="cat a.py", workdir="/w"),
            end,
            answers("c1", "Process exited with code 0\nOutput:\nhi\n"),
        ]
    )
    (call,) = trace.calls
    assert (call.op, call.subject, call.paths, call.answered) == ("shell", "cat a.py", ("a.py",), True)
    assert (call.status, call.status_source, call.exit_code, call.duration) == ("ok", "exit_code", 0, 1.5)
    assert call.detail.display == CommandOutput("hi\n", 1, 0)
    assert (call.detail.command, call.detail.cwd, call.detail.stdout) == ("cat a.py", "/w", "hi\n")
    assert call.detail.result == "Process exited with code 0\nOutput:\nhi\n"


@pytest.mark.parametrize(
    ("output", "expected"),
    [
        ("Chunk ID: 1\nProcess exited with code 2\nOutput:\nbad", ("error", "exit_code", 2)),
        ("Exit code: 1\nWall time: 0.5 seconds\nOutput:\n", ("error", "exit_code", 1)),
        ("Exit code: 0\nOutput:\nProcess exited with code 9", ("ok", "exit_code", 0)),
        (
            json.dumps({"output": "no", "metadata": {"exit_code": 3, "duration_seconds": 0.1}}),
            ("error", "exit_code", 3),
        ),
        (
            json.dumps({"output": "yes", "metadata": {"exit_code": 0, "duration_seconds": 0.1}}),
            ("ok", "exit_code", 0),
        ),
        (
            [{"type": "input_text", "text": "Script failed"}, {"type": "input_text", "text": "x"}],
            ("error", "text", None),
        ),
        ("exec_command failed for `ls`: rejected by user", ("error", "text", None)),
        ("exec command rejected by user", ("denied", "text", None)),
        ("aborted by user after 3.2s", ("interrupted", "text", None)),
        ("Process running with session ID 7\nOutput:\n", ("unknown", "text", None)),
        ("Plan updated", ("ok", "text", None)),
        (None, ("ok", "text", None)),
        ({"content": "odd"}, ("ok", "text", None)),
    ],
)
def test_the_outcome_of_a_call_is_read_in_the_head_of_its_output(
    load: Load, output: Any, expected: tuple[Any, ...]
) -> None:
    (call,) = load([meta(), asks("c1", cmd="x"), answers("c1", output)]).calls
    assert (call.status, call.status_source, call.exit_code) == expected
    assert isinstance(call.detail.display, CommandOutput)


def test_events_say_what_the_text_does_not(load: Load) -> None:
    trace = load(
        [
            meta(),
            asks("patch", "apply_patch", input=PATCH),
            event(
                "patch_apply_end",
                call_id="patch",
                success=False,
                changes={"a.py": {"type": "update", "unified_diff": "@@\n-1\n+2\n"}},
            ),
            answers("patch", "nothing"),
            item("function_call", name="find", namespace="mcp__docs", arguments="{}", call_id="mcp"),
            event(
                "mcp_tool_call_end",
                call_id="mcp",
                invocation={},
                result={"Err": "down"},
                duration={"secs": 0, "nanos": 1},
            ),
            answers("mcp", "down"),
            asks("tool", "automation"),
            event("dynamic_tool_call_response", call_id="tool", success=False),
            answers("tool", "no"),
            asks("doubt", "mcp__x__y"),
            event("mcp_tool_call_end", call_id="doubt", result={"Ok": {"content": [], "isError": True}}),
            answers("doubt", "no"),
        ]
    )
    assert statuses(trace) == dict.fromkeys(("patch", "mcp", "tool"), ("error", "flag")) | {
        "doubt": ("unknown", "flag")
    }
    assert [call.op for call in trace.calls] == ["patch", "mcp", "other", "mcp"]
    assert [change.applied for change in trace.file_changes] == [False]
    assert trace.facts()["tool_errors"] == 3


def test_a_command_that_goes_on_gets_its_end_from_a_later_turn(load: Load) -> None:
    running = [
        meta(),
        says("user", "go"),
        asks("c1", cmd="sleep"),
        answers("c1", "Process running with session ID 7\nOutput:\n"),
    ]
    trace = load([*running, event("task_started", turn_id="t2"), says("user", "and"), ran("c1", 1)])
    assert statuses(trace) == {"c1": ("error", "exit_code")}


def test_a_turn_that_was_stopped_leaves_its_calls_interrupted(load: Load) -> None:
    trace = load(
        [
            meta(),
            asks("c1", cmd="sleep"),
            event("turn_aborted", reason="interrupted"),
            meta(),
            asks("c2", cmd="x"),
        ]
    )
    assert statuses(trace) == {"c1": ("interrupted", "flag"), "c2": ("unanswered", "none")}
    assert len(trace.sessions) == 1
    assert not any(call.answered for call in trace.calls)


def test_patches_are_counted_from_the_event_and_not_again_from_the_arguments(load: Load) -> None:
    changes = {
        "/w/a.py": {
            "type": "update",
            "unified_diff": "@@ -1,2 +1,3 @@\n x\n-y\n+z\n+--- no head\n",
            "move_path": None,
        },
        "/w/b.py": {"type": "add", "content": "one\ntwo\n"},
        "/w/c.py": {"type": "delete", "content": "gone\n"},
        "/w/d.py": {"type": "update", "unified_diff": "", "move_path": "/w/e.py"},
        "/w/f.py": {"update": {"unified_diff": "@@ -1 +1 @@\n-a\n+b\n", "move_path": None}},
    }
    call = item("custom_tool_call", name="apply_patch", call_id="p", input=PATCH, status="completed")
    end = event("patch_apply_end", call_id="p", success=True, changes=changes, stdout="Success", stderr="")
    trace = load([meta(), call, end, item("custom_tool_call_output", call_id="p", output="{}")])
    assert [(c.path, c.kind, c.added, c.removed, c.basis) for c in trace.file_changes] == [
        ("/w/a.py", "modify", 2, 1, "recorded_patch"),
        ("/w/b.py", "add", 2, 0, "recorded_texts"),
        ("/w/c.py", "delete", 0, 1, "recorded_texts"),
        ("/w/d.py", "rename", 0, 0, "recorded_patch"),
        ("/w/f.py", "modify", 1, 1, "recorded_patch"),
    ]
    shown = trace.calls[0].detail.display
    assert isinstance(shown, FileDiffs)
    assert shown.files[0].file_diff.startswith("--- a//w/a.py\n+++ b//w/a.py\n@@ -1,2 +1,3 @@")
    assert (shown.files[1].original_content, shown.files[1].new_content) == (None, "one\ntwo\n")
    assert trace.facts()["file_edits"] == 5


def test_without_an_event_the_envelope_gives_the_content(load: Load) -> None:
    call = item("custom_tool_call", name="apply_patch", call_id="p", input=PATCH)
    trace = load([meta(), call, item("custom_tool_call_output", call_id="p", output="Success")])
    assert [(c.path, c.kind, c.added, c.removed, c.basis, c.applied) for c in trace.file_changes] == [
        ("a.py", "modify", 1, 1, "arguments", True),
        ("b.py", "add", 1, 0, "arguments", True),
    ]
    assert (trace.calls[0].subject, trace.calls[0].paths) == ("a.py, b.py", ("a.py", "b.py"))
    first, second = trace.calls[0].detail.changes
    assert "-    return 1\n+    return 2\n" in first.file_diff
    assert second.new_content == "x = 1\n"


@pytest.mark.parametrize("output", [None, "apply_patch verification failed: no"])
def test_a_patch_that_failed_or_was_never_answered_changed_nothing(load: Load, output: str | None) -> None:
    call = item(
        "custom_tool_call", name="apply_patch", call_id="p", input=PATCH.replace("*** End Patch\n", "")
    )
    end = [] if output is None else [item("custom_tool_call_output", call_id="p", output=output)]
    trace = load([meta(), call, *end])
    assert [change.applied for change in trace.file_changes] == [False, False]
    assert trace.calls[0].detail.changes == ()


def test_early_logs_have_no_envelope(load: Load) -> None:
    environment = "<environment_context>\n  <cwd>/old</cwd>\n</environment_context>"
    trace = load(
        [
            {
                "id": "old",
                "timestamp": "2025-08-18T01:16:13.522Z",
                "instructions": None,
                "git": {"branch": "main", "commit_hash": "abc"},
            },
            {"record_type": "state"},
            {"type": "message", "role": "user", "content": [{"type": "input_text", "text": environment}]},
            {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "mend it\nnow"}]},
            {
                "type": "reasoning",
                "summary": [{"type": "summary_text", "text": "hm"}],
                "encrypted_content": "secret",
            },
            {
                "type": "function_call",
                "name": "shell",
                "arguments": json.dumps({"command": ["bash", "-lc", "ls"]}),
                "call_id": "c1",
            },
            {
                "type": "function_call_output",
                "call_id": "c1",
                "output": json.dumps({"output": "a\n", "metadata": {"exit_code": 0}}),
            },
            {
                "type": "function_call",
                "name": "shell",
                "arguments": json.dumps({"command": ["apply_patch", PATCH]}),
                "call_id": "c2",
            },
            {
                "type": "function_call_output",
                "call_id": "c2",
                "output": json.dumps({"output": "ok", "metadata": {"exit_code": 0}}),
            },
        ]
    )
    (session,) = trace.sessions
    assert (session.id, session.cwd, session.branch, session.commit, session.title) == (
        "old",
        "/old",
        "main",
        "abc",
        "mend it",
    )
    assert (session.format_version, session.records, session.flags) == ("bare", 9, ())
    assert [(call.op, call.subject, call.status, call.at) for call in trace.calls] == [
        ("shell", "ls", "ok", None),
        ("patch", "a.py, b.py", "ok", None),
    ]
    assert trace.calls[0].detail.display == CommandOutput("a\n", 1, 0)
    assert len(trace.file_changes) == 2
    assert [one.kind for one in trace.events if one.text] == ["system", "user", "thinking"]
    assert not any("secret" in one.text for one in trace.events)


def test_a_local_shell_call_may_have_only_an_id(load: Load) -> None:
    action = {"type": "exec", "command": ["ls", "-l"], "working_directory": "/w"}
    call = item("local_shell_call", id="ls1", call_id=None, status="completed", action=action)
    (found,) = load([meta(), call, answers("ls1", "Exit code: 0\nOutput:\nx")]).calls
    assert (found.name, found.op, found.subject, found.status) == ("local_shell", "shell", "ls -l", "ok")
    assert (found.detail.command, found.detail.cwd) == ("ls -l", "/w")


def test_calls_in_a_script_are_nested_in_it(load: Load) -> None:
    script = 'const r = await tools.exec_command({cmd: "ls"});\nawait tools.apply_patch("*** Begin Patch");\nawait tools.web__run({q: "x"});'
    trace = load(
        [
            meta(),
            item("custom_tool_call", name="exec", call_id="e", input=script),
            ran("n1", 3, command=["/bin/zsh", "-lc", "ls"], aggregated_output="a\n"),
            event(
                "patch_apply_end",
                call_id="n2",
                success=True,
                changes={"a.py": {"type": "add", "content": "x\n"}},
            ),
            item(
                "custom_tool_call_output",
                call_id="e",
                output=[{"type": "input_text", "text": "Script completed\nOutput:\n"}],
            ),
        ]
    )
    assert [(c.id, c.name, c.level, c.parent, c.status) for c in trace.calls] == [
        ("e", "exec", "model", "", "ok"),
        ("e.2", "web__run", "nested", "e", "unanswered"),
        ("n1", "exec_command", "nested", "e", "error"),
        ("n2", "apply_patch", "nested", "e", "ok"),
    ]
    facts = trace.facts()
    assert (facts["tool_calls"], facts["tool_errors"], facts["file_edits"], facts["edited_paths"]) == (
        1,
        0,
        1,
        ["a.py"],
    )
    details = {call.id: call.detail for call in trace.calls}
    assert details["n1"].display == CommandOutput("a\n", 1, 3)
    assert details["n1"].command == "ls"
    assert isinstance(details["n2"].display, FileDiff)
    assert details["e.2"].args == {"arguments": '{q: "x"}'}


def test_later_logs_tell_the_ends_of_calls_as_items(load: Load) -> None:
    command = {
        "type": "CommandExecution",
        "id": "n1",
        "command": ["bash", "-lc", "ls"],
        "exit_code": 0,
        "aggregated_output": "a\n",
    }
    change = {
        "type": "FileChange",
        "id": "p",
        "changes": {"a.py": {"type": "add", "content": "x\n"}},
        "status": "completed",
    }
    trace = load(
        [
            meta(history_mode="paginated"),
            item("custom_tool_call", name="exec", call_id="e", input="await tools.exec_command({cmd: 'ls'})"),
            event("item_completed", item=command),
            item("custom_tool_call_output", call_id="e", output="Script completed"),
            item("custom_tool_call", name="apply_patch", call_id="p", input=PATCH),
            event("item_completed", item=change),
            item("custom_tool_call_output", call_id="p", output="ok"),
            event("item_completed", item={"type": "AgentMessage", "id": "m"}),
        ]
    )
    assert [(c.id, c.level, c.status) for c in trace.calls] == [
        ("e", "model", "ok"),
        ("n1", "nested", "ok"),
        ("p", "model", "ok"),
    ]
    assert [change.path for change in trace.file_changes] == ["a.py"]
    assert trace.calls[1].detail.display == CommandOutput("a\n", 1, 0)
    assert len(trace.calls[2].detail.changes) == 1


def test_an_event_before_its_call_is_not_a_call_of_its_own(load: Load) -> None:
    (call,) = load([meta(), ran("c1", 1), asks("c1", cmd="x"), answers("c1", "done")]).calls
    assert (call.level, call.status, call.subject, call.answered) == ("model", "error", "x", True)


def test_an_output_before_its_call_is_that_call_s(load: Load) -> None:
    (call,) = load(
        [meta(), answers("c1", "Exit code: 1\nOutput:\n"), asks("c1", cmd="x"), answers("c2", "of nothing")]
    ).calls
    assert (call.id, call.status, call.answered, call.detail.result) == (
        "c1",
        "error",
        True,
        "Exit code: 1\nOutput:\n",
    )


def test_a_command_of_the_user_is_not_a_call_by_the_model(load: Load) -> None:
    (call,) = load([meta(), ran("u1", source="user_shell", command=["bash", "-lc", "ls"])]).calls
    assert (call.level, call.parent, call.permission, call.subject) == ("nested", "", "user", "ls")


def test_a_hosted_search_has_no_id_and_is_not_among_the_counted_calls(load: Load) -> None:
    search = item("web_search_call", status="completed", action={"type": "search", "query": "q"})
    trace = load([meta(), event("web_search_end", call_id="ws_1", query="q"), search, search])
    assert [(c.op, c.subject, c.status, c.counted) for c in trace.calls] == [
        ("web_search", "q", "ok", False)
    ] * 2
    assert len({call.id for call in trace.calls}) == 2
    facts = trace.facts()
    assert (facts["tool_calls"], facts["hosted_calls"], facts["by_name"]) == (0, 2, {})


def test_token_counts_are_cumulative_and_input_has_the_cached_in_it(load: Load) -> None:
    def used(total: int) -> Record:
        usage = {
            "input_tokens": total - 10,
            "cached_input_tokens": 60,
            "cache_write_input_tokens": 5,
            "output_tokens": 10,
        }
        return event(
            "token_count",
            info={"total_token_usage": {**usage, "reasoning_output_tokens": 4, "total_tokens": total}},
        )

    trace = load([meta(), used(100), used(200), used(150), event("token_count", info=None)])
    assert trace.sessions[0].tokens == traces.Tokens(
        input=125, cache_read=60, cache_write=5, output=10, reasoning=4
    )
    assert trace.facts()["tokens"] == {
        "input": 190,
        "cache_read": 60,
        "output": 10,
        "reasoning": 4,
        "total": 200,
    }


def test_texts_repeated_by_a_compaction_are_not_counted(load: Load) -> None:
    again = [asks("c1", cmd="ls")["payload"], asks("c9", cmd="never")["payload"]]
    trace = load(
        [
            meta(),
            asks("c1", cmd="ls"),
            answers("c1", "ok"),
            line("compacted", message="so far", replacement_history=again),
        ]
    )
    assert [call.id for call in trace.calls] == ["c1"]
    assert [one.text for one in trace.events if one.kind == "compaction"] == ["so far"]
    assert trace.facts()["compactions"] == 1


def test_a_call_that_is_repeated_is_one_call(load: Load) -> None:
    trace = load(
        [
            meta(),
            asks("c1", cmd="a"),
            answers("c1", "ok"),
            says("user", "more"),
            asks("c1", cmd="a"),
            answers("c1", "ok"),
        ]
    )
    assert len(trace.calls) == 1
    assert [one.kind for one in trace.events if one.type.startswith("function_call")] == [
        "tool_call",
        "tool_result",
    ]


def test_a_text_that_is_recorded_twice_is_one_row(load: Load) -> None:
    twice = [
        event("user_message", message="do"),
        says("user", "do"),
        event("agent_message", message="done"),
        says("assistant", "done"),
    ]
    trace = load(
        [meta(), says("developer", "rules"), says("user", "# AGENTS.md instructions for /w"), *twice]
    )
    assert [(one.kind, one.text) for one in trace.events if one.text] == [
        ("system", "rules"),
        ("system", "# AGENTS.md instructions for /w"),
        ("user", "do"),
        ("assistant_text", "done"),
    ]
    assert trace.events[-1].turn == 1
    assert trace.sessions[0].title == "do"


def fork(**more: Any) -> list[Record]:
    """A child's log: its head, then its parent's with a call, all stamped with the time of the fork,
    then its own turn.
    """

    def turn(session: str) -> list[Record]:
        began = event("task_started", turn_id=f"{session[:13]}-7001-8000-000000000009")
        return [
            began,
            says("user", session),
            asks(f"c-{session[:8]}", cmd="ls"),
            answers(f"c-{session[:8]}", "ok"),
        ]

    def used(total: int) -> Record:
        return event(
            "token_count",
            info={"total_token_usage": {"input_tokens": total, "output_tokens": 0, "total_tokens": total}},
        )

    def head(session: str, at: str, **also: Any) -> Record:
        return line("session_meta", id=session, timestamp=at, cwd="/w", **also)

    heads = [
        head(CHILD, "2025-10-20T05:04:16Z", forked_from_id=PARENT, **more),
        head(PARENT, "2025-10-20T05:03:11Z"),
    ]
    return [*heads, *turn(PARENT), used(100), *turn(CHILD), used(130)]


def test_rows_repeated_by_a_fork_belong_to_its_parent(load: Load) -> None:
    trace = load(fork())
    child, parent = trace.sessions
    assert (child.id, child.parent, child.title, child.records) == (CHILD, PARENT, CHILD, 6)
    assert (parent.id, parent.flags, parent.records) == (PARENT, ("repeated",), 6)
    assert [(call.session, call.live) for call in trace.calls] == [(PARENT, False), (CHILD, True)]
    assert [(one.session, one.live) for one in trace.events if one.kind == "user"] == [
        (PARENT, False),
        (CHILD, True),
    ]
    assert (child.tokens.input, parent.tokens.input) == (30, None)
    facts = trace.facts()
    assert (facts["sessions"], facts["tool_calls"], facts["tokens"]["total"]) == (2, 2, 130)


def test_an_agent_that_is_spawned_in_the_second_in_which_its_parent_began_repeats_the_parents_turn(
    load: Load,
) -> None:
    parent, child = "01a220cb-49da-7ee3-a835-756dc453a197", "01a220cb-4b06-7952-aade-d8c9403fb761"
    heads = [line("session_meta", id=child, timestamp="2026-11-28T06:15:23.656Z", forked_from_id=parent)]
    heads.append(line("session_meta", id=parent, timestamp="2026-11-28T06:15:23.359Z"))
    began = {"started_at": 1795846523}
    copied = [
        event("task_started", turn_id="01a220cb-4a04-7640-8514-b9481b352058", **began),
        says("user", "do"),
        asks("c1", cmd="ls"),
    ]
    own = [
        event("task_started", turn_id="01a220cb-4b1e-78a1-8018-33e2d1294d5a", **began),
        asks("c2", cmd="wc"),
    ]
    trace = load([*heads, *copied, *own])
    assert [(call.native_id, call.session, call.live) for call in trace.calls] == [
        ("c1", parent, False),
        ("c2", child, True),
    ]


def test_without_ids_of_turns_copying_ends_when_time_advances(load: Load) -> None:
    records = [one for one in fork() if one["payload"].get("type") != "task_started"]
    for one in records[6:]:
        one["timestamp"] = "2026-04-24T20:04:00.000Z"
    assert [call.session for call in load(records).calls] == [PARENT, CHILD]


def test_logs_one_behind_the_other_are_sessions_of_their_own(load: Load) -> None:
    first, second = (
        line("session_meta", id="b", timestamp="2026-02-02T00:00:00Z"),
        line("session_meta", id="a", timestamp="2026-01-01T00:00:00Z"),
    )
    trace = load([first, asks("c1", cmd="x"), second, asks("c2", cmd="y")])
    assert [(call.session, call.live) for call in trace.calls] == [("b", True), ("a", True)]
    assert [(session.records, session.flags) for session in trace.sessions] == [(2, ()), (2, ())]


def test_a_sub_agent_names_the_session_that_started_it_and_the_call_its_session(load: Load) -> None:
    source = {"subagent": {"thread_spawn": {"parent_thread_id": "boss", "depth": 1}}}
    assert load([line("session_meta", id="s2", source=source)]).sessions[0].parent == "boss"
    spawned = load(
        [meta(), asks("c1", "spawn_agent", message="look"), answers("c1", json.dumps({"agent_id": "s2"}))]
    )
    assert [(call.op, call.child, call.subject) for call in spawned.calls] == [("agent", "s2", "look")]
    told = event("collab_agent_spawn_end", call_id="c1", new_thread_id="s3")
    assert load([meta(), asks("c1", "spawn_agent"), told, answers("c1", "ok")]).calls[0].child == "s3"


def test_a_turn_that_was_rolled_back_is_not_live(load: Load) -> None:
    def turn(number: int) -> list[Record]:
        return [says("user", f"do {number}"), asks(f"c{number}", cmd="x"), answers(f"c{number}", "ok")]

    trace = load([meta(), *turn(1), *turn(2), event("thread_rolled_back", num_turns=1), *turn(3)])
    assert [(call.turn, call.live) for call in trace.calls] == [(1, True), (2, False), (3, True)]
    assert trace.facts()["tool_calls"] == 3


def test_the_rules_of_a_turn_are_the_permission_of_its_calls(load: Load) -> None:
    trace = load(
        [
            meta(),
            line(
                "turn_context",
                cwd="/w",
                model="gpt-5.5",
                approval_policy="on-request",
                sandbox_policy={"type": "workspace-write"},
            ),
            asks("c1", cmd="x"),
            asks("c2", cmd="x", sandbox_permissions="require_escalated"),
            line(
                "turn_context",
                model="gpt-5.5-mini",
                approval_policy={"granular": {}},
                sandbox_policy={"mode": "read-only"},
            ),
            asks("c3", cmd="x"),
        ]
    )
    assert [call.permission for call in trace.calls] == [
        "on-request, workspace-write",
        "on-request, workspace-write; escalation asked",
        "granular, read-only",
    ]
    assert trace.sessions[0].models == ("gpt-5.5", "gpt-5.5-mini")


def test_pictures_and_plans_are_shown_as_such(load: Load) -> None:
    picture = [
        {"type": "input_image", "image_url": f"data:image/png;base64,{base64.b64encode(b'png').decode()}"}
    ]
    plan = {"plan": [{"step": "one", "status": "completed"}, {"step": "two", "status": "odd"}]}
    trace = load(
        [
            meta(),
            asks("v", "view_image", path="a.png"),
            answers("v", picture),
            asks("p", "update_plan", **plan),
            answers("p", "ok"),
        ]
    )
    image, todo = (call.detail for call in trace.calls)
    assert image.display == Media("", "image/png", b"png")
    assert isinstance(todo.display, TodoList)
    assert [(one.text, one.status) for one in todo.display.items] == [
        ("one", "completed"),
        ("two", "pending"),
    ]


def test_unknown_records_stay_and_are_named(load: Load) -> None:
    odd = [
        {"timestamp": 5, "type": ["x"], "payload": [1]},
        line("new_thing", a=1),
        item("new_item"),
        line("event_msg", type={"a": 1}),
    ]
    trace = load([meta(), *odd, {"type": "compacted", "payload": None}])
    assert trace.sessions[0].records == 6
    assert trace.sessions[0].flags == ("unknown_records",)
    assert [one.type for one in trace.events] == [
        "session_meta",
        "",
        "new_thing",
        "new_item",
        "",
        "compacted",
    ]
    assert [NO_MESSAGES in problem.why for problem in trace.problems] == [True]


def test_joined_and_cut_lines_are_problems_and_their_records_are_read(load: Load) -> None:
    glued = json.dumps(asks("c1", cmd="a")) + json.dumps(answers("c1", "ok"))
    trace = load([meta(), glued, json.dumps(asks("c2", cmd="b"))[:-5]])
    assert [problem.ref.line for problem in trace.problems] == [2, 3]
    assert [(call.id, call.status, call.subject) for call in trace.calls] == [("c1", "ok", "a")]
    assert trace.calls[0].detail.args == {"cmd": "a"}
    assert (trace.facts()["tool_calls"], trace.facts()["recovered"]["tool_calls"]) == (0, 1)
    assert trace.sessions[0].flags == ("malformed",)


def test_a_log_without_its_first_line_is_still_one_session(load: Load) -> None:
    trace = load([asks("c1", cmd="a"), meta("later"), answers("c1", "ok")])
    assert [session.id for session in trace.sessions] == ["later"]
    assert {call.session for call in trace.calls} == {"later"}
    assert load([asks("c1", cmd="a")]).sessions[0].id == "log"
    damaged = load(['{"cut', asks("c1", cmd="a"), answers("c1", "ok")])
    assert [(session.id, session.records, session.flags) for session in damaged.sessions] == [
        ("log", 2, ("malformed",))
    ]
    assert damaged.calls[0].session == "log"


def test_every_record_can_be_found_again(load: Load) -> None:
    trace = load([meta(), asks("c1", cmd="a"), event("token_count", info=None), answers("c1", "ok")])
    source = trace.readings[0].source
    kept: list[Event | Call] = [*trace.events, *trace.calls]
    assert sorted(source.record(one.ref)["payload"]["type"] for one in kept if one.ref.line > 1) == [
        "function_call",
        "token_count",
    ]
    assert trace.calls[0].result_ref.line == 4
    assert trace.calls[0].result_ref != NOWHERE


@pytest.mark.parametrize(
    ("script", "names"),
    [
        ("await tools.exec_command({cmd: 'tools.no()'})", ["exec_command"]),
        ("// tools.no()\n/* tools.no() */ tools?.yes(1)", ["yes"]),
        ('tools["mcp__a__b"]({}) + x.tools.no()', ["mcp__a__b"]),
        ("tools.a(await tools.b(`x ) y`), 2)", ["a", "b"]),
        ("tools.a('unclosed", ["a"]),
        ("", []),
    ],
)
def test_a_script_names_tools_outside_of_texts_and_comments(script: str, names: list[str]) -> None:
    assert [named.name for named in calls_in(script)] == names


def test_literal_texts_are_read_as_the_script_means_them() -> None:
    (named,) = calls_in(r"""tools.exec_command({cmd: 'it\'s "so"\n', dir: `a${b}`})""")
    assert named.quoted == ('it\'s "so"\n', "a${b}")


@pytest.mark.parametrize(
    ("arguments", "quoted"),
    [
        ('{"cmd": "ls", "workdir": "/w"}', ("ls", "/w")),
        ("{'workdir' : `/w`,\n 'cmd' : `ls`}", ("ls", "/w")),
        ('{workdir: "/w", cmd: "ls"}', ("ls", "/w")),
        ('{cmd: is ? "ls" : "pwd", workdir: "/w"}', ("ls", "pwd", "/w")),
        ('"cmd", ["a", "b"]', ("cmd", "a", "b")),
        ('{"only": 3}', ()),
    ],
)
def test_a_key_of_an_object_is_no_command(arguments: str, quoted: tuple[str, ...]) -> None:
    (named,) = calls_in(f"tools.exec_command({arguments})")
    assert named.quoted == quoted


def test_output_of_codex_exec_is_read_too(load: Load) -> None:
    command = {
        "id": "item_1",
        "type": "command_execution",
        "command": "bash -lc ls",
        "aggregated_output": "",
        "status": "in_progress",
    }
    mcp = {
        "id": "item_3",
        "type": "mcp_tool_call",
        "server": "docs",
        "tool": "find",
        "arguments": {"q": "x"},
        "error": {"message": "down"},
    }
    todo = {"id": "item_4", "type": "todo_list", "items": [{"text": "one", "completed": True}]}
    trace = load(
        [
            {"type": "thread.started", "thread_id": "t1"},
            {"type": "turn.started"},
            {"type": "item.completed", "item": {"id": "item_0", "type": "reasoning", "text": "hm"}},
            {"type": "item.started", "item": command},
            {
                "type": "item.completed",
                "item": {**command, "aggregated_output": "a\n", "exit_code": 2, "status": "failed"},
            },
            {
                "type": "item.completed",
                "item": {
                    "id": "item_2",
                    "type": "file_change",
                    "changes": [{"path": "a.py", "kind": "add"}],
                    "status": "completed",
                },
            },
            {"type": "item.completed", "item": {**mcp, "status": "failed"}},
            {"type": "item.started", "item": todo},
            {"type": "item.updated", "item": todo},
            {
                "type": "item.started",
                "item": {"id": "item_5", "type": "command_execution", "command": "sleep"},
            },
            {"type": "item.completed", "item": {"id": "item_6", "type": "agent_message", "text": "done"}},
            {
                "type": "turn.completed",
                "usage": {"input_tokens": 100, "cached_input_tokens": 40, "output_tokens": 7},
            },
        ]
    )
    assert [(c.name, c.op, c.status, c.status_source) for c in trace.calls] == [
        ("command_execution", "shell", "error", "exit_code"),
        ("file_change", "patch", "ok", "flag"),
        ("find", "mcp", "error", "flag"),
        ("todo_list", "plan", "unanswered", "none"),
        ("command_execution", "shell", "unanswered", "none"),
    ]
    assert trace.calls[0].detail.display == CommandOutput("a\n", 1, 2)
    assert isinstance(trace.calls[3].detail.display, TodoList)
    assert trace.calls[2].detail.result == "down"
    (session,) = trace.sessions
    assert (session.id, session.records, session.tokens) == (
        "t1",
        12,
        traces.Tokens(input=60, cache_read=40, output=7),
    )
    assert [change.path for change in trace.file_changes] == ["a.py"]
    assert [one.kind for one in trace.events if one.text] == ["thinking", "assistant_text"]


def test_ids_of_items_begin_again_in_every_run(load: Load) -> None:
    run = [
        {"type": "thread.started", "thread_id": "t"},
        {"type": "item.completed", "item": {"id": "item_0", "type": "web_search", "query": "q"}},
    ]
    assert [call.id for call in load([*run, *run]).calls] == ["item_0", "2.item_0"]
    other = [{**run[0], "thread_id": "u"}, run[1]]
    assert [(one.id, one.records) for one in load([*run, *other]).sessions] == [("t", 2), ("u", 2)]


def test_a_log_is_recognised_by_its_content(tmp_path: Path) -> None:
    def head(*records: Record) -> Head:
        return Head(tmp_path / "x", "\n".join(map(json.dumps, records)).encode())

    assert Codex().recognises(head(meta()))
    assert Codex().recognises(head({"id": "a", "timestamp": "t", "instructions": None}))
    assert not Codex().recognises(
        head({"type": "user", "message": {"content": json.dumps(meta())}, "uuid": "u"})
    )
    assert CodexExec().recognises(head({"type": "thread.started", "thread_id": "t"}))
    assert not CodexExec().recognises(head(meta()))


_LOG = [
    *fork(),
    asks("c1", cmd="x"),
    ran("c1"),
    item("custom_tool_call", name="exec", call_id="e", input="tools.a("),
]
_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3),
    max_leaves=5,
)
_KEYS = [*Payload.__struct_fields__, "plan"]


@settings(deadline=None)
@given(st.binary(max_size=60), st.integers(0, 3000), st.integers(0, 40))
def test_mangled_bytes_never_raise(
    tmp_path_factory: pytest.TempPathFactory, noise: bytes, at: int, cut: int
) -> None:
    data = "".join(f"{json.dumps(one)}\n" for one in _LOG).encode()
    at %= len(data)
    path = tmp_path_factory.mktemp("m") / "log.jsonl"
    path.write_bytes(data[:at] + noise + data[at + cut :])
    trace = traces.Trace([LogFile(Source(path), Codex())])
    assert sum(session.records for session in trace.sessions) <= len(_LOG) + noise.count(b"{")
    for call in trace.calls:
        assert call.detail.args is not None


@settings(deadline=None)
@given(st.lists(st.tuples(st.sampled_from(range(len(_LOG))), st.sampled_from(_KEYS), _VALUES), max_size=6))
def test_fields_of_any_type_never_raise(
    tmp_path_factory: pytest.TempPathFactory, put: list[tuple[int, str, Any]]
) -> None:
    records = json.loads(json.dumps(_LOG))
    for index, key, found in put:
        records[index]["payload"][key] = found
    path = tmp_path_factory.mktemp("m") / "log.jsonl"
    path.write_text("".join(f"{json.dumps(one)}\n" for one in records))
    trace = traces.load(path)
    assert sum(session.records for session in trace.sessions) + len(trace.problems) >= len(_LOG)
    for call in trace.calls:
        assert call.detail.args is not None


PLUGINS = "<recommended_plugins>\nThese plugins may help: one, two, three.\n</recommended_plugins>"
GOAL = "<new_context_of_next_year>The goal of this thread is a release.</new_context_of_next_year>"


def user_message(text: str, **more: Any) -> Record:
    return event("user_message", message=text, **more)


def user_item(text: str) -> Record:
    return event(
        "item_completed", item={"type": "UserMessage", "id": "u", "content": [{"type": "text", "text": text}]}
    )


@pytest.mark.parametrize("record", [user_message, user_item])
def test_only_what_the_log_records_as_a_prompt_is_the_persons(
    load: Load, record: Callable[[str], Record]
) -> None:
    """Whatever the next version inserts, it is not taken for the person's words, their turn or the title."""
    answer = says("assistant", "done")
    trace = load(
        [
            meta(),
            says("user", GOAL),
            says("user", "<skill> is what I typed"),
            record("<skill> is what I typed"),
            answer,
        ]
    )
    assert [(one.text, one.turn) for one in trace.events if one.kind == "user"] == [
        ("<skill> is what I typed", 1)
    ]
    assert [one.kind for one in trace.events if one.text == GOAL] == ["system"]
    assert trace.sessions[0].title == "<skill> is what I typed"


def test_a_prompt_among_images_is_the_persons(load: Load) -> None:
    parts = [
        {"type": "input_text", "text": "<image name=[Image #1]>"},
        {"type": "input_image"},
        {"type": "input_text", "text": "Look at it"},
    ]
    trace = load(
        [meta(), item("message", role="user", content=parts), user_message("Look at it", images=["data:"])]
    )
    assert [one.kind for one in trace.events if "Look at it" in one.text] == ["user"]


def test_a_recorded_prompt_that_no_message_repeats_is_a_message_once(load: Load) -> None:
    trace = load(
        [
            meta(),
            says("user", GOAL),
            user_message("go on"),
            user_item("go on"),
            says("assistant", "done"),
            user_message("go on"),
        ]
    )
    assert [(one.text, one.turn) for one in trace.events if one.kind == "user"] == [
        ("go on", 1),
        ("go on", 2),
    ]


def test_texts_that_early_versions_record_as_inserted_are_no_prompts(load: Load) -> None:
    inserted = "<environment_context>\n<cwd>/x</cwd>"
    recorded = [user_message(inserted, kind="environment_context"), user_message("do", kind="plain")]
    trace = load([meta(), says("user", inserted), recorded[0], says("user", "do"), recorded[1]])
    assert [one.text for one in trace.events if one.kind == "user"] == ["do"]


def test_without_recorded_prompts_the_newest_kinds_and_then_the_beginnings_decide(load: Load) -> None:
    def kinds(words: str, kind: str) -> Record:
        return item(
            "message",
            role="user",
            content=[{"type": "input_text", "text": words}],
            internal_chat_message_metadata_passthrough={"content_item_kinds": [kind]},
        )

    trace = load(
        [
            meta(),
            says("user", PLUGINS),
            says("user", "<goal_context>x"),
            kinds("<skill>", "user.text"),
            says("user", "the task"),
        ]
    )
    assert [one.text for one in trace.events if one.kind == "user"] == ["<skill>", "the task"]


def test_messages_between_agents_and_the_findings_of_a_review_have_their_texts(load: Load) -> None:
    content = [
        {"type": "input_text", "text": "Payload: count the lines"},
        {"type": "encrypted_content", "encrypted_content": "gAAA"},
    ]
    place = {"absolute_file_path": "/w/a.py", "line_range": {"start": 7, "end": 9}}
    output = {
        "findings": [{"title": "Wrong sum", "body": "It adds twice.", "code_location": place}],
        "overall_explanation": "Not ready.",
    }
    trace = load(
        [
            meta(),
            item("agent_message", author="/root", recipient="/root/a", content=content),
            event("exited_review_mode", review_output=output),
        ]
    )
    assert [(one.kind, one.text) for one in trace.events if one.type != "session_meta"] == [
        ("system", "/root\n/root/a\nPayload: count the lines"),
        ("system", "Wrong sum\n\nIt adds twice.\n\n/w/a.py\n\nNot ready."),
    ]


@given(
    st.lists(st.sampled_from(["typed", "typed_alone", "inserted", "known", "answer"]), max_size=8),
    st.integers(0, 9),
)
@settings(max_examples=examples(60), deadline=None)
def test_a_growing_log_ends_with_the_rows_of_the_whole(
    tmp_path_factory: pytest.TempPathFactory, parts: list[str], at: int
) -> None:
    records = [meta()]
    for number, part in enumerate(parts):
        words = f"text {number % 3}"
        new = {
            "typed": [says("user", words), user_message(words)],
            "typed_alone": [user_item(words)],
            "inserted": [says("user", f"<brand_new_{number}>")],
            "known": [says("user", PLUGINS)],
            "answer": [says("assistant", "ok")],
        }
        records += new[part]
    records.append(says("assistant", "the end"))
    lines = [json.dumps(one).encode() + b"\n" for one in records]
    path = tmp_path_factory.mktemp("log") / "rollout.jsonl"
    path.write_bytes(b"".join(lines[:at]))
    source = Source(path)
    reading = Codex().begin(source, LogFile(source, Codex()))
    path.write_bytes(b"".join(lines))
    rows = [*reading.read(source)]
    if not reading.is_stale():
        assert [row for row in rows if isinstance(row, Event)] == list(traces.load(path).events)


def test_a_search_for_tools_with_an_id_is_a_call_and_a_hosted_one_is_not(load: Load) -> None:
    search = item(
        "tool_search_call",
        call_id="t1",
        status="completed",
        execution="client",
        arguments={"query": "calendar"},
    )
    hosted = item("tool_search_call", call_id=None, status="completed", arguments={"query": "calendar"})
    trace = load(
        [meta(), search, item("tool_search_output", call_id="t1", status="completed", tools=[]), hosted]
    )
    assert [(one.native_id, one.counted) for one in trace.calls] == [("t1", True), ("", False)]
    assert trace.facts()["tool_calls"] == 1


@pytest.mark.parametrize("sample", sorted(path.name for path in SAMPLES.glob("codex/*.jsonl")))
def test_blanks_and_the_order_of_keys_do_not_matter(sample: str, tmp_path: Path) -> None:
    """Prompts and roll-backs are found in a first look at the beginnings of lines, as Codex writes them,
    and in any other notation.
    """
    records = [json.loads(line) for line in (SAMPLES / "codex" / sample).read_text().splitlines()]
    said = []
    for number, (separators, backwards) in enumerate(
        [((",", ":"), False), ((", ", ": "), False), ((",", ":"), True)]
    ):
        path = tmp_path / f"{number}.jsonl"
        lines = [json.dumps(_reversed(one) if backwards else one, separators=separators) for one in records]
        path.write_text("\n".join(lines) + "\n")
        said.append([(one.kind, one.turn, one.live, one.size) for one in traces.load(path).events])
    assert said[0] == said[1] == said[2]


def _reversed(value: Any) -> Any:
    return {key: _reversed(one) for key, one in reversed(value.items())} if isinstance(value, dict) else value


def test_a_prompt_on_a_damaged_line_is_found(load: Load) -> None:
    prompt = json.dumps(event("user_message", message="Repair the price"), separators=(",", ":"))
    repeated = {
        "type": "message",
        "role": "user",
        "content": [{"type": "input_text", "text": "Repair the price"}],
    }
    trace = load([meta(), line("response_item", **repeated), f"{prompt}{prompt}"])
    assert [one.text for one in trace.events if one.kind == "user"] == ["Repair the price"]
