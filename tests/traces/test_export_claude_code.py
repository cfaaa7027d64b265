"""An export as a session of Claude Code is read as one."""

from __future__ import annotations

import json
import uuid
from collections.abc import Iterator
from pathlib import Path

import pytest

from nbtools import Policy, Session, traces
from nbtools.core.result import CommandOutput, FileDiff, FileText, Matches, TodoList
from nbtools.testing import temporary_workspace
from nbtools.traces.export import write_claude_code
from nbtools.traces.reader import NO_MESSAGES
from nbtools.traces.recording.recorder import Recorder
from tests.traces.recorded import LOGS, SAMPLES


@pytest.fixture
def root() -> Iterator[Path]:
    with temporary_workspace({"a.py": "one = 1\ntwo = 2\n"}) as folder:
        yield folder


async def test_a_session_of_ours_is_one_of_claude_code(root: Path, tmp_path: Path) -> None:
    recorder = Recorder(tmp_path / "log.jsonl", workspace=root)
    async with Session(root, policy=Policy(mode="yolo"), observers=[recorder]) as session:
        await session.call("read", {"path": "a.py", "start": 2})
        await session.call("edit", {"path": "a.py", "old": "1", "new": "11"})
        await session.call("write", {"path": "new.txt", "content": "new\n"})
        await session.call("grep", {"pattern": "two"})
        await session.call("shell", {"command": "echo out; exit 4", "timeout": 9})
        await session.call("todo", {"items": [{"text": "rest"}]})
        await session.call("read", {"path": "nowhere"})
        await session.call("delete", {"path": "new.txt"})
    folder = tmp_path / "project"
    folder.mkdir()
    path = write_claude_code(traces.load(recorder.path), folder)
    assert str(uuid.UUID(path.stem)) == path.stem
    trace = traces.load(path)
    assert trace.readings[0].format.name == "claude-code"
    assert not trace.problems
    facts = trace.facts()
    assert facts["by_name"] == {
        "Bash": 1,
        "Edit": 1,
        "Grep": 1,
        "Read": 2,
        "TodoWrite": 1,
        "Write": 1,
        "delete": 1,
    }
    assert (facts["answered"], facts["tool_errors"], facts["file_edits"]) == (8, 2, 2)
    assert facts["edited_paths"] == sorted((str(root / "a.py"), str(root / "new.txt")))
    read, edit, write, grep, bash, todo, nowhere, _ = trace.calls
    assert (read.detail.args["offset"], read.detail.args["file_path"]) == (2, str(root / "a.py"))
    assert read.detail.display == FileText(str(root / "a.py"), 2, ("two = 2",), 2)
    assert edit.detail.args == {"file_path": str(root / "a.py"), "old_string": "1", "new_string": "11"}
    assert isinstance(edit.detail.display, FileDiff)
    assert edit.detail.display.new_content == "one = 11\ntwo = 2\n"
    assert isinstance(write.detail.display, FileDiff)
    assert write.detail.display.original_content is None
    assert isinstance(grep.detail.display, Matches)
    assert [match.text for match in grep.detail.display.matches] == ["two = 2"]
    assert isinstance(bash.detail.display, CommandOutput)
    assert (bash.detail.display.text.strip(), bash.exit_code, bash.detail.args["timeout"]) == (
        "out",
        4,
        9_000,
    )
    assert isinstance(todo.detail.display, TodoList)
    assert (nowhere.status, trace.sessions[0].cwd) == ("error", str(root))


def check_layout(path: Path) -> None:
    """A chain of records with ids of their own; each result follows its call."""
    records = [json.loads(line) for line in path.read_text().splitlines()]
    assert [record["parentUuid"] for record in records] == [
        None,
        *(record["uuid"] for record in records[:-1]),
    ]
    assert len({record["uuid"] for record in records}) == len(records)
    assert len({record["sessionId"] for record in records}) <= 1
    asked: list[str] = []
    for record in records:
        blocks = record.get("message", {}).get("content", [])
        for block in blocks if isinstance(blocks, list) else []:
            if block["type"] == "tool_use":
                assert isinstance(block["input"], dict)
                asked.append(block["id"])
            elif block["type"] == "tool_result":
                assert block["tool_use_id"] == asked[-1]
    assert len(set(asked)) == len(asked)


@pytest.mark.parametrize("log", LOGS)
def test_any_log_becomes_one_of_claude_code(log: str, tmp_path: Path) -> None:
    trace = traces.load(SAMPLES / log)
    for session in [one for one in trace.sessions if not one.parent][:3]:
        path = write_claude_code(trace, tmp_path / "out.jsonl", session=session.id)
        for file in (path, *path.with_suffix("").rglob("*.jsonl")):
            check_layout(file)
        again = traces.load(path)
        family = {session.id, *(one.id for one in trace.sessions if one.parent == session.id)}
        before = [call for call in trace.calls if call.session in family]
        assert sorted(call.name for call in again.calls) == sorted(call.name for call in before)
        assert sum(call.answered for call in again.calls) == sum(call.answered for call in before)
        assert all(NO_MESSAGES in problem.why for problem in again.problems)
        assert not (again.problems and before)


def test_a_log_of_the_same_name_in_a_folder_is_not_overwritten(tmp_path: Path) -> None:
    session = str(uuid.uuid4())
    message = {"role": "user", "content": "hi"}
    record = {"type": "user", "uuid": "u", "parentUuid": None, "sessionId": session, "message": message}
    log = tmp_path / f"{session}.jsonl"
    log.write_text(json.dumps(record) + "\n")
    before = log.read_bytes()
    with pytest.raises(traces.TraceError, match="exists already"):
        write_claude_code(traces.load(log), tmp_path)
    assert log.read_bytes() == before


def test_a_log_can_be_written_over_itself(tmp_path: Path) -> None:
    """It is read while it is written."""
    with_details = max(SAMPLES.glob("claude-code/**/*.jsonl"), key=lambda path: path.stat().st_size)
    log = tmp_path / "log.jsonl"
    log.write_bytes(with_details.read_bytes())
    calls = [call.detail.result for call in traces.load(log).calls]
    write_claude_code(traces.load(log), log)
    assert [call.detail.result for call in traces.load(log).calls] == calls


def test_sub_agents_are_files_beside_it(tmp_path: Path) -> None:
    sub = {
        "schema_version": "ATIF-v1.8",
        "trajectory_id": "child",
        "agent": {"name": "explorer", "version": "1"},
        "steps": [
            {
                "step_id": 1,
                "source": "agent",
                "message": "",
                "tool_calls": [{"tool_call_id": "s1", "function_name": "Read", "arguments": {}}],
            }
        ],
        "extra": {"nbtools": {"parent": "main", "parent_call": "2.0"}},
    }
    call = {"tool_call_id": "c1", "function_name": "Task", "arguments": {"prompt": "look"}}
    result = {
        "source_call_id": "c1",
        "content": "seen",
        "subagent_trajectory_ref": [{"trajectory_id": "child"}],
    }
    steps = [
        {"step_id": 1, "source": "user", "message": "go", "timestamp": "2026-01-01T00:00:00Z"},
        {
            "step_id": 2,
            "source": "agent",
            "message": "on it",
            "tool_calls": [call],
            "observation": {"results": [result]},
        },
    ]
    document = {
        "schema_version": "ATIF-v1.8",
        "session_id": "main",
        "agent": {"name": "x", "version": "1"},
        "steps": steps,
    }
    (tmp_path / "in.json").write_text(json.dumps({**document, "subagent_trajectories": [sub]}))
    before = traces.load(tmp_path / "in.json")
    assert [(one.id, one.parent) for one in before.sessions] == [("main", ""), ("child", "main")]
    after = traces.load(write_claude_code(before, tmp_path / "out.jsonl"))
    main, child = sorted(after.sessions, key=lambda one: bool(one.parent))
    assert child.parent == main.id
    task, read = sorted(after.calls, key=lambda one: one.name, reverse=True)
    assert (task.child, read.session) == (child.id, child.id)
