"""Traps of the tasks of Cline and its forks, for a naive reader."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nbtools import traces
from nbtools.core.result import FileDiff
from nbtools.traces.model import Tokens
from nbtools.traces.reader import Head
from nbtools.traces.readers.cline import Cline
from tests.traces.readers.damage import damaged, read_whole, spoilt
from tests.traces.recorded import SAMPLES

SAMPLE = SAMPLES / "cline/made--task.json"
MESSAGES: list[Any] = json.loads(SAMPLE.read_text())
TASK = {
    "role": "user",
    "content": [
        {"type": "text", "text": "<task>\ngo\n</task>"},
        {"type": "text", "text": "<environment_details>\n"},
    ],
}


def task(path: Path, *texts: str) -> traces.Trace:
    """A task with an answer, what it got, and so on."""
    roles = ("assistant", "user")
    said = [
        {"role": roles[n % 2], "content": [{"type": "text", "text": text}]} for n, text in enumerate(texts)
    ]
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps([TASK, *said]))
    return traces.load(path)


def test_calls_are_elements_of_the_text_and_results_are_texts() -> None:
    trace = traces.load(SAMPLE)
    assert [(call.name, call.op, call.status, call.status_source, call.answered) for call in trace.calls] == [
        ("read_file", "read", "unknown", "none", True),
        ("replace_in_file", "edit", "unknown", "none", True),
        ("write_to_file", "write", "denied", "text", True),
        ("execute_command", "shell", "error", "text", True),
        ("attempt_completion", "other", "unanswered", "none", False),
    ]
    _, edit, write, command, _ = [call.detail for call in trace.calls]
    assert isinstance(edit.display, FileDiff)
    assert (edit.display.original_content, edit.display.new_content) == (
        "    return n * 2\n",
        "    return n * 3\n",
    )
    assert write.args == {"path": "page.html", "content": "<content>n * 3</content>"}
    assert (command.command, command.args["requires_approval"]) == ("pytest -q", "false")
    assert [(one.path, one.added, one.removed) for one in trace.file_changes] == [("price.py", 1, 1)]


def test_the_persons_text_is_separated_from_added_text() -> None:
    trace = traces.load(SAMPLE)
    assert [(one.text, one.turn) for one in trace.events if one.kind == "user"] == [
        ("Fix the price.", 1),
        ("No page, please.", 2),
    ]
    assert [one.text for one in trace.events if one.kind == "thinking"] == ["I read it first."]
    assert all(one.text.startswith("<environment_details>") for one in trace.events if one.kind == "system")


def test_the_displayed_messages_have_the_tokens_and_the_cost(tmp_path: Path) -> None:
    spent = {"tokensIn": 10, "tokensOut": 2, "cacheReads": 5, "cacheWrites": 1, "cost": 0.5}
    shown = [
        {"ts": 1754042400000 + n, "type": "say", "say": "api_req_started", "text": json.dumps(spent)}
        for n in range(2)
    ]
    folder = tmp_path / "1754042400000"
    folder.mkdir()
    (folder / "ui_messages.json").write_text(
        json.dumps([*shown, {"type": "say", "say": "text", "text": "go"}])
    )
    trace = task(folder / "api_conversation_history.json", "Done.")
    (row,) = trace.sessions
    assert (row.id, row.cost, row.tokens) == (
        "1754042400000",
        1.0,
        Tokens(input=20, cache_read=10, cache_write=2, output=4),
    )


@pytest.mark.parametrize(
    ("text", "name", "args"),
    [
        (
            "<list_files>\n<path>.</path>\n<recursive>true</recursive>\n</list_files>",
            "list_files",
            {"path": ".", "recursive": "true"},
        ),
        (
            "<read_file><args><file><path>a</path></file></args></read_file>",
            "read_file",
            {"args": "<file><path>a</path></file>", "paths": ["a"]},
        ),
        (
            "<execute_command>\n<command>ls <b> </command>\n</execute_command>",
            "execute_command",
            {"command": "ls <b> "},
        ),
        ("<execute_command>\n<command>cut", "execute_command", {"command": "cut"}),
    ],
)
def test_parameters(tmp_path: Path, text: str, name: str, args: dict[str, Any]) -> None:
    (call,) = task(tmp_path / "t.json", f"First.\n{text}").calls
    assert (call.name, call.detail.args) == (name, args)


@pytest.mark.parametrize(
    "text",
    ["<b>bold</b>", "<div><path>a</path></div>", "Use `read_file` for it.", "<read_files></read_files>"],
)
def test_other_elements_are_text(tmp_path: Path, text: str) -> None:
    trace = task(tmp_path / "t.json", text)
    assert list(trace.calls) == []
    assert [one.text for one in trace.events if one.kind == "assistant_text"] == [text]


def test_several_calls_of_one_answer_have_their_results_by_name(tmp_path: Path) -> None:
    calls = "<read_file><path>a</path></read_file>\n<search_files><regex>x</regex></search_files>"
    trace = task(
        tmp_path / "t.json",
        calls,
        "[search_files for 'x'] Result:\nfound",
        "",
        "[read_file for 'a'] Result:\ntext",
    )
    assert [(call.name, call.detail.result) for call in trace.calls] == [
        ("read_file", "text"),
        ("search_files", "found"),
    ]


def test_functions_are_calls_too(tmp_path: Path) -> None:
    use = {"type": "tool_use", "id": "t1", "name": "execute_command", "input": {"command": "ls"}}
    answer = {"type": "tool_result", "tool_use_id": "t1", "content": "a.py"}
    path = tmp_path / "t.json"
    path.write_text(
        json.dumps([TASK, {"role": "assistant", "content": [use]}, {"role": "user", "content": [answer]}])
    )
    trace = traces.load(path)
    assert trace.readings[0].format.name == "cline"
    assert [(call.subject, call.detail.result) for call in trace.calls] == [("ls", "a.py")]


def test_other_messages_are_not_taken_for_a_task(tmp_path: Path) -> None:
    data = json.dumps([{"role": "user", "content": "What is a <task> in Cline?"}]).encode()
    assert not Cline().recognises(Head(tmp_path, data))


@given(data=st.data())
def test_no_content_of_a_task_stops_the_reader(
    tmp_path_factory: pytest.TempPathFactory, data: st.DataObject
) -> None:
    text = json.dumps(data.draw(damaged([MESSAGES]))[0]).encode()
    path = tmp_path_factory.getbasetemp() / "damaged-cline"
    path.write_bytes(data.draw(st.one_of(st.just(text), spoilt(text))))
    read_whole(path, Cline())
