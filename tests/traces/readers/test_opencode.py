"""Traps of opencode's sessions, for a naive reader."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nbtools import traces
from nbtools.core.result import FileDiff, FileText
from nbtools.traces.model import Tokens
from nbtools.traces.readers.opencode import OpenCode
from tests.traces.readers.damage import damaged, read_whole, spoilt, written
from tests.traces.recorded import SAMPLES

SAMPLE = SAMPLES / "opencode/made--export.json"
EXPORT: dict[str, Any] = json.loads(SAMPLE.read_text())


def put(path: Path, value: Any) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(value))


def store(root: Path, *, former: bool) -> Path:
    """The export as the storage has it: a file for the session, each message and each part."""
    session = EXPORT["info"]["id"]
    base = root / "session" if former else root
    for message in EXPORT["messages"]:
        name = message["info"]["id"]
        put(base / "message" / session / f"{name}.json", message["info"])
        for part in message["parts"]:
            put(base / "part" / (f"{session}/{name}" if former else name) / f"{part['id']}.json", part)
    path = root / "session" / ("info" if former else "7f3c") / f"{session}.json"
    put(path, EXPORT["info"])
    return path


def one_tool(path: Path, state: dict[str, Any], tool: str = "bash") -> traces.Trace:
    info = {"id": "msg_1", "sessionID": "ses_1", "role": "assistant"}
    part = {"id": "prt_1", "sessionID": "ses_1", "type": "tool", "callID": "c", "tool": tool, "state": state}
    put(path, {"info": {"id": "ses_1", "directory": "/w"}, "messages": [{"info": info, "parts": [part]}]})
    return traces.load(path)


def test_calls_have_their_outcome_and_their_changes() -> None:
    trace = traces.load(SAMPLE)
    assert [
        (call.name, call.op, call.status, call.status_source, call.exit_code) for call in trace.calls
    ] == [
        ("read", "read", "ok", "flag", None),
        ("bash", "shell", "ok", "flag", 1),
        ("edit", "edit", "ok", "flag", None),
        ("write", "write", "ok", "flag", None),
        ("bash", "shell", "denied", "text", None),
        ("grep", "search", "error", "flag", None),
        ("todowrite", "plan", "ok", "flag", None),
        ("task", "agent", "ok", "flag", None),
        ("bash", "shell", "unanswered", "none", None),
    ]
    assert trace.calls[7].child == "ses_child"
    read, edit = trace.calls[0].detail, trace.calls[2].detail
    assert read.display == FileText("/work/shop/price.py", 1, ("def price(n):", "    return n * 2"), 2)
    assert read.result.startswith("<file>")
    assert isinstance(edit.display, FileDiff)
    assert edit.display.new_content == "def price(n):\n    return n * 3\n"
    assert [(one.path, one.kind, one.added, one.removed, one.basis) for one in trace.file_changes] == [
        ("/work/shop/price.py", "modify", 1, 1, "recorded_patch"),
        ("/work/shop/notes.md", "add", None, None, "none"),
    ]


def test_texts_that_opencode_wrote_for_the_person_are_not_theirs() -> None:
    trace = traces.load(SAMPLE)
    assert [(one.kind, one.turn) for one in trace.events] == [
        ("user", 1),
        ("system", 1),
        ("attachment", 1),
        ("thinking", 1),
        ("assistant_text", 1),
        ("user", 2),
        ("assistant_text", 2),
    ]
    (session,) = trace.sessions
    assert (session.id, session.title, session.cwd, session.agent_version) == (
        "ses_6a1b2c3d4e5f",
        "Fix the price",
        "/work/shop",
        "1.1.4",
    )
    assert session.tokens == Tokens(input=190, cache_read=3600, cache_write=220, output=120, reasoning=12)
    assert session.cost == pytest.approx(0.0075)


@pytest.mark.parametrize("former", [False, True])
def test_the_storage_is_the_same_session(tmp_path: Path, former: bool) -> None:
    exported, stored = traces.load(SAMPLE), traces.load(store(tmp_path, former=former))
    for one in (exported, stored):
        assert len(one.calls) == 9
    assert [(one.kind, one.text, one.turn) for one in stored.events] == [
        (one.kind, one.text, one.turn) for one in exported.events
    ]
    assert [(one.id, one.status, one.subject) for one in stored.calls] == [
        (one.id, one.status, one.subject) for one in exported.calls
    ]
    assert [(one.path, one.added) for one in stored.file_changes] == [
        (one.path, one.added) for one in exported.file_changes
    ]
    assert stored.sessions[0].native_tokens == exported.sessions[0].native_tokens
    assert [call.detail.result for call in stored.calls] == [call.detail.result for call in exported.calls]


def test_a_broken_part_of_the_storage_is_a_problem_and_the_others_are_read(tmp_path: Path) -> None:
    path = store(tmp_path, former=False)
    broken = tmp_path / "part/msg_2/prt_24.json"
    broken.write_text("{no")
    trace = traces.load(path)
    (problem,) = trace.problems
    assert trace.readings[0].source.files[problem.ref.file] in {broken, path}
    assert len(trace.calls) == 8


def test_a_session_cannot_name_files_elsewhere(tmp_path: Path) -> None:
    put(tmp_path / "message/x/msg_1.json", {"id": "../../secret", "role": "user"})
    put(tmp_path / "secret/prt_1.json", {"type": "text", "text": "s"})
    put(tmp_path / "session/p/ses.json", {"id": "x", "projectID": "p", "directory": "/w", "time": {}})
    assert [path.name for path in OpenCode().files(tmp_path / "session/p/ses.json")] == ["msg_1.json"]
    put(
        tmp_path / "session/p/ses.json",
        {"id": "../message/x", "projectID": "p", "directory": "/w", "time": {}},
    )
    assert list(OpenCode().files(tmp_path / "session/p/ses.json")) == []


def test_the_output_of_a_run_is_read_line_by_line(tmp_path: Path) -> None:
    path = tmp_path / "out.jsonl"
    base = {"timestamp": 1754042400000, "sessionID": "ses_1"}
    tool = {
        "type": "tool",
        "callID": "c",
        "tool": "bash",
        "state": {"status": "completed", "input": {"command": "ls"}, "output": "a"},
    }
    spent = {"type": "step-finish", "cost": 0.5, "tokens": {"input": 1, "output": 2}}
    lines = [
        {"type": "step_start", **base, "part": {"type": "step-start"}},
        {"type": "tool_use", **base, "part": tool},
        {"type": "text", **base, "part": {"type": "text", "text": "Done."}},
        {"type": "step_finish", **base, "part": spent},
        {"type": "error", **base, "error": {"name": "APIError", "data": {"message": "late"}}},
    ]
    path.write_bytes(written(lines))
    trace = traces.load(path)
    assert [(call.subject, call.status, call.detail.result) for call in trace.calls] == [("ls", "ok", "a")]
    assert [(one.kind, one.text) for one in trace.events] == [
        ("assistant_text", "Done."),
        ("error", "APIError: late"),
    ]
    assert (trace.sessions[0].id, trace.sessions[0].cost, trace.sessions[0].native_tokens) == (
        "ses_1",
        0.5,
        {"input": 1, "output": 2},
    )


@pytest.mark.parametrize(
    ("state", "status", "source"),
    [
        ({"status": "completed", "output": "x"}, "ok", "flag"),
        ({"status": "error", "error": "Error: no"}, "error", "flag"),
        ({"status": "error", "error": "Tool execution aborted"}, "interrupted", "text"),
        (
            {"status": "error", "error": "The user rejected permission to use this specific tool call."},
            "denied",
            "text",
        ),
        ({"status": "running"}, "unanswered", "none"),
        ({"status": "pending"}, "unanswered", "none"),
        ({}, "unanswered", "none"),
    ],
)
def test_states(tmp_path: Path, state: dict[str, Any], status: str, source: str) -> None:
    (call,) = one_tool(tmp_path / "s.json", state).calls
    assert (call.status, call.status_source, call.answered) == (status, source, status != "unanswered")


def test_a_patch_changes_each_of_its_files(tmp_path: Path) -> None:
    files = [
        {"filePath": "/w/a", "type": "add", "additions": 2, "deletions": 0, "before": "", "after": "1\n2\n"},
        {"filePath": "/w/b", "type": "delete", "additions": 0, "deletions": 1, "diff": "@@ -1 +0,0 @@\n-x"},
    ]
    state = {
        "status": "completed",
        "input": {"patchText": "*** Begin Patch"},
        "output": "done",
        "metadata": {"files": files},
    }
    trace = one_tool(tmp_path / "s.json", state, "apply_patch")
    assert [(one.path, one.kind, one.added, one.removed) for one in trace.file_changes] == [
        ("/w/a", "add", 2, 0),
        ("/w/b", "delete", 0, 1),
    ]
    assert [diff.file_name for diff in trace.calls[0].detail.changes] == ["/w/a", "/w/b"]


@given(data=st.data())
def test_no_content_of_an_export_stops_the_reader(
    tmp_path_factory: pytest.TempPathFactory, data: st.DataObject
) -> None:
    text = json.dumps(data.draw(damaged([EXPORT]))[0]).encode()
    path = tmp_path_factory.getbasetemp() / "damaged-opencode"
    path.write_bytes(data.draw(st.one_of(st.just(text), spoilt(text))))
    read_whole(path, OpenCode())
