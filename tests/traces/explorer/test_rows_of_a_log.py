"""The rows of a log as a page gets them."""

from __future__ import annotations

import json
import math
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

import nbtools
from nbtools.core.errors import TraceError
from nbtools.traces.explorer.explorer import Explorer
from nbtools.traces.explorer.facets import Facet
from nbtools.traces.explorer.page_methods import MAX_ROWS
from nbtools.traces.explorer.row_messages import (
    TraceChip,
    TraceExcerptsParams,
    TraceExplorerParams,
    TraceRows,
    TraceRowsParams,
    TraceSearchParams,
    TraceVersionParams,
)
from nbtools.traces.explorer.timeline import Timeline
from nbtools.traces.model import Call
from tests.traces.column_reader import columns, rows
from tests.traces.explorer import row_fixture
from tests.traces.explorer.samples import CLAUDE, LOGS, sample
from tests.traces.explorer.test_timeline import call, made, message, session

LIMIT = 20.0


@pytest.fixture(scope="module")
def explorer() -> Explorer:
    return nbtools.open_trace(sample(CLAUDE))


def stretch(explorer: Explorer, first: int, count: int, chips: int = 0) -> tuple[TraceRows, list[Any]]:
    params = TraceRowsParams(
        explorer=explorer.id, version=explorer.version, first=first, count=count, chips=chips
    )
    reply, (data,) = explorer.methods.rows(params)
    assert TraceRows.model_validate_json(reply.model_dump_json()) == reply
    assert reply.block
    return reply, rows(reply.block, data)


def all_rows(explorer: Explorer) -> tuple[Sequence[TraceChip], list[Any]]:
    """Loads as a page does: the first screen, then the rest."""
    reply, found = stretch(explorer, 0, 5)
    chips = [*reply.chips]
    while len(found) < reply.total:
        more, rest = stretch(explorer, len(found), 40, len(chips))
        assert more.first_chip == len(chips)
        chips += more.chips
        found += rest
    return chips, found


def chosen(explorer: Explorer, *keys: str) -> list[str]:
    """Returns the numbers of the steps that have one of the chips."""
    chips, found = all_rows(explorer)
    ids = {number for number, chip in enumerate(chips) if chip.key in keys}
    return [row["number"] for row in found if ids & {*row["chips"]}]


@pytest.mark.parametrize("log", LOGS)
def test_the_columns_of_a_log_say_the_same_as_its_lines(log: str) -> None:
    explorer = nbtools.open_trace(sample(log))
    chips, found = all_rows(explorer)
    assert len(found) == len(explorer.lines)
    for row, line, record in zip(found, explorer.lines, explorer.lines.rows, strict=True):
        for name in ("number", "icon", "name", "subject", "right", "tone", "depth", "below"):
            assert row[name] == getattr(line, name)
        assert (row["added"], row["removed"]) == (line.added, line.removed)
        assert row["flags"] == line.call + 2 * line.live
        labels = [chips[number].key for number in row["chips"]]
        assert len(labels) == len(set(labels))
        if isinstance(record, Call):
            assert f"tool:{record.name}" in labels
            known = record.duration is not None or (record.at is not None and record.ended is not None)
            assert math.isnan(row["seconds"]) != known or row["seconds"] >= 0
        ends = {"end:failed", "end:errors", "end:other failures"}.intersection(labels)
        assert len(ends) == (line.tone == "failed")
    assert [chip.facet for chip in chips[:12]] == ["kind"] * 8 + ["end"] * 4


def test_a_file_has_all_steps_that_touched_it_in_any_session(explorer: Explorer) -> None:
    assert chosen(explorer, "path:e2e/agents/agent.go") == ["28", "72.1", "76"]


def test_the_kinds_of_steps_are_chips(explorer: Explorer) -> None:
    _, found = all_rows(explorer)
    assert (len(found), sum(row["flags"] & 1 for row in found)) == (133, 102)
    names = {row["number"]: row["name"] for row in found}
    edits = chosen(explorer, "kind:edits")
    assert {names[number] for number in edits} == {"Write", "Edit"}
    assert set(chosen(explorer, "tool:Edit", "tool:Write")) == set(edits)


def test_a_stretch_beyond_the_end_is_empty_and_one_is_no_longer_than_allowed(explorer: Explorer) -> None:
    assert stretch(explorer, 10**9, 5)[1] == []
    assert len(stretch(explorer, 130, 10**9)[1]) == 3
    assert MAX_ROWS == 25_000


def test_a_page_with_another_version_gets_no_rows(explorer: Explorer) -> None:
    about = {"explorer": explorer.id, "version": 7}
    listed, data = explorer.methods.rows(TraceRowsParams(**about, first=0, count=5))
    assert (listed.version, listed.total, listed.block, data) == (0, 133, None, ())
    tokens, data = explorer.methods.tokens(TraceVersionParams(**about)).result()
    assert (tokens.version, tokens.block, data) == (0, None, ())
    hits, data = explorer.methods.search(TraceSearchParams(**about, text="test"))
    assert (hits.version, hits.block, data) == (0, None, ())
    excerpts = explorer.methods.excerpts(TraceExcerptsParams(**about, text="test", lines=(1,)))
    assert (excerpts.version, excerpts.excerpts) == (0, ())


def test_the_tokens_of_a_request_are_at_the_line_where_its_answer_begins(explorer: Explorer) -> None:
    params = TraceVersionParams(explorer=explorer.id, version=0)
    reply, (data,) = explorer.methods.tokens(params).result()
    assert reply.block
    read = columns(reply.block, data)
    assert len(read["tokens"]) == len(explorer.lines)
    known = {line: size for line, size in enumerate(read["tokens"]) if not math.isnan(size)}
    assert known == explorer.answers.requests.tokens
    assert all(bool(read["text"][line]) == (line in known) for line in range(len(explorer.lines)))


def hits(explorer: Explorer, text: str) -> list[int]:
    """Returns the lines that a finished search found."""
    deadline = time.monotonic() + LIMIT
    params = TraceSearchParams(explorer=explorer.id, version=0, text=text)
    while (found := explorer.methods.search(params))[0].indexed < 100:
        assert time.monotonic() < deadline
    reply, (data,) = found
    assert reply.block
    return columns(reply.block, data)["line"]


def test_a_search_goes_through_all_text_and_marks_what_it_found(explorer: Explorer) -> None:
    found = hits(explorer, "testify")
    lines = explorer.lines.line_by_row
    assert set(found) == {
        lines[id(hit.row)] for hit in explorer.trace.search("testify", 1_000) if id(hit.row) in lines
    }
    assert found == sorted(found)
    params = TraceExcerptsParams(explorer=explorer.id, version=0, text="testify", lines=tuple(found))
    excerpts = explorer.methods.excerpts(params).excerpts
    assert len(excerpts) == len(found)
    assert all(
        any(style == "hit" and text.lower() == "testify" for text, style in excerpt) for excerpt in excerpts
    )
    assert hits(explorer, "no such words anywhere") == []
    assert len(hits(explorer, "package agents")) > 3
    with pytest.raises(TraceError, match="Line 1000000 does not exist"):
        explorer.methods.excerpts(
            TraceExcerptsParams(explorer=explorer.id, version=0, text="a", lines=(10**6,))
        )


class Marked(Facet):
    name, label = "mark", "Mark"

    def __init__(self, **lines: list[int]) -> None:
        self.marked = lines

    def lines(self) -> dict[str, list[int]]:
        return self.marked


def test_an_added_facet_has_its_lines_and_can_change() -> None:
    explorer = nbtools.open_trace(sample(CLAUDE))
    facet = Marked(odd=[3, 5, 9, 40])
    assert explorer.methods.facets(TraceExplorerParams(explorer=explorer.id)).facets == ()
    explorer.add_facet(lambda _: facet)
    (added,) = explorer.methods.facets(TraceExplorerParams(explorer=explorer.id)).facets
    assert (added.name, added.label, added.menu) == ("mark", "Mark", False)
    assert [(one.key, one.lines) for one in added.choices] == [("mark:odd", (3, 5, 9, 40))]
    facet.marked = {"odd": [3], "even": [4]}
    (added,) = explorer.methods.facets(TraceExplorerParams(explorer=explorer.id)).facets
    assert {one.key: one.lines for one in added.choices} == {"mark:odd": (3,), "mark:even": (4,)}


def test_a_choice_that_no_page_can_name_is_left_out() -> None:
    explorer = nbtools.open_trace(sample(CLAUDE))
    explorer.add_facet(lambda _: Marked(**{"half a \ud83d": [1], "whole 🎉": [2]}))
    (added,) = explorer.methods.facets(TraceExplorerParams(explorer=explorer.id)).facets
    assert [choice.key for choice in added.choices] == ["mark:whole 🎉"]


def test_telling_that_facets_have_changed_is_deprecated(explorer: Explorer) -> None:
    with pytest.warns(DeprecationWarning, match="not needed any more"):
        explorer.facets.changed()


def test_the_rows_of_a_hostile_log_can_be_sent() -> None:
    secret = "ghp_" + "a1B2c3D4e5" * 4
    text = f"{secret} \ud800\x1b[31m\u202e"
    calls = [
        replace(call("s", f"c{seq}", seq), name=f"tool-{seq}", subject=text, paths=(f"/{seq}",))
        for seq in range(2_000)
    ]
    odd = replace(call("s", "odd", 3_000), name="\udfff", paths=("\ud800", "x" * 1_000_000))
    long = message("s", 4_000, "y" * 10_000_000)
    trace = made(session("s"), *calls, odd, long)
    explorer = Explorer(trace)
    explorer.__dict__["lines"] = Timeline(trace)
    reply, found = stretch(explorer, 0, 10_000)
    assert json.dumps(reply.model_dump(mode="json"))
    assert secret not in str(found)
    assert all(len(row["subject"]) <= 500 for row in found)
    assert "\x1b" not in str([row["subject"] for row in found])
    assert found[2_000]["chips"] == [3], "what a page cannot ask for is no chip"
    assert len(reply.chips) == 12 + 2 * 2_000


def test_the_rows_in_the_tests_of_the_front_end_are_current() -> None:
    written = Path(row_fixture.TARGET).read_text(encoding="utf-8")
    assert json.loads(written) == row_fixture.fixture(), "run python -m tests.traces.explorer.row_fixture"
