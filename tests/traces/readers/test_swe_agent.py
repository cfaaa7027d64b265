"""Traps of SWE-agent's trajectories, for a naive reader."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nbtools import traces
from nbtools.core.result import CommandOutput, Entry, FileDiff, FileText, Listing, Match, Matches
from nbtools.traces.readers.swe_agent import SweAgent
from tests.traces.readers.damage import damaged, read_whole, spoilt

TASK = [
    {"role": "system", "content": "You …", "agent": "main"},
    {"role": "user", "content": "Fix it.", "agent": "main"},
]
INFO = {
    "exit_status": "submitted",
    "submission": "--- a/x.py\n+++ b/x.py\n",
    "model_stats": {"instance_cost": 1.5, "tokens_sent": 10, "tokens_received": 2, "api_calls": 3},
}
OPEN = {"open_file": "/r/a.py", "working_dir": "/r"}


def step(action: str, observation: str = "", state: Any = OPEN, **more: Any) -> dict[str, Any]:
    return {
        "action": action,
        "observation": observation,
        "response": f"do {action}",
        "thought": "so",
        "state": state,
        **more,
    }


def trajectory(path: Path, *steps: Any, history: list[Any] | None = None, **more: Any) -> traces.Trace:
    document = {
        "environment": "e",
        "trajectory": steps,
        "history": [*TASK, *(history or [])],
        "info": INFO,
        **more,
    }
    path.write_text(json.dumps(document, indent=2))
    return traces.load(path)


def test_the_state_is_a_text_in_older_files_and_an_object_in_newer_ones(tmp_path: Path) -> None:
    edits = [
        step("edit 1:2\nx\nend_of_edit\n", state=state) for state in (OPEN, json.dumps(OPEN), "no json", None)
    ]
    trace = trajectory(tmp_path / "t", *edits)
    assert [change.path for change in trace.file_changes] == ["/r/a.py", "/r/a.py", "", ""]
    facts = trace.facts()
    assert (facts["file_edits"], facts["edited_paths"]) == (4, ["/r/a.py"])
    assert [call.detail.cwd for call in trace.calls] == ["/r", "/r", "", ""]


def test_pseudo_actions_and_empty_ones_are_no_calls(tmp_path: Path) -> None:
    trace = trajectory(tmp_path / "t", step("ls\n", "a"), step("exit_cost"), step(""), step("exit_format"))
    facts = trace.facts()
    assert (facts["records"], facts["by_name"], facts["tool_errors"]) == (4, {"ls": 1}, None)
    assert [event.kind for event in trace.events if event.ref != trace.calls[0].ref][-3:] == [
        "system",
        "assistant_text",
        "system",
    ]


def test_nothing_says_that_a_command_failed_and_no_time_is_made_up(tmp_path: Path) -> None:
    (call,) = trajectory(tmp_path / "t", step("python x.py\n", "Traceback …", execution_time=0.5)).calls
    assert (call.status, call.status_source, call.answered, call.at, call.duration) == (
        "unknown",
        "none",
        True,
        None,
        0.5,
    )
    assert call.detail.display == CommandOutput("Traceback …", 1, None)


def test_an_edit_that_was_refused_says_so_and_is_still_an_attempt(tmp_path: Path) -> None:
    refused = "Your proposed edit has introduced new syntax error(s). …"
    trace = trajectory(tmp_path / "t", step("edit 1:1\nx\nend_of_edit\n", refused))
    assert (trace.calls[0].status, trace.calls[0].status_source, trace.calls[0].detail.display) == (
        "error",
        "text",
        refused,
    )
    assert trace.facts()["file_edits"] == 1


def test_a_function_call_is_read_from_the_history(tmp_path: Path) -> None:
    text = "str_replace_editor str_replace /r/a.py --old_str 'x' --new_str 'y'"
    called = {
        "function": {
            "name": "str_replace_editor",
            "arguments": '{"command": "str_replace", "path": "/r/a.py", "old_str": "1", "new_str": "2"}',
        }
    }
    asked = {
        "role": "assistant",
        "content": "",
        "action": text,
        "agent": "main",
        "tool_calls": [{"id": "call_1", "type": "function", **called}],
    }
    demo = {**asked, "is_demo": True, "action": "other"}
    trace = trajectory(tmp_path / "t", step(text, "done"), history=[demo, asked])
    (call,) = trace.calls
    assert (call.name, call.native_id, call.op, call.paths) == (
        "str_replace_editor",
        "call_1",
        "edit",
        ("/r/a.py",),
    )
    data = (tmp_path / "t").read_bytes()
    assert json.loads(data[call.ref.offset : call.ref.offset + call.ref.length]) == asked
    display = call.detail.display
    assert isinstance(display, FileDiff)
    assert (display.original_content, display.new_content) == ("1", "2")
    assert trace.facts()["edited_paths"] == ["/r/a.py"]


def test_without_a_function_call_the_options_of_the_editor_are_taken_from_the_text(tmp_path: Path) -> None:
    (call,) = trajectory(tmp_path / "t", step("str_replace_editor create /r/b.py --file_text 'a\nb\n'")).calls
    assert call.detail.args == {"command": "create", "path": "/r/b.py", "file_text": "a\nb\n"}
    (change,) = call.detail.changes
    assert (change.original_content, change.new_content) == (None, "a\nb\n")


def test_a_history_alone_is_read_and_nothing_of_it_counted(tmp_path: Path) -> None:
    function = {"function": {"name": "open", "arguments": '{"path": "a.py"}'}, "id": "c1"}
    history = [
        *TASK,
        {
            "role": "assistant",
            "content": "look",
            "agent": "main",
            "action": "open a.py",
            "tool_calls": [function],
        },
        {
            "role": "tool",
            "content": "[File: /r/a.py (9 lines total)]\r\n1:x\r\n2:y",
            "agent": "main",
            "tool_call_ids": ["c1"],
        },
    ]
    (tmp_path / "t").write_text(json.dumps({"history": history}))
    trace = traces.load(tmp_path / "t")
    assert [(call.name, call.op, call.native_id, call.detail.args) for call in trace.calls] == [
        ("open", "read", "c1", {"path": "a.py"})
    ]
    assert trace.calls[0].detail.display == FileText("/r/a.py", 1, ("x", "y"), 9)
    assert (trace.facts()["records"], trace.facts()["tool_calls"]) == (0, 0)


@pytest.mark.parametrize(
    ("action", "observation", "expected"),
    [
        ("find_file x", 'Found 1 matches for "x" in /r:\n/r/x', Listing((Entry("/r/x"),), 1)),
        (
            "search_dir x",
            'Found 3 matches for "x" in /r:\n/r/x (3 matches)\nEnd of matches',
            Listing((Entry("/r/x"),), 1),
        ),
        (
            "search_file x",
            'Found 1 matches for "x" in /r/x:\nLine 7:a x\nEnd',
            Matches((Match("/r/x", 7, "a x"),), 1, 1),
        ),
        (
            "open a.py 20",
            "[File: /r/a.py (90 lines total)]\n(19 more lines above)\n20:x\n(70 more lines below)",
            FileText("/r/a.py", 20, ("x",), 90),
        ),
    ],
)
def test_its_own_commands_are_shown_as_our_tools_show_them(
    tmp_path: Path, action: str, observation: str, expected: Any
) -> None:
    assert trajectory(tmp_path / "t", step(action, observation)).calls[0].detail.display == expected


def test_texts_repeated_in_every_step_are_not_read_again_as_messages(tmp_path: Path) -> None:
    query = [{"role": "user", "content": "Fix it.", "agent": "main"}]
    trace = trajectory(
        tmp_path / "t",
        step("ls", query=query),
        step("ls", query=query),
        replay_config='{"agent": {"model": {"name": "m"}}}',
    )
    assert [event.text for event in trace.events if event.kind == "user"] == ["Fix it."]
    assert (trace.sessions[0].models, trace.sessions[0].cost, trace.sessions[0].format_version) == (
        ("m",),
        1.5,
        "1",
    )


def test_a_trajectory_that_was_cut_short_has_its_complete_steps(tmp_path: Path) -> None:
    text = json.dumps({"trajectory": [step("ls"), step("pwd"), step("cat x", "y" * 50)], "history": []})
    (tmp_path / "t").write_text(text[:-200])
    trace = traces.load(tmp_path / "t")
    assert ([call.name for call in trace.calls], len(trace.problems)) == (["ls", "pwd"], 1)


@given(data=st.data())
def test_no_content_of_a_trajectory_stops_the_reader(
    tmp_path_factory: pytest.TempPathFactory, data: st.DataObject
) -> None:
    asked = {
        "role": "assistant",
        "content": "c",
        "agent": "main",
        "action": "ls",
        "tool_calls": [{"id": "1", "function": {"name": "ls", "arguments": "{}"}}],
    }
    steps = [
        step("ls", "a"),
        step("edit 1:1\nx\nend_of_edit", state=json.dumps(OPEN)),
        step("str_replace_editor create /a --file_text 'x'"),
        step("exit_cost"),
    ]
    whole = {
        "trajectory": steps,
        "history": [*TASK, asked, {"role": "tool", "content": "x", "agent": "main"}],
        "info": INFO,
        "replay_config": "{}",
    }
    document = data.draw(st.sampled_from([whole, {"history": whole["history"]}]))
    text = json.dumps(data.draw(damaged([document]))[0]).encode()
    path = tmp_path_factory.getbasetemp() / "damaged-swe"
    path.write_bytes(data.draw(st.one_of(st.just(text), spoilt(text))))
    read_whole(path, SweAgent())
