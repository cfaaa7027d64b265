"""Spans of agents, as the conventions of several years have them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nbtools import traces
from nbtools.core.result import CommandOutput, FileText
from nbtools.traces.readers.otlp import Otlp
from tests.examples import examples
from tests.traces.readers.damage import damaged, read_whole, spoilt, written

Record = dict[str, Any]
START = 1_750_000_000_000_000_000


def value(plain: Any) -> Record:
    if isinstance(plain, bool):
        return {"boolValue": plain}
    if isinstance(plain, int):
        return {"intValue": str(plain)}
    if isinstance(plain, str):
        return {"stringValue": plain}
    if isinstance(plain, list):
        return {"arrayValue": {"values": [value(one) for one in plain]}}
    return {"kvlistValue": {"values": attributes(plain)}}


def attributes(given_: Record) -> list[Record]:
    return [{"key": key, "value": value(one)} for key, one in given_.items()]


def span(
    id_: str,
    name: str,
    begin: int,
    end: int | None,
    given_: Record,
    parent: str = "",
    trace: str = "t",
    **fields: Any,
) -> Record:
    ended = {} if end is None else {"endTimeUnixNano": str(START + end * 10**9)}
    times = {"startTimeUnixNano": str(START + begin * 10**9), **ended}
    return {
        "traceId": trace,
        "spanId": id_,
        "parentSpanId": parent,
        "name": name,
        **times,
        "attributes": attributes(given_),
        **fields,
    }


def document(*spans: Record) -> Record:
    resource = {"attributes": attributes({"service.name": "maker", "service.version": "3"})}
    return {
        "resourceSpans": [{"resource": resource, "scopeSpans": [{"scope": {"name": "x"}, "spans": [*spans]}]}]
    }


def load(path: Path, *documents: Record) -> traces.Trace:
    file = path / "spans.json"
    file.write_bytes(written([*documents]))
    return traces.load(file)


def message(role: str, *parts: Record) -> Record:
    return {"role": role, "parts": [*parts]}


def chat(
    id_: str,
    begin: int,
    end: int,
    request: list[Record],
    given_: list[Record],
    parent: str = "root",
    **more: Any,
) -> Record:
    messages = {"gen_ai.input.messages": json.dumps(request), "gen_ai.output.messages": json.dumps(given_)}
    return span(
        id_,
        "chat m",
        begin,
        end,
        {"gen_ai.operation.name": "chat", "gen_ai.request.model": "m", **messages, **more},
        parent,
    )


def tool(id_: str, begin: int, end: int | None, name: str, parent: str = "root", **more: Any) -> Record:
    return span(
        id_,
        f"execute_tool {name}",
        begin,
        end,
        {"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": name, **more},
        parent,
    )


TEXT = {"type": "text", "content": "do it"}
ASK = {"type": "tool_call", "id": "c1", "name": "bash", "arguments": {"command": "ls"}}
ANSWER = {"type": "tool_call_response", "id": "c1", "response": "a.py"}
FIRST = chat(
    "s1",
    1,
    2,
    [message("user", TEXT)],
    [message("assistant", {"type": "reasoning", "content": "hm"}, ASK)],
    **{"gen_ai.usage.input_tokens": 9, "gen_ai.usage.output_tokens": 2},
)
SECOND = chat(
    "s3",
    4,
    5,
    [
        message("user", TEXT),
        message("assistant", {"type": "reasoning", "content": "hm"}, ASK),
        message("tool", ANSWER),
    ],
    [message("assistant", {"type": "text", "content": "done"})],
)
ROOT = span(
    "root",
    "invoke_agent A",
    0,
    6,
    {"gen_ai.operation.name": "invoke_agent", "gen_ai.agent.name": "A", "gen_ai.conversation.id": "conv"},
)
CALL_ID = "gen_ai.tool.call.id"
ARGUMENTS = "gen_ai.tool.call.arguments"
RESULT = "gen_ai.tool.call.result"


def test_spans_are_in_the_order_in_which_they_began(tmp_path: Path) -> None:
    ran = tool("s2", 2, 4, "bash", **{CALL_ID: "c1", ARGUMENTS: '{"command": "ls"}', RESULT: "a.py"})
    for documents in (
        [document(FIRST, ran, SECOND, ROOT)],
        [document(one) for one in (FIRST, ran, SECOND, ROOT)],
    ):
        trace = load(tmp_path, *documents)
        (session,) = trace.sessions
        rows = sorted([*trace.events, *trace.calls], key=lambda row: row.seq)
        told = [row.name if isinstance(row, traces.Call) else f"{row.kind}: {row.text}" for row in rows]
        assert told == [
            "system: invoke_agent A",
            "user: do it",
            "thinking: hm",
            "bash",
            "assistant_text: done",
        ]
        assert (session.id, session.agent, session.agent_version, session.records, session.models) == (
            "t",
            "A",
            "3",
            4,
            ("m",),
        )
        assert session.native_tokens == {"input": 9, "output": 2}
        assert (session.started, session.ended) == (START / 1e9, START / 1e9 + 6)


def test_requests_in_the_span_of_a_tool_belong_to_its_call(tmp_path: Path) -> None:
    inner = span("agent", "invoke_agent B", 2, 4, {"gen_ai.operation.name": "invoke_agent"}, "outer")
    spans = [
        tool("leaf", 3, 4, "grep", "agent"),
        inner,
        tool("outer", 2, 5, "delegate"),
        tool("other", 5, 6, "bash"),
        ROOT,
    ]
    calls = {one.name: one for one in load(tmp_path, document(*spans)).calls}
    assert {name: one.parent for name, one in calls.items()} == {
        "delegate": "",
        "grep": calls["delegate"].id,
        "bash": "",
    }


def test_parents_that_lead_back_to_themselves_are_no_parents(tmp_path: Path) -> None:
    trace = load(
        tmp_path, document(tool("a", 1, 2, "x", "b"), tool("b", 1, 2, "y", "a"), tool("c", 1, 2, "z", "c"))
    )
    assert {one.name: one.parent for one in trace.calls} == {"x": "b", "y": "a", "z": ""}


def test_a_result_that_the_span_leaves_out_is_taken_from_the_message_that_brings_it(tmp_path: Path) -> None:
    (call,) = load(
        tmp_path,
        document(
            FIRST, tool("s2", 2, 4, "bash", **{CALL_ID: "c1", ARGUMENTS: '{"command": "ls"}'}), SECOND, ROOT
        ),
    ).calls
    assert (call.answered, call.status, call.detail.result, call.detail.command) == (True, "ok", "a.py", "ls")
    assert isinstance(call.detail.display, CommandOutput)


def test_without_spans_of_tools_the_calls_are_those_in_the_messages(tmp_path: Path) -> None:
    (call,) = load(tmp_path, document(FIRST, SECOND, ROOT)).calls
    assert (call.name, call.native_id, call.answered, call.status, call.detail.result) == (
        "bash",
        "c1",
        True,
        "unknown",
        "a.py",
    )
    assert call.detail.args == {"command": "ls"}


@pytest.mark.parametrize(
    ("fields", "more", "status"),
    [
        ({"status": {"code": 2, "message": "bad"}}, {}, "error"),
        ({"status": {"code": "STATUS_CODE_ERROR"}}, {}, "error"),
        ({}, {"error.type": "timeout"}, "error"),
        ({"status": {"code": 1}}, {}, "ok"),
        ({}, {}, "ok"),
    ],
)
def test_a_span_that_failed_says_so(tmp_path: Path, fields: Record, more: Record, status: str) -> None:
    (call,) = load(tmp_path, document(tool("a", 1, 2, "x", **more) | fields)).calls
    assert (call.status, call.status_source) == (status, "flag")


def test_a_span_without_an_end_is_a_call_without_an_answer(tmp_path: Path) -> None:
    (call,) = load(tmp_path, document(tool("a", 1, None, "x"))).calls
    assert (call.status, call.answered, call.ended, call.duration) == ("unanswered", False, None, None)


def test_the_exception_that_ended_a_tool_is_its_result(tmp_path: Path) -> None:
    event = {
        "name": "exception",
        "attributes": attributes({"exception.type": "E", "exception.message": "boom"}),
    }
    (call,) = load(
        tmp_path, document(tool("a", 1, 2, "x") | {"events": [event], "status": {"code": 2}})
    ).calls
    assert (call.status, call.detail.result) == ("error", "boom")


def test_openinference_writes_nested_values_as_names(tmp_path: Path) -> None:
    model = span(
        "a",
        "LLM",
        1,
        2,
        {
            "openinference.span.kind": "LLM",
            "llm.model_name": "g",
            "llm.input_messages.0.message.role": "user",
            "llm.input_messages.0.message.contents.0.message_content.type": "text",
            "llm.input_messages.0.message.contents.0.message_content.text": "hi",
            "llm.output_messages.0.message.role": "assistant",
            "llm.output_messages.0.message.tool_calls.0.tool_call.id": "1",
            "llm.output_messages.0.message.tool_calls.0.tool_call.function.name": "read_file",
            "llm.output_messages.0.message.tool_calls.0.tool_call.function.arguments": '{"path": "a"}',
            "llm.token_count.prompt": 7,
        },
    )
    ran = span(
        "b",
        "read",
        2,
        3,
        {
            "openinference.span.kind": "TOOL",
            "tool.name": "read_file",
            "input.value": '{"path": "a"}',
            "output.value": "1\tx\n2\ty",
        },
    )
    trace = load(tmp_path, document(model, ran))
    assert [(event.kind, event.text) for event in trace.events] == [("user", "hi")]
    (call,) = trace.calls
    assert (call.op, call.paths, call.detail.display) == ("read", ("a",), FileText("a", 1, ("x", "y"), 2))
    assert trace.sessions[0].tokens.input == 7
    assert [one.native_id for one in load(tmp_path, document(model)).calls] == ["1"]


def test_before_messages_were_attributes_they_were_events(tmp_path: Path) -> None:
    request = {"name": "gen_ai.user.message", "attributes": attributes({"content": "hi"})}
    chosen = {
        "role": "assistant",
        "tool_calls": [{"id": "q", "type": "function", "function": {"name": "f", "arguments": "{}"}}],
    }
    choice = {"name": "gen_ai.choice", "attributes": attributes({"index": 0, "message": json.dumps(chosen)})}
    brought = {"name": "gen_ai.tool.message", "attributes": attributes({"content": "res", "id": "q"})}
    end = {
        "name": "gen_ai.choice",
        "attributes": attributes(
            {"gen_ai.event.content": json.dumps({"index": 0, "message": {"content": "fin"}})}
        ),
    }
    model = {"gen_ai.system": "openai", "gen_ai.request.model": "g"}
    trace = load(
        tmp_path,
        document(
            span("a", "chat", 1, 2, model, events=[request, choice]),
            span("b", "chat", 3, 4, model, events=[brought, end]),
        ),
    )
    assert [(event.kind, event.text) for event in trace.events] == [("user", "hi"), ("assistant_text", "fin")]
    assert [(one.name, one.native_id, one.detail.result) for one in trace.calls] == [("f", "q", "res")]


def test_log_records_of_agents_are_calls_and_messages(tmp_path: Path) -> None:
    ended = {
        "event.name": "tool_result",
        "tool_name": "Bash",
        "success": "false",
        "duration_ms": "12",
        "session.id": "S",
        "error": "no",
        "tool_parameters": '{"command": "ls"}',
    }
    records = [
        {
            "timeUnixNano": str(START),
            "body": {"stringValue": "claude_code.tool_result"},
            "attributes": attributes(ended),
        },
        {
            "timeUnixNano": str(START + 1),
            "eventName": "gen_ai.user.message",
            "traceId": "S",
            "body": value({"content": "hey"}),
        },
    ]
    trace = load(tmp_path, {"resourceLogs": [{"scopeLogs": [{"logRecords": records}]}]})
    assert [(one.session, one.name, one.status, one.duration, one.detail.result) for one in trace.calls] == [
        ("S", "Bash", "error", 0.012, "no")
    ]
    assert [(event.kind, event.text) for event in trace.events] == [("user", "hey")]


def test_each_trace_is_a_session(tmp_path: Path) -> None:
    trace = load(tmp_path, document(tool("a", 1, 2, "x")), document(tool("a", 1, 2, "x") | {"traceId": "u"}))
    assert [(one.session, one.id) for one in trace.calls] == [("t", "a"), ("u", "a")]
    assert [session.id for session in trace.sessions] == ["t", "u"]


def test_a_line_that_is_cut_is_a_problem_and_the_others_are_read(tmp_path: Path) -> None:
    file = tmp_path / "spans.jsonl"
    lines = written([document(tool("a", 1, 2, "x")), document(tool("b", 2, 3, "y"))]).splitlines(
        keepends=True
    )
    file.write_bytes(lines[0] + lines[1][:-20] + b"\n" + lines[1])
    trace = traces.load(file)
    assert [one.name for one in trace.calls] == ["x", "y"]
    assert [problem.ref.line for problem in trace.problems] == [2]


RAN = tool("s2", 2, 4, "bash", **{CALL_ID: "c1", ARGUMENTS: '{"command": "ls"}', RESULT: "a.py"})
OLD = span(
    "old",
    "chat",
    3,
    4,
    {
        "gen_ai.request.model": "g",
        "llm.input_messages.0.message.role": "user",
        "gen_ai.prompt.0.content": "x",
    },
    events=[{"name": "gen_ai.choice", "attributes": attributes({"message": {"content": "y"}})}],
)
WHOLE = [document(FIRST, RAN, SECOND), document(OLD, ROOT)]


@settings(max_examples=examples(150), deadline=None)
@given(st.data())
def test_a_damaged_export_is_read(tmp_path_factory: pytest.TempPathFactory, data: st.DataObject) -> None:
    path = tmp_path_factory.getbasetemp() / "damaged-otlp"
    path.write_bytes(written(data.draw(damaged(WHOLE))))
    read_whole(path, Otlp())
    path.write_bytes(data.draw(spoilt(written(WHOLE, data.draw(st.sampled_from([None, 1]))))))
    read_whole(path, Otlp())


@pytest.mark.parametrize(
    "odd",
    [
        {"value": {"stringValue": 7}},
        {"key": 5, "value": {"stringValue": "x"}},
        {"key": "k"},
        7,
        {"key": "k", "value": [1]},
    ],
)
def test_an_attribute_of_an_odd_type_does_not_take_the_others_with_it(tmp_path: Path, odd: Any) -> None:
    named = {
        "gen_ai.operation.name": "execute_tool",
        "gen_ai.tool.name": "ls",
        "gen_ai.tool.call.id": "c1",
        "gen_ai.tool.call.result": "[a] b",
    }
    attributes = [{"key": key, "value": {"stringValue": value}} for key, value in named.items()]
    times = {"startTimeUnixNano": "1700000000000000000", "endTimeUnixNano": "1700000001000000000"}
    found = {
        "traceId": "a" * 32,
        "spanId": "b" * 16,
        "name": "execute_tool ls",
        **times,
        "attributes": [odd, *attributes],
    }
    path = tmp_path / "spans.json"
    path.write_text(json.dumps({"resourceSpans": [{"scopeSpans": [{"spans": [found]}]}]}))
    trace = traces.load(path)
    assert [(one.name, one.native_id, one.status, one.detail.result) for one in trace.calls] == [
        ("ls", "c1", "ok", "[a] b")
    ]
