"""Traps of the chat sessions of VS Code, for a naive reader."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nbtools import traces
from nbtools.traces.readers.vscode_chat import VsCodeChat
from tests.traces.readers.damage import damaged, read_whole, spoilt, written
from tests.traces.recorded import SAMPLES

SESSION = SAMPLES / "vscode-chat/made--session.json"
CHANGES = SAMPLES / "vscode-chat/made--changes.jsonl"
DOCUMENT: dict[str, Any] = json.loads(SESSION.read_text())
RECORDS: list[Any] = [json.loads(line) for line in CHANGES.read_text().splitlines()]


def part(native: str, **fields: Any) -> dict[str, Any]:
    return {"kind": "toolInvocationSerialized", "toolCallId": native, "toolId": "run_in_terminal", **fields}


def session(path: Path, *parts: dict[str, Any], **fields: Any) -> traces.Trace:
    request = {
        "requestId": "r",
        "timestamp": 1754042400000,
        "message": {"text": "go"},
        "response": [*parts],
        **fields,
    }
    path.write_text(
        json.dumps({"version": 3, "responderUsername": "x", "sessionId": "s", "requests": [request]})
    )
    return traces.load(path)


@pytest.mark.parametrize("log", [SESSION, CHANGES])
def test_a_document_and_the_log_of_its_changes_are_one_session(log: Path) -> None:
    trace = traces.load(log)
    assert [
        (call.name, call.op, call.status, call.status_source, call.exit_code, call.permission)
        for call in trace.calls
    ] == [
        ("read_file", "read", "unknown", "none", None, "not needed"),
        ("replace_string_in_file", "edit", "unknown", "none", None, "not needed"),
        ("run_in_terminal", "shell", "error", "exit_code", 1, "by the person"),
        ("run_in_terminal", "shell", "denied", "flag", None, "denied"),
        ("mcp_docs_search", "other", "error", "flag", None, "not needed"),
    ]
    assert [call.detail.result for call in trace.calls] == [
        "def price(n):\n    return n * 2\n",
        "The file was edited.",
        "1 failed",
        "",
        "No such page.",
    ]
    assert [call.detail.args for call in trace.calls][2:] == [
        {"command": "pytest -q"},
        {"command": "git push"},
        {"query": "push"},
    ]
    assert [(one.kind, one.text) for one in trace.events] == [
        ("user", "Fix the price."),
        ("thinking", "I read it first."),
        ("assistant_text", "I look at price.py."),
        ("assistant_text", "The factor is wrong."),
        ("user", "Push it."),
        ("error", "Canceled"),
    ]
    assert [(one.path, one.added, one.removed) for one in trace.file_changes] == [
        ("/work/shop/price.py", 1, 1)
    ]
    assert (trace.sessions[0].title, trace.sessions[0].models) == ("Price", ("copilot/claude-sonnet-4",))
    assert list(trace.problems) == []


def test_a_call_that_is_repeated_is_read_in_its_last_version(tmp_path: Path) -> None:
    begun = part("a", isComplete=False)
    ended = part(
        "a",
        isComplete=True,
        toolSpecificData={"commandLine": {"original": "ls"}, "terminalCommandOutput": {"text": "x"}},
    )
    trace = session(tmp_path / "s.json", begun, {"value": "Text."}, ended)
    assert [(call.answered, call.subject, call.detail.result) for call in trace.calls] == [(True, "ls", "x")]


@pytest.mark.parametrize(
    ("fields", "status"),
    [
        ({"isComplete": False}, "unanswered"),
        ({"isComplete": True}, "unknown"),
        ({"isComplete": True, "isConfirmed": False}, "denied"),
        ({"isComplete": True, "isConfirmed": {"type": 0}}, "denied"),
        ({"isComplete": True, "resultDetails": {"input": "{}", "output": [], "isError": False}}, "ok"),
        ({"isComplete": True, "toolSpecificData": {"terminalCommandState": {"exitCode": 0}}}, "ok"),
    ],
)
def test_the_outcome_of_a_call_is_read(tmp_path: Path, fields: dict[str, Any], status: str) -> None:
    (call,) = session(tmp_path / "s.json", part("a", **fields)).calls
    assert call.status == status


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ([{"kind": 2, "k": ["requests"], "v": [{"requestId": "b", "message": {"text": "b"}}]}], "ab"),
        ([{"kind": 2, "k": ["requests"], "i": 0, "v": [{"requestId": "b", "message": {"text": "b"}}]}], "ba"),
        ([{"kind": 1, "k": ["requests", 0, "message"], "v": {"text": "c"}}], "c"),
        ([{"kind": 1, "k": ["requests", 1], "v": {"requestId": "b", "message": {"text": "b"}}}], "ab"),
        ([{"kind": 3, "k": ["requests", 0, "message"]}], ""),
        (
            [
                {"kind": 1, "k": ["requests"], "v": []},
                {"kind": 2, "k": ["requests"], "v": [{"message": {"text": "d"}}]},
            ],
            "d",
        ),
    ],
)
def test_changes_are_applied_in_order(tmp_path: Path, changes: list[dict[str, Any]], expected: str) -> None:
    first = {"kind": 0, "v": {"sessionId": "s", "requests": [{"requestId": "a", "message": {"text": "a"}}]}}
    path = tmp_path / "s.jsonl"
    path.write_bytes(written([first, *changes]))
    trace = traces.load(path)
    assert "".join(one.text for one in trace.events) == expected
    assert list(trace.problems) == []


@pytest.mark.parametrize(
    "change",
    [{"kind": 9}, {"kind": 1, "k": ["requests", 7], "v": {}}, {"kind": 1, "k": ["no", "where"], "v": 1}],
)
def test_a_change_that_cannot_be_applied_is_a_problem(tmp_path: Path, change: dict[str, Any]) -> None:
    first = {"kind": 0, "v": {"sessionId": "s", "requests": [{"requestId": "a", "message": {"text": "a"}}]}}
    path = tmp_path / "s.jsonl"
    path.write_bytes(written([first, change]))
    trace = traces.load(path)
    assert [one.text for one in trace.events] == ["a"]
    assert [problem.ref.line for problem in trace.problems] == [2]


@given(data=st.data())
def test_no_content_of_a_session_stops_the_reader(
    tmp_path_factory: pytest.TempPathFactory, data: st.DataObject
) -> None:
    path = tmp_path_factory.getbasetemp() / "damaged-vscode"
    document = json.dumps(data.draw(damaged([DOCUMENT]))[0]).encode()
    text = data.draw(st.sampled_from([document, written(data.draw(damaged(RECORDS)))]))
    path.write_bytes(data.draw(st.one_of(st.just(text), spoilt(text))))
    read_whole(path, VsCodeChat())
