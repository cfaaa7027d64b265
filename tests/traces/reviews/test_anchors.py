"""Labels find their place again in logs that grew, were copied or edited,
and never point at something else.
"""

from __future__ import annotations

import json
import random
import shutil
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nbtools.traces import Call, Trace, TraceError, load, load_many
from nbtools.traces.reviews.anchors import Anchors, Found, Step
from nbtools.traces.reviews.records import Target
from nbtools.traces.reviews.review import review
from tests.traces.recorded import LOGS, SAMPLES
from tests.traces.reviews.logs import session

LINES = [name for name in LOGS if name.endswith(".jsonl") and name.startswith(("claude-code/", "codex/"))]
"""Logs with a record a line, which tests can edit."""
Edit = Callable[[list[bytes], random.Random], list[bytes]]


def drop(lines: list[bytes], source: random.Random) -> list[bytes]:
    at = source.randrange(len(lines))
    return lines[:at] + lines[at + source.randint(1, 4) :]


def repeat(lines: list[bytes], source: random.Random) -> list[bytes]:
    at = source.randrange(len(lines))
    return lines[: at + 3] + lines[at : at + 3] + lines[at + 3 :]


def alter(lines: list[bytes], source: random.Random) -> list[bytes]:
    """Changes a letter in a text, so that the record stays JSON."""
    at = source.randrange(len(lines))
    return [line.replace(b"e", b"a", 1) if number == at else line for number, line in enumerate(lines)]


def swap(lines: list[bytes], source: random.Random) -> list[bytes]:
    first, second = source.randrange(len(lines)), source.randrange(len(lines))
    lines = [*lines]
    lines[first], lines[second] = lines[second], lines[first]
    return lines


def cut(lines: list[bytes], source: random.Random) -> list[bytes]:
    return lines[: source.randint(1, len(lines))]


EDITS = (drop, repeat, alter, swap, cut)


def rows_of(trace: Trace) -> list[Step]:
    return [*trace.calls, *trace.events]


def content(trace: Trace, row: Step) -> tuple[bytes, str]:
    """The bytes of a row's record, and what the row is in it."""
    log = review(trace).anchors.log_of(row)
    assert log is not None
    kind = "call" if isinstance(row, Call) else row.kind
    return log.source.bytes_of(row.ref).strip(), kind


def targets(trace: Trace) -> dict[int, Target]:
    return {id(row): review(trace).anchors.target(row) for row in rows_of(trace)}


@pytest.mark.parametrize("name", LOGS)
def test_every_step_of_a_log_that_is_read_again(name: str) -> None:
    before, after = load(SAMPLES / name), load(SAMPLES / name)
    for row, again in zip(rows_of(before), rows_of(after), strict=True):
        found = review(after).anchors.find(review(before).anchors.target(row))
        assert (found.status, found.first) == ("same", again)


@pytest.mark.parametrize("name", LOGS)
def test_a_copy_under_another_name(name: str, tmp_path: Path) -> None:
    """Also of formats whose sessions have the name of the file."""
    before = load(SAMPLES / name)
    if len(before.readings[0].source.files) > 1:
        pytest.skip("the log has several files")
    suffix = "".join((SAMPLES / name).suffixes)
    copy = load(shutil.copy(SAMPLES / name, tmp_path / f"copy{suffix}"))
    for row, again in zip(rows_of(before), rows_of(copy), strict=True):
        found = review(copy).anchors.find(review(before).anchors.target(row))
        assert (found.status, found.first) == ("same", again)
    for number, one in enumerate(before.sessions):
        assert review(copy).anchors.find(review(before).anchors.target(one)).session == copy.sessions[number]


@given(name=st.sampled_from(LINES), end=st.integers(10, 200), data=st.data())
def test_growth(name: str, end: int, data: st.DataObject, tmp_path_factory: pytest.TempPathFactory) -> None:
    """A label on a log that is written right now is at the same step when more has been written,
    results included.
    """
    lines = (SAMPLES / name).read_bytes().splitlines(keepends=True)
    path = tmp_path_factory.mktemp("logs") / "log.jsonl"
    path.write_bytes(b"".join(lines[:end]).rstrip(b"\n"))
    try:
        early = load(path)
    except TraceError:
        return  # nothing to read yet
    saved = [(row, target) for row, target in zip(rows_of(early), targets(early).values(), strict=True)]
    path.write_bytes(b"".join(lines[: end + data.draw(st.integers(0, 400))]))
    grown = load(path)
    for row, target in saved:
        found = review(grown).anchors.find(target)
        assert found.status == "same"
        assert found.first is not None
        assert (found.first.seq, found.first.ref.offset) == (row.seq, row.ref.offset)


@given(name=st.sampled_from(LINES), seed=st.integers(0, 2**32), count=st.integers(1, 5))
def test_edited_logs(name: str, seed: int, count: int, tmp_path_factory: pytest.TempPathFactory) -> None:
    """A place that is found has the same bytes, or the log's own id; what is still there once is found."""
    source = random.Random(seed)
    before = load(SAMPLES / name)
    lines = (SAMPLES / name).read_bytes().splitlines(keepends=True)
    for _ in range(count):
        lines = source.choice(EDITS)(lines, source) or lines
    path = tmp_path_factory.mktemp("logs") / "log.jsonl"
    path.write_bytes(b"".join(lines))
    after = load(path)
    same_start = (
        review(after).anchors.find(review(before).anchors.target(before.sessions[0])).status == "same"
    )
    present = Counter(content(after, row) for row in rows_of(after))
    for row in source.choices(rows_of(before), k=25):
        found = review(after).anchors.find(review(before).anchors.target(row))
        check(before, row, after, found)
        assert found.first is not None or not same_start or present[content(before, row)] != 1


def check(before: Trace, row: Step, after: Trace, found: Found) -> None:
    if found.first is None:
        assert found.status in {"moved", "changed", "gone"}
    elif found.status == "changed":
        here, there = row, found.first
        assert type(here) is type(there)
        assert (
            here.id == there.id
            if isinstance(here, Call) and isinstance(there, Call)
            else here.key == there.key != ""
        )  # type: ignore[union-attr]
    else:
        assert content(after, found.first) == content(before, row)
        assert (found.status == "same") == (found.first.seq == row.seq)


def test_other_sessions_with_the_same_name_and_steps(tmp_path: Path) -> None:
    """Attempts at one task have the same file name, the same first messages,
    and some of the same commands.
    """
    original = json.loads((SAMPLES / "swe-agent/function_calling_simple.traj").read_text())
    attempt = json.loads(json.dumps(original))
    attempt["history"][2]["content"] = "Another thought."
    traces = []
    for folder, document in (("a", original), ("b", attempt)):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "run.traj").write_text(json.dumps(document))
        traces.append(load(tmp_path / folder / "run.traj"))
    first, second = traces
    assert [one.id for one in first.sessions] == [one.id for one in second.sessions]
    found = [review(second).anchors.find(review(first).anchors.target(row)) for row in rows_of(first)]
    assert {(one.session, one.first) for one in found[:3]} == {(None, None)}
    for row, one in zip(rows_of(first), found, strict=True):
        check(first, row, second, one)
    assert review(second).anchors.find(review(first).anchors.target(first.sessions[0])).session is None


def test_other_logs_have_none_of_it() -> None:
    traces = [load(SAMPLES / name) for name in LOGS]
    sample = [(trace, row) for trace in traces for row in rows_of(trace)[:3]]
    for trace, row in sample:
        target = review(trace).anchors.target(row)
        others = [one for one in traces if one is not trace]
        found = [one for other in others if (one := review(other).anchors.find(target)).session is not None]
        assert found == []


def test_copies_loaded_together(tmp_path: Path) -> None:
    """A label is at the copy that it was written at."""
    paths = [session(commands=["ls", "ls", "make"]).write(tmp_path / name) for name in ("a.jsonl", "b.jsonl")]
    alone = load(paths[1])
    target = review(alone).anchors.target(alone.calls[2])
    both = load_many(paths)
    found = review(both).anchors.find(target)
    assert found.status == "same"
    assert found.first is both.calls[5]


def test_a_result_that_is_recorded_later(tmp_path: Path) -> None:
    log = session()
    lines, log.lines = log.lines, log.lines[:2]
    path = log.write(tmp_path / "log.jsonl")
    waiting = load(path)
    assert not waiting.calls[0].answered
    target = review(waiting).anchors.target(waiting.calls[0])
    log.lines = lines
    log.write(path)
    answered = load(path)
    assert answered.calls[0].answered
    assert Anchors(answered).find(target) == Found(
        "same", answered.sessions[0], answered.calls[0], answered.calls[0]
    )


def test_an_edited_result_is_a_change(tmp_path: Path) -> None:
    log = session()
    path = log.write(tmp_path / "log.jsonl")
    before = load(path)
    target = review(before).anchors.target(before.calls[1])
    log.lines[4] = log.lines[4].replace(b"done", b"lost")
    log.write(path)
    after = load(path)
    found = review(after).anchors.find(target)
    assert (found.status, found.first) == ("changed", after.calls[1])


def test_a_log_that_became_shorter_cannot_be_labelled(tmp_path: Path) -> None:
    log = session()
    path = log.write(tmp_path / "log.jsonl")
    trace = load(path)
    path.write_bytes(log.lines[0])
    with pytest.raises(TraceError):
        review(trace).anchors.target(trace.calls[2])
