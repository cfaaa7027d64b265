"""The records of one request, in each format that makes it difficult."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from nbtools import traces
from nbtools.traces import Tokens
from nbtools.traces.explorer.summary import summary_of

HEAD = {
    "timestamp": "2026-01-02T03:04:05Z",
    "type": "session_meta",
    "payload": {"id": "s", "cli_version": "1"},
}


def lines(path: Path, records: list[dict[str, Any]]) -> Path:
    path.write_text("".join(json.dumps(record) + "\n" for record in records))
    return path


def totals(total: int, cached: int = 0, last: int | None = None, output: int = 0) -> dict[str, Any]:
    def usage(size: int) -> dict[str, int]:
        return {
            "input_tokens": size - output,
            "cached_input_tokens": cached,
            "output_tokens": output,
            "total_tokens": size,
        }

    info = {"total_token_usage": usage(total), "last_token_usage": usage(total if last is None else last)}
    return {
        "timestamp": "2026-01-02T03:04:06Z",
        "type": "event_msg",
        "payload": {"type": "token_count", "info": info},
    }


def answer(text: str) -> dict[str, Any]:
    content = [{"type": "output_text", "text": text}]
    payload = {"type": "message", "role": "assistant", "content": content}
    return {"timestamp": "2026-01-02T03:04:06Z", "type": "response_item", "payload": payload}


def test_codex_totals_are_split_into_requests(tmp_path: Path) -> None:
    records = [HEAD, answer("a"), totals(100), totals(100), answer("b"), answer("c"), totals(250, last=150)]
    trace = traces.load(lines(tmp_path / "log.jsonl", records))
    assert [row.tokens.input for row in trace.usage] == [100, 150]
    texts = {event.seq: event.text for event in trace.events if event.kind == "assistant_text"}
    assert [[text for seq, text in texts.items() if row.seq <= seq <= row.last] for row in trace.usage] == [
        ["a"],
        ["b", "c"],
    ]
    assert [row.flags for row in trace.usage] == [(), ()]


def test_a_codex_total_that_begins_again_is_added_to_the_one_before(tmp_path: Path) -> None:
    trace = traces.load(
        lines(tmp_path / "log.jsonl", [HEAD, answer("a"), totals(100), totals(40), totals(90, last=50)])
    )
    assert [row.tokens.input for row in trace.usage] == [100, 40, 50]
    assert trace.sessions[0].tokens.input == 190
    assert trace.sessions[0].native_tokens["total"] == 100


def test_an_outdated_codex_total_does_not_count(tmp_path: Path) -> None:
    trace = traces.load(
        lines(
            tmp_path / "log.jsonl",
            [HEAD, answer("a"), totals(100), totals(60, last=20), totals(130, last=30)],
        )
    )
    assert [row.tokens.input for row in trace.usage] == [100, 30]


def test_a_codex_total_that_falls_at_a_resume_begins_a_new_counter_and_loses_no_request(
    tmp_path: Path,
) -> None:
    """The new counter begins with what the resumed history is counted as,
    so the fall is not a request alone.
    """
    resumed = [
        totals(90, last=20),
        totals(120, last=30),
        totals(160, last=40),
        totals(1100, last=940),
        totals(1110, last=10),
    ]
    trace = traces.load(
        lines(tmp_path / "log.jsonl", [HEAD, answer("a"), totals(500), totals(1000, last=500), *resumed])
    )
    assert [row.tokens.input for row in trace.usage] == [500, 500, 20, 30, 40, 940, 10]
    (session,) = trace.sessions
    assert session.tokens.input == 2040
    assert "tokens_differ" in session.flags
    assert "1,110" in session.counts["tokens_differ"]
    assert "2,040" in session.counts["tokens_differ"]
    fact = next(fact for fact in summary_of(trace).facts if fact.text.endswith("tokens in"))
    assert (fact.text, session.counts["tokens_differ"] in fact.doubt) == ("2.0 k tokens in", True)


def test_a_codex_token_count_without_numbers_is_no_request(tmp_path: Path) -> None:
    empty = {**totals(1), "payload": {"type": "token_count", "info": None}}
    trace = traces.load(
        lines(
            tmp_path / "log.jsonl",
            [HEAD, empty, answer("a"), totals(100), empty, totals(150, last=50), empty],
        )
    )
    assert [row.tokens.input for row in trace.usage] == [100, 50]
    assert trace.sessions[0].flags == ()


def test_a_codex_total_that_misses_a_request_says_so(tmp_path: Path) -> None:
    trace = traces.load(lines(tmp_path / "log.jsonl", [HEAD, answer("a"), totals(100, last=30)]))
    assert [(row.tokens.input, row.flags) for row in trace.usage] == [(100, ("several",))]


def test_a_codex_fork_does_not_count_its_parents_requests(tmp_path: Path) -> None:
    parent = {
        "timestamp": "2026-01-02T03:04:05Z",
        "type": "session_meta",
        "payload": {"id": "p", "timestamp": "2026-01-01T00:00:00Z"},
    }
    fork = {**HEAD, "payload": {"id": "s", "timestamp": "2026-01-02T03:04:05Z", "forked_from_id": "p"}}
    turn = {
        "timestamp": "2026-01-02T03:05:00Z",
        "type": "event_msg",
        "payload": {"type": "task_started", "started_at": 1767323100},
    }
    copied = [
        {**answer("a"), "timestamp": fork["timestamp"]},
        {**totals(100), "timestamp": fork["timestamp"]},
    ]
    own = [{**one, "timestamp": "2026-01-02T03:06:00Z"} for one in (answer("b"), totals(130, last=30))]
    trace = traces.load(lines(tmp_path / "log.jsonl", [fork, parent, *copied, turn, *own]))
    assert [(row.session, row.tokens.input) for row in trace.usage] == [("s", 30)]


def claude(uuid: str, message: str, usage: Mapping[str, int], stop: str | None = None) -> dict[str, Any]:
    content = [{"type": "text", "text": uuid}]
    body = {
        "id": message,
        "model": "claude-x",
        "role": "assistant",
        "stop_reason": stop,
        "usage": usage,
        "content": content,
    }
    return {
        "type": "assistant",
        "parentUuid": None,
        "sessionId": "s",
        "uuid": uuid,
        "timestamp": "2026-01-02T03:04:05Z",
        "message": body,
    }


def test_claude_messages_count_once_with_the_highest_numbers(tmp_path: Path) -> None:
    first = {
        "input_tokens": 5,
        "output_tokens": 1,
        "cache_read_input_tokens": 1000,
        "cache_creation_input_tokens": 20,
    }
    records = [
        claude("1", "m1", first),
        claude("2", "m1", {**first, "output_tokens": 60}, "end_turn"),
        claude("3", "m2", {**first, "cache_read_input_tokens": 400}),
    ]
    trace = traces.load(lines(tmp_path / "log.jsonl", records))
    assert [(row.id, row.tokens, row.flags) for row in trace.usage] == [
        ("m1", Tokens(5, 1000, 20, 60), ()),
        ("m2", Tokens(5, 400, 20, 1), ("placeholder", "cache_break")),
    ]
    assert [(row.seq, row.last) for row in trace.usage] == [(0, 1), (2, 2)]


def test_a_compaction_is_marked_at_the_next_request(tmp_path: Path) -> None:
    usage = {"input_tokens": 1, "output_tokens": 1, "cache_read_input_tokens": 500}
    boundary = {
        "type": "system",
        "subtype": "compact_boundary",
        "sessionId": "s",
        "uuid": "b",
        "content": "Compacted",
    }
    records = [
        claude("1", "m1", usage, "end_turn"),
        boundary,
        claude("2", "m2", {**usage, "cache_read_input_tokens": 10}, "end_turn"),
    ]
    trace = traces.load(lines(tmp_path / "log.jsonl", records))
    assert [row.flags for row in trace.usage] == [(), ("after_compaction",)]


def test_cline_connects_a_request_to_the_answer_after_its_history(tmp_path: Path) -> None:
    task = [
        {"role": "user", "content": [{"type": "text", "text": "<task>\nFix\n</task>"}], "ts": 1754042400000},
        {"role": "assistant", "content": [{"type": "text", "text": "Done."}], "ts": 1754042402000},
    ]
    spent = json.dumps({"tokensIn": 10, "tokensOut": 2, "cost": 0.5})
    shown = [
        {
            "ts": 1754042401000,
            "type": "say",
            "say": "api_req_started",
            "text": spent,
            "conversationHistoryIndex": 0,
        }
    ]
    (tmp_path / "ui_messages.json").write_text(
        json.dumps([*shown, {**shown[0], "conversationHistoryIndex": None}])
    )
    log = tmp_path / "api_conversation_history.json"
    log.write_text(json.dumps(task))
    trace = traces.load(log)
    said = next(event.seq for event in trace.events if event.text == "Done.")
    assert [(row.seq, row.tokens.input, row.cost) for row in trace.usage] == [
        (said, 10, 0.5),
        (None, 10, 0.5),
    ]


def test_openhands_lists_its_requests_by_the_ids_of_the_answers(tmp_path: Path) -> None:
    action = {
        "id": 1,
        "source": "agent",
        "action": "run",
        "args": {"command": "ls"},
        "tool_call_metadata": {
            "tool_call_id": "c",
            "function_name": "execute_bash",
            "model_response": {"id": "r1", "model": "m"},
        },
    }
    total = {"prompt_tokens": 10, "completion_tokens": 3}
    listed = [{"model": "m", "response_id": "r1", "prompt_tokens": 8, "completion_tokens": 2}]
    metrics = {"accumulated_token_usage": total, "token_usages": listed, "accumulated_cost": 0.25}
    log = lines(tmp_path / "output.jsonl", [{"instance_id": "i", "history": [action], "metrics": metrics}])
    trace = traces.load(log)
    assert [(row.scope, row.id, row.seq, row.tokens.input, row.cost) for row in trace.usage] == [
        ("request", "r1", trace.calls[0].seq, 8, None),
        ("rest", "", None, 2, 0.25),
    ]


def test_codex_exec_has_the_usage_of_turns(tmp_path: Path) -> None:
    def turn(count: int) -> list[dict[str, Any]]:
        item = {"type": "item.completed", "item": {"id": f"i{count}", "type": "agent_message", "text": "hi"}}
        usage = {"input_tokens": count, "cached_input_tokens": 0, "output_tokens": 1}
        return [{"type": "turn.started"}, item, {"type": "turn.completed", "usage": usage}]

    trace = traces.load(
        lines(tmp_path / "log.jsonl", [{"type": "thread.started", "thread_id": "t"}, *turn(10), *turn(30)])
    )
    assert [(row.scope, row.tokens.input) for row in trace.usage] == [("turn", 10), ("turn", 20)]
    assert all(part.requests is None for part in trace.context)


def test_processes_return_the_same_requests() -> None:
    samples = sorted((Path(__file__).parents[1] / "samples/codex").glob("*.jsonl"))
    alone, together = traces.load_many(samples), traces.load_many(samples, workers=2)
    assert alone.usage == together.usage
    assert alone.context == together.context


def test_the_totals_of_a_streamed_run_are_those_of_its_result(tmp_path: Path) -> None:
    """The counts of the messages are those from the start of each answer,
    and sub-agents' requests are not among them.
    """
    usage = {
        "input_tokens": 5,
        "output_tokens": 1,
        "cache_read_input_tokens": 0,
        "cache_creation_input_tokens": 0,
    }
    message = {
        "id": "m1",
        "model": "claude-x",
        "role": "assistant",
        "usage": usage,
        "content": [{"type": "text", "text": "a"}],
    }
    models = {
        "claude-x": {
            "inputTokens": 20,
            "outputTokens": 60,
            "cacheReadInputTokens": 7,
            "cacheCreationInputTokens": 0,
        },
        "claude-y": {
            "inputTokens": 6,
            "outputTokens": 43,
            "cacheReadInputTokens": 0,
            "cacheCreationInputTokens": 0,
        },
    }
    records = [
        {"type": "system", "subtype": "init", "session_id": "s", "cwd": "/w", "uuid": "1"},
        {"type": "assistant", "session_id": "s", "uuid": "2", "message": message},
        {
            "type": "result",
            "subtype": "success",
            "session_id": "s",
            "uuid": "3",
            "total_cost_usd": 0.5,
            "modelUsage": models,
        },
    ]
    trace = traces.load(lines(tmp_path / "log.jsonl", records))
    (session,) = trace.sessions
    assert session.tokens == Tokens(26, 7, 0, 103)
    assert session.flags == ("tokens_differ",)
    assert sum(row.tokens.output or 0 for row in trace.usage) == 103
    assert [row.cost for row in trace.usage if row.scope == "rest"] == [0.5]


def test_copilots_records_of_requests_are_connected_to_their_answers(tmp_path: Path) -> None:
    usage = {
        "model": "m",
        "inputTokens": 30,
        "outputTokens": 4,
        "cacheReadTokens": 10,
        "cacheWriteTokens": 0,
        "reasoningTokens": 1,
    }
    total = {"usage": {"inputTokens": 60, "outputTokens": 8, "cacheReadTokens": 20, "cacheWriteTokens": 0}}
    events: list[tuple[str, dict[str, Any]]] = [
        ("session.start", {"sessionId": "s"}),
        ("session.usage_record", {"usage": {**usage, "apiCallId": "r1"}}),
        (
            "assistant.message",
            {"content": "first", "messageId": "a1", "model": "m", "apiCallId": "r1", "outputTokens": 4},
        ),
        ("session.usage_record", {"usage": {**usage, "apiCallId": "r2"}}),
        ("session.shutdown", {"modelMetrics": {"m": total}}),
    ]
    at = "2026-01-01T00:00:00.000Z"
    records = [
        {"type": kind, "data": data, "id": str(n), "parentId": None, "timestamp": at}
        for n, (kind, data) in enumerate(events)
    ]
    trace = traces.load(lines(tmp_path / "events.jsonl", records))
    said = next(event.seq for event in trace.events if event.text == "first")
    assert [(row.id, row.seq, row.tokens) for row in trace.usage] == [
        ("r1", said, Tokens(20, 10, 0, 4, 1)),
        ("r2", None, Tokens(20, 10, 0, 4, 1)),
    ]
    assert trace.sessions[0].flags == ()


def test_openhands_keeps_its_totals_in_the_state_beside_its_events(tmp_path: Path) -> None:
    folder = tmp_path / "run" / "events"
    folder.mkdir(parents=True)
    content = [{"type": "text", "text": "Fix it"}]
    message = {"id": "e1", "timestamp": "2026-01-01T00:00:00", "source": "user", "kind": "MessageEvent"}
    message["llm_message"] = {"role": "user", "content": content}  # type: ignore[assignment]
    (folder / "event-00000-00000000-0000-0000-0000-000000000000.json").write_text(json.dumps(message))
    spent = {
        "prompt_tokens": 50,
        "completion_tokens": 7,
        "cache_read_tokens": 20,
        "cache_write_tokens": 0,
        "reasoning_tokens": 0,
    }
    metrics = {
        "accumulated_cost": 0.25,
        "accumulated_token_usage": spent,
        "token_usages": [{**spent, "model": "m", "response_id": "r"}],
    }
    (tmp_path / "run" / "base_state.json").write_text(
        json.dumps({"stats": {"usage_to_metrics": {"agent": metrics}}})
    )
    trace = traces.load(folder)
    assert [row.tokens for row in trace.usage if row.scope == "request"] == [Tokens(30, 20, 0, 7, 0)]
    assert (trace.sessions[0].tokens, trace.sessions[0].cost) == (Tokens(30, 20, 0, 7, 0), 0.25)
