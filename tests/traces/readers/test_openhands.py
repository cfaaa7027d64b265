"""Traps of OpenHands' logs, for a naive reader."""

from __future__ import annotations

import base64
import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nbtools import traces
from nbtools.core.result import CommandOutput, Entry, FileDiff, FileText, Listing, Media, TodoItem, TodoList
from nbtools.traces.readers.openhands import OpenHands
from tests.traces.readers.damage import damaged, read_whole, spoilt, written


def asks(
    id: int,  # noqa: A002 - as written
    action: str,
    function: str = "f",
    *,
    native: str = "toolu_01",
    **args: Any,
) -> dict[str, Any]:
    called = {
        "function_name": function,
        "tool_call_id": native,
        "model_response": {"id": "r", "model": "m"},
        "total_calls_in_response": 1,
    }
    base = {
        "id": id,
        "timestamp": f"2025-10-10T06:10:{id:02}.000000",
        "source": "agent",
        "action": action,
        "args": args,
    }
    return {**base, "tool_call_metadata": called} if function else base


def answers(cause: int, observation: str, content: str = "", **extras: Any) -> dict[str, Any]:
    at = f"2025-10-10T06:11:{cause:02}.000000"
    return {
        "id": cause + 100,
        "timestamp": at,
        "source": "agent",
        "observation": observation,
        "cause": cause,
        "content": content,
        "extras": extras,
    }


def events(path: Path, *recorded: Any) -> traces.Trace:
    path.write_text(json.dumps(recorded, indent=1))
    return traces.load(path)


def test_results_are_joined_by_cause_because_all_calls_may_have_one_id(tmp_path: Path) -> None:
    trace = events(
        tmp_path / "e",
        asks(1, "run", "execute_bash", command="a"),
        asks(2, "run", "execute_bash", command="b"),
        answers(2, "run", "of b", metadata={"exit_code": 0}),
        answers(1, "run", "of a", metadata={"exit_code": 3}),
    )
    assert [(call.native_id, call.subject, call.detail.result) for call in trace.calls] == [
        ("toolu_01", "a", "of a"),
        ("toolu_01", "b", "of b"),
    ]
    assert [(call.status, call.exit_code, call.status_source) for call in trace.calls] == [
        ("error", 3, "exit_code"),
        ("ok", 0, "exit_code"),
    ]
    assert trace.facts()["tool_errors"] == 1


def test_times_without_a_zone_are_utc_and_a_call_takes_until_its_result(tmp_path: Path) -> None:
    (call,) = events(tmp_path / "e", asks(1, "run", command="a"), answers(1, "run")).calls
    assert (call.at, call.duration) == (1760076601.0, 60.0)


@pytest.mark.parametrize(
    ("observation", "content", "extras", "status", "source"),
    [
        ("error", "no", {}, "error", "flag"),
        ("edit", "ERROR: no", {}, "error", "text"),
        ("mcp", "no", {"error": True}, "error", "flag"),
        ("run", "", {"metadata": {"exit_code": -1}}, "unknown", "none"),
        ("user_rejected", "no", {}, "denied", "flag"),
        ("read", "text", {}, "ok", "flag"),
    ],
)
def test_the_outcome_of_a_call_is_read(
    tmp_path: Path, observation: str, content: str, extras: dict[str, Any], status: str, source: str
) -> None:
    (call,) = events(tmp_path / "e", asks(1, "run"), answers(1, observation, content, **extras)).calls
    assert (call.status, call.status_source) == (status, source)


def test_actions_that_no_model_called_as_functions_are_seen_and_not_counted(tmp_path: Path) -> None:
    trace = events(
        tmp_path / "e",
        asks(1, "message", "", content="hi"),
        asks(2, "run", "", command="ls"),
        answers(2, "run", "x"),
    )
    assert [(call.name, call.op, call.counted) for call in trace.calls] == [("run", "shell", False)]
    assert trace.facts()["tool_calls"] == 0
    assert [event.text for event in trace.events] == ["hi"]


def test_an_edit_shows_the_recorded_texts_and_a_view_is_no_edit(tmp_path: Path) -> None:
    trace = events(
        tmp_path / "e",
        asks(1, "edit", "str_replace_editor", path="/w/a", command="str_replace", old_str="1", new_str="2"),
        answers(1, "edit", "done", prev_exist=True, old_content="1\nx\n", new_content="2\nx\n"),
        asks(2, "edit", "str_replace_editor", path="/w/a", command="view"),
        answers(2, "edit", "text"),
        asks(3, "edit", "str_replace_editor", path="/w/b", command="create", file_text="new\n"),
        answers(3, "edit", "done"),
    )
    edit, view, create = trace.calls
    assert (edit.op, view.op, create.op) == ("edit", "read", "write")
    display = edit.detail.display
    assert isinstance(display, FileDiff)
    assert (display.original_content, display.new_content) == ("1\nx\n", "2\nx\n")
    assert [(one.path, one.kind, one.added, one.removed, one.basis) for one in trace.file_changes] == [
        ("/w/a", "modify", 1, 1, "recorded_texts"),
        ("/w/b", "add", 1, 0, "arguments"),
    ]


def test_a_read_has_its_lines(tmp_path: Path) -> None:
    content = "Here's the result of running `cat -n` on /w/a:\n     3\tx\n     4\ty\n"
    (call,) = events(
        tmp_path / "e", asks(1, "read", "str_replace_editor", path="/w/a"), answers(1, "read", content)
    ).calls
    assert call.detail.display == FileText("/w/a", 3, ("x", "y"), 4)


def test_commands_tasks_and_screenshots_are_shown_as_ours(tmp_path: Path) -> None:
    url = "data:image/png;base64," + base64.b64encode(b"png").decode()
    trace = events(
        tmp_path / "e",
        asks(1, "run", "execute_bash", command="ls"),
        answers(1, "run", "a\nb", metadata={"exit_code": 2, "working_dir": "/w"}),
        asks(2, "task_tracking", "task_tracker", task_list=[{"title": "t", "status": "done"}]),
        answers(2, "task_tracking", "ok"),
        asks(3, "browse_interactive", "browser", browser_actions="goto('x')"),
        answers(3, "browse", "page", screenshot=url),
    )
    shown = [call.detail.display for call in trace.calls]
    assert shown == [
        CommandOutput("a\nb", 2, 2),
        TodoList((TodoItem("t", "completed"),)),
        Media("", "image/png", b"png"),
    ]
    assert trace.calls[0].detail.cwd == "/w"


def test_an_evaluation_has_a_session_a_line_and_its_rows_point_into_the_line(tmp_path: Path) -> None:
    usage = {"prompt_tokens": 100, "completion_tokens": 5, "cache_read_tokens": 60, "cache_write_tokens": 10}
    run = [asks(1, "run", "execute_bash", command="ü"), answers(1, "run", "ok")]
    lines = [
        {
            "instance_id": name,
            "history": run,
            "metrics": {"accumulated_token_usage": usage},
            "test_result": {},
        }
        for name in "aba"
    ]
    path = tmp_path / "output.jsonl"
    path.write_bytes(written(lines))
    trace = traces.load(path)
    assert [session.id for session in trace.sessions] == ["a", "b", "a#2"]
    facts = trace.facts()
    assert (facts["sessions"], facts["tool_calls"], facts["tokens"]["input"]) == (3, 3, 300)
    assert trace.sessions[0].tokens == traces.Tokens(30, 60, 10, 5)
    data = path.read_bytes()
    for call in trace.calls:
        assert json.loads(data[call.ref.offset : call.ref.offset + call.ref.length]) == run[0]
        assert (
            json.loads(data[call.result_ref.offset : call.result_ref.offset + call.result_ref.length])
            == run[1]
        )


def test_older_histories_are_pairs(tmp_path: Path) -> None:
    pair = [
        {"action": "run", "args": {"command": "ls", "thought": "I look"}},
        {"observation": "run", "content": "a", "extras": {"metadata": {"exit_code": 0}}},
    ]
    silent = [
        {"action": "message", "source": "user", "args": {"content": "do it"}},
        {"observation": "null", "content": ""},
    ]
    (tmp_path / "o").write_bytes(
        written([{"instance_id": "i", "history": [silent, pair, pair], "git_patch": ""}])
    )
    trace = traces.load(tmp_path / "o")
    assert [(call.name, call.status, call.detail.result, call.detail.args) for call in trace.calls] == [
        ("run", "ok", "a", {"command": "ls"})
    ] * 2
    assert [event.text for event in trace.events if event.kind != "system"] == ["do it", "I look", "I look"]


def v1(id: str, kind: str, source: str = "agent", **more: Any) -> dict[str, Any]:  # noqa: A002 - as written
    return {"id": id, "timestamp": "2026-01-01T00:00:00", "source": source, "kind": kind, **more}


def action(id: str, tool: str, **fields: Any) -> dict[str, Any]:  # noqa: A002 - as written
    call = {"id": f"t-{id}", "name": tool, "arguments": json.dumps(fields), "origin": "completion"}
    base = {
        "thought": [{"type": "text", "text": "so"}],
        "reasoning_content": "hm",
        "tool_name": tool,
        "tool_call_id": f"t-{id}",
    }
    return v1(
        id, "ActionEvent", **base, action={"kind": "Action", **fields}, tool_call=call, llm_response_id="r"
    )


def observation(id: str, tool: str, **fields: Any) -> dict[str, Any]:  # noqa: A002 - as written
    return v1(
        f"o{id}",
        "ObservationEvent",
        "environment",
        tool_name=tool,
        tool_call_id=f"t-{id}",
        action_id=id,
        observation=fields,
    )


V1 = [
    v1(
        "0",
        "MessageEvent",
        "user",
        llm_message={"role": "user", "content": [{"type": "text", "text": "do it"}]},
    ),
    action("1", "terminal", command="ls"),
    observation(
        "1",
        "terminal",
        kind="TerminalObservation",
        content=[{"type": "text", "text": "a"}],
        exit_code=1,
        is_error=False,
    ),
    action("2", "file_editor", command="str_replace", path="/w/a", old_str="1", new_str="2"),
    observation(
        "2",
        "file_editor",
        kind="FileEditorObservation",
        content=[],
        prev_exist=True,
        old_content="1\n",
        new_content="2\n",
    ),
    action("3", "glob", pattern="*"),
    observation("3", "glob", kind="GlobObservation", files=["/w/a"], content=[]),
    action("4", "terminal", command="rm x"),
    v1(
        "5",
        "UserRejectObservation",
        "environment",
        tool_name="terminal",
        tool_call_id="t-4",
        action_id="4",
        rejection_reason="never",
    ),
    action("6", "terminal", command="x"),
    v1("7", "AgentErrorEvent", tool_name="terminal", tool_call_id="t-6", error="bad"),
    v1("8", "Condensation", "environment", forgotten_event_ids=["1"], summary="short"),
]


def event_folder(path: Path, recorded: list[Any]) -> Path:
    (path / "events").mkdir(parents=True, exist_ok=True)
    for number, event in enumerate(recorded):
        (path / "events" / f"event-{number:05}-0a0a0a0a-{number:04}.json").write_text(json.dumps(event))
    return path


@pytest.mark.parametrize("opened", ["", "events", "events/event-00003-0a0a0a0a-0003.json"])
def test_version_1_keeps_a_file_an_event(tmp_path: Path, opened: str) -> None:
    trace = traces.load(event_folder(tmp_path / "conversation", V1) / opened)
    assert (trace.sessions[0].id, trace.sessions[0].format_version, trace.sessions[0].records) == (
        "conversation",
        "1",
        12,
    )
    assert [(call.op, call.status) for call in trace.calls] == [
        ("shell", "error"),
        ("edit", "ok"),
        ("list", "ok"),
        ("shell", "denied"),
        ("shell", "error"),
    ]
    shown = [call.detail.display for call in trace.calls]
    assert shown[0] == CommandOutput("a", 1, 1)
    assert isinstance(shown[1], FileDiff)
    assert shown[2] == Listing((Entry("/w/a"),), 1)
    assert trace.calls[3].detail.result == "never"
    assert trace.calls[4].detail.result == "bad"
    assert [event.kind for event in trace.events if event.text in {"do it", "short", "hm"}][:2] == [
        "user",
        "thinking",
    ]
    assert trace.events[-1].kind == "compaction"
    assert trace.facts()["edited_paths"] == ["/w/a"]


def test_a_broken_event_file_is_a_problem_and_the_others_are_read(tmp_path: Path) -> None:
    folder = event_folder(tmp_path / "c", V1)
    (folder / "events" / "event-00001-0a0a0a0a-0001.json").write_text('{"id": ')
    trace = traces.load(folder)
    assert (len(trace.problems), len(trace.calls)) == (1, 4)


V0 = [
    asks(1, "message", "", content="do"),
    asks(2, "run", "execute_bash", command="ls", thought="t"),
    answers(2, "run", "x", metadata={"exit_code": 0}),
    asks(3, "edit", "str_replace_editor", path="a", command="insert", new_str="x", insert_line=1),
    answers(3, "edit", "y", diff="@@ -1 +1 @@\n-a\n+b\n"),
    answers(9, "recall", "", working_dir="/w"),
]


def acp(number: int, native: str, **fields: Any) -> dict[str, Any]:
    base = {
        "id": f"a{number}",
        "timestamp": f"2026-04-02T15:25:4{number}.000000",
        "source": "agent",
        "kind": "ACPToolCallEvent",
    }
    return {**base, "tool_call_id": native, "title": "ls", "is_error": False, **fields}


def test_calls_of_an_agent_that_openhands_runs_have_their_results_in_one_record(tmp_path: Path) -> None:
    path = tmp_path / "events.jsonl"
    ran = {"tool_kind": "execute", "raw_input": {"command": "ls"}}
    content = [{"type": "content", "content": {"type": "text", "text": "no such file"}}]
    lines = [
        acp(1, "c1", status="in_progress", **ran),
        acp(2, "c1", status="completed", raw_output={"output": "a.py"}, **ran),
        acp(
            3,
            "c2",
            status="failed",
            is_error=True,
            tool_kind="read",
            raw_input={"path": "/w/b"},
            content=content,
        ),
        acp(4, "c3", status="pending", **ran),
    ]
    path.write_bytes(written(lines))
    trace = traces.load(path)
    assert [(one.op, one.subject, one.status, one.answered, one.detail.result) for one in trace.calls] == [
        ("shell", "ls", "ok", True, "a.py"),
        ("read", "/w/b", "error", True, "no such file"),
        ("shell", "ls", "unanswered", False, ""),
    ]
    assert trace.calls[0].duration == 1.0


@pytest.mark.parametrize("key", ["stats", "full_state"])
def test_the_tokens_of_version_1_are_in_updates_of_the_state(tmp_path: Path, key: str) -> None:
    metrics = {
        "accumulated_cost": 0.25,
        "accumulated_token_usage": {"prompt_tokens": 10, "completion_tokens": 2, "cache_read_tokens": 4},
    }
    stats = {"usage_to_metrics": {"agent": metrics, "condenser": metrics}}
    update = {
        "id": "s",
        "timestamp": "2026-04-02T15:25:49.0",
        "source": "environment",
        "kind": "ConversationStateUpdateEvent",
    }
    path = tmp_path / "events.jsonl"
    path.write_bytes(
        written(
            [
                acp(1, "c1", status="completed"),
                {**update, "key": key, "value": stats if key == "stats" else {"stats": stats}},
            ]
        )
    )
    (row,) = traces.load(path).sessions
    assert (row.cost, row.tokens.input, row.tokens.cache_read, row.tokens.output) == (0.5, 12, 8, 4)


@given(data=st.data())
def test_no_content_of_events_stops_the_reader(
    tmp_path_factory: pytest.TempPathFactory, data: st.DataObject
) -> None:
    path = tmp_path_factory.getbasetemp() / "damaged-openhands"
    (found,) = data.draw(st.one_of(damaged([V0]), damaged([V1])))
    text = json.dumps(found).encode()
    path.write_bytes(data.draw(st.one_of(st.just(text), spoilt(text))))
    read_whole(path, OpenHands())


@given(data=st.data())
def test_no_content_of_an_evaluation_stops_the_reader(
    tmp_path_factory: pytest.TempPathFactory, data: st.DataObject
) -> None:
    usage = {
        "accumulated_token_usage": {"prompt_tokens": 1, "completion_tokens": 2},
        "token_usages": [{"model": "m"}],
        "accumulated_cost": 1,
    }
    line = {"instance_id": "i", "history": V0, "metrics": usage}
    text = written(data.draw(damaged([line, {"instance_id": "i", "history": [[V0[1], V0[2]]]}])))
    path = tmp_path_factory.getbasetemp() / "damaged-evaluation"
    path.write_bytes(data.draw(st.one_of(st.just(text), spoilt(text))))
    read_whole(path, OpenHands())
