"""Traps from the notes on the formats that no other test here has: one small log for each."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from nbtools import traces

AT = "2026-01-01T00:00:00.000Z"
BEGAN = 1767225600.0
Load = Callable[..., traces.Trace]


@pytest.fixture
def load(tmp_path: Path) -> Load:
    def written(*records: Any, indent: int | None = None) -> traces.Trace:
        path = tmp_path / ("log.json" if indent else "log.jsonl")
        path.write_text("".join(f"{json.dumps(one, indent=indent)}\n" for one in records))
        return traces.load(path)

    return written


@pytest.mark.parametrize(
    "record",
    [
        {
            "display": "do x",
            "pastedContents": {},
            "timestamp": 1767225600000,
            "project": "/w",
            "sessionId": "a",
        },
        {"session_id": "a", "ts": 1767225600, "text": "do x"},
        [{"sessionId": "a", "messageId": 0, "type": "user", "message": "do x", "timestamp": AT}],
    ],
    ids=["claude's history.jsonl", "codex's history.jsonl", "gemini's logs.json"],
)
def test_a_file_of_prompts_beside_the_logs_is_none(load: Load, record: Any) -> None:
    with pytest.raises(traces.TraceError, match="not recognised"):
        load(record)


PROMPT = {
    "type": "user",
    "uuid": "u",
    "parentUuid": None,
    "sessionId": "s",
    "timestamp": AT,
    "message": {"role": "user", "content": "hi"},
}


def test_claude_records_without_a_time_get_none(load: Load) -> None:
    snapshot = {
        "type": "file-history-snapshot",
        "messageId": "u",
        "snapshot": {"timestamp": "2030-01-01T00:00:00.000Z"},
    }
    trace = load(
        PROMPT,
        {"type": "ai-title", "aiTitle": "Greeting", "sessionId": "s"},
        {"type": "mode", "mode": "plan"},
        snapshot,
    )
    assert [event.at for event in trace.events] == [BEGAN, None, None, None]
    assert (trace.sessions[0].title, trace.sessions[0].ended, trace.sessions[0].flags) == (
        "Greeting",
        BEGAN,
        (),
    )


@pytest.mark.parametrize(("before", "after"), [("Task", "Agent"), ("TodoWrite", "TaskUpdate")])
def test_a_claude_tool_that_got_another_name_means_the_same(load: Load, before: str, after: str) -> None:
    content = [{"type": "tool_use", "id": f"t{name}", "name": name, "input": {}} for name in (before, after)]
    text = {
        **PROMPT,
        "type": "assistant",
        "uuid": "a",
        "parentUuid": "u",
        "message": {"id": "m", "role": "assistant", "content": content},
    }
    first, second = load(PROMPT, text).calls
    assert (first.name, second.name, first.op) == (before, after, second.op)


def rollout(type_: str, kind: str = "response_item", **payload: Any) -> dict[str, Any]:
    return {"timestamp": AT, "type": kind, "payload": {"type": type_, **payload}}


HEAD = {
    "timestamp": AT,
    "type": "session_meta",
    "payload": {"id": "s", "cwd": "/w", "cli_version": "0.145.0", "source": "cli"},
}


def test_a_codex_output_may_be_parts_and_its_tool_be_a_servers(load: Load) -> None:
    asked = rollout(
        "function_call", name="fetch", namespace="mcp__web", arguments='{"url": "x"}', call_id="c"
    )
    parts = [{"type": "input_text", "text": "one"}, {"type": "input_text", "text": "two"}]
    (call,) = load(HEAD, asked, rollout("function_call_output", call_id="c", output=parts)).calls
    assert (call.op, call.subject, call.detail.result, call.result_size) == ("mcp", "x", "one\ntwo", 7)


def test_content_encrypted_by_codex_is_not_shown(load: Load) -> None:
    trace = load(HEAD, rollout("reasoning", summary=[], encrypted_content="gAAAA" * 100))
    assert [(event.text, event.size) for event in trace.events if event.kind == "thinking"] == [("", 0)]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (
            "Chunk ID: ab12cd\nWall time: 0.5000 seconds\nProcess exited with code 0\nOriginal token count: 3\nOutput:\nfine",
            ("ok", 0, 0.5),
        ),
        (
            "Wall time: 1.25 seconds\nProcess exited with code 2\nOutput:\nProcess exited with code 0",
            ("error", 2, 1.25),
        ),
        (
            "Wall time: 1.25 seconds\nProcess exited with code 0\nOutput:\npatch rejected by user",
            ("denied", 0, 1.25),
        ),
        ("Wall time: 9 seconds\nProcess running with session ID 7\nOutput:\n", ("unknown", None, 9.0)),
    ],
)
def test_the_end_of_a_codex_command_is_read_in_the_head_of_its_output_only(
    load: Load, text: str, expected: tuple[Any, ...]
) -> None:
    asked = rollout("function_call", name="exec_command", arguments='{"cmd": "x"}', call_id="c")
    (call,) = load(HEAD, asked, rollout("function_call_output", call_id="c", output=text)).calls
    assert (call.status, call.exit_code, call.duration) == expected


def test_gemini_content_is_a_text_or_parts(load: Load) -> None:
    parts = [{"text": "b"}, {"inlineData": {"mimeType": "image/png", "data": "AAAA"}}, "c"]
    messages = [
        {"id": str(n), "type": "user", "timestamp": AT, "content": content}
        for n, content in enumerate(["a", parts])
    ]
    trace = load({"sessionId": "s", "projectHash": "p", "messages": messages}, indent=2)
    assert [event.text for event in trace.events] == ["a", "b\n[inlineData]\nc"]


def test_a_gemini_log_of_changes_is_counted_when_it_was_carried_out(load: Load) -> None:
    """Five lines, two messages."""
    head = {"sessionId": "s", "projectHash": "p", "startTime": AT}
    message = {"id": "1", "type": "user", "timestamp": AT, "content": "a"}
    trace = load(
        head, message, {**message, "content": "b"}, {**message, "id": "2"}, {"$set": {"summary": "About"}}
    )
    assert [event.text for event in trace.events] == ["b", "a"]
    assert (trace.facts()["records"], trace.sessions[0].title) == (2, "About")


def test_the_known_fields_of_a_later_version_of_atif_are_read(load: Load) -> None:
    audio = {"type": "audio", "source": {"media_type": "audio/wav", "path": "a.wav"}}
    copied = {"step_id": 1, "source": "user", "message": "hi", "is_copied_context": True, "yet_unknown": {}}
    answer = {
        "step_id": 2,
        "source": "agent",
        "message": [{"type": "text", "text": "ok"}, audio],
        "llm_call_count": 2,
    }
    trace = load(
        {
            "schema_version": "ATIF-v1.9",
            "session_id": "s",
            "yet": 1,
            "agent": {"name": "x"},
            "steps": [copied, answer],
        },
        indent=1,
    )
    assert [(event.kind, event.text, event.type) for event in trace.events] == [
        ("user", "hi", "copied_context"),
        ("attachment", "a.wav", ""),
        ("assistant_text", "ok", ""),
    ]
    assert (trace.sessions[0].format_version, trace.sessions[0].started) == ("1.9", None)


def test_inspect_says_what_it_cut_and_repeats_the_models_input_without_being_counted_twice(
    load: Load,
) -> None:
    tool = {
        "event": "tool",
        "id": "c",
        "function": "bash",
        "arguments": {"cmd": "x"},
        "result": "abc",
        "timestamp": AT,
        "completed": AT,
    }
    asked = [{"role": "user", "content": "do x"}]
    model = {"event": "model", "timestamp": AT, "model": "m", "input": asked, "output": {"choices": []}}
    sample = {
        "id": 1,
        "epoch": 1,
        "input": "do x",
        "events": [model, {**tool, "truncated": [100_000, 3]}, model],
    }
    trace = load(
        {
            "version": 2,
            "status": "success",
            "eval": {"run_id": "r", "task_id": "t", "task": "t"},
            "samples": [sample],
        },
        indent=1,
    )
    assert [(call.id, call.detail.truncated, call.detail.extra["truncated"]) for call in trace.calls] == [
        ("c", 3, [100_000, 3])
    ]
    assert [event.text for event in trace.events if event.kind == "user"] == []


def attribute(key: str, **value: Any) -> dict[str, Any]:
    return {"key": key, "value": value}


def test_otlp_writes_whole_numbers_as_texts_and_values_in_wrappers(load: Load) -> None:
    listed = {
        "values": [
            attribute("pattern", stringValue="x"),
            attribute("paths", arrayValue={"values": [{"stringValue": "a"}]}),
        ]
    }
    span = {
        "traceId": "t",
        "startTimeUnixNano": "1767225600000000000",
        "endTimeUnixNano": "1767225601000000000",
    }
    chat = [
        attribute("gen_ai.operation.name", stringValue="chat"),
        attribute("gen_ai.usage.input_tokens", intValue="12"),
    ]
    grep = [
        attribute("gen_ai.tool.name", stringValue="grep"),
        attribute("gen_ai.tool.call.arguments", kvlistValue=listed),
    ]
    spans = [
        {**span, "spanId": "1", "name": "chat", "attributes": chat},
        {**span, "spanId": "2", "parentSpanId": "1", "name": "x", "attributes": grep},
    ]
    trace = load({"resourceSpans": [{"scopeSpans": [{"spans": spans}]}]}, indent=1)
    (call,) = trace.calls
    assert (dict(call.detail.args), call.at, call.duration) == ({"pattern": "x", "paths": ["a"]}, BEGAN, 1.0)
    assert trace.facts()["tokens"]["input"] == 12


def test_arguments_and_results_of_otlp_are_opt_in(load: Load) -> None:
    span = {
        "traceId": "t",
        "spanId": "1",
        "name": "execute_tool ls",
        "startTimeUnixNano": "1767225600000000000",
        "attributes": [],
    }
    trace = load(
        {
            "resourceSpans": [
                {"scopeSpans": [{"spans": [{**span, "endTimeUnixNano": "1767225601000000000"}]}]}
            ]
        },
        indent=1,
    )
    (call,) = trace.calls
    assert (call.name, call.status, call.answered, dict(call.detail.args), call.detail.result) == (
        "ls",
        "ok",
        False,
        {},
        "",
    )


def test_a_tool_that_the_provider_runs_has_its_result_in_the_same_message(load: Load) -> None:
    result = {"type": "web_search_tool_result_error", "error_code": "max_uses_exceeded"}
    content = [
        {"type": "server_tool_use", "id": "s1", "name": "web_search", "input": {"query": "q"}},
        {"type": "web_search_tool_result", "tool_use_id": "s1", "content": result},
    ]
    (call,) = load(
        [{"role": "user", "content": "x"}, {"role": "assistant", "content": content}], indent=1
    ).calls
    assert (call.op, call.subject, call.status, call.status_source) == ("web_search", "q", "error", "flag")


def test_arguments_of_openai_are_a_text_that_may_be_no_json(load: Load) -> None:
    function = {"name": "f", "arguments": '{"a": tru'}
    asked = {
        "role": "assistant",
        "content": None,
        "tool_calls": [{"id": "c", "type": "function", "function": function}],
    }
    (call,) = load(
        [{"role": "user", "content": "x"}, asked, {"role": "tool", "tool_call_id": "c", "content": "bad"}],
        indent=1,
    ).calls
    assert (dict(call.detail.args), call.status, call.status_source, call.at) == (
        {"input": '{"a": tru'},
        "unknown",
        "none",
        None,
    )


def test_a_call_whose_id_was_there_before_is_seen_and_not_counted(load: Load) -> None:
    asked = {"id": "c", "name": "glob", "args": {}, "status": "success", "result": []}
    messages = [
        {"id": str(n), "type": "gemini", "timestamp": AT, "content": "", "toolCalls": [asked]}
        for n in range(2)
    ]
    gemini = load({"sessionId": "s", "projectHash": "p", "messages": messages}, indent=1)
    tool = {"event": "tool", "id": "c", "function": "bash", "arguments": {}, "result": "x", "timestamp": AT}
    header = {"version": 2, "status": "success", "eval": {"run_id": "r", "task_id": "t"}}
    inspect = load({**header, "samples": [{"id": 1, "epoch": 1, "events": [tool, tool]}]}, indent=1)
    for trace in (gemini, inspect):
        assert [call.counted for call in trace.calls] == [True, False]
        assert trace.facts()["tool_calls"] == 1


def test_an_embedded_trajectory_of_atif_is_not_counted(load: Load) -> None:
    step = {
        "step_id": 1,
        "source": "agent",
        "message": "",
        "tool_calls": [{"tool_call_id": "c", "function_name": "f", "arguments": {}}],
    }
    whole = {"schema_version": "ATIF-v1.8", "agent": {"name": "x"}, "steps": [step]}
    trace = load(
        {**whole, "session_id": "s", "subagent_trajectories": [{**whole, "trajectory_id": "t"}]}, indent=1
    )
    assert [call.counted for call in trace.calls] == [True, False]


def test_a_codex_turn_that_was_taken_back_stays_counted(load: Load) -> None:
    """The rules do not look at roll-backs: it is not live."""
    text = rollout("message", role="user", content=[{"type": "input_text", "text": "go"}])
    asked = rollout("function_call", name="exec_command", arguments='{"cmd": "x"}', call_id="c")
    (call,) = load(HEAD, text, asked, rollout("thread_rolled_back", "event_msg", num_turns=1)).calls
    assert (call.live, call.counted) == (False, True)
