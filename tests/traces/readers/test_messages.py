"""Conversations of every API, found by what they hold."""

from __future__ import annotations

import base64
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nbtools import traces
from nbtools.core.errors import TraceError
from nbtools.core.result import CommandOutput, FileDiff, FileDiffs, Listing, Matches, Media, TodoList
from nbtools.traces.readers.messages import Messages
from tests.examples import examples
from tests.traces.readers.damage import damaged, read_whole, spoilt, written

Record = dict[str, Any]
PICTURE = base64.b64encode(b"\x89PNG").decode()
ANTHROPIC: list[Record] = [
    {"role": "user", "content": "go"},
    {
        "role": "assistant",
        "content": [
            {"type": "thinking", "thinking": "hm", "signature": "s"},
            {"type": "text", "text": "ok"},
            {"type": "tool_use", "id": "t1", "name": "Bash", "input": {"command": "ls"}},
            {
                "type": "tool_use",
                "id": "t2",
                "name": "Edit",
                "input": {"file_path": "a.py", "old_string": "x\n", "new_string": "y\nz\n"},
            },
            {"type": "tool_use", "id": "t3", "name": "shot", "input": {}},
            {"type": "tool_use", "id": "t4", "name": "gone", "input": {}},
            {"type": "server_tool_use", "id": "t5", "name": "web_search", "input": {"query": "q"}},
            {
                "type": "web_search_tool_result",
                "tool_use_id": "t5",
                "content": {"type": "web_search_tool_result_error", "error_code": "max"},
            },
        ],
    },
    {
        "role": "user",
        "content": [
            {"type": "tool_result", "tool_use_id": "t2", "content": "done"},
            {
                "type": "tool_result",
                "tool_use_id": "t1",
                "content": [{"type": "text", "text": "a.py"}],
                "is_error": True,
            },
            {
                "type": "tool_result",
                "tool_use_id": "t3",
                "content": [
                    {
                        "type": "image",
                        "source": {"type": "base64", "media_type": "image/png", "data": PICTURE},
                    }
                ],
            },
            {"type": "text", "text": "next"},
        ],
    },
]
CHAT: list[Record] = [
    {"role": "system", "content": "be"},
    {
        "role": "user",
        "content": [
            {"type": "text", "text": "go"},
            {"type": "image_url", "image_url": {"url": f"data:image/png;base64,{PICTURE}"}},
        ],
    },
    {
        "role": "assistant",
        "content": None,
        "tool_calls": [
            {
                "id": "c",
                "type": "function",
                "function": {"name": "shell", "arguments": '{"command": ["bash", "-lc", "false"]}'},
            },
            {
                "id": "d",
                "type": "custom",
                "custom": {
                    "name": "apply_patch",
                    "input": "*** Begin Patch\n*** Update File: a.py\n@@\n-1\n+2\n*** Add File: b.py\n+3\n*** End Patch",
                },
            },
            {"id": "e", "type": "function", "function": {"name": "f", "arguments": "{not json"}},
        ],
    },
    {"role": "tool", "tool_call_id": "c", "content": "Exit code: 1\nOutput:\nno"},
    {"role": "tool", "tool_call_id": "d", "content": "Success"},
]
RESPONSES: Record = {
    "object": "response",
    "model": "gpt",
    "output": [
        {"type": "reasoning", "id": "r", "summary": [{"type": "summary_text", "text": "hm"}]},
        {"type": "function_call", "call_id": "c1", "name": "read_file", "arguments": '{"path": "a"}'},
        {"type": "function_call_output", "call_id": "c1", "output": [{"type": "input_text", "text": "text"}]},
        {"type": "custom_tool_call", "call_id": "c2", "name": "exec", "input": "1 + 1"},
        {"type": "custom_tool_call_output", "call_id": "c2", "output": "2"},
        {
            "type": "local_shell_call",
            "call_id": "c3",
            "id": "x",
            "action": {"type": "exec", "command": ["ls"]},
        },
        {
            "type": "mcp_call",
            "id": "m",
            "name": "q",
            "server_label": "s",
            "arguments": "{}",
            "output": None,
            "error": "bad",
        },
        {
            "type": "web_search_call",
            "id": "w",
            "status": "completed",
            "action": {"type": "search", "query": "q"},
        },
        {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "bye"}]},
    ],
    "usage": {
        "input_tokens": 5,
        "input_tokens_details": {"cached_tokens": 2},
        "output_tokens": 3,
        "output_tokens_details": {"reasoning_tokens": 1},
    },
}
PYDANTIC: list[Record] = [
    {
        "kind": "request",
        "instructions": "be",
        "parts": [{"part_kind": "user-prompt", "content": "hi", "timestamp": "2026-01-01T00:00:00Z"}],
    },
    {
        "kind": "response",
        "model_name": "m",
        "timestamp": "2026-01-01T00:00:01Z",
        "usage": {"input_tokens": 1, "output_tokens": 2},
        "parts": [
            {"part_kind": "thinking", "content": "hm"},
            {"part_kind": "tool-call", "tool_name": "a", "args": '{"x": 1}', "tool_call_id": "1"},
            {"part_kind": "tool-call", "tool_name": "b", "args": {"x": 2}, "tool_call_id": "2"},
            {"part_kind": "tool-call", "tool_name": "c", "args": None, "tool_call_id": "3"},
            {"part_kind": "tool-call", "tool_name": "d", "args": {}, "tool_call_id": "4"},
        ],
    },
    {
        "kind": "request",
        "timestamp": "2026-01-01T00:00:03Z",
        "parts": [
            {"part_kind": "tool-return", "tool_name": "a", "content": {"y": 1}, "tool_call_id": "1"},
            {
                "part_kind": "retry-prompt",
                "tool_name": "b",
                "content": [{"type": "int_parsing", "msg": "wrong"}],
                "tool_call_id": "2",
            },
            {
                "part_kind": "tool-return",
                "tool_name": "c",
                "content": "no",
                "tool_call_id": "3",
                "outcome": "denied",
            },
            {"part_kind": "retry-prompt", "content": "again"},
        ],
    },
]
GEMINI: Record = {
    "contents": [
        {"role": "user", "parts": [{"text": "go"}]},
        {
            "role": "model",
            "parts": [
                {"text": "hm", "thought": True},
                {"functionCall": {"name": "f", "args": {"x": 1}}},
                {"functionCall": {"name": "g", "args": {}}},
            ],
        },
        {
            "role": "user",
            "parts": [
                {"functionResponse": {"name": "g", "response": {"error": "bad"}}},
                {"functionResponse": {"name": "f", "response": {"output": "1"}}},
            ],
        },
    ]
}


def load(path: Path, *documents: Any, indent: int | None = None) -> traces.Trace:
    file = path / "log.json"
    file.write_bytes(written([*documents], indent))
    return traces.load(file)


def outcomes(trace: traces.Trace) -> dict[str, tuple[Any, ...]]:
    return {one.name: (one.status, one.status_source, one.detail.result) for one in trace.calls}


@pytest.mark.parametrize(
    "documents",
    [
        [ANTHROPIC],
        ANTHROPIC,
        [{"model": "c", "system": "be", "messages": ANTHROPIC}],
        [{"request": {"messages": ANTHROPIC}}],
    ],
)
def test_anthropic_messages(tmp_path: Path, documents: list[Any]) -> None:
    trace = load(tmp_path, *documents)
    assert outcomes(trace) == {
        "Bash": ("error", "flag", "a.py"),
        "Edit": ("ok", "flag", "done"),
        "shot": ("ok", "flag", ""),
        "gone": ("unanswered", "none", ""),
        "web_search": ("error", "flag", '{"type":"web_search_tool_result_error","error_code":"max"}'),
    }
    assert [event.text for event in trace.events if event.kind != "system"] == ["go", "hm", "ok", "next"]
    assert [(one.path, one.added, one.removed) for one in trace.file_changes] == [("a.py", 2, 1)]
    expected = [one.detail.display for one in trace.calls]
    assert isinstance(expected[0], CommandOutput)
    assert isinstance(expected[1], FileDiff)
    assert expected[2] == Media("", "image/png", b"\x89PNG")
    (session,) = trace.sessions
    assert (session.format, session.format_version) == ("messages", "anthropic")


def test_a_document_over_several_lines_is_the_same(tmp_path: Path) -> None:
    short = outcomes(load(tmp_path, ANTHROPIC))
    assert outcomes(load(tmp_path, ANTHROPIC, indent=2)) == short


def test_an_answer_of_the_api_alone(tmp_path: Path) -> None:
    answer = {
        "id": "msg",
        "type": "message",
        "role": "assistant",
        "model": "c",
        "content": ANTHROPIC[1]["content"],
    }
    usage = {"input_tokens": 3, "cache_read_input_tokens": 5, "output_tokens": 1}
    trace = load(tmp_path, answer | {"usage": usage}, answer | {"usage": usage})
    assert len(trace.sessions) == 1
    assert trace.sessions[0].models == ("c",)
    tokens = trace.sessions[0].tokens
    assert (tokens.input, tokens.cache_read, tokens.output) == (3, 5, 1)
    assert trace.calls[0].name == "Bash"


@pytest.mark.parametrize(
    "documents",
    [
        [CHAT],
        CHAT,
        [{"messages": CHAT}],
        [{"body": {"messages": CHAT[:2]}, "response": {"choices": [{"message": CHAT[2]}]}}],
    ],
)
def test_openai_chat(tmp_path: Path, documents: list[Any]) -> None:
    trace = load(tmp_path, *documents)
    assert [one.name for one in trace.calls] == ["shell", "apply_patch", "f"]
    assert [one.op for one in trace.calls] == ["shell", "patch", "other"]
    assert trace.calls[2].detail.args == {"input": "{not json"}
    assert [event.kind for event in trace.events] == ["system", "user", "attachment"]
    if trace.calls[0].answered:
        assert outcomes(trace)["shell"] == ("error", "exit_code", "Exit code: 1\nOutput:\nno")
        assert outcomes(trace)["apply_patch"] == ("unknown", "none", "Success")
        assert trace.calls[0].detail.command == "false"
        expected = trace.calls[1].detail.display
        assert isinstance(expected, FileDiffs)
        assert [(one.file_name, one.original_content, one.new_content) for one in expected.files] == [
            ("a.py", "1\n", "2\n"),
            ("b.py", None, "3\n"),
        ]
        assert [(one.path, one.kind, one.added) for one in trace.file_changes] == [
            ("a.py", "modify", 1),
            ("b.py", "add", 1),
        ]


@pytest.mark.parametrize(
    "documents", [[RESPONSES], [{"input": "go", **RESPONSES}], RESPONSES["output"], [RESPONSES["output"]]]
)
def test_openai_responses(tmp_path: Path, documents: list[Any]) -> None:
    trace = load(tmp_path, *documents)
    assert outcomes(trace) == {
        "read_file": ("unknown", "none", "text"),
        "exec": ("unknown", "none", "2"),
        "local_shell": ("unanswered", "none", ""),
        "q": ("error", "flag", "bad"),
        "web_search": ("unknown", "none", ""),
    }
    assert trace.calls[2].detail.command == "ls"
    assert len(trace.sessions) == 1
    if len(documents) == 1 and isinstance(documents[0], dict):
        tokens = trace.sessions[0].tokens
        assert (tokens.input, tokens.cache_read, tokens.output, tokens.reasoning) == (3, 2, 3, 1)
        assert trace.sessions[0].native_tokens["input"] == 5


@pytest.mark.parametrize("documents", [[PYDANTIC], PYDANTIC, [{"messages": PYDANTIC}]])
def test_pydantic_ai(tmp_path: Path, documents: list[Any]) -> None:
    trace = load(tmp_path, *documents)
    assert outcomes(trace) == {
        "a": ("ok", "flag", '{"y":1}'),
        "b": ("error", "flag", '[{"type":"int_parsing","msg":"wrong"}]'),
        "c": ("denied", "flag", "no"),
        "d": ("unanswered", "none", ""),
    }
    assert [(event.kind, event.text) for event in trace.events] == [
        ("user", "hi"),
        ("system", "be"),
        ("thinking", "hm"),
        ("user", "again"),
    ]
    assert trace.sessions[0].models == ("m",)
    assert trace.calls[0].duration == 2
    assert trace.sessions[0].format_version == "pydantic-ai"


def test_gemini_contents_link_by_name_where_there_are_no_ids(tmp_path: Path) -> None:
    assert outcomes(load(tmp_path, GEMINI)) == {"f": ("unknown", "none", "1"), "g": ("error", "flag", "bad")}


def test_lines_that_are_conversations_are_a_session_each(tmp_path: Path) -> None:
    trace = load(
        tmp_path, {"id": "x", "messages": ANTHROPIC}, {"id": "x", "messages": CHAT}, {"messages": PYDANTIC}
    )
    assert [session.id for session in trace.sessions] == ["x", "x#2", "log#3"]
    assert [session.format_version for session in trace.sessions] == [
        "anthropic",
        "openai-chat",
        "pydantic-ai",
    ]


def test_an_id_that_is_used_again_is_another_call(tmp_path: Path) -> None:
    ask = {
        "role": "assistant",
        "tool_calls": [{"id": "call_0", "function": {"name": "f", "arguments": "{}"}}],
    }
    trace = load(
        tmp_path,
        [
            ask,
            {"role": "tool", "tool_call_id": "call_0", "content": "1"},
            ask,
            {"role": "tool", "tool_call_id": "call_0", "content": "2"},
        ],
    )
    assert [one.detail.result for one in trace.calls] == ["1", "2"]
    assert len({one.id for one in trace.calls}) == 2


def test_a_result_without_a_call_is_reported(tmp_path: Path) -> None:
    trace = load(
        tmp_path,
        [{"role": "tool", "tool_call_id": "x", "content": "lost"}, {"role": "user", "content": "go"}],
    )
    assert [(event.kind, event.text) for event in trace.events] == [("tool_result", "lost"), ("user", "go")]


@pytest.mark.parametrize(
    ("name", "args", "result", "expected"),
    [
        ("Grep", {"pattern": "x"}, "a.py:1:x = 1\nb.py:22:x", Matches),
        ("Grep", {"pattern": "x"}, "No matches", str),
        ("Glob", {"pattern": "*"}, "src/\nsrc/a.py", Listing),
        ("Glob", {"pattern": "*"}, "No files found here", str),
        ("TodoWrite", {"todos": [{"content": "a", "status": "completed"}]}, "ok", TodoList),
        ("update_plan", {"plan": [{"step": "a", "status": "in_progress"}]}, "ok", TodoList),
        ("Write", {"file_path": "a", "content": "x"}, "ok", FileDiff),
        ("str_replace_editor", {"command": "create", "path": "a", "file_text": "x"}, "ok", FileDiff),
        ("NotebookEdit", {"notebook_path": "a.ipynb", "new_source": "x"}, "ok", FileDiff),
        ("unknown", {}, "text", str),
    ],
)
def test_results_are_shown_as_our_tools_would(
    tmp_path: Path, name: str, args: Record, result: str, expected: type
) -> None:
    ask = {"role": "assistant", "content": [{"type": "tool_use", "id": "1", "name": name, "input": args}]}
    trace = load(
        tmp_path,
        [ask, {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "1", "content": result}]}],
    )
    assert isinstance(trace.calls[0].detail.display, expected)


@pytest.mark.parametrize(
    "document", [[1, 2], {"a": 1}, {"messages": "x"}, [], {}, {"input": 1, "output": 2}, [{"role": "user"}]]
)
def test_other_documents_are_not_recognized_as_conversations(tmp_path: Path, document: Any) -> None:
    with pytest.raises(TraceError):
        load(tmp_path, document)


def test_lines_that_are_no_message_are_problems(tmp_path: Path) -> None:
    file = tmp_path / "log.jsonl"
    lines = written(ANTHROPIC).splitlines(keepends=True)
    file.write_bytes(
        lines[0] + b"5\n" + lines[1] + lines[2][:-9] + b"\n" + b'{"role": "user", "content": "\xff"}\n'
    )
    trace = traces.load(file)
    assert [problem.ref.line for problem in trace.problems] == [2, 4]
    assert trace.events[-1].text in {"?", "\ufffd"}


@settings(max_examples=examples(200), deadline=None)
@given(st.data())
def test_a_damaged_history_is_read(tmp_path_factory: pytest.TempPathFactory, data: st.DataObject) -> None:
    path = tmp_path_factory.getbasetemp() / "damaged-messages"
    documents = data.draw(
        st.sampled_from([[ANTHROPIC], ANTHROPIC, CHAT, [{"messages": CHAT}], [RESPONSES], PYDANTIC, [GEMINI]])
    )
    path.write_bytes(written(data.draw(damaged(documents))))
    read_whole(path, Messages())
    path.write_bytes(data.draw(spoilt(written(documents, data.draw(st.sampled_from([None, 1]))))))
    read_whole(path, Messages())
