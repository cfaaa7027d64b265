"""Logs that grow, are rewritten, replaced and cut while they are followed."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from nbtools import traces
from nbtools.traces.following.growing_log import GrowingLog, Pace
from nbtools.traces.formats import open_log
from nbtools.traces.model import Call, Event, Row
from tests.examples import examples
from tests.traces.recorded import LOGS, SAMPLES

LINES = [name for name in LOGS if name.endswith(".jsonl")]
CONTINUED = {"claude-code", "codex", "copilot-cli"}
"""Formats of samples that are read on; logs of other formats are read again."""
AT_ONCE = Pace(rest=0, listing=0, settling=0)
TABLES = ("sessions", "events", "calls", "file_changes", "problems", "usage")
CLAUDE = SAMPLES / "claude-code" / "skills--35ea950f-b370-4441-934d-e6a994c53fd3.jsonl"
CODEX = SAMPLES / "codex" / "skills--019d78fc-c449-7300-92a1-1e92604a4f6a.jsonl"
GEMINI = SAMPLES / "gemini-cli" / "session-2025-12-30T06-53-7bc58f7d.json"
WITH_AGENTS = SAMPLES / "claude-code" / "subagent-layout"


def growing(path: Path, whole_below: int = 0, **pace: float) -> GrowingLog:
    return GrowingLog(open_log(path), whole_below=whole_below, pace=Pace(**{**vars(AT_ONCE), **pace}))


def plain(rows: Iterable[Any]) -> list[Any]:
    """Returns the rows without the log they came from, which two readings do not share."""
    return [replace(row, origin=None) if isinstance(row, Call) else row for row in rows]


def assert_as_loaded(log: GrowingLog, path: Path) -> None:
    whole = traces.load(path)
    for table in TABLES:
        assert plain(getattr(log.rows, table)) == plain(getattr(whole, table)), table


def append(path: Path, data: bytes) -> None:
    with path.open("ab") as file:
        file.write(data)


def lines_of(path: Path) -> list[bytes]:
    return [line + b"\n" for line in path.read_bytes().splitlines()]


def copied(log: Path, path: Path) -> None:
    path.write_bytes(b"".join(lines_of(log)))


def ids(rows: Sequence[Row]) -> list[str]:
    return [row.id for row in rows if isinstance(row, Call)]


@pytest.mark.parametrize("name", LINES)
def test_a_log_that_comes_line_by_line_is_the_same_as_the_whole(name: str, tmp_path: Path) -> None:
    first, *rest = lines_of(SAMPLES / name)
    path = tmp_path / Path(name).name
    path.write_bytes(first)
    log = growing(path)
    step = max(1, len(rest) // 60)
    for at in range(0, len(rest), step):
        append(path, b"".join(rest[at : at + step]))
        log.update()
    assert_as_loaded(log, path)
    assert log.reads_on == (log.log.format.name in CONTINUED and "legacy" not in name)


@pytest.mark.parametrize("name", LINES)
@settings(
    max_examples=examples(12), deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(data=st.data())
def test_a_log_that_comes_in_any_pieces_is_the_same_as_the_whole(
    name: str, tmp_path: Path, data: st.DataObject
) -> None:
    whole = (SAMPLES / name).read_bytes()
    start = whole.index(b"\n") + 1
    cuts = sorted(data.draw(st.lists(st.integers(start, len(whole)), max_size=8)))
    path = tmp_path / Path(name).name
    path.write_bytes(whole[:start])
    log = growing(path, data.draw(st.sampled_from([0, 64 << 10])))
    for begin, end in zip([start, *cuts], [*cuts, len(whole)], strict=True):
        append(path, whole[begin:end])
        for _ in range(data.draw(st.integers(1, 2))):
            log.update()
    log.update()
    log.update()
    assert_as_loaded(log, path)


def test_an_unfinished_line_waits_until_it_is_complete(tmp_path: Path) -> None:
    *before, last = lines_of(CODEX)
    path = tmp_path / "rollout.jsonl"
    path.write_bytes(b"".join(before))
    log = growing(path)
    records = log.rows.sessions[0].records
    for piece in (last[:10], last[10:-5]):
        append(path, piece)
        log.update()
        log.update()
        assert (log.rows.sessions[0].records, log.rows.problems) == (records, [])
    append(path, last[-5:])
    log.update()
    assert log.rows.sessions[0].records == records + 1
    assert log.reads_on


def test_a_last_line_without_a_line_break_is_read_once_nothing_follows(tmp_path: Path) -> None:
    *before, last = lines_of(CODEX)
    path = tmp_path / "rollout.jsonl"
    path.write_bytes(b"".join(before))
    log = growing(path)
    append(path, last.rstrip(b"\n"))
    assert log.update() == []
    assert log.update() != []
    assert_as_loaded(log, path)
    append(path, b"\n")
    log.update()
    assert_as_loaded(log, path)


def test_a_result_updates_the_call_that_was_seen(tmp_path: Path) -> None:
    lines = lines_of(CLAUDE)
    path = tmp_path / "session.jsonl"
    answer = next(number for number, line in enumerate(lines) if b'"tool_result"' in line and number > 100)
    path.write_bytes(b"".join(lines[:answer]))
    log = growing(path)
    waiting = [call for call in log.rows.calls if call.status == "unanswered"]
    assert waiting
    append(path, lines[answer])
    (answered,) = [row for row in log.update() if isinstance(row, Call)]
    assert answered.id in ids(waiting)
    assert answered.answered
    assert ids(log.rows.calls).count(answered.id) == 1
    assert log.reads_on


def test_new_rows_are_reported_once(tmp_path: Path) -> None:
    lines = lines_of(CODEX)
    path = tmp_path / "rollout.jsonl"
    path.write_bytes(b"".join(lines[:40]))
    log = growing(path)
    seen: list[Row] = [*log.rows.events, *log.rows.calls]
    for line in lines[40:]:
        append(path, line)
        seen += [
            row for row in log.update() if isinstance(row, Event) or (isinstance(row, Call) and row.answered)
        ]
        assert log.update() == []
    events = [row for row in seen if isinstance(row, Event)]
    assert plain(sorted(events, key=lambda event: event.seq)) == plain(log.rows.events)


def test_a_truncated_log_is_read_again(tmp_path: Path) -> None:
    lines = lines_of(CODEX)
    path = tmp_path / "rollout.jsonl"
    path.write_bytes(b"".join(lines))
    log = growing(path)
    path.write_bytes(b"".join(lines[:60]))
    log.update()
    assert_as_loaded(log, path)


def test_an_emptied_log_keeps_its_rows_until_there_is_something_to_read(tmp_path: Path) -> None:
    path = tmp_path / "rollout.jsonl"
    copied(CODEX, path)
    log = growing(path)
    calls = ids(log.rows.calls)
    path.write_bytes(b"")
    assert log.update() == []
    path.unlink()
    assert log.update() == []
    assert ids(log.rows.calls) == calls
    copied(CLAUDE, path)
    log.update()
    assert_as_loaded(log, path)


def test_a_log_that_was_replaced_by_a_longer_one_is_read_again(tmp_path: Path) -> None:
    """Replaces the file by a rename, as agents do to rewrite a file."""
    lines = lines_of(CODEX)
    path = tmp_path / "rollout.jsonl"
    path.write_bytes(b"".join(lines[:-20]))
    log = growing(path)
    before = ids(log.rows.calls)
    other = tmp_path / "new"
    other.write_bytes(b"".join(line.replace(b"call_", b"other_") for line in lines))
    other.rename(path)
    changed = log.update()
    assert_as_loaded(log, path)
    assert not set(ids(changed)) & set(before)


def test_a_log_that_was_changed_where_it_had_been_read_is_read_again(tmp_path: Path) -> None:
    path = tmp_path / "rollout.jsonl"
    copied(CODEX, path)
    log = growing(path)
    end = lines_of(CODEX)[-1]
    with path.open("r+b") as file:
        file.seek(-len(end), os.SEEK_END)
        file.write(end.replace(b"2026", b"2027"))
        file.write(end)
    log.update()
    assert_as_loaded(log, path)


def test_a_rewritten_document_is_read_again_and_its_rows_are_recognised(tmp_path: Path) -> None:
    document = json.loads(GEMINI.read_text())
    messages = document["messages"]
    path = tmp_path / GEMINI.name
    path.write_text(json.dumps({**document, "messages": messages[:-2]}))
    log = growing(path)
    before = ids(log.rows.calls)
    path.write_text(json.dumps({**document, "messages": messages}, indent=2))
    changed = log.update()
    assert_as_loaded(log, path)
    assert ids(log.rows.calls)[: len(before)] == before
    assert 0 < sum(isinstance(row, Event) for row in changed) <= 4
    assert not set(ids(changed)) & set(before)


def test_a_half_written_document_is_not_taken_over(tmp_path: Path) -> None:
    path = tmp_path / GEMINI.name
    shutil.copy(GEMINI, path)
    log = growing(path, settling=1e9)
    calls = ids(log.rows.calls)
    whole = GEMINI.read_bytes()
    path.write_bytes(whole[: len(whole) // 2])
    assert log.update() == []
    assert ids(log.rows.calls) == calls
    path.write_bytes(whole.replace(b"gemini", b"Gemini"))
    log.update()
    assert_as_loaded(log, path)


def test_a_new_sub_agent_is_found_beside_its_session(tmp_path: Path) -> None:
    copy = shutil.copytree(WITH_AGENTS, tmp_path / "project")
    path = next(copy.glob("*.jsonl"))
    agent = next(copy.rglob("agent-*.jsonl"))
    content = agent.read_bytes()
    agent.unlink()
    log = growing(path)
    assert len(log.rows.sessions) == 1
    agent.write_bytes(content)
    log.update()
    assert len(log.rows.sessions) == 2
    assert_as_loaded(log, path)
    append(agent, content.splitlines(keepends=True)[-1].replace(b'"uuid":"', b'"uuid":"0'))
    log.update()
    assert_as_loaded(log, path)


def rewound(lines: Sequence[bytes]) -> bytes:
    """Another prompt in place of the last one."""
    last = next(
        json.loads(line)
        for line in reversed(lines)
        if json.loads(line).get("type") == "user" and b"tool_result" not in line
    )
    return (
        json.dumps(
            {**last, "uuid": "rewound", "message": {"role": "user", "content": "Do it otherwise."}}
        ).encode()
        + b"\n"
    )


def test_a_rewind_marks_rows_that_were_seen_before(tmp_path: Path) -> None:
    lines = lines_of(CLAUDE)
    path = tmp_path / "session.jsonl"
    path.write_bytes(b"".join(lines))
    log = growing(path)
    live = sum(call.live for call in log.rows.calls)
    append(path, rewound(lines))
    log.update()
    assert_as_loaded(log, path)
    assert sum(call.live for call in log.rows.calls) <= live


def test_a_turn_that_codex_rolls_back_is_marked(tmp_path: Path) -> None:
    path = tmp_path / "rollout.jsonl"
    copied(CODEX, path)
    log = growing(path)
    assert all(call.live for call in log.rows.calls)
    append(
        path,
        json.dumps({"type": "event_msg", "payload": {"type": "thread_rolled_back", "num_turns": 1}}).encode()
        + b"\n",
    )
    log.update()
    assert_as_loaded(log, path)
    assert not all(call.live for call in log.rows.calls)


def test_a_trace_grows_with_all_that_is_made_of_it(tmp_path: Path) -> None:
    lines = lines_of(CODEX)
    path = tmp_path / "rollout.jsonl"
    path.write_bytes(b"".join(lines[:100]))
    trace = traces.load(path)
    calls, hits = trace.calls, len(trace.search("git"))
    assert trace.sql("select count(*) from calls").fetchall() == [(len(calls),)]
    append(path, b"".join(lines[100:]))
    changed = trace.update()
    whole = traces.load(path)
    assert len(trace.calls) == len(whole.calls) > len(calls)
    assert {row.id for row in changed if isinstance(row, Call)} >= set(ids(trace.calls)) - set(ids(calls))
    assert trace.sql("select count(*) from calls").fetchall() == [(len(whole.calls),)]
    assert [hit.row.seq for hit in trace.search("git")] == [hit.row.seq for hit in whole.search("git")]
    assert len(trace.search("git")) > hits
    assert trace.facts() == whole.facts()
    assert list(trace.context) == list(whole.context)
    assert trace.calls[-1].detail == whole.calls[-1].detail


def test_one_of_several_logs_grows(tmp_path: Path) -> None:
    lines = lines_of(CODEX)
    first, second = tmp_path / "a.jsonl", tmp_path / "b.jsonl"
    first.write_bytes(b"".join(lines[:100]))
    shutil.copy(CLAUDE, second)
    trace = traces.load_many([first, second])
    append(first, b"".join(lines[100:]))
    trace.update()
    whole = traces.load_many([first, second])
    assert plain(trace.calls) == plain(whole.calls)
    assert [log.source.path for log in trace.calls.log_files] == [
        log.source.path for log in whole.calls.log_files
    ]
