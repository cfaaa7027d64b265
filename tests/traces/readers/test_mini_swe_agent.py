"""Traps of mini-swe-agent's trajectories, for a naive reader."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nbtools import traces
from nbtools.core.result import CommandOutput
from nbtools.traces.readers.mini_swe_agent import MiniSweAgent
from tests.traces.readers.damage import damaged, read_whole, spoilt

TASK = [{"role": "system", "content": "You …"}, {"role": "user", "content": "Fix it."}]
INFO = {
    "exit_status": "Submitted",
    "submission": "d",
    "model_stats": {"instance_cost": 0.5, "api_calls": 2},
    "mini_version": "1.9",
}


def says(text: str, **more: Any) -> dict[str, Any]:
    return {"role": "assistant", "content": text, **more}


def observes(output: str, code: int) -> dict[str, Any]:
    return {"role": "user", "content": f"<returncode>{code}</returncode>\n<output>\n{output}\n</output>"}


def run(path: Path, *messages: Any, bare: bool = False, **more: Any) -> traces.Trace:
    document: Any = [*TASK, *messages]
    path.write_text(json.dumps(document if bare else {"info": INFO, "messages": document, **more}, indent=2))
    return traces.load(path)


def test_a_command_is_the_only_bash_block_and_the_next_message_its_result(tmp_path: Path) -> None:
    trace = run(tmp_path / "t", says("THOUGHT: so\n\n```bash\nls\nfalse\n```"), observes("a\nb", 1))
    (call,) = trace.calls
    assert (call.name, call.op, call.status, call.status_source, call.exit_code) == (
        "bash",
        "shell",
        "error",
        "exit_code",
        1,
    )
    assert (call.detail.command, call.detail.display) == ("ls\nfalse", CommandOutput("a\nb", 2, 1))
    facts = trace.facts()
    assert (facts["tool_calls"], facts["answered"], facts["tool_errors"]) == (1, 1, None)
    assert (facts["exit_status"], facts["api_calls"]) == ("Submitted", 2)
    assert trace.sessions[0].cost == 0.5


TAGS = ("bash", "mswea_bash_command")


@pytest.mark.parametrize("tag", TAGS)
@pytest.mark.parametrize("bare", [True, False])
def test_a_block_of_either_tag_is_a_call_that_counts(tmp_path: Path, tag: str, bare: bool) -> None:
    trace = run(tmp_path / "t", says(f"THOUGHT: so\n\n```{tag}\nls\n```"), observes("a", 0), bare=bare)
    assert [(call.subject, call.status, call.counted) for call in trace.calls] == [("ls", "ok", True)]
    assert (trace.facts()["tool_calls"], trace.facts()["answered"]) == (1, 1)


@pytest.mark.parametrize(
    "text", ["no block", *(f"```{a}\na\n```\n```{a}\nb\n```" for a in TAGS), "```python\na\n```"]
)
def test_no_block_or_several_are_no_call(tmp_path: Path, text: str) -> None:
    assert run(tmp_path / "t", says(text), observes("", 0)).calls == []


def test_the_later_tag_is_executed_beside_an_example_and_the_rules_count_neither(tmp_path: Path) -> None:
    trace = run(
        tmp_path / "t", says("As in\n```bash\nrm x\n```\n```mswea_bash_command\nls\n```"), observes("a", 0)
    )
    assert [(call.subject, call.counted) for call in trace.calls] == [("ls", False)]
    assert trace.facts()["tool_calls"] == 0


def test_blanks_after_the_tag_are_a_call_that_the_rules_do_not_count(tmp_path: Path) -> None:
    trace = run(tmp_path / "t", says("```bash \r\nls"), observes("a", 0))
    assert [(call.subject, call.counted) for call in trace.calls] == [("ls", False)]


def test_version_2_has_actions_each_with_a_result_of_its_own(tmp_path: Path) -> None:
    actions = [{"command": "a", "tool_call_id": "1"}, {"command": "b", "tool_call_id": "2"}]

    def result(native: str, code: int) -> dict[str, Any]:
        extra = {"raw_output": f"out {native}", "returncode": code, "timestamp": 1760000005.0}
        return {"role": "tool", "tool_call_id": native, "content": f"for the model {native}", "extra": extra}

    asked = says("", extra={"actions": actions, "timestamp": 1760000000.0, "response": {"model": "m"}})
    trace = run(tmp_path / "t", asked, result("2", 7), result("1", 0), trajectory_format="mini-swe-agent-1.1")
    assert [(call.id, call.native_id, call.exit_code, call.duration) for call in trace.calls] == [
        ("2.0", "1", 0, 5.0),
        ("2.1", "2", 7, 5.0),
    ]
    detail = trace.calls[1].detail
    assert (detail.result, detail.stdout, detail.display) == (
        "for the model 2",
        "out 2",
        CommandOutput("out 2", 1, 7),
    )
    assert (trace.sessions[0].format_version, trace.sessions[0].models) == ("1.1", ("m",))
    assert trace.facts()["first_ts"] == "2025-10-09T08:53:20.000Z"


def test_a_command_that_an_exception_ended_was_interrupted(tmp_path: Path) -> None:
    asked = says("", extra={"actions": [{"command": "a"}]})
    (call,) = run(
        tmp_path / "t", asked, {"role": "exit", "content": "boom", "extra": {"exit_status": "RuntimeError"}}
    ).calls
    assert (call.status, call.answered) == ("interrupted", True)


def test_the_last_message_has_no_result(tmp_path: Path) -> None:
    trace = run(tmp_path / "t", says("```bash\nls\n```"))
    assert trace.calls[0].status == "unanswered"
    assert trace.facts()["answered"] == 0


def test_rows_point_at_the_messages(tmp_path: Path) -> None:
    asked = says("```bash\nls\n```")
    (call,) = run(tmp_path / "t", asked, observes("a", 0)).calls
    data = (tmp_path / "t").read_bytes()
    assert json.loads(data[call.ref.offset : call.ref.offset + call.ref.length]) == asked


@given(data=st.data())
def test_no_content_of_a_trajectory_stops_the_reader(
    tmp_path_factory: pytest.TempPathFactory, data: st.DataObject
) -> None:
    messages = [
        *TASK,
        says("```bash\nls\n```"),
        observes("a", 0),
        says(
            "",
            extra={
                "actions": [{"command": "a", "tool_call_id": "1"}, {"command": "b"}],
                "timestamp": 1760000000.0,
            },
        ),
        {
            "role": "tool",
            "tool_call_id": "1",
            "content": [{"type": "text", "text": "x"}],
            "extra": {"returncode": 0},
        },
        {"role": "exit", "content": "", "extra": {"exit_status": "Submitted"}},
    ]
    config = {"model": {"model_name": "m"}, "environment": {"cwd": "/w"}}
    document = data.draw(
        st.sampled_from(
            [messages, {"info": {**INFO, "config": config}, "messages": messages, "instance_id": "i"}]
        )
    )
    text = json.dumps(data.draw(damaged([document]))[0]).encode()
    path = tmp_path_factory.getbasetemp() / "damaged-mini"
    path.write_bytes(data.draw(st.one_of(st.just(text), spoilt(text))))
    read_whole(path, MiniSweAgent())


@pytest.mark.parametrize("listed", [True, False])
def test_answers_of_the_responses_api_have_calls_results_texts_and_tokens(
    tmp_path: Path, listed: bool
) -> None:
    call = {
        "type": "function_call",
        "name": "bash",
        "arguments": json.dumps({"command": "ls"}),
        "call_id": "c1",
    }
    text = {
        "type": "message",
        "role": "assistant",
        "content": [{"type": "output_text", "text": "I list the folder."}],
    }
    usage = {"input_tokens": 30, "input_tokens_details": {"cached_tokens": 10}, "output_tokens": 4}
    answer = {
        "object": "response",
        "id": "r1",
        "model": "m",
        "output": [text, call],
        "usage": usage,
        "extra": {},
    }
    if listed:
        answer["extra"] = {"actions": [{"command": "ls", "tool_call_id": "c1"}]}
    result = {
        "type": "function_call_output",
        "call_id": "c1",
        "output": "<returncode>0</returncode>",
        "extra": {"returncode": 0},
    }
    path = tmp_path / "run.traj.json"
    messages = [{"role": "user", "content": "Do it"}, answer, result]
    path.write_text(
        json.dumps(
            {
                "info": {"mini_version": "2.4.6"},
                "messages": messages,
                "trajectory_format": "mini-swe-agent-1.1",
            }
        )
    )
    trace = traces.load(path)
    assert [(one.subject, one.counted, one.status) for one in trace.calls] == [("ls", True, "ok")]
    assert [(one.kind, one.text) for one in trace.events][1:] == [
        ("assistant_text", "I list the folder."),
        ("tool_result", "<returncode>0</returncode>"),
    ]
    assert [(row.tokens.input, row.tokens.cache_read, row.tokens.output) for row in trace.usage] == [
        (20, 10, 4)
    ]
    assert trace.facts()["tool_calls"] == 1


ACTION = {"command": "ls -a", "tool_call_id": "c1"}


@pytest.mark.parametrize("odd", [7, None, ["x"], {"a": 1}, "x"])
@pytest.mark.parametrize("field", ["response", "timestamp", "cost", "usage"])
def test_a_field_of_an_odd_type_loses_only_itself(tmp_path: Path, field: str, odd: Any) -> None:
    extra = {"actions": [ACTION], field: odd}
    trace = run(
        tmp_path / "t",
        says("I look.", extra=extra),
        {"role": "tool", "tool_call_id": "c1", "content": "a.py"},
    )
    assert [(one.subject, one.native_id, one.answered, one.result_size) for one in trace.calls] == [
        ("ls -a", "c1", True, 4)
    ]
    assert [one.text for one in trace.events if one.kind == "assistant_text"] == ["I look."]
    assert trace.problems == []


@pytest.mark.parametrize("role", [7, None, ["x"]])
def test_a_message_without_a_role_stays(tmp_path: Path, role: Any) -> None:
    trace = run(
        tmp_path / "t", {"role": role, "content": "Words."}, says("```bash\nls\n```"), observes("a", 0)
    )
    assert [one.text for one in trace.events if one.kind == "system"] == ["You …", "Words."]
    assert len(trace.calls) == 1


def test_the_models_reasoning_is_a_thought(tmp_path: Path) -> None:
    chat = says("I look.", reasoning_content="First the test, then the code.", extra={"actions": [ACTION]})
    reasoning = {
        "type": "reasoning",
        "summary": [{"type": "summary_text", "text": "The rate is in percent."}],
    }
    asked = {
        "type": "function_call",
        "call_id": "c2",
        "name": "bash",
        "arguments": json.dumps({"command": "make"}),
    }
    items = {
        "object": "response",
        "output": [reasoning, asked],
        "model": "m",
        "usage": {"input_tokens": 3, "output_tokens": 2},
    }
    answers = [
        {"role": "tool", "tool_call_id": "c1", "content": "a"},
        {"type": "function_call_output", "call_id": "c2", "output": "ok"},
    ]
    trace = run(tmp_path / "t", chat, answers[0], items, answers[1])
    assert [one.text for one in trace.events if one.kind == "thinking"] == [
        "First the test, then the code.",
        "The rate is in percent.",
    ]
    assert [one.subject for one in trace.calls] == ["ls -a", "make"]
