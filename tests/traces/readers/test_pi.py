"""Traps of Pi's sessions, for a naive reader."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nbtools import traces
from nbtools.traces.readers.pi import Pi
from tests.traces.readers.damage import damaged, read_whole, spoilt, written
from tests.traces.recorded import SAMPLES

SAMPLE = SAMPLES / "pi/made--tree.jsonl"
RECORDS: list[Any] = [json.loads(line) for line in SAMPLE.read_text().splitlines()]
HEADER = {"type": "session", "version": 3, "id": "s", "timestamp": "2025-08-01T10:00:00Z", "cwd": "/w"}


def says(name: str, parent: str | None, text: str) -> dict[str, Any]:
    return {"type": "message", "id": name, "parentId": parent, "message": {"role": "user", "content": text}}


def session(path: Path, *entries: dict[str, Any]) -> traces.Trace:
    path.write_bytes(written([HEADER, *entries]))
    return traces.load(path)


def test_calls_and_their_results() -> None:
    trace = traces.load(SAMPLE)
    assert [
        (call.name, call.op, call.status, call.status_source, call.exit_code) for call in trace.calls
    ] == [
        ("read", "read", "ok", "flag", None),
        ("bash", "shell", "error", "flag", 1),
        ("edit", "edit", "ok", "flag", None),
        ("write", "write", "unanswered", "none", None),
    ]
    assert [call.detail.result.partition("\n")[0] for call in trace.calls] == [
        "def price(n):",
        "1 failed",
        "Successfully replaced text in price.py.",
        "",
    ]
    assert "diff" in trace.calls[2].detail.extra
    assert [(one.path, one.added, one.removed) for one in trace.file_changes] == [("price.py", 1, 1)]


def test_a_session_has_a_name_a_cost_and_the_tokens_of_all_branches() -> None:
    (row,) = traces.load(SAMPLE).sessions
    assert (row.title, row.cwd, row.format_version, row.cost) == (
        "Price",
        "/work/shop",
        "3",
        pytest.approx(0.01),
    )
    assert row.native_tokens == {"input": 46, "output": 111, "cache_read": 6000, "cache_write": 410}


@pytest.mark.parametrize(
    ("entries", "left"),
    [
        ([("a", None), ("b", "a"), ("c", "b")], ""),
        ([("a", None), ("b", "a"), ("c", "a")], "b"),
        ([("a", None), ("b", "a"), ("c", "b"), ("d", "a"), ("e", "d")], "bc"),
        ([("a", None), ("b", "a"), ("c", None)], "ab"),
        ([("a", "b"), ("b", "a")], ""),
        ([("a", None), ("b", "lost")], "a"),
    ],
)
def test_entries_that_do_not_lead_to_the_last_were_left(
    tmp_path: Path, entries: list[tuple[str, str | None]], left: str
) -> None:
    trace = session(tmp_path / "s.jsonl", *(says(name, parent, name) for name, parent in entries))
    assert "".join(one.text for one in trace.events if not one.live) == left


def test_version_1_has_no_branches(tmp_path: Path) -> None:
    entries = [
        {key: value for key, value in says(name, None, name).items() if key not in {"id", "parentId"}}
        for name in "abc"
    ]
    assert [(one.text, one.live, one.turn) for one in session(tmp_path / "s.jsonl", *entries).events] == [
        ("a", True, 1),
        ("b", True, 2),
        ("c", True, 3),
    ]


def test_an_unknown_entry_stays_and_is_flagged(tmp_path: Path) -> None:
    trace = session(tmp_path / "s.jsonl", {"type": "dream", "id": "a", "parentId": None, "summary": "x"})
    assert [(one.kind, one.text, one.type) for one in trace.events] == [("system", "x", "dream")]
    assert trace.sessions[0].flags == ("unknown_records",)


@given(data=st.data())
def test_no_content_of_a_session_stops_the_reader(
    tmp_path_factory: pytest.TempPathFactory, data: st.DataObject
) -> None:
    text = written(data.draw(damaged(RECORDS)))
    path = tmp_path_factory.getbasetemp() / "damaged-pi"
    path.write_bytes(data.draw(st.one_of(st.just(text), spoilt(text))))
    read_whole(path, Pi())
