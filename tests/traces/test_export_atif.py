"""An export as ATIF is valid by Harbor's rules, and has the same content when it is read back as before."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from nbtools import Policy, Session, traces
from nbtools.core.errors import TraceError
from nbtools.testing import temporary_workspace
from nbtools.traces.export import write_atif
from nbtools.traces.recording.recorder import Recorder
from tests.traces.recorded import LOGS, SAMPLES

_STEP = {
    "step_id",
    "timestamp",
    "source",
    "model_name",
    "reasoning_effort",
    "message",
    "reasoning_content",
    "tool_calls",
    "observation",
    "metrics",
    "extra",
}
_OF_AGENTS = ("model_name", "reasoning_effort", "reasoning_content", "tool_calls", "metrics")
_ROOT = {
    "schema_version",
    "session_id",
    "trajectory_id",
    "agent",
    "steps",
    "notes",
    "final_metrics",
    "extra",
    "subagent_trajectories",
}
_METRICS = {
    "total_prompt_tokens",
    "total_completion_tokens",
    "total_cached_tokens",
    "total_cost_usd",
    "total_steps",
}


def check(document: dict[str, Any]) -> None:
    """The rules that Harbor 0.25 checks; its own check too where it is installed."""
    assert document["schema_version"] == "ATIF-v1.8"
    assert set(document) <= _ROOT
    assert set(document["agent"]) <= {"name", "version", "model_name"}
    assert isinstance(document["agent"]["name"], str)
    assert isinstance(document["agent"]["version"], str)
    assert set(document.get("final_metrics", {})) <= _METRICS
    assert [step["step_id"] for step in document["steps"]] == list(range(1, len(document["steps"]) + 1))
    assert document["steps"]
    for step in document["steps"]:
        check_step(step)
    embedded = document.get("subagent_trajectories", [])
    assert len({one["trajectory_id"] for one in embedded}) == len(embedded)
    for one in embedded:
        check(one)
    if harbor is not None:
        harbor.Trajectory.model_validate(document)


def check_step(step: dict[str, Any]) -> None:
    assert set(step) <= _STEP
    assert None not in step.values()
    assert isinstance(step["message"], str)
    assert step["source"] in {"system", "user", "agent"}
    assert step["source"] == "agent" or not set(_OF_AGENTS) & set(step)
    calls = step.get("tool_calls", [])
    ids = {call["tool_call_id"] for call in calls}
    assert len(ids) == len(calls)
    for call in calls:
        assert set(call) <= {"tool_call_id", "function_name", "arguments", "extra"}
        assert isinstance(call["arguments"], dict)
    for result in step.get("observation", {}).get("results", []):
        assert set(result) <= {"source_call_id", "content", "subagent_trajectory_ref", "extra"}
        assert result["source_call_id"] in ids


try:
    import harbor.models.trajectories as harbor  # type: ignore[import-not-found]
except ImportError:
    harbor = None

SAME = (
    "name",
    "op",
    "subject",
    "paths",
    "status",
    "status_source",
    "exit_code",
    "answered",
    "level",
    "at",
    "ended",
    "duration",
    "permission",
)


def same(before: traces.Trace, after: traces.Trace, sessions: set[str]) -> None:
    """The calls, and what they did, are the same."""
    calls = [call for call in before.calls if call.session in sessions]
    assert len(calls) == len(after.calls)
    order = {one.id: number for number, one in enumerate(after.sessions)}
    calls.sort(key=lambda call: (order[call.session], call.seq))
    again = sorted(after.calls, key=lambda call: (order[call.session], call.seq))
    for one, other in zip(calls, again, strict=True):
        assert [getattr(one, name) for name in SAME] == [getattr(other, name) for name in SAME]
        detail, restored = one.detail, other.detail
        assert restored.args == detail.args
        if one.answered:
            assert restored.result == detail.result
            assert restored.display == detail.display
    for session in sessions:
        changed = [
            (change.path, change.kind, change.added)
            for change in before.file_changes
            if change.session == session
        ]
        assert sorted(changed, key=str) == sorted(
            (
                (change.path, change.kind, change.added)
                for change in after.file_changes
                if change.session == session
            ),
            key=str,
        )


@pytest.mark.parametrize("log", LOGS)
def test_any_log_goes_there_and_back(log: str, tmp_path: Path) -> None:
    trace = traces.load(SAMPLES / log)
    for session in [one for one in trace.sessions if not one.parent][:3]:
        path = write_atif(trace, tmp_path / "out.json", session=session.id)
        document = json.loads(path.read_text())
        check(document)
        sessions = {
            document["session_id"],
            *(one["session_id"] for one in document.get("subagent_trajectories", [])),
        }
        same(trace, traces.load(path), sessions)


@pytest.fixture
def root() -> Iterator[Path]:
    with temporary_workspace({"a.py": "one = 1\n"}) as folder:
        yield folder


async def test_a_session_of_ours_goes_there_and_back(root: Path, tmp_path: Path) -> None:
    recorder = Recorder(tmp_path / "log.jsonl", workspace=root)
    async with Session(
        root, policy=Policy(mode="yolo", deny=["shell(rm *)"]), observers=[recorder]
    ) as session:
        await session.call("read", {"path": "a.py"})
        await session.call("edit", {"path": "a.py", "old": "1", "new": "2"})
        await session.call("shell", {"command": "exit 4"})
        await session.call("shell", {"command": "rm a.py"})
        await session.call("read", {"path": "nowhere"})
    trace = traces.load(recorder.path)
    path = write_atif(trace, tmp_path / "out.json")
    check(json.loads(path.read_text()))
    again = traces.load(path)
    same(trace, again, {recorder.session})
    assert [call.status for call in again.calls] == ["ok", "ok", "ok", "denied", "error"]
    assert again.calls[1].detail.changes[0].new_content == "one = 2\n"
    assert again.sessions[0].cwd == str(root)


def test_one_session_has_to_be_chosen(tmp_path: Path) -> None:
    for name in ("a", "b"):
        document = {
            "schema_version": "ATIF-v1.8",
            "session_id": name,
            "agent": {"name": "x", "version": "1"},
            "steps": [{"step_id": 1, "source": "user", "message": name}],
        }
        (tmp_path / f"{name}.json").write_text(json.dumps(document))
    trace = traces.load_many(str(tmp_path / "*.json"))
    with pytest.raises(TraceError, match="There are: a, b"):
        write_atif(trace, tmp_path / "out.json")
    assert (
        json.loads(write_atif(trace, tmp_path / "out.json", session="b").read_text())["steps"][0]["message"]
        == "b"
    )
    with pytest.raises(TraceError):
        write_atif(trace, tmp_path / "out.json", session="c")


@pytest.mark.parametrize(
    "steps",
    [
        '[1, null, "x"]',
        '[{"tool_calls":[{"name":5}],"observation":[],"metrics":7}]',
        '[{"message":{"a":1},"extra":[]}]',
    ],
)
def test_steps_of_another_shape_stop_no_reader(steps: str, tmp_path: Path) -> None:
    path = tmp_path / "odd.json"
    path.write_text(
        f'{{"schema_version":"ATIF-v1.8","session_id":4,"agent":null,"steps":{steps},"final_metrics":[]}}'
    )
    trace = traces.load(path)
    assert trace.sessions[0].id == "4"
    for call in trace.calls:
        assert call.detail.args == {}
