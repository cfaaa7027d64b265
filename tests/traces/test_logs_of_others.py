"""Logs of agents that are not read are refused by name;
events of OpenHands are read in all the ways in which they are kept.
"""

from __future__ import annotations

import json
import re
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from nbtools.traces import TraceError, load, load_many
from nbtools.traces.reader import NO_KNOWN_STEPS, NO_MESSAGES, Head
from nbtools.traces.readers import FORMATS

LONG = "long " * 30_000
"""More than the beginning by which a format is recognised."""


def as_lines(*records: Any) -> str:
    return "".join(f"{json.dumps(record)}\n" for record in records)


# --- Qwen Code


def qwen(number: int, kind: str, **fields: Any) -> dict[str, Any]:
    parent = str(number - 1) if number else None
    shared = {
        "sessionId": "s",
        "timestamp": f"2026-08-01T10:00:0{number}.000Z",
        "cwd": "/work/shop",
        "version": "0.9.0",
    }
    return {"uuid": str(number), "parentUuid": parent, **shared, "type": kind, **fields}


CALL = {"functionCall": {"id": "c1", "name": "run_shell_command", "args": {"command": "pytest -q"}}}
ANSWER = {"functionResponse": {"id": "c1", "name": "run_shell_command", "response": {"output": "1 passed"}}}
QWEN = (
    qwen(0, "user", message={"role": "user", "parts": [{"text": "Run the tests"}]}),
    qwen(
        1,
        "assistant",
        model="qwen3-coder-plus",
        message={"role": "model", "parts": [{"text": "I run them."}, CALL]},
    ),
    qwen(
        2,
        "tool_result",
        message={"role": "user", "parts": [ANSWER]},
        toolCallResult={"callId": "c1", "status": "success"},
    ),
)
QWEN_SYSTEM = qwen(0, "system", subtype="ui_telemetry", systemPayload={"uiEvent": {}})
QWEN_LONG = qwen(0, "user", message={"role": "user", "parts": [{"text": LONG}]})
QWEN_SESSION = {
    "sessionId": "s",
    "projectHash": "h",
    "messages": [
        {"id": "1", "timestamp": "2025-10-01T10:00:00Z", "type": "user", "content": "Run the tests"},
        {
            "id": "2",
            "timestamp": "2025-10-01T10:00:01Z",
            "type": "qwen",
            "content": "I run them.",
            "toolCalls": [
                {
                    "id": "c1",
                    "name": "run_shell_command",
                    "args": CALL["functionCall"]["args"],
                    "status": "success",
                    "result": [ANSWER],
                }
            ],
        },
    ],
}

# --- opencode

TOOL = {
    "id": "prt_2",
    "sessionID": "ses_1",
    "messageID": "msg_2",
    "type": "tool",
    "callID": "c1",
    "tool": "bash",
    "state": {
        "status": "completed",
        "input": {"command": "pytest -q"},
        "output": "1 passed",
        "metadata": {"output": "1 passed"},
    },
}
TEXT = {"id": "prt_1", "sessionID": "ses_1", "messageID": "msg_1", "type": "text", "text": "Run the tests"}
ASKED = {"id": "msg_1", "sessionID": "ses_1", "role": "user", "time": {"created": 1}}
ANSWERED = {
    "id": "msg_2",
    "sessionID": "ses_1",
    "role": "assistant",
    "time": {"created": 2},
    "cost": 0.01,
    "modelID": "m",
}
SESSION = {
    "id": "ses_1",
    "projectID": "p",
    "directory": "/work/shop",
    "title": "Tests",
    "version": "1.1.0",
    "time": {"created": 1},
}
EXPORT = {
    "info": SESSION,
    "messages": [{"info": ASKED, "parts": [TEXT]}, {"info": ANSWERED, "parts": [TOOL]}],
}
LONG_EXPORT = {
    **EXPORT,
    "messages": [{"info": ASKED, "parts": [{**TEXT, "text": LONG}]}, *EXPORT["messages"]],
}

KEPT = {
    "qwen": ("qwen-code", as_lines(*QWEN)),
    "qwen, telemetry first": ("qwen-code", as_lines(QWEN_SYSTEM, *QWEN)),
    "qwen, a long first line": ("qwen-code", as_lines(QWEN_LONG, *QWEN)),
    "qwen, an older session": ("gemini-cli", json.dumps(QWEN_SESSION)),
    "qwen, an older session laid out": ("gemini-cli", json.dumps(QWEN_SESSION, indent=2)),
    "opencode's export": ("opencode", json.dumps(EXPORT, indent=2)),
    "opencode's export on a line": ("opencode", json.dumps(EXPORT)),
    "opencode's long export": ("opencode", json.dumps(LONG_EXPORT, indent=2)),
    "opencode's long export on a line": ("opencode", json.dumps(LONG_EXPORT)),
    "opencode's messages": ("opencode", json.dumps(EXPORT["messages"])),
    "opencode's output": (
        "opencode",
        as_lines({"type": "tool_use", "timestamp": 1, "sessionID": "ses_1", "part": TOOL}),
    ),
}
REFUSED = {
    "aider's history": (
        "Aider",
        "\n# aider chat started at 2026-01-01 10:00:00\n\n> aider\n\n#### Run the tests\n",
    ),
    "a transcript of Cursor": (
        "Cursor",
        as_lines({"role": "user", "message": {"content": [{"type": "text", "text": "Run"}]}}),
    ),
    "a result of Claude Code": (
        "Claude Code",
        json.dumps(
            {"type": "result", "subtype": "success", "num_turns": 3, "result": "Done", "session_id": "s"}
        ),
    ),
    "messages that Cline displayed": (
        "Cline",
        json.dumps([{"ts": 1, "type": "say", "say": "text", "text": "Run"}]),
    ),
    "questions that Cline displayed": (
        "Cline",
        json.dumps([{"ts": 1, "type": "ask", "ask": "tool", "text": "{}"}]),
    ),
    "a session of Continue": (
        "Continue",
        json.dumps({"sessionId": "s", "title": "t", "workspaceDirectory": "/w", "history": []}),
    ),
    "a long session of Continue": (
        "Continue",
        json.dumps(
            {
                "sessionId": "s",
                "workspaceDirectory": "/w",
                "history": [{"message": {"role": "user", "content": LONG}}],
            },
            indent=2,
        ),
    ),
    "a session of Goose": (
        "Goose",
        as_lines(
            {"working_dir": "/w", "description": "d", "message_count": 2}, {"role": "user", "content": []}
        ),
    ),
    "a thread of Amp": (
        "Amp",
        json.dumps(
            {
                "v": 3,
                "id": "T-1",
                "created": 1,
                "env": {},
                "messages": [{"role": "user", "content": [{"type": "text", "text": "x"}]}],
            }
        ),
    ),
    "a session of Droid": (
        "Droid",
        as_lines({"type": "session_start", "id": "d", "title": "t", "owner": "me"}),
    ),
    "a session of Kimi Code": (
        "Kimi Code",
        as_lines({"type": "metadata", "protocol_version": "1.4", "created_at": 1}),
    ),
    "a session of Antigravity": (
        "Antigravity",
        as_lines({"step_index": 0, "source": "MODEL", "type": "USER_INPUT", "status": "DONE"}),
    ),
    "a session of Kiro": ("Kiro", json.dumps({"conversation_id": "c", "history": [], "transcript": []})),
    "a first session of Copilot CLI": (
        "Copilot CLI",
        json.dumps({"sessionId": "s", "chatMessages": [], "timeline": []}),
    ),
    "opencode's message": ("opencode", json.dumps(ANSWERED, indent=2)),
    "opencode's part": ("opencode", json.dumps(TOOL, indent=2)),
}


@pytest.mark.parametrize("name", KEPT)
def test_a_log_is_read_however_its_agent_keeps_it(name: str, tmp_path: Path) -> None:
    kept_as, text = KEPT[name]
    path = tmp_path / "log"
    path.write_text(text)
    head = Head(path, path.read_bytes()[: 64 << 10])
    assert [known.name for known in FORMATS if known.recognises(head)] == [kept_as]
    trace = load(path)
    assert [(call.op, call.status, call.answered) for call in trace.calls] == [("shell", "ok", True)]
    detail = trace.readings[0].detail(trace.calls[0])
    assert (detail.command, detail.result) == ("pytest -q", "1 passed")
    assert list(trace.problems) == []


@pytest.mark.parametrize("name", REFUSED)
def test_a_log_that_is_not_read_is_refused_by_its_agents_name(name: str, tmp_path: Path) -> None:
    agent, text = REFUSED[name]
    path = tmp_path / "log.jsonl"
    path.write_text(text)
    head = Head(path, path.read_bytes()[: 64 << 10])
    assert {known.name for known in FORMATS if known.recognises(head)} <= {"messages"}
    with pytest.raises(TraceError, match=rf"looks like a log of {agent}\b.*not supported yet"):
        load(path)


DATABASES = {
    "Cursor (a database)": ["ItemTable (key TEXT)", "cursorDiskKV (key TEXT)"],
    "VS Code": ['"ItemTable" (key TEXT)'],
    "Cursor CLI": ["blobs (id TEXT)", "meta (key TEXT)"],
    "Crush": ["goose_db_version (id INT)", "sessions (id TEXT)", "messages (id TEXT)"],
    "opencode": ["`session` (id TEXT)", "`message` (id TEXT)", "`part` (id TEXT)"],
    "Zed": ["IF NOT EXISTS threads (id TEXT)"],
    "Goose": ["sessions (id TEXT)", "messages (id INT)"],
}


@pytest.mark.parametrize("agent", DATABASES)
def test_a_database_of_an_agent_is_refused_by_name(agent: str, tmp_path: Path) -> None:
    with closing(sqlite3.connect(tmp_path / "state.vscdb")) as database:
        for table in DATABASES[agent]:
            database.execute(f"CREATE TABLE {table}")
        database.commit()
    with pytest.raises(TraceError, match=rf"looks like a log of {re.escape(agent)}.*not supported yet"):
        load(tmp_path / "state.vscdb")


def test_another_database_is_no_log(tmp_path: Path) -> None:
    with closing(sqlite3.connect(tmp_path / "db")) as database:
        database.execute("CREATE TABLE users (id INT)")
        database.commit()
    with pytest.raises(TraceError, match="not recognised as a session log"):
        load(tmp_path / "db")


@pytest.mark.parametrize(
    "record",
    [
        {"type": "issue", "id": 1, "title": "t", "owner": "me"},
        {"type": "result", "session_id": "s"},
        {"id": "x", "source": "y", "status": "z"},
        {"role": "user", "message": "x", "other": 1},
    ],
)
def test_other_documents_are_of_no_agent(record: dict[str, Any], tmp_path: Path) -> None:
    (tmp_path / "log").write_text(json.dumps(record))
    with pytest.raises(TraceError, match="not recognised as a session log"):
        load(tmp_path / "log")


def test_a_log_of_claude_code_may_speak_of_qwen_code(tmp_path: Path) -> None:
    path = tmp_path / "log.jsonl"
    message = {"role": "user", "content": as_lines(*QWEN, QWEN_SESSION)}
    record = {
        **qwen(0, "user", message=message),
        "toolUseResult": {"structuredContent": {"message": {"role": "user", "parts": []}}},
    }
    path.write_text(as_lines(record))
    trace = load(path)
    assert trace.readings[0].format.name == "claude-code"
    assert len(trace.events) == 1


# --- OpenHands


def event(number: int, source: str, kind: str, **fields: Any) -> dict[str, Any]:
    return {
        "id": f"e{number}",
        "timestamp": f"2026-04-02T15:25:4{number}.706887",
        "source": source,
        **fields,
        "kind": kind,
    }


def text(words: str) -> list[dict[str, str]]:
    return [{"type": "text", "text": words}]


PROMPT = event(0, "agent", "SystemPromptEvent", system_prompt={"type": "text", "text": LONG}, tools=[])
STATE = event(0, "environment", "ConversationStateUpdateEvent", key="execution_status", value="running")
STEPS = (
    event(1, "user", "MessageEvent", llm_message={"role": "user", "content": text("Run the tests")}),
    event(
        2,
        "agent",
        "ActionEvent",
        thought=text("I run them."),
        action={"command": "pytest -q", "kind": "TerminalAction"},
        tool_name="terminal",
        tool_call_id="c1",
        tool_call={"id": "c1", "name": "terminal", "arguments": '{"command": "pytest -q"}'},
    ),
    event(
        3,
        "environment",
        "ObservationEvent",
        tool_name="terminal",
        tool_call_id="c1",
        action_id="e2",
        observation={"content": text("1 passed"), "kind": "TerminalObservation"},
    ),
)
OLD_STEPS = (
    {
        "id": 0,
        "timestamp": "2025-04-02T15:25:40",
        "source": "user",
        "action": "message",
        "args": {"content": "Run the tests"},
    },
    {
        "id": 1,
        "timestamp": "2025-04-02T15:25:41",
        "source": "agent",
        "action": "run",
        "args": {"command": "pytest -q"},
        "tool_call_metadata": {"function_name": "execute_bash", "tool_call_id": "c1"},
    },
    {
        "id": 2,
        "timestamp": "2025-04-02T15:25:42",
        "source": "agent",
        "cause": 1,
        "observation": "run",
        "content": "1 passed",
        "extras": {},
    },
)
RUN = {"instance_id": "a", "history": list(STEPS), "metrics": {}}
READ = {
    "lines": as_lines(*STEPS),
    "lines, the state first": as_lines(STATE, *STEPS),
    "lines, a long prompt first": as_lines(PROMPT, *STEPS),
    "a list": json.dumps(STEPS, indent=2),
    "a list, a long prompt first": json.dumps([PROMPT, *STEPS]),
    "lines of version 0": as_lines(*OLD_STEPS),
    "a run a line": as_lines(RUN),
    "a run over many lines": json.dumps(RUN, indent=2),
}


@pytest.mark.parametrize("name", READ)
def test_events_of_openhands_are_read_in_every_way_of_storing_them(name: str, tmp_path: Path) -> None:
    path = tmp_path / "log.json"
    path.write_text(READ[name])
    trace = load(path)
    assert trace.readings[0].format.name == "openhands"
    assert len(trace.sessions) == 1
    assert [(call.op, call.status) for call in trace.calls] == [("shell", "ok")]
    assert "Run the tests" in [one.text for one in trace.events if one.kind == "user"]
    assert trace.readings[0].detail(trace.calls[0]).command == "pytest -q"
    assert list(trace.problems) == []


def test_one_event_over_many_lines(tmp_path: Path) -> None:
    path = tmp_path / "an action.json"
    path.write_text(json.dumps(STEPS[1], indent=2))
    trace = load(path)
    assert [call.status for call in trace.calls] == ["unanswered"]
    assert trace.readings[0].detail(trace.calls[0]).command == "pytest -q"


@pytest.mark.parametrize("wrapped", [{"items": [PROMPT, *STEPS]}, {"events": list(STEPS)}])
def test_answers_of_openhands_server_are_refused_by_name(wrapped: dict[str, Any], tmp_path: Path) -> None:
    path = tmp_path / "log.json"
    path.write_text(json.dumps(wrapped))
    with pytest.raises(
        TraceError, match=r"not recognised as a session log|log of OpenHands in an unknown variant"
    ):
        load(path)


# --- a reader that knows nothing of a log


@pytest.mark.parametrize(
    "log",
    [json.dumps({"messages": [{"role": "user", "content": []}]}), '{"sessionId": "s", "projectHash": "h"}\n'],
)
def test_a_reader_that_knows_nothing_of_a_log_says_so(log: str, tmp_path: Path) -> None:
    path = tmp_path / "log.jsonl"
    path.write_text(log)
    with pytest.raises(TraceError, match=NO_KNOWN_STEPS):
        load(path)
    assert [problem.why for problem in load_many([path]).problems] == [NO_KNOWN_STEPS]


def test_a_session_that_has_just_begun_is_one_without_messages(tmp_path: Path) -> None:
    path = tmp_path / "log.jsonl"
    record = {
        "type": "session_meta",
        "payload": {"id": "s", "cwd": "/work", "cli_version": "1"},
        "timestamp": "2026-01-01T00:00:00Z",
    }
    path.write_text(as_lines(record))
    trace = load(path)
    assert [session.records for session in trace.sessions] == [1]
    (problem,) = trace.problems
    assert "read as codex" in problem.why
    assert NO_MESSAGES in problem.why


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("qwen-code", as_lines(QWEN_SYSTEM, QWEN_SYSTEM)),
        ("opencode", json.dumps({"info": SESSION, "messages": [{"info": ASKED, "parts": []}]})),
        ("openhands", as_lines(STATE)),
        ("pi", as_lines({"type": "session", "id": "s", "timestamp": "2026-01-01T00:00:00Z", "cwd": "/w"})),
        (
            "copilot-cli",
            as_lines(
                {
                    "type": "session.start",
                    "data": {},
                    "id": "1",
                    "parentId": None,
                    "timestamp": "2026-01-01T00:00:00Z",
                }
            ),
        ),
        ("claude-stream-json", json.dumps([{"type": "system", "subtype": "init", "session_id": "s"}])),
    ],
)
def test_a_log_without_messages_and_calls_says_so(name: str, text: str, tmp_path: Path) -> None:
    path = tmp_path / "log.jsonl"
    path.write_text(text)
    trace = load(path)
    assert trace.readings[0].format.name == name
    assert [NO_MESSAGES in problem.why and name in problem.why for problem in trace.problems] == [True]
