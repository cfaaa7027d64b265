"""Traps of the sessions of Copilot CLI, for a naive reader."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nbtools import traces
from nbtools.traces.model import Tokens
from nbtools.traces.readers.copilot_cli import CopilotCli
from tests.traces.readers.damage import damaged, read_whole, spoilt, written
from tests.traces.recorded import SAMPLES

SAMPLE = SAMPLES / "copilot-cli/made--events.jsonl"
RECORDS: list[Any] = [json.loads(line) for line in SAMPLE.read_text().splitlines()]


def session(path: Path, *events: tuple[str, dict[str, Any]]) -> traces.Trace:
    path.parent.mkdir(parents=True, exist_ok=True)
    at = "2026-01-01T00:00:0{}.000Z"
    path.write_bytes(
        written(
            [
                {"type": kind, "data": data, "id": str(n), "parentId": None, "timestamp": at.format(n)}
                for n, (kind, data) in enumerate(events)
            ]
        )
    )
    return traces.load(path)


def asks(native: str, name: str = "bash", **args: Any) -> tuple[str, dict[str, Any]]:
    return "assistant.message", {
        "content": "",
        "toolRequests": [{"toolCallId": native, "name": name, "arguments": args}],
    }


def begins(native: str, name: str = "bash", **args: Any) -> tuple[str, dict[str, Any]]:
    return "tool.execution_start", {"toolCallId": native, "toolName": name, "arguments": args}


def ends(native: str, **fields: Any) -> tuple[str, dict[str, Any]]:
    return "tool.execution_complete", {"toolCallId": native, **fields}


def test_calls_of_the_model_and_of_its_sub_agents() -> None:
    trace = traces.load(SAMPLE)
    assert [
        (call.name, call.op, call.level, call.parent, call.status, call.exit_code) for call in trace.calls
    ] == [
        ("report_intent", "other", "model", "", "ok", None),
        ("view", "read", "model", "", "ok", None),
        ("edit", "edit", "model", "", "ok", None),
        ("bash", "shell", "model", "", "ok", 0),
        ("bash", "shell", "model", "", "denied", None),
        ("task", "agent", "model", "", "ok", None),
        ("grep", "search", "nested", "call_6", "error", None),
        ("bash", "shell", "model", "", "unanswered", None),
    ]
    assert trace.calls[2].permission == "approved"
    assert trace.calls[4].detail.result == "The user rejected this tool call."
    assert [(one.path, one.added, one.removed) for one in trace.file_changes] == [
        ("/work/shop/price.py", 1, 1)
    ]


def test_the_session_and_its_totals() -> None:
    trace = traces.load(SAMPLE)
    (row,) = trace.sessions
    assert (row.id, row.cwd, row.repository, row.branch, row.commit[:4], row.agent_version) == (
        "4f1d2c3b-0000-4000-8000-00000000c0de",
        "/work/shop",
        "example/shop",
        "main",
        "0123",
        "1.0.77",
    )
    assert row.tokens == Tokens(input=1500, cache_read=3000, cache_write=0, output=145)
    assert [one.turn for one in trace.events if one.kind == "user"] == [1, 2]


def test_without_a_shutdown_only_the_output_is_known(tmp_path: Path) -> None:
    trace = session(
        tmp_path / "name/events.jsonl", ("assistant.message", {"content": "hi", "outputTokens": 7})
    )
    assert trace.sessions[0].tokens == Tokens(output=7)
    assert trace.sessions[0].id == "name"


def test_a_call_that_began_before_its_answer_was_written_is_one_call(tmp_path: Path) -> None:
    trace = session(
        tmp_path / "s.jsonl",
        begins("a", command="ls"),
        asks("a", command="ls"),
        ends("a", success=True, result={"content": "x"}),
    )
    assert [(call.subject, call.duration, call.detail.result) for call in trace.calls] == [("ls", 2.0, "x")]


def test_the_duration_is_that_of_the_execution(tmp_path: Path) -> None:
    trace = session(
        tmp_path / "s.jsonl",
        asks("a"),
        ("assistant.turn_start", {}),
        begins("a"),
        ends("a", success=False, error={"message": "no", "code": "failure"}),
    )
    assert [(call.duration, call.status, call.detail.result) for call in trace.calls] == [
        (1.0, "error", "no")
    ]


@pytest.mark.parametrize(
    ("fields", "status", "source"),
    [
        ({"success": True, "result": {"content": "x"}}, "ok", "flag"),
        ({"success": False}, "error", "flag"),
        ({"success": False, "error": {"code": "denied", "message": "no"}}, "denied", "flag"),
        ({"success": False, "error": {"code": "rejected", "message": "no"}}, "denied", "flag"),
        ({"result": "x"}, "unknown", "none"),
    ],
)
def test_the_outcome_of_a_call_is_read(
    tmp_path: Path, fields: dict[str, Any], status: str, source: str
) -> None:
    (call,) = session(tmp_path / "s.jsonl", asks("a"), ends("a", **fields)).calls
    assert (call.status, call.status_source, call.answered) == (status, source, True)


def test_a_result_without_a_call_is_an_event(tmp_path: Path) -> None:
    trace = session(
        tmp_path / "s.jsonl",
        ("user.message", {"content": "go"}),
        ends("lost", success=True, result={"content": "x"}),
    )
    assert [(one.kind, one.text) for one in trace.events] == [("user", "go"), ("tool_result", "x")]
    assert list(trace.calls) == []


@given(data=st.data())
def test_no_content_of_a_session_stops_the_reader(
    tmp_path_factory: pytest.TempPathFactory, data: st.DataObject
) -> None:
    text = written(data.draw(damaged(RECORDS)))
    path = tmp_path_factory.getbasetemp() / "damaged-copilot"
    path.write_bytes(data.draw(st.one_of(st.just(text), spoilt(text))))
    read_whole(path, CopilotCli())


def test_the_task_that_an_agent_gives_to_a_sub_agent_is_not_the_persons(tmp_path: Path) -> None:
    task = ("user.message", {"content": "Count the lines.", "source": "agent-1"})
    trace = session(tmp_path / "events.jsonl", ("user.message", {"content": "Let somebody count."}), task)
    assert [(event.kind, event.turn) for event in trace.events] == [("user", 1), ("system", 1)]
