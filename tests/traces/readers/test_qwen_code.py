"""Traps of Qwen Code's chats, for a naive reader."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nbtools import traces
from nbtools.core.result import FileDiff, TodoItem, TodoList
from nbtools.traces.readers.qwen_code import QwenCode
from tests.traces.readers.damage import damaged, read_whole, spoilt, written
from tests.traces.recorded import SAMPLES

SAMPLE = SAMPLES / "qwen-code/made--price.jsonl"
RECORDS: list[Any] = [json.loads(line) for line in SAMPLE.read_text().splitlines()]


def chat(path: Path, *messages: tuple[str, list[dict[str, Any]], dict[str, Any]]) -> traces.Trace:
    records = [
        {
            "uuid": str(n),
            "parentUuid": str(n - 1),
            "sessionId": "s",
            "type": kind,
            "message": {"role": "model", "parts": parts},
            **more,
        }
        for n, (kind, parts, more) in enumerate(messages)
    ]
    path.write_bytes(written(records))
    return traces.load(path)


def test_calls_are_joined_to_results_that_are_records_of_their_own() -> None:
    trace = traces.load(SAMPLE)
    assert [(call.name, call.op, call.status, call.exit_code, call.duration) for call in trace.calls] == [
        ("read_file", "read", "ok", None, 2.0),
        ("run_shell_command", "shell", "ok", 1, 3.0),
        ("edit", "edit", "ok", None, 1.0),
        ("write_file", "write", "cancelled", None, 1.0),
        ("todo_write", "plan", "ok", None, 1.0),
        ("run_shell_command", "shell", "ok", 0, 2.0),
    ]
    _, shell, edit, _, todo, _ = [call.detail for call in trace.calls]
    assert (shell.command, shell.stdout) == ("pytest -q", "1 failed")
    assert isinstance(edit.display, FileDiff)
    assert (edit.display.original_content, edit.display.new_content) == (
        "def price(n):\n    return n * 2\n",
        "def price(n):\n    return n * 3\n",
    )
    assert todo.display == TodoList((TodoItem("Run the tests", "completed"),))
    assert [(one.path, one.added, one.removed, one.basis, one.applied) for one in trace.file_changes] == [
        ("/work/shop/price.py", 1, 1, "recorded_patch", True),
        ("/work/shop/notes.md", 1, None, "arguments", False),
    ]


def test_abandoned_steps_of_a_rewind_are_not_live_and_their_tokens_count() -> None:
    trace = traces.load(SAMPLE)
    assert [one.text for one in trace.events if not one.live] == ["This answer is given up."]
    (session,) = trace.sessions
    assert (session.title, session.branch, session.models, session.native_tokens["input"]) == (
        "Price test",
        "main",
        ("qwen3-coder-plus",),
        9450,
    )


def test_two_records_of_one_id_are_both_read_and_both_abandoned(tmp_path: Path) -> None:
    trace = chat(
        tmp_path / "t",
        ("user", [{"text": "go"}], {}),
        ("assistant", [{"text": "a"}], {}),
        (
            "assistant",
            [{"functionCall": {"id": "x", "name": "glob", "args": {"pattern": "*"}}}],
            {"uuid": "1", "parentUuid": "0"},
        ),
        ("user", [{"text": "again"}], {"parentUuid": "0"}),
        ("assistant", [{"text": "b"}], {}),
    )
    assert [(one.text, one.live) for one in trace.events] == [
        ("go", True),
        ("a", False),
        ("again", True),
        ("b", True),
    ]
    assert [(one.name, one.live) for one in trace.calls] == [("glob", False)]


def test_calls_without_ids_are_found_by_their_place(tmp_path: Path) -> None:
    trace = chat(
        tmp_path / "t",
        ("assistant", [{"functionCall": {"name": "glob", "args": {"pattern": one}}} for one in "ab"], {}),
        ("tool_result", [{"functionResponse": {"name": "glob", "response": {"output": "found"}}}], {}),
    )
    assert [(call.detail.args, call.detail.result, call.answered) for call in trace.calls] == [
        ({"pattern": "a"}, "found", True),
        ({"pattern": "b"}, "", False),
    ]


@pytest.mark.parametrize(
    ("about", "response", "status", "source"),
    [
        ({"status": "success"}, {"output": "x"}, "ok", "flag"),
        ({"status": "error"}, {"error": "x"}, "error", "flag"),
        ({"status": "cancelled"}, {"error": "x"}, "cancelled", "flag"),
        ({}, {"error": "x"}, "error", "flag"),
        ({}, {"output": "Output: x\nExit Code: 2"}, "error", "exit_code"),
        ({}, {"output": "x"}, "unknown", "none"),
        ({"status": "error", "callId": "another"}, {"output": "x"}, "unknown", "none"),
    ],
)
def test_the_outcome_of_a_call_is_read(
    tmp_path: Path, about: dict[str, Any], response: dict[str, Any], status: str, source: str
) -> None:
    call = {"functionCall": {"id": "c", "name": "run_shell_command", "args": {"command": "ls"}}}
    answer = {"functionResponse": {"id": "c", "name": "run_shell_command", "response": response}}
    (found,) = chat(
        tmp_path / "t", ("assistant", [call], {}), ("tool_result", [answer], {"toolCallResult": about})
    ).calls
    assert (found.status, found.status_source) == (status, source)


@given(data=st.data())
def test_no_content_of_a_chat_stops_the_reader(
    tmp_path_factory: pytest.TempPathFactory, data: st.DataObject
) -> None:
    text = written(data.draw(damaged(RECORDS)))
    path = tmp_path_factory.getbasetemp() / "damaged-qwen"
    path.write_bytes(data.draw(st.one_of(st.just(text), spoilt(text))))
    read_whole(path, QwenCode())
