"""The lines of the explorer's list, of real logs and of made ones."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from nbtools import traces
from nbtools.traces.explorer.timeline import MAX_BARS, Timeline, bars
from nbtools.traces.model import Call, Event, FileChange, Session
from tests.traces.explorer.samples import LOGS, sample


def made(*rows: Any) -> Any:
    """A trace of these rows."""
    of = {kind: [row for row in rows if isinstance(row, kind)] for kind in (Session, Event, Call, FileChange)}
    return SimpleNamespace(
        sessions=of[Session],
        events=of[Event],
        calls=of[Call],
        file_changes=of[FileChange],
        readings=[],
        problems=[],
        fresh=False,
    )


def session(name: str, **fields: Any) -> Session:
    return Session(id=name, format="made", **fields)


def call(owner: str, name: str, seq: int, **fields: Any) -> Call:
    return Call(
        **{"session": owner, "id": name, "seq": seq, "name": "Read", "op": "read", "origin": None, **fields}
    )


def message(owner: str, seq: int, text: str = "hello", kind: Any = "user") -> Event:
    return Event(session=owner, seq=seq, kind=kind, text=text, size=len(text))


def numbers(lines: Timeline) -> list[tuple[str, str]]:
    return [
        (line.number, row.id if isinstance(row, Call) else line.subject)
        for line, row in zip(lines, lines.rows, strict=True)
    ]


def called(lines: Timeline) -> list[Call]:
    """The calls that lines stand for, in their order; a line says of itself that it is one."""
    found = [row for row in lines.rows if isinstance(row, Call)]
    assert len(found) == sum(line.call for line in lines)
    return found


@pytest.mark.parametrize("log", LOGS)
def test_each_call_of_a_log_has_one_line_and_each_line_a_number_of_its_own(log: str) -> None:
    trace = traces.load(sample(log))
    lines = Timeline(trace)
    assert Counter((call.session, call.id) for call in called(lines)) == Counter(
        (call.session, call.id) for call in trace.calls
    )
    assert len({line.number for line in lines}) == len(lines)
    assert all(line.number.count(".") == line.depth for line in lines)


def test_the_steps_of_a_sub_agent_are_below_its_call() -> None:
    lines = Timeline(
        traces.load(sample("claude-code/subagent-layout/0a1b2c3d-4e5f-4061-8071-2a3b4c5d6e7f.jsonl"))
    )
    told = [(line.number, line.name, line.subject, line.depth) for line in lines]
    assert told[2] == ("3", "Task", "search files", 0)
    assert told[-2] == ("3.3", "bash", "grep -rn TODO", 1)
    assert told[-1] == ("3.4", "attachment", "{}", 1)
    assert lines[2].right == "no answer recorded · 4 steps"


def test_events_and_calls_are_in_reading_order_and_bookkeeping_is_left_out() -> None:
    trace = made(
        session("a"),
        call("a", "c1", 2),
        message("a", 0),
        message("a", 3, "done", "assistant_text"),
        message("a", 1, "hook", "progress"),
    )
    assert numbers(Timeline(trace)) == [("1", "hello"), ("2", "c1"), ("3", "done")]


def test_nested_sub_agents_are_shown_at_every_depth() -> None:
    depth = 1500
    rows: list[Any] = [session("0")]
    for level in range(depth):
        rows += [
            call(str(level), "start", 0, op="agent"),
            session(str(level + 1), parent=str(level), parent_call="start"),
        ]
    lines = Timeline(made(*rows, message(str(depth), 0, "the bottom")))
    assert [line.depth for line in lines] == list(range(depth + 1))
    assert lines[-1].subject == "the bottom"


def test_a_sub_agent_is_found_from_either_side() -> None:
    named = made(session("a"), call("a", "c", 0, child="b"), session("b"), message("b", 0))
    pointing = made(
        session("a"), call("a", "c", 0), session("b", parent="a", parent_call="c"), message("b", 0)
    )
    assert numbers(Timeline(named)) == numbers(Timeline(pointing)) == [("1", "c"), ("1.1", "hello")]


def test_cycles_of_parents_are_shown_once() -> None:
    calls = made(
        session("a"),
        call("a", "x", 0, parent="y"),
        call("a", "y", 1, parent="x"),
        call("a", "z", 2, parent="z"),
    )
    assert sorted(call.id for call in called(Timeline(calls))) == ["x", "y", "z"]
    sessions = made(
        session("a", parent="b", parent_call="y"),
        session("b", parent="a", parent_call="x"),
        call("a", "x", 0),
        call("b", "y", 0),
    )
    lines = Timeline(sessions)
    assert [call.id for call in called(lines)] == ["x", "y"]
    assert [line.number for line in lines] == ["1", "2", "2.1"]


def test_rows_of_a_session_that_is_never_summed_up_are_there_all_the_same() -> None:
    assert numbers(Timeline(made(message("cut off", 0), call("cut off", "c", 1)))) == [
        ("1", "hello"),
        ("2", "c"),
    ]


def test_sessions_side_by_side_begin_with_a_line_of_their_own() -> None:
    trace = made(
        session("a", title="First"), message("a", 0), session("b", records=3), message("b", 0, "again")
    )
    lines = Timeline(trace)
    assert numbers(lines) == [("1", "First"), ("2", "hello"), ("3", "b"), ("4", "again")]
    assert lines[2].right == "3 records"


@pytest.mark.parametrize(
    ("fields", "tone", "right"),
    [
        ({"status": "ok"}, "done", ""),
        ({"status": "ok", "op": "edit"}, "changed", ""),
        ({"status": "ok", "op": "shell", "exit_code": 1, "duration": 3.2}, "failed", "exit 1 · 3.2 s"),
        ({"status": "error", "op": "edit", "duration": 0.001}, "failed", "failed"),
        ({"status": "denied"}, "stopped", "denied"),
        ({"status": "interrupted", "duration": 61.0}, "stopped", "interrupted · 1 min 1 s"),
        ({"status": "unanswered"}, "stopped", "no answer recorded"),
        ({"status": "unknown"}, "unknown", ""),
    ],
)
def test_a_line_says_how_a_call_ended(fields: dict[str, Any], tone: str, right: str) -> None:
    (line,) = Timeline(made(session("a"), call("a", "c", 0, **fields)))
    assert (line.tone, line.right) == (tone, right)


def test_a_path_is_seen_from_the_sessions_folder_and_hidden_characters_show() -> None:
    paths = ("/home/x/p/src/a\u202eb.py", "/etc/x\ny")
    trace = made(
        session("a", cwd="/home/x/p"),
        *(call("a", str(seq), seq, subject=path) for seq, path in enumerate(paths)),
    )
    assert [line.subject for line in Timeline(trace)] == ["src/a‹U+202E›b.py", "/etc/x ⏎ y"]


def test_changed_lines_are_summed_over_a_calls_files() -> None:
    changes = [
        FileChange(session="a", call="c", path=name, added=2, removed=one)
        for name, one in (("x", 1), ("y", None))
    ]
    (line,) = Timeline(made(session("a"), call("a", "c", 0, op="patch", status="ok"), *changes))
    assert (line.added, line.removed) == (4, 1)


def test_the_strip_covers_all_lines_once_and_keeps_what_failed() -> None:
    rows = [
        call("a", str(seq), seq, status="error" if seq == 777 else "ok", result_size=seq)
        for seq in range(1000)
    ]
    lines = Timeline(made(session("a"), *rows))
    drawn = bars(lines.tones, lines.weights)
    assert [number for bar in drawn for number in range(bar.first, bar.last + 1)] == list(range(1000))
    assert len(drawn) == MAX_BARS
    assert next(bar for bar in drawn if bar.tone == "failed").first <= 777
    assert all(10 <= bar.height <= 100 for bar in drawn)
    assert bars([], []) == ()
    assert [bar.height for bar in bars(["person"], [5])] == [100]


def test_a_long_log_is_shown_to_its_end(tmp_path: Path) -> None:
    asked = {"function_name": "f", "arguments": {}}
    steps = [{"step_id": n, "source": "agent", "message": "", "tool_calls": [asked]} for n in range(2000)]
    log = tmp_path / "log.json"
    log.write_text(
        json.dumps(
            {
                "schema_version": "ATIF-v1.6",
                "session_id": "s",
                "agent": {"name": "x", "version": "1"},
                "steps": steps,
            }
        )
    )
    assert [line.number for line in Timeline(traces.load(log))] == [str(n + 1) for n in range(2000)]


def test_bars_count_failures_that_are_too_few_for_their_tone():
    tones = ["done"] * 60_000
    tones[::20] = ["failed"] * 3000
    drawn = bars(tones, [1] * 60_000, 240)
    assert {bar.tone for bar in drawn} == {"quiet"}
    assert sum(bar.failed for bar in drawn) == 3000


def test_a_slash_command_is_listed_as_it_was_typed() -> None:
    text = "<command-message>superpowers:plan</command-message>\n<command-name>/plan</command-name>\n<command-args>the cart</command-args>"
    lines = Timeline(
        made(session("a"), message("a", 0, text), message("a", 1, "<command-message></command-message>"))
    )
    assert [line.subject for line in lines] == ["/plan the cart", "<command-message></command-message>"]
