"""The updates of a page that follows a log:
where its lines are now, which are new, and which say something else.
"""

from __future__ import annotations

import json
import os
import shutil
import weakref
from collections.abc import Callable
from pathlib import Path
from threading import Event, Thread
from typing import Any

import pytest

import nbtools
from nbtools.traces.explorer.explorer import Explorer
from nbtools.traces.explorer.line_changes import line_moves
from nbtools.traces.explorer.reviewing.review_messages import TraceReview
from nbtools.traces.explorer.row_messages import TraceFollowParams, TraceUpdate
from nbtools.traces.parallel_reading import gc_paused
from nbtools.traces.reviews.records import Signal
from nbtools.traces.reviews.review import review
from tests.traces.column_reader import rows
from tests.traces.explorer.asking import Problem, ask
from tests.traces.explorer.samples import sample
from tests.traces.following.test_growing_log import CLAUDE, CODEX, append, lines_of

WITH_AGENTS = "claude-code/subagent-layout/0a1b2c3d-4e5f-4061-8071-2a3b4c5d6e7f.jsonl"
LONG_AGO = 1_000_000_000


def follow(explorer: Explorer, version: int, log: str = "") -> Any:
    """Asks as a page does, once the kernel may look again: returns the update, or a ``Problem``."""
    look_again(explorer)
    reply = ask(explorer, "follow", version=version, log=log)
    return reply[0] if isinstance(reply, tuple) else reply


def look_again(explorer: Explorer) -> None:
    explorer.following._not_before = 0.0
    for log in explorer.trace._growing:
        log._not_before = log._listed = 0.0


def new_lines(reply: TraceUpdate) -> list[int]:
    assert reply.view
    known = {line for move in reply.moves for line in range(move.to, move.to + move.count)}
    return [line for line in range(reply.view.total) if line not in known]


@pytest.fixture
def codex(tmp_path: Path) -> tuple[Path, list[bytes]]:
    lines = lines_of(CODEX)
    path = tmp_path / "rollout.jsonl"
    path.write_bytes(b"".join(lines[:120]))
    return path, lines[120:]


def test_new_lines_come_at_the_end(codex: tuple[Path, list[bytes]]) -> None:
    path, rest = codex
    explorer = nbtools.open_trace(path)
    view, count = explorer.view(), len(explorer.lines)
    assert view.fresh
    unchanged = follow(explorer, view.version)
    assert (unchanged.view, unchanged.version) == (None, view.version)
    append(path, b"".join(rest))
    reply = follow(explorer, view.version)
    whole = nbtools.open_trace(path)
    assert reply.view
    assert (reply.view.total, reply.view.facts) == (len(whole.lines), whole.view().facts)
    assert new_lines(reply) == list(range(count, len(whole.lines)))
    assert follow(explorer, reply.version).view is None
    assert [line.subject for line in explorer.lines] == [line.subject for line in whole.lines]


def test_two_pages_follow_one_explorer(codex: tuple[Path, list[bytes]]) -> None:
    path, rest = codex
    explorer = nbtools.open_trace(path)
    first, count = explorer.view().version, len(explorer.lines)
    for line in rest:
        append(path, line)
    assert (
        new_lines(follow(explorer, first))
        == new_lines(follow(explorer, first))
        == list(range(count, len(explorer.lines)))
    )
    late = follow(explorer, -1)
    assert late.restarted
    assert late.view


@pytest.mark.parametrize("method", ["rows", "search", "tokens"])
def test_a_page_never_gets_rows_of_other_lines_while_another_page_follows(
    codex: tuple[Path, list[bytes]], monkeypatch: pytest.MonkeyPatch, method: str
) -> None:
    """A page follows in a thread, in which the lines change before their version does."""
    path, rest = codex
    explorer = nbtools.open_trace(path)
    count, update = len(explorer.lines), explorer.update
    params = {"rows": {"first": 0, "count": 25_000}, "search": {"text": "a"}, "tokens": {}}[method]
    found: list[Any] = []
    asking = Thread(target=lambda: found.append(ask(explorer, method, version=0, **params)))

    def update_slowly() -> bool:
        changed = update()
        asking.start()
        asking.join(0.3)
        return changed

    monkeypatch.setattr(explorer, "update", update_slowly)
    append(path, b"".join(rest))
    assert new_lines(follow(explorer, 0)) == list(range(count, len(explorer.lines)))
    asking.join()
    (reply,) = found
    assert (reply.version, reply.block) == (1, None)


def test_a_call_is_running_until_its_result_comes(tmp_path: Path) -> None:
    lines = lines_of(CLAUDE)
    path = tmp_path / "session.jsonl"
    answer = next(number for number, line in enumerate(lines) if b'"tool_result"' in line and number > 100)
    path.write_bytes(b"".join(lines[:answer]))
    explorer = nbtools.open_trace(path)
    running = [number for number, line in enumerate(explorer.lines) if line.right == "running"]
    assert running
    assert {explorer.lines[number].tone for number in running} == {"unknown"}
    assert explorer.lines.tones == [line.tone for line in explorer.lines]
    opened = ask(explorer, "open", line=running[0])
    assert opened.card.status == "Running"
    append(path, lines[answer])
    reply = follow(explorer, 0)
    assert running[0] in reply.changed
    assert explorer.lines[running[0]].right != "running"


def test_nothing_runs_in_an_old_log(tmp_path: Path) -> None:
    lines = lines_of(CLAUDE)
    path = tmp_path / "session.jsonl"
    path.write_bytes(
        b"".join(lines[: next(n for n, line in enumerate(lines) if b'"tool_result"' in line and n > 100)])
    )
    os.utime(path, (LONG_AGO, LONG_AGO))
    explorer = nbtools.open_trace(path)
    assert not explorer.view().fresh
    assert "no answer recorded" in {line.right for line in explorer.lines}
    assert "running" not in {line.right for line in explorer.lines}


def without_its_agent(folder: Path) -> tuple[Explorer, Callable[[], object]]:
    """Returns the explorer of a log that ends with "And now?",
    and what adds the steps of a sub-agent above that.
    """
    shutil.copytree(sample(WITH_AGENTS).parent, folder / "project")
    path = folder / "project" / sample(WITH_AGENTS).name
    agent = next(path.parent.rglob("agent-*.jsonl"))
    content = agent.read_bytes()
    agent.unlink()
    after = {
        "type": "user",
        "uuid": "after",
        "parentUuid": None,
        "sessionId": path.stem,
        "message": {"role": "user", "content": "And now?"},
    }
    append(path, json.dumps(after).encode() + b"\n")
    return nbtools.open_trace(path), lambda: agent.write_bytes(content)


def test_steps_of_a_sub_agent_move_the_lines_below(tmp_path: Path) -> None:
    explorer, add_agent = without_its_agent(tmp_path)
    below = [line.subject for line in explorer.lines].index("And now?")
    add_agent()
    reply = follow(explorer, 0)
    new = new_lines(reply)
    assert new
    assert min(new) <= below < max(new) + 1
    to = next(
        move.to + below - move.first for move in reply.moves if move.first <= below < move.first + move.count
    )
    assert explorer.lines[to].subject == "And now?"
    assert to == below + len(new)


def test_lines_that_are_gone_have_no_place() -> None:
    rows = nbtools.open_trace(sample(WITH_AGENTS)).lines.rows
    moves, changed = line_moves(rows, [rows[0], *rows[2:]])
    assert [(move.first, move.to, move.count) for move in moves] == [(0, 0, 1), (2, 1, len(rows) - 2)]
    assert changed == ()


def test_a_log_that_is_rewritten_keeps_its_lines(tmp_path: Path) -> None:
    document = json.loads(sample("gemini-cli/session-2025-12-30T06-53-7bc58f7d.json").read_text())
    path = tmp_path / "session-1.json"
    path.write_text(json.dumps({**document, "messages": document["messages"][:-2]}))
    explorer = nbtools.open_trace(path)
    count = len(explorer.lines)
    path.write_text(json.dumps(document, indent=1))
    reply = follow(explorer, 0)
    assert [(move.first, move.to, move.count) for move in reply.moves] == [(0, 0, count)]
    assert reply.changed == ()
    assert new_lines(reply) == list(range(count, len(explorer.lines)))


def reviewed(explorer: Explorer, action: str, **params: Any) -> TraceReview:
    reply = ask(explorer, "review", action=action, **params)
    assert isinstance(reply, TraceReview), reply
    return reply


def test_a_label_on_a_line_of_an_earlier_version_is_on_the_same_step(tmp_path: Path) -> None:
    explorer, add_agent = without_its_agent(tmp_path)
    below = [line.subject for line in explorer.lines].index("And now?")
    add_agent()
    version = follow(explorer, 0).version
    now = reviewed(explorer, "note", line=below, version=0, value="Here.")
    assert now.version == version == 1
    (label,) = now.labels
    assert label.line is not None
    assert label.line > below
    assert explorer.lines[label.line].subject == "And now?"
    refused = ask(explorer, "review", action="note", line=0, version=99, value="Where?")
    assert isinstance(refused, Problem)
    assert len(review(explorer.trace).labels) == 1


def test_signals_of_a_log_that_grows_stay_until_they_are_looked_for_again(
    codex: tuple[Path, list[bytes]], monkeypatch: Any
) -> None:
    path, rest = codex
    explorer = nbtools.open_trace(path)
    signal = Signal(session="s", kind="repeated_call", seqs=(1,), explanation="Twice.")
    runs: list[int] = []
    monkeypatch.setattr(
        "nbtools.traces.reviews.review.signals_of", lambda trace: (runs.append(len(trace.calls)), [signal])[1]
    )
    while not reviewed(explorer, "read").complete:
        pass
    search = explorer._signals
    assert search
    assert list(search.signals) == [signal]
    search._not_before = float("inf")
    append(path, b"".join(rest))
    follow(explorer, explorer.view().version)
    assert not reviewed(explorer, "read").complete
    assert list(search.signals) == [signal]
    search._not_before = 0.0
    while not reviewed(explorer, "read").complete:
        pass
    assert runs == sorted(set(runs))
    assert len(runs) == 2


@pytest.mark.parametrize(
    ("method", "params"),
    [
        ("rows", {"version": 0, "first": 0, "count": 50}),
        ("facets", {}),
        ("search", {"version": 0, "text": "test"}),
        ("excerpts", {"version": 0, "text": "test", "lines": [3]}),
        ("tokens", {"version": 0}),
        ("open", {"line": 3}),
        ("raw", {"line": 3}),
        ("strip", {"mode": "time"}),
        ("strip", {"mode": "tokens"}),
        ("usage", {}),
        ("changes", {}),
        ("review", {"action": "read"}),
    ],
    ids=lambda value: value if isinstance(value, str) else value.get("mode", ""),
)
def test_data_of_the_shorter_log_is_freed_without_a_garbage_collection(
    codex: tuple[Path, list[bytes]], method: str, params: dict[str, Any]
) -> None:
    path, rest = codex
    explorer = nbtools.open_trace(path)
    version = explorer.view().version
    freed = Event()
    weakref.finalize(explorer.lines, freed.set)
    with gc_paused():
        assert not isinstance(ask(explorer, method, **params), Problem)
        append(path, b"".join(rest))
        assert follow(explorer, version).view
        assert freed.wait(30)


def rows_after(explorer: Explorer, version: int, before: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Returns the rows as a page has them that moves its rows of a version and takes over the new ones."""
    reply, data = ask(explorer, "follow", version=version)
    assert reply.view
    now: list[Any] = [None] * len(explorer.lines)
    for move in reply.moves:
        now[move.to : move.to + move.count] = before[move.first : move.first + move.count]
    for row in rows(reply.block, data):
        now[row.pop("line")] = row
    return now


def shown_rows(explorer: Explorer) -> list[dict[str, Any]]:
    reply, data = ask(explorer, "rows", version=explorer.version, first=0, count=10_000)
    return rows(reply.block, data)


@pytest.mark.parametrize("step", [1, 7])
def test_the_rows_of_a_page_that_follows_are_those_of_the_log(
    codex: tuple[Path, list[bytes]], step: int
) -> None:
    path, rest = codex
    explorer = nbtools.open_trace(path)
    shown = shown_rows(explorer)
    for at in range(0, min(len(rest), 12 * step), step):
        append(path, b"".join(rest[at : at + step]))
        look_again(explorer)
        version = explorer.version
        update, _ = explorer.methods.follow(TraceFollowParams(explorer=explorer.id, version=version))
        if update.version > version:
            shown = rows_after(explorer, version, shown)
        assert str(shown) == str(shown_rows(explorer))


def test_a_call_gets_the_steps_of_its_sub_agent_in_the_rows_of_its_page(tmp_path: Path) -> None:
    explorer, add_agent = without_its_agent(tmp_path)
    shown = shown_rows(explorer)
    parent = next(line for line, row in enumerate(shown) if row["name"] == "Task")
    assert shown[parent]["below"] == 0
    add_agent()
    look_again(explorer)
    reply, data = explorer.methods.follow(TraceFollowParams(explorer=explorer.id, version=0))
    assert reply.block
    assert len(explorer.lines) > len(rows(reply.block, *data)) == len(new_lines(reply)) + 1
    shown = rows_after(explorer, 0, shown)
    assert str(shown) == str(shown_rows(explorer))
    assert shown[parent]["below"] == len(new_lines(reply))
    assert "4 steps" in shown[parent]["right"]


def test_a_call_ends_in_the_rows_of_its_page_and_stops_running_when_nobody_writes(tmp_path: Path) -> None:
    lines = lines_of(CLAUDE)
    path = tmp_path / "session.jsonl"
    answer = next(number for number, line in enumerate(lines) if b'"tool_result"' in line and number > 100)
    path.write_bytes(b"".join(lines[:answer]))
    explorer = nbtools.open_trace(path)
    shown = shown_rows(explorer)
    running = [line for line, row in enumerate(shown) if row["right"] == "running"]
    assert running
    os.utime(path, (LONG_AGO, LONG_AGO))
    look_again(explorer)
    shown = rows_after(explorer, 0, shown)
    assert str(shown) == str(shown_rows(explorer))
    assert shown[running[0]]["right"] == "no answer recorded"
    append(path, lines[answer])
    look_again(explorer)
    shown = rows_after(explorer, 1, shown)
    assert str(shown) == str(shown_rows(explorer))
    assert shown[running[0]]["right"] not in ("running", "no answer recorded")


def test_a_page_whose_version_is_not_known_loads_all_rows_again(
    codex: tuple[Path, list[bytes]], monkeypatch: pytest.MonkeyPatch
) -> None:
    path, rest = codex
    explorer = nbtools.open_trace(path)
    reply, data = explorer.methods.follow(TraceFollowParams(explorer=explorer.id, version=-1))
    assert reply.restarted
    assert reply.view
    assert (reply.block, data) == (None, ())
    monkeypatch.setattr("nbtools.traces.explorer.page_methods.MAX_UPDATED", 0)
    append(path, b"".join(rest))
    look_again(explorer)
    reply, data = explorer.methods.follow(TraceFollowParams(explorer=explorer.id, version=0))
    assert not reply.restarted
    assert reply.view
    assert reply.moves
    assert (reply.block, data) == (None, ())
