"""Habits of ATIF producers that the standard does not mention."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nbtools import traces
from nbtools.core.result import CommandOutput, FileDiff, Media
from nbtools.traces.reader import Head
from nbtools.traces.readers.atif import Atif
from tests.examples import examples
from tests.traces.readers.damage import damaged, read_whole, spoilt

Record = dict[str, Any]


def step(number: int, source: str = "agent", **fields: Any) -> Record:
    return {"step_id": number, "source": source, "message": "", **fields}


def call(native: str, name: str = "bash", **arguments: Any) -> Record:
    return {"tool_call_id": native, "function_name": name, "arguments": arguments}


def result(native: str | None, content: Any, **fields: Any) -> Record:
    return {"source_call_id": native, "content": content, **fields}


def document(*steps: Record, **fields: Any) -> Record:
    agent = {"name": "maker", "version": "1", "model_name": "m"}
    return {"schema_version": "ATIF-v1.7", "session_id": "one", "agent": agent, "steps": [*steps], **fields}


def write(path: Path, *steps: Record, **fields: Any) -> Path:
    path.write_text(json.dumps(document(*steps, **fields)))
    return path


def load(path: Path, *steps: Record, **fields: Any) -> traces.Trace:
    return traces.load(write(path / "log.json", *steps, **fields))


def observed(*results: Record) -> Record:
    return {"results": [*results]}


def test_a_result_in_a_system_step_of_its_own_answers_the_call_by_its_id(tmp_path: Path) -> None:
    asked = step(1, tool_calls=[call("a", command="ls"), call("b", command="pwd")])
    trace = load(
        tmp_path, asked, step(2, "system", observation=observed(result("b", "/"), result("a", "x.py")))
    )
    assert [(one.native_id, one.answered, one.detail.result) for one in trace.calls] == [
        ("a", True, "x.py"),
        ("b", True, "/"),
    ]


def test_a_system_step_with_id_and_name_is_the_result_of_the_next_call(tmp_path: Path) -> None:
    calls = [
        {"id": "a", "name": "shell", "arguments": '{"command": "ls"}'},
        {"id": "b", "name": "shell", "arguments": {"command": "pwd"}},
    ]
    trace = load(
        tmp_path,
        step(1, tool_calls=calls),
        step(2, "system", message="x.py"),
        step(3, "system", message="/"),
        step(4, "system", message="end"),
    )
    assert [(one.name, one.subject, one.answered, one.detail.result) for one in trace.calls] == [
        ("shell", "ls", True, "x.py"),
        ("shell", "pwd", True, "/"),
    ]
    assert [event.text for event in trace.events] == ["end"]


@pytest.mark.parametrize("version", ["1.4", "1.0", "v1.8", "1.7.1", "ATIF-v1.4"])
def test_a_version_may_lack_its_prefix(tmp_path: Path, version: str) -> None:
    trace = load(
        tmp_path,
        step(1, tool_calls=[call("a", command="ls")], observation=observed(result("a", "x"))),
        schema_version=version,
    )
    assert trace.readings[0].format.name == "atif"
    assert (trace.sessions[0].format_version, trace.calls[0].detail.result) == (
        version.rpartition("v")[2],
        "x",
    )


@pytest.mark.parametrize("version", ["2.4", "1", "1.4-other", 1.4])
def test_other_versions_are_not_taken_for_atif(tmp_path: Path, version: Any) -> None:
    path = write(tmp_path / "log.json", step(1), schema_version=version)
    assert not Atif().recognises(Head(path, path.read_bytes()))


def test_a_result_may_precede_its_call(tmp_path: Path) -> None:
    trace = load(
        tmp_path,
        step(1, "system", observation=observed(result("a", "x.py"))),
        step(2, "system", message="/", tool_call_id="b"),
        step(3, tool_calls=[call("a", command="ls"), call("b", command="pwd"), call("c", command="true")]),
        step(4, "system", observation=observed(result("c", "end"))),
        step(5, "system", observation=observed(result("never", "lost"))),
        schema_version="1.4",
    )
    assert [(one.native_id, one.answered, one.detail.result) for one in trace.calls] == [
        ("a", True, "x.py"),
        ("b", True, "/"),
        ("c", True, "end"),
    ]
    assert [(event.kind, event.text) for event in trace.events] == [("tool_result", "lost")]


def test_a_screen_that_several_calls_share_answers_none_and_is_shown_with_each(tmp_path: Path) -> None:
    trace = load(
        tmp_path, step(1, tool_calls=[call("a"), call("b")], observation=observed(result(None, "$ ls\nx.py")))
    )
    assert [(one.answered, one.status, one.detail.result) for one in trace.calls] == [
        (False, "unknown", "$ ls\nx.py")
    ] * 2
    assert [(event.kind, event.text) for event in trace.events] == [("tool_result", "$ ls\nx.py")]


def test_calls_without_ids_are_distinguished_by_their_place(tmp_path: Path) -> None:
    calls = [{"function_name": "bash", "arguments": {"command": name}} for name in ("ls", "pwd")]
    trace = load(tmp_path, step(1, tool_calls=calls), step(1, tool_calls=calls))
    assert len({one.id for one in trace.calls}) == 4
    assert [one.detail.command for one in trace.calls] == ["ls", "pwd"] * 2
    assert {one.status for one in trace.calls} == {"unanswered"}


@pytest.mark.parametrize(
    ("where", "status", "source"),
    [
        ({"extra": {"metadata": {"is_error": True}}}, "error", "flag"),
        ({"extra": {"is_error": False}}, "ok", "flag"),
        ({"extra": {"metadata": {"exit_code": 2}}}, "error", "exit_code"),
        ({"extra": {"metadata": {"is_error": "yes"}}}, "unknown", "none"),
        ({}, "unknown", "none"),
    ],
)
def test_status_is_what_a_producer_put_beside_the_format(
    tmp_path: Path, where: Record, status: str, source: str
) -> None:
    (one,) = load(
        tmp_path, step(1, tool_calls=[call("a", "tool")], observation=observed(result("a", "text", **where)))
    ).calls
    assert (one.status, one.status_source) == (status, source)
    (one,) = load(
        tmp_path, step(1, tool_calls=[call("a", "tool") | where], observation=observed(result("a", "text")))
    ).calls
    assert (one.status, one.status_source) == (status, source)


def test_an_edit_that_failed_changed_nothing(tmp_path: Path) -> None:
    edit = call("a", "Edit", file_path="a.py", old_string="1\n", new_string="2\n3\n")
    failed = result("a", "no", extra={"metadata": {"is_error": True}})
    assert not load(tmp_path, step(1, tool_calls=[edit], observation=observed(failed))).file_changes
    trace = load(tmp_path, step(1, tool_calls=[edit], observation=observed(result("a", "ok"))))
    (change,) = trace.file_changes
    assert (change.path, change.added, change.removed, change.basis) == ("a.py", 2, 1, "arguments")
    shown = trace.calls[0].detail.display
    assert isinstance(shown, FileDiff)
    assert "-1\n+2\n+3\n" in shown.file_diff


def test_a_command_is_shown_as_one(tmp_path: Path) -> None:
    trace = load(
        tmp_path,
        step(
            1,
            tool_calls=[call("a", command="ls")],
            observation=observed(result("a", "x\n[The command completed with exit code 3.]")),
        ),
    )
    shown = trace.calls[0].detail.display
    assert isinstance(shown, CommandOutput)
    assert (shown.exit_code, trace.calls[0].status, trace.calls[0].status_source) == (3, "error", "exit_code")


def test_pictures_are_read_from_beside_the_log_and_from_nowhere_else(tmp_path: Path) -> None:
    home = tmp_path / "log"
    (home / "images").mkdir(parents=True)
    (home / "images" / "a.png").write_bytes(b"\x89PNG")
    (tmp_path / "secret.png").write_bytes(b"secret")
    parts = [
        {"type": "image", "source": {"media_type": "image/png", "path": path}}
        for path in ("images/a.png", "../secret.png", "gone.png")
    ]
    trace = load(
        home,
        step(1, "user", message=[{"type": "text", "text": "look"}, *parts[:1]]),
        step(2, tool_calls=[call("a", "shot")], observation=observed(result("a", parts))),
    )
    assert trace.calls[0].detail.media == (Media("images/a.png", "image/png", b"\x89PNG"),)
    assert trace.calls[0].detail.display == Media("images/a.png", "image/png", b"\x89PNG")
    assert [(event.kind, event.text) for event in trace.events] == [
        ("attachment", "images/a.png"),
        ("user", "look"),
    ]


def test_an_embedded_sub_agent_hangs_on_the_call_that_started_it(tmp_path: Path) -> None:
    inner = document(step(1, tool_calls=[call("x", command="ls")]), trajectory_id="t-1", session_id="one")
    deeper = document(step(1, message="deep"), session_id="one")
    inner["subagent_trajectories"] = [deeper]
    answer = result("a", "done", subagent_trajectory_ref=[{"trajectory_id": "t-1", "session_id": "one"}])
    trace = load(
        tmp_path,
        step(1, tool_calls=[call("a", "Task", prompt="do")], observation=observed(answer)),
        subagent_trajectories=[inner],
    )
    root, child, grandchild = trace.sessions
    assert (root.id, child.id) == ("one", "t-1")
    assert grandchild.id not in {"one", "t-1"}
    assert (child.parent, child.parent_call) == ("one", trace.calls[0].id)
    assert trace.calls[0].child == "t-1"
    assert trace.facts()["tool_calls"] == 1


def test_sub_agents_and_continued_trajectories_are_read_from_their_files_each_once(tmp_path: Path) -> None:
    write(tmp_path / "sub.json", step(1, message="sub"), session_id="sub")
    write(
        tmp_path / "two.json",
        step(1, "user", message="again", is_copied_context=True),
        continued_trajectory_ref="log.json",
    )
    answer = result(
        "a", "done", subagent_trajectory_ref=[{"session_id": "sub", "trajectory_path": "sub.json"}]
    )
    asked = step(1, tool_calls=[call("a", "Task")], observation=observed(answer))
    trace = load(tmp_path, asked, continued_trajectory_ref="two.json")
    assert {one.id: (one.parent, one.title) for one in trace.sessions} == {
        "one": ("", "continues one#2"),
        "sub": ("one", ""),
        "one#2": ("", "continues one"),
    }
    assert trace.calls[0].child == "sub"
    assert [event.type for event in trace.events if event.text == "again"] == ["copied_context"]


def test_files_outside_the_logs_folder_are_not_opened(tmp_path: Path) -> None:
    write(tmp_path / "other.json", step(1, message="not yours"))
    (tmp_path / "home").mkdir()
    trace = load(tmp_path / "home", step(1, message="x"), continued_trajectory_ref="../other.json")
    assert [one.text for one in trace.events] == ["x"]


def test_a_document_that_is_cut_short_gives_its_whole_steps(tmp_path: Path) -> None:
    path = write(tmp_path / "log.json", *(step(number, message=f"m{number}") for number in range(1, 9)))
    path.write_bytes(path.read_bytes()[:-30])
    trace = traces.load(path)
    assert [event.text for event in trace.events][:7] == [f"m{number}" for number in range(1, 8)]
    assert len(trace.problems) == 1
    assert trace.problems[0].recovered


def test_numbers_that_json_does_not_have_are_no_reason_to_stop(tmp_path: Path) -> None:
    path = tmp_path / "log.json"
    path.write_text(
        json.dumps(
            document(step(1, message="m", metrics={"prompt_tokens": float("nan"), "completion_tokens": 3}))
        )
    )
    trace = traces.load(path)
    assert [event.text for event in trace.events] == ["m"]
    assert len(trace.problems) == 1
    assert trace.sessions[0].counts["step_output"] == 3


@pytest.mark.parametrize(
    "value", [None, 5, "x", [], {}, [[]], [{}], [None], {"results": 5}, {"results": [5, {}]}]
)
@pytest.mark.parametrize(
    "key", ["steps", "agent", "final_metrics", "session_id", "subagent_trajectories", "extra"]
)
def test_a_root_of_wrong_types_is_read(tmp_path: Path, key: str, value: Any) -> None:
    path = tmp_path / "log.json"
    path.write_text(json.dumps(document(step(1, message="m"), extra={"ATIF-v": 1}) | {key: value}))
    read_whole(path, Atif())


WHOLE = document(
    step(
        1,
        "user",
        message=[
            {"type": "text", "text": "go"},
            {"type": "image", "source": {"media_type": "image/png", "path": "a.png"}},
        ],
        timestamp="2026-01-01T00:00:00Z",
    ),
    step(
        2,
        reasoning_content="hm",
        metrics={"prompt_tokens": 4},
        tool_calls=[call("a", command="ls"), call("b", "Edit", path="a", old_string="x", new_string="y")],
        observation=observed(
            result("a", "x"),
            result("b", [{"type": "text", "text": "y"}], extra={"metadata": {"is_error": False}}),
            result(None, "z"),
        ),
    ),
    step(3, tool_calls=[{"id": "c", "name": "Task", "arguments": "{}"}]),
    step(
        4,
        "system",
        message="late",
        observation=observed(result("c", "end", subagent_trajectory_ref=[{"trajectory_id": "t"}])),
    ),
    final_metrics={"total_prompt_tokens": 4, "total_cost_usd": 0.1},
    subagent_trajectories=[document(step(1, message="sub"), trajectory_id="t")],
)


@settings(max_examples=examples(150), deadline=None)
@given(st.data())
def test_a_damaged_document_is_read(tmp_path_factory: pytest.TempPathFactory, data: st.DataObject) -> None:
    path = tmp_path_factory.getbasetemp() / "damaged-atif"
    path.write_bytes(json.dumps(data.draw(damaged([WHOLE]))[0]).encode())
    read_whole(path, Atif())
    path.write_bytes(data.draw(spoilt(json.dumps(WHOLE, indent=1).encode())))
    read_whole(path, Atif())
