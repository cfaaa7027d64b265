"""An explorer whose session goes on in another file:
what a page is offered, and where its lines are after it has gone on.
"""

from __future__ import annotations

from pathlib import Path

import pytest

import nbtools
from nbtools.traces.explorer.reviewing.review_messages import TraceReview
from nbtools.traces.explorer.row_messages import TraceUpdate
from nbtools.traces.model import Call
from nbtools.traces.reviews.review import review
from tests.traces.explorer.asking import Problem, ask
from tests.traces.explorer.test_following import follow, new_lines
from tests.traces.following.test_continuation import FORK, forked, records_of, written
from tests.traces.following.test_growing_log import CLAUDE, CODEX, append, lines_of


@pytest.fixture
def claude(tmp_path: Path) -> tuple[Path, Path]:
    lines = lines_of(CLAUDE)
    path, fork = tmp_path / "a.jsonl", tmp_path / f"{FORK}.jsonl"
    path.write_bytes(b"".join(lines[:120]))
    fork.write_bytes(
        forked(lines[:100]) + forked(lines[120:])
    )  # the last 20 records of the session are not in the fork
    return path, fork


def test_the_common_steps_keep_their_lines(claude: tuple[Path, Path]) -> None:
    path, fork = claude
    explorer = nbtools.open_trace(path)
    before = explorer.lines.rows
    offered = follow(explorer, 0)
    assert (offered.continuation, offered.view, offered.version) == (fork.name, None, 0)
    reply = follow(explorer, 0, offered.continuation)
    assert isinstance(reply, TraceUpdate)
    whole = nbtools.open_trace(fork)
    assert reply.view
    assert (reply.view.explorer, reply.view.total, reply.view.facts) == (
        explorer.id,
        len(whole.lines),
        whole.view().facts,
    )
    assert not reply.restarted
    assert reply.continuation == ""
    kept = {
        line: move.to + line - move.first
        for move in reply.moves
        for line in range(move.first, move.first + move.count)
    }
    assert 20 < len(kept) < len(before)
    for line, to in kept.items():
        old, new = before[line], explorer.lines.rows[to]
        assert (type(old), old.at) == (type(new), new.at)
        assert not isinstance(old, Call) or (isinstance(new, Call) and old.id == new.id)
    assert new_lines(reply)
    assert all(line >= min(set(range(len(before))) - kept.keys()) for line in new_lines(reply))


def test_it_follows_the_other_file_from_then_on(claude: tuple[Path, Path]) -> None:
    path, fork = claude
    rest = fork.read_bytes().splitlines(keepends=True)
    fork.write_bytes(b"".join(rest[:130]))
    explorer = nbtools.open_trace(path)
    reply = follow(explorer, follow(explorer, 0).version, fork.name)
    assert isinstance(reply, TraceUpdate)
    append(fork, b"".join(rest[130:]))
    grown = follow(explorer, reply.version)
    assert grown.view
    assert grown.view.total == len(nbtools.open_trace(fork).lines)
    assert explorer._cells.link("3") == f"%trace {fork} --step 3"
    late = follow(explorer, 0)  # a page that did not see the change of the file
    assert not late.restarted
    assert late.moves
    assert late.version == grown.version


@pytest.mark.parametrize("log", ["b.jsonl", "../a.jsonl", "/etc/passwd", "a.jsonl", "\0", "<b>"])
def test_only_the_file_that_was_found_is_opened(claude: tuple[Path, Path], log: str) -> None:
    path, _ = claude
    others = [{**record, "uuid": f"other-{i}"} for i, record in enumerate(records_of(lines_of(CLAUDE)))]
    path.with_name("b.jsonl").write_bytes(written(others))
    explorer = nbtools.open_trace(path)
    reply = follow(explorer, 0, log)
    assert isinstance(reply, Problem)
    assert explorer.trace.readings[0].source.path == path


def test_a_file_that_has_gone_is_a_problem_and_the_log_stays(claude: tuple[Path, Path]) -> None:
    path, fork = claude
    explorer = nbtools.open_trace(path)
    name = follow(explorer, 0).continuation
    fork.unlink()
    assert isinstance(follow(explorer, 0, name), Problem)
    append(path, b"".join(lines_of(CLAUDE)[120:]))
    grown = follow(explorer, 0)
    assert grown.view
    assert grown.view.total == len(nbtools.open_trace(path).lines)


def test_a_codex_fork_has_its_parent_in_it(tmp_path: Path) -> None:
    lines = lines_of(CODEX)
    head, *rest = records_of(lines)
    path, fork = tmp_path / "rollout-1.jsonl", tmp_path / "rollout-2.jsonl"
    path.write_bytes(b"".join(lines))
    later = "2026-04-10T23:00:00.000Z"
    mine = {
        **head,
        "timestamp": later,
        "payload": {
            **head["payload"],
            "timestamp": later,
            "id": FORK,
            "forked_from_id": head["payload"]["id"],
        },
    }
    fork.write_bytes(written([mine, *({**record, "timestamp": later} for record in (head, *rest))]))
    explorer = nbtools.open_trace(path)
    count = len(explorer.lines)
    reply = follow(explorer, 0, follow(explorer, 0).continuation)
    assert isinstance(reply, TraceUpdate)
    assert not reply.restarted
    assert sum(move.count for move in reply.moves) == count


def test_a_label_belongs_to_the_step_after_going_on(claude: tuple[Path, Path]) -> None:
    path, fork = claude
    explorer = nbtools.open_trace(path)
    call = next(row for row in explorer.lines.rows[20:] if isinstance(row, Call))
    line = explorer.lines.line_by_row[id(call)]
    assert isinstance(follow(explorer, 0, follow(explorer, 0).continuation), TraceUpdate)
    answer = ask(explorer, "review", action="label", line=line, version=0, value="good")
    assert isinstance(answer, TraceReview)
    (label,) = review(nbtools.open_trace(fork).trace).labels
    assert label.call == call.id
