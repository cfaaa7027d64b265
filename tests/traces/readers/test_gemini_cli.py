"""Traps of Gemini CLI's logs, for a naive reader."""

from __future__ import annotations

import base64
import json
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nbtools import traces
from nbtools.core.result import (
    CommandOutput,
    Entry,
    FileDiff,
    FileText,
    Listing,
    Matches,
    Media,
    TodoItem,
    TodoList,
)
from nbtools.traces.readers.gemini_cli import GeminiCheckpoint, GeminiCli, GeminiTelemetry
from tests.traces.readers.damage import damaged, read_whole, spoilt, written

META = {"sessionId": "s", "projectHash": "p", "startTime": "2026-01-01T00:00:00.000Z", "kind": "main"}


def message(
    id: str,  # noqa: A002 - as written
    type: str = "user",  # noqa: A002 - as written
    content: Any = "hello",
    second: int = 0,
    **more: Any,
) -> dict[str, Any]:
    return {
        "id": id,
        "timestamp": f"2026-01-01T00:00:{second:02}.000Z",
        "type": type,
        "content": content,
        **more,
    }


def call(
    name: str,
    args: dict[str, Any],
    output: str = "",
    *,
    status: str = "success",
    id: str = "",  # noqa: A002
    **more: Any,
) -> dict[str, Any]:
    key = "output" if status == "success" else "error"
    result = [{"functionResponse": {"id": id or name, "name": name, "response": {key: output}}}]
    return {"id": id or f"{name}-1", "name": name, "args": args, "result": result, "status": status, **more}


def log(path: Path, *lines: Any) -> traces.Trace:
    path.write_bytes(written([META, *lines]))
    return traces.load(path)


def one(path: Path, recorded: dict[str, Any]) -> traces.Call:
    trace = log(path / "log.jsonl", message("m", "gemini", "", toolCalls=[recorded]))
    return trace.calls[0]


def texts(trace: traces.Trace) -> list[tuple[str, bool]]:
    return [(event.text, event.live) for event in trace.events]


def test_a_message_with_the_same_id_replaces_the_earlier_one(tmp_path: Path) -> None:
    trace = log(
        tmp_path / "a",
        message("1", content="first"),
        message("2", content="second"),
        message("1", content="better"),
    )
    assert texts(trace) == [("better", True), ("second", True)]
    assert trace.facts()["records"] == 2


def test_a_rewind_drops_the_message_and_all_after_but_they_are_still_seen(tmp_path: Path) -> None:
    edit = call("write_file", {"file_path": "a", "content": "x\n"})
    trace = log(
        tmp_path / "a",
        message("1", content="first"),
        message("2", "gemini", "wrong", second=50, toolCalls=[edit], tokens={"input": 9}),
        {"$rewindTo": "2"},
        message("3", content="again", second=9),
    )
    assert texts(trace) == [("first", True), ("wrong", False), ("again", True)]
    assert [(one.live, one.counted) for one in trace.calls] == [(False, False)]
    facts = trace.facts()
    assert (facts["records"], facts["tool_calls"], facts["file_edits"], facts["tokens"]) == (2, 0, 0, {})
    assert facts["last_ts"] == "2026-01-01T00:00:09.000Z"


def test_a_rewind_to_a_missing_message_drops_nothing(tmp_path: Path) -> None:
    assert texts(log(tmp_path / "a", message("1"), {"$rewindTo": "9"})) == [("hello", True)]


def test_a_message_may_come_back_after_a_rewind(tmp_path: Path) -> None:
    trace = log(tmp_path / "a", message("1", content="old"), {"$rewindTo": "1"}, message("1", content="new"))
    assert texts(trace) == [("old", False), ("new", True)]


def test_set_messages_replaces_all_and_other_fields_are_of_the_session(tmp_path: Path) -> None:
    kept, summary = message("2", content="kept"), message("9", content="summary")
    trace = log(
        tmp_path / "a",
        message("1", content="old"),
        kept,
        {"$set": {"summary": "a title", "messages": [summary, kept]}},
    )
    assert texts(trace) == [("old", False), ("summary", True), ("kept", True)]
    assert trace.sessions[0].title == "a title"


def test_rows_of_messages_inside_a_set_point_at_their_own_bytes(tmp_path: Path) -> None:
    inside = message("2", "gemini", "ü", toolCalls=[call("read_file", {"file_path": "a"}, "text")])
    trace = log(tmp_path / "a", message("1"), {"$set": {"messages": [message("1"), inside]}})
    ref = trace.calls[0].ref
    assert json.loads((tmp_path / "a").read_bytes()[ref.offset : ref.offset + ref.length]) == inside
    assert trace.calls[0].detail.result == "text"


def test_joined_lines_and_wrong_bytes_are_problems_and_their_records_are_found(tmp_path: Path) -> None:
    data = (
        written([META])
        + json.dumps(message("1")).encode()
        + written([message("2")])
        + b'{"id": "3", "cut\n'
        + written([message("4")])
    )
    (tmp_path / "a").write_bytes(data)
    trace = traces.load(tmp_path / "a")
    assert [problem.ref.line for problem in trace.problems] == [2, 3]
    facts = trace.facts()
    assert (facts["records"], facts["malformed"], facts["recovered"]["records"]) == (1, 2, 3)


@pytest.mark.parametrize("indent", [None, 2])
def test_a_document_that_is_cut_short_still_has_its_complete_messages(
    tmp_path: Path, indent: int | None
) -> None:
    text = json.dumps(
        {**META, "messages": [message("1"), message("2"), message("3", content="}]" * 99)]}, indent=indent
    )
    (tmp_path / "a").write_text(text[:-60])
    trace = traces.load(tmp_path / "a")
    assert len(trace.events) == 2
    assert len(trace.problems) == 1


@pytest.mark.parametrize(
    ("status", "expected", "answered"), [("cancelled", "cancelled", True), ("executing", "unanswered", False)]
)
def test_a_status_is_what_the_flag_says(tmp_path: Path, status: str, expected: str, answered: bool) -> None:
    found = one(tmp_path, call("run_shell_command", {"command": "ls"}, status=status))
    assert (found.status, found.answered) == (expected, answered)


def test_a_command_that_exits_with_1_is_ok_and_shows_its_code(tmp_path: Path) -> None:
    output = "Command: false\nDirectory: (root)\nOutput: out\nError: err\nExit Code: 1\nSignal: 0\nProcess Group PGID: 7"
    found = one(tmp_path, call("run_shell_command", {"command": "false"}, output, resultDisplay="out\nerr"))
    assert (found.status, found.exit_code, found.subject, found.op) == ("ok", 1, "false", "shell")
    assert (found.detail.stdout, found.detail.stderr, found.detail.command) == ("out", "err", "false")
    assert found.detail.display == CommandOutput("out\nerr", 2, 1)


def test_newer_versions_leave_an_exit_code_of_0_out(tmp_path: Path) -> None:
    shown = [[{"text": "a", "bold": True}, {"text": "b  "}], [{"text": "c"}]]
    found = one(
        tmp_path,
        call(
            "run_shell_command",
            {"command": "ls"},
            "Output: ab\nc\nProcess Group PGID: 7",
            resultDisplay=shown,
        ),
    )
    assert found.exit_code == 0
    assert found.detail.display == CommandOutput("ab\nc", 2, 0)


def test_a_recorded_diff_is_rendered_from_its_texts(tmp_path: Path) -> None:
    shown = {
        "fileDiff": "Index: …",
        "fileName": "a.py",
        "originalContent": "1\n2\n",
        "newContent": "1\n3\n",
        "diffStat": {},
    }
    trace = log(
        tmp_path / "a",
        message(
            "m",
            "gemini",
            "",
            toolCalls=[call("replace", {"file_path": "/w/a.py"}, "done", resultDisplay=shown)],
        ),
    )
    display = trace.calls[0].detail.display
    assert isinstance(display, FileDiff)
    assert (display.file_name, display.original_content, display.new_content) == (
        "/w/a.py",
        "1\n2\n",
        "1\n3\n",
    )
    assert "-2\n+3\n" in display.file_diff
    assert trace.file_changes[0].path == "/w/a.py"


def test_counted_lines_are_those_of_the_recorded_stat(tmp_path: Path) -> None:
    shown = {
        "fileDiff": "--- a\n+++ a\n@@ -1 +1 @@\n-x\n+y\n",
        "isNewFile": True,
        "diffStat": {"model_added_lines": 5, "model_removed_lines": 0},
    }
    (change,) = log(
        tmp_path / "a",
        message("m", "gemini", "", toolCalls=[call("write_file", {"file_path": "a"}, resultDisplay=shown)]),
    ).file_changes
    assert (change.kind, change.added, change.removed, change.basis) == ("add", 5, 0, "recorded_patch")


def test_a_diff_that_was_taken_out_follows_from_the_arguments(tmp_path: Path) -> None:
    args = {"file_path": "a.py", "old_string": "1\n2\n", "new_string": "1\n3\n4\n"}
    trace = log(
        tmp_path / "a",
        message("m", "gemini", "", toolCalls=[call("replace", args, "done", resultDisplay=None)]),
    )
    (change,) = trace.file_changes
    assert (change.added, change.removed, change.basis, change.applied) == (2, 1, "arguments", True)
    assert isinstance(trace.calls[0].detail.display, FileDiff)


def test_an_edit_that_failed_did_not_happen(tmp_path: Path) -> None:
    recorded = call("replace", {"file_path": "a", "old_string": "1", "new_string": "2"}, "no", status="error")
    trace = log(tmp_path / "a", message("m", "gemini", "", toolCalls=[recorded]))
    assert [change.applied for change in trace.file_changes] == [False]
    assert trace.calls[0].detail.display == "no"
    assert trace.facts()["tool_errors"] == 1


@pytest.mark.parametrize(
    ("name", "args", "output", "expected"),
    [
        ("read_file", {"file_path": "a"}, "x\ny\n", FileText("a", 1, ("x", "y"), 2)),
        ("read_file", {"file_path": "a", "offset": 4}, "x\n", FileText("a", 5, ("x",), 5)),
        (
            "read_file",
            {"file_path": "a"},
            "\nIMPORTANT: …\nStatus: Showing lines 3-4 of 90 total lines.\nAction: …\n\n--- FILE CONTENT (truncated) ---\nx\ny",
            FileText("a", 3, ("x", "y"), 90),
        ),
        (
            "list_directory",
            {"dir_path": "d"},
            "Directory listing for /w/d:\n[DIR] src\na.py (12 bytes)\nb\n\n(2 ignored)",
            Listing((Entry("src", folder=True), Entry("a.py", size=12), Entry("b")), 3),
        ),
        (
            "glob",
            {"pattern": "*"},
            'Found 2 file(s) matching "*" within /w:\n/w/a\n/w/b',
            Listing((Entry("/w/a"), Entry("/w/b")), 2),
        ),
        (
            "write_todos",
            {"todos": [{"description": "one", "status": "completed"}]},
            "ok",
            TodoList((TodoItem("one", "completed"),)),
        ),
    ],
)
def test_results_are_shown_as_our_tools_show_them(
    tmp_path: Path, name: str, args: dict[str, Any], output: str, expected: Any
) -> None:
    assert one(tmp_path, call(name, args, output)).detail.display == expected


def test_a_search_shows_its_matches(tmp_path: Path) -> None:
    output = 'Found 1 match for pattern "x" in path ".":\n---\nFile: a.py\nL1- before\nL2: x = 1\n---'
    display = one(tmp_path, call("grep_search", {"pattern": "x"}, output)).detail.display
    assert isinstance(display, Matches)
    assert (display.total, display.files) == (1, 1)
    assert [(match.path, match.line, match.text, match.context) for match in display.matches] == [
        ("a.py", 1, "before", True),
        ("a.py", 2, "x = 1", False),
    ]


def test_an_image_that_was_read_is_seen(tmp_path: Path) -> None:
    recorded = call("read_file", {"file_path": "a.png"})
    recorded["result"].append(
        {"inlineData": {"mimeType": "image/png", "data": base64.b64encode(b"png").decode()}}
    )
    assert one(tmp_path, recorded).detail.display == Media("a.png", "image/png", b"png")


def test_cached_input_is_not_counted_twice(tmp_path: Path) -> None:
    tokens = {"input": 100, "output": 7, "cached": 60, "thoughts": 5, "tool": 0, "total": 112}
    session = log(tmp_path / "a", message("1", "gemini", tokens=tokens), message("2", "gemini")).sessions[0]
    assert (session.tokens.input, session.tokens.cache_read, session.tokens.reasoning) == (40, 60, 5)
    assert session.native_tokens == tokens


def test_unknown_records_stay(tmp_path: Path) -> None:
    trace = log(tmp_path / "a", message("1", "novelty", [{"text": "a"}, {"inlineData": {}}, "b"]))
    assert [(event.kind, event.type, event.text) for event in trace.events] == [
        ("system", "novelty", "a\n[inlineData]\nb")
    ]
    assert trace.sessions[0].flags == ("unknown_records",)


def test_sub_agents_are_sessions_of_the_call_that_started_them(tmp_path: Path) -> None:
    (tmp_path / "s").mkdir()
    child = {**META, "sessionId": "child", "kind": "subagent"}
    (tmp_path / "s" / "child.jsonl").write_bytes(written([child, message("1", content="do it")]))
    trace = log(
        tmp_path / "a.jsonl",
        message("m", "gemini", "", toolCalls=[call("helper", {}, id="c1", agentId="child")]),
    )
    main, sub = trace.sessions
    assert (main.parent, sub.parent, sub.parent_call) == ("", "s", "c1")
    assert trace.calls[0].child == "child"
    assert (trace.calls[0].op, trace.events[-1].session, trace.events[-1].ref.file) == ("agent", "child", 1)


CHECKPOINT = {
    "history": [{"type": "user", "text": "do", "id": 1}],
    "clientHistory": [
        {"role": "user", "parts": [{"text": "do"}]},
        {
            "role": "model",
            "parts": [{"text": "yes"}, {"functionCall": {"name": "read_file", "args": {"file_path": "a"}}}],
        },
        {
            "role": "user",
            "parts": [{"functionResponse": {"name": "read_file", "response": {"output": "one\n"}}}],
        },
    ],
    "toolCall": {"name": "replace", "args": {"file_path": "a", "old_string": "one", "new_string": "two"}},
    "commitHash": "abc",
    "messageId": "m1",
}


def test_a_checkpoint_has_the_call_to_come_and_the_tree_before_it(tmp_path: Path) -> None:
    folder = tmp_path / "tmp" / "p" / "checkpoints"
    folder.mkdir(parents=True)
    (tmp_path / "history" / "p").mkdir(parents=True)
    (folder / "c.json").write_text(json.dumps(CHECKPOINT))
    trace = traces.load(folder / "c.json")
    session = trace.sessions[0]
    assert (session.commit, session.repository, session.format) == (
        "abc",
        str(tmp_path / "history" / "p"),
        "gemini-checkpoint",
    )
    assert [(one.name, one.status) for one in trace.calls] == [("read_file", "ok"), ("replace", "unanswered")]
    assert trace.calls[0].detail.display == FileText("a", 1, ("one",), 1)
    (change,) = trace.calls[1].detail.changes
    assert (change.original_content, change.new_content) == ("one", "two")


def test_a_large_checkpoint_is_recognized_by_its_end(tmp_path: Path) -> None:
    large = {**CHECKPOINT, "history": [{"type": "user", "text": "x" * 100_000}]}
    (tmp_path / "c.json").write_text(json.dumps(large, indent=2))
    assert len(traces.load(tmp_path / "c.json").calls) == 2


TELEMETRY = [
    {
        "hrTime": [1767225600, 0],
        "body": "prompt",
        "attributes": {"event.name": "gemini_cli.user_prompt", "session.id": "s", "prompt": "do"},
    },
    {
        "hrTime": [1767225602, 500_000_000],
        "attributes": {
            "event.name": "gemini_cli.tool_call",
            "session.id": "s",
            "function_name": "run_shell_command",
            "function_args": '{"command": "ls }{"}',
            "duration_ms": 1500,
            "success": True,
            "decision": "accept",
        },
    },
    {
        "hrTime": [1767225603, 0],
        "attributes": {
            "event.name": "gemini_cli.tool_call",
            "session.id": "s",
            "function_name": "x",
            "success": False,
            "decision": "reject",
        },
    },
    {
        "hrTime": [1767225604, 0],
        "attributes": {
            "event.name": "gemini_cli.api_response",
            "session.id": "s",
            "model": "g",
            "input_token_count": 9,
            "output_token_count": 1,
        },
    },
]


def test_telemetry_is_objects_over_many_lines_one_after_another(tmp_path: Path) -> None:
    (tmp_path / "t.log").write_bytes(written(TELEMETRY, indent=2) + b'{\n  "cut": \n')
    trace = traces.load(tmp_path / "t.log")
    first, second = trace.calls
    assert (first.status, first.duration, first.at, first.ended, first.subject) == (
        "ok",
        1.5,
        1767225601,
        1767225602.5,
        "ls }{",
    )
    assert (second.status, second.permission) == ("denied", "reject")
    assert first.detail.args == {"command": "ls }{"}
    assert (trace.sessions[0].records, trace.sessions[0].models, len(trace.problems)) == (4, ("g",), 1)


LINES = [
    META,
    message("1"),
    message(
        "2",
        "gemini",
        [{"text": "a"}],
        thoughts=[{"subject": "s", "description": "d", "timestamp": "2026-01-01T00:00:01Z"}],
        tokens={"input": 5, "cached": 1},
        toolCalls=[
            call(
                "replace",
                {"file_path": "a", "old_string": "1", "new_string": "2"},
                resultDisplay={"fileDiff": "@@ -1 +1 @@\n-a\n+b\n"},
            ),
            call("read_file", {"file_path": "a", "offset": 1}, "x"),
            call(
                "run_shell_command",
                {"command": "ls"},
                "Output: a\nExit Code: 2",
                resultDisplay=[[{"text": "a"}]],
            ),
        ],
    ),
    {
        "$set": {
            "messages": [
                message("1"),
                message("3", "gemini", toolCalls=[call("glob", {"pattern": "*"}, "Found\na")]),
            ],
            "summary": "t",
        }
    },
    {"$rewindTo": "3"},
    message("4", "info"),
]


@given(data=st.data())
def test_no_content_of_a_session_stops_the_reader(
    tmp_path_factory: pytest.TempPathFactory, data: st.DataObject
) -> None:
    documents = data.draw(st.one_of(damaged(LINES), damaged([{**META, "messages": [LINES[1], LINES[2]]}])))
    text = written(documents, data.draw(st.sampled_from([None, 1])) if len(documents) == 1 else None)
    path = tmp_path_factory.getbasetemp() / "damaged-gemini"
    path.write_bytes(data.draw(st.one_of(st.just(text), spoilt(text))))
    read_whole(path, GeminiCli())


@given(data=st.data())
def test_no_content_of_a_checkpoint_or_telemetry_stops_the_reader(
    tmp_path_factory: pytest.TempPathFactory, data: st.DataObject
) -> None:
    path = tmp_path_factory.getbasetemp() / "damaged-checkpoint"
    for documents, known in (([CHECKPOINT], GeminiCheckpoint()), (TELEMETRY, GeminiTelemetry())):
        text = written(data.draw(damaged(documents)), 2)
        path.write_bytes(data.draw(st.one_of(st.just(text), spoilt(text))))
        read_whole(path, known)


def test_results_and_the_context_of_the_session_are_not_the_persons(tmp_path: Path) -> None:
    result = call("read_file", {"file_path": "a"}, "the content of the file", id="c1")["result"]
    context = [{"text": "<session_context>\nThis is the Gemini CLI."}]
    answer = message(
        "3",
        "gemini",
        "",
        toolCalls=[call("read_file", {"file_path": "a"}, "the content of the file", id="c1")],
    )
    unknown = [
        {
            "functionResponse": {
                "id": "c9",
                "name": "ls",
                "response": {"output": "the result of a call that was lost"},
            }
        }
    ]
    lines = [
        message("1", content=context),
        message("2", content=[{"text": "Fix it"}]),
        answer,
        message("4", content=result),
    ]
    trace = log(tmp_path / "log.jsonl", *lines, message("5", content=unknown))
    assert [(event.text, event.turn) for event in trace.events if event.kind == "user"] == [("Fix it", 1)]
    assert [event.text for event in trace.events if event.kind == "tool_result"] == [
        "the result of a call that was lost"
    ]
    assert [call.result_size for call in trace.calls] == [len("the content of the file")]


def test_the_project_is_the_one_of_the_table_that_has_the_sessions_hash(tmp_path: Path) -> None:
    chats = tmp_path / ".gemini" / "tmp" / "workspace" / "chats"
    chats.mkdir(parents=True)
    (tmp_path / ".gemini" / "projects.json").write_text(
        json.dumps({"projects": {"/other": "workspace-1", "/work/shop": "workspace"}})
    )
    head = {**META, "projectHash": sha256(b"/work/shop").hexdigest()}
    for meta, cwd in ((head, "/work/shop"), (META, "")):
        (chats / "session-1.jsonl").write_bytes(written([meta, message("1")]))
        assert traces.load(chats / "session-1.jsonl").sessions[0].cwd == cwd


@pytest.mark.parametrize("odd", [7, None, ["x"], {"a": 1}])
@pytest.mark.parametrize("field", ["model", "thoughts", "tokens", "parts"])
def test_a_field_of_an_odd_type_loses_only_itself(tmp_path: Path, field: str, odd: Any) -> None:
    spent = {"input": 9, "output": 2, "cached": 4, "thoughts": 1, "tool": 0, "total": 12}
    thoughts = [{"subject": "Plan", "description": "Look first.", "timestamp": "2026-01-01T00:00:01.000Z"}]
    fields: dict[str, Any] = {"model": "gemini-x", "thoughts": thoughts, "tokens": spent}
    calls = [
        call("read_file", {"file_path": "a.py"}, "text"),
        call("write_file", {"file_path": "b.py", "content": "x\n"}, id="w"),
    ]
    plain = log(
        tmp_path / "plain.jsonl", message("m", "gemini", "Done.", toolCalls=calls, **{**fields, field: None})
    )
    trace = log(
        tmp_path / "odd.jsonl", message("m", "gemini", "Done.", toolCalls=calls, **{**fields, field: odd})
    )
    kept = [
        (one.kind, one.text, one.model)
        for one in plain.events
        if field != "thoughts" or one.kind != "thinking"
    ]
    assert [
        (one.kind, one.text, one.model)
        for one in trace.events
        if field != "thoughts" or one.kind != "thinking"
    ] == kept
    assert [(one.name, one.paths, one.status, one.detail.result) for one in trace.calls] == [
        (one.name, one.paths, one.status, one.detail.result) for one in plain.calls
    ]
    assert [(one.path, one.added) for one in trace.file_changes] == [("b.py", 1)]
    assert trace.problems == []


def test_a_call_of_an_odd_type_does_not_take_the_others_with_it(tmp_path: Path) -> None:
    calls = [
        7,
        call("glob", {"pattern": "*"}, "none"),
        {"id": 3, "name": None, "args": "x", "status": 5, "resultDisplay": [1]},
    ]
    trace = log(tmp_path / "log.jsonl", message("m", "gemini", "", toolCalls=calls))
    assert [(one.name, one.status) for one in trace.calls] == [("glob", "ok"), ("?", "unanswered")]
