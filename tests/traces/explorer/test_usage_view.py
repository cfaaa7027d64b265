"""The overviews of time and tokens, the breakdown, and the order of the list."""

from __future__ import annotations

import os
from collections import Counter
from pathlib import Path
from threading import Event

import pytest

from nbtools import traces
from nbtools.traces.explorer import log_answers
from nbtools.traces.explorer.explorer import Explorer, open_trace
from nbtools.traces.explorer.explorer_messages import TraceOpened
from nbtools.traces.explorer.row_messages import TraceVersionParams
from nbtools.traces.explorer.saved_filters import SavedFilter
from nbtools.traces.explorer.usage.strips import AXIS, MAX_BARS
from nbtools.traces.explorer.usage.usage_messages import (
    TraceStrip,
    TraceStripParams,
    TraceUsage,
    TraceUsageParams,
)
from tests.browser.long_log import write_long_log
from tests.traces.column_reader import rows
from tests.traces.explorer.asking import ask, with_chip
from tests.traces.recorded import LOGS, SAMPLES


def opened(name: str) -> Explorer:
    return Explorer(traces.load(SAMPLES / name))


def strip(explorer: Explorer, mode: str) -> TraceStrip:
    reply = ask(explorer, "strip", mode=mode)
    assert isinstance(reply, TraceStrip)
    return reply


@pytest.mark.parametrize("name", LOGS)
@pytest.mark.parametrize("mode", ["time", "tokens"])
def test_bars_are_on_the_axis_and_stand_for_lines(name: str, mode: str) -> None:
    explorer = opened(name)
    found = strip(explorer, mode)
    assert found.bars or found.note
    for bar in found.bars:
        assert 0 <= bar.start <= bar.end <= AXIS
        assert 0 <= bar.first <= bar.last < explorer.size
        assert 0 <= bar.lane < found.lanes
        assert all(0 <= part <= 1000 for part in bar.parts)
        assert sum(bar.parts) <= 1003
    assert all(sum(bar.lane == lane for bar in found.bars) <= 2 * MAX_BARS for lane in range(found.lanes))


@pytest.mark.parametrize("name", LOGS)
def test_every_log_has_a_breakdown_or_nothing(name: str) -> None:
    explorer = opened(name)
    usage = ask(explorer, "usage")
    assert isinstance(usage, TraceUsage)
    for table in usage.tables:
        assert table.rows
        assert all(len(row.cells) == len(table.columns) and 0 <= row.share <= 100 for row in table.rows)
        assert all(row.line is None or 0 <= row.line < explorer.size for row in table.rows)


@pytest.mark.parametrize(
    "name", ["claude-code/skills--35ea950f-b370-4441-934d-e6a994c53fd3.jsonl", "pi/made--tree.jsonl"]
)
def test_rows_of_the_breakdown_list_steps(name: str) -> None:
    explorer = opened(name)
    usage = ask(explorer, "usage")
    assert isinstance(usage, TraceUsage)
    listed = 0
    for row in (row for table in usage.tables for row in table.rows if row.chip):
        assert with_chip(explorer, row.chip)
        listed += 1
    assert listed > 2


def test_a_long_wait_is_shortened_and_says_so() -> None:
    found = strip(opened("codex/external-agents--019dc116-c183-74f3-8f98-b4e5bd8eddfa.jsonl"), "time")
    (wait,) = [bar for bar in found.bars if bar.mark == "waiting"]
    assert wait.label == "waiting for the person: 36 min 48 s"
    assert wait.end - wait.start < AXIS * 0.12
    assert found.note == "1 long wait shortened"
    assert found.names[:2] == ("turns", "calls")


def test_the_list_is_ordered_by_tokens_and_by_duration() -> None:
    explorer = opened("openhands/openhands_trajectory.json")
    for order in ("tokens", "duration"):
        found = explorer.rows_under(SavedFilter(name="", order=order))
        lines = [explorer.lines.line_by_row[id(row)] for row in found]
        assert sorted(lines) == list(range(explorer.size))
        requests = explorer.answers.requests
        amounts = requests.tokens if order == "tokens" else requests.seconds
        known = [amounts[line] for line in lines if line in amounts]
        assert known == sorted(known, reverse=True)
        assert all(line in amounts for line in lines[: len(known)])
        rest = lines[len(known) :]
        assert rest == sorted(rest)
    reply, data = ask(explorer, "tokens", version=0)
    tokens = rows(reply.block, data)
    assert [
        row["text"]
        for row in sorted(tokens, key=lambda row: -row["tokens"] if row["tokens"] == row["tokens"] else 0)
    ][:2] == [
        "5.9 k in, 1.0 k out",
        "6.0 k in (5.6 k cached), 44 out",
    ]


def test_a_step_names_the_tokens_of_its_request() -> None:
    explorer = opened("pi/made--tree.jsonl")
    (line,) = [line for line, row in enumerate(explorer.lines.rows) if getattr(row, "name", "") == "bash"]
    step = ask(explorer, "open", line=line)
    assert isinstance(step, TraceOpened)
    assert step.foot.endswith("request: 1.3 k in (1.0 k cached), 50 out")


def test_a_long_log_is_added_up_while_other_requests_are_answered(tmp_path: Path) -> None:
    explorer = open_trace(write_long_log(tmp_path / "long.jsonl", 2 * log_answers.SHORT_LOG))
    busy = Event()
    other = log_answers.USAGE_THREAD.submit(busy.wait)  # as while another log is added up
    try:
        waiting = explorer.methods.strip(TraceStripParams(explorer=explorer.id, mode="time"))
        assert not waiting.done()
        assert not explorer.methods.usage(TraceUsageParams(explorer=explorer.id)).done()
        tokens = explorer.methods.tokens(TraceVersionParams(explorer=explorer.id, version=0))
        assert not tokens.done()
        assert ask(explorer, "rows", version=0, first=0, count=5)
    finally:
        busy.set()
    assert other.result()
    found = strip(explorer, "time")
    assert tokens.result()[0].block
    assert found == waiting.result() == strip(explorer, "time")
    assert sum(bar.mark == "" for bar in found.bars) > MAX_BARS


def test_a_short_log_is_added_up_while_other_requests_are_answered() -> None:
    explorer = opened("pi/made--tree.jsonl")
    busy = Event()
    other = log_answers.USAGE_THREAD.submit(busy.wait, 10)
    try:
        tokens = explorer.methods.tokens(TraceVersionParams(explorer=explorer.id, version=0))
        usage = explorer.methods.usage(TraceUsageParams(explorer=explorer.id))
        assert [one.done() for one in (other, tokens, usage)] == [False] * 3
    finally:
        busy.set()
    assert tokens.result()[0].block
    assert usage.result().tables


def test_the_overview_over_time_of_a_long_log_is_made_with_the_first_step_that_is_opened(
    tmp_path: Path,
) -> None:
    log = write_long_log(tmp_path / "long.jsonl", 2 * log_answers.SHORT_LOG)
    os.utime(log, (0, 0))
    explorer = open_trace(log)
    assert isinstance(ask(explorer, "open", line=0), TraceOpened)
    log_answers.USAGE_THREAD.submit(bool).result()  # comes after what was begun before
    assert explorer.methods.strip(TraceStripParams(explorer=explorer.id, mode="time")).done()


def test_a_bar_of_time_has_the_share_of_its_calls_that_failed(tmp_path: Path) -> None:
    explorer = open_trace(write_long_log(tmp_path / "long.jsonl", 5_000))
    found = [bar for bar in strip(explorer, "time").bars if bar.failed]
    assert found
    assert {bar.tone for bar in found} == {"done"}
    assert all(0 < bar.failed < 400 and bar.label.endswith(" failed") for bar in found)


def test_sums_by_tool_have_all_calls_and_list_them() -> None:
    explorer = opened("claude-code/skills--35ea950f-b370-4441-934d-e6a994c53fd3.jsonl")
    usage = ask(explorer, "usage")
    assert isinstance(usage, TraceUsage)
    (table,) = [table for table in usage.tables if table.title == "By tool"]
    calls = Counter(call.name for call in explorer.trace.calls if call.has_failed is not None)
    assert {row.cells[0]: int(row.cells[1].replace(",", "")) for row in table.rows} == calls
    assert all(len(with_chip(explorer, row.chip)) >= calls[row.cells[0]] for row in table.rows)
    assert len(table.hints) == len(table.columns)
    for row in (row for one in usage.tables for row in one.rows):
        assert len(row.hints) <= len(row.cells)
