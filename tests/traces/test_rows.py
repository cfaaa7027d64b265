"""Rows become frames whose columns are always the same, whatever stands in a log."""

from __future__ import annotations

import sys
from datetime import UTC, datetime
from pathlib import Path

import pytest

from nbtools import traces
from nbtools.traces.query.tables import COLUMNS, TABLES, arrow_table, schema
from tests.traces.atif_logs import Called, many, write
from tests.traces.recorded import LOGS, SAMPLES

LONG = "It begins here. " + "word " * 200 + "and ends there."


@pytest.fixture
def log(tmp_path: Path) -> Path:
    return write(
        tmp_path / "log.json",
        LONG,
        Called("Bash", {"command": "ls"}, "a\nb"),
        Called("Write", {"file_path": "x.py"}),
        session="s",
    )


def test_calls_have_the_texts_that_stay_in_the_log(log: Path) -> None:
    table = traces.load(log).calls.to_arrow()
    first, second = table.to_pylist()
    assert (first["name"], first["op"], first["args"], first["result"]) == (
        "Bash",
        "shell",
        '{"command": "ls"}',
        "a\nb",
    )
    assert second["paths"] == ["x.py"]
    assert first["time"] == datetime(2026, 1, 2, 3, 4, 2, tzinfo=UTC)
    assert first["source"] == str(log)


def test_events_have_their_whole_text_beside_its_beginning(log: Path) -> None:
    event = traces.load(log).events.to_arrow().to_pylist()[0]
    assert event["full_text"] == LONG
    assert event["text"] == LONG[: traces.model.PREVIEW]


def test_a_session_has_a_column_for_each_kind_of_token(log: Path) -> None:
    session = traces.load(log).sessions.to_arrow().to_pylist()[0]
    assert session["id"] == "s"
    assert session["input_tokens"] is None
    assert '"schema_version": "ATIF-v1.8"' in session["counts"]


@pytest.mark.parametrize("name", TABLES)
def test_a_table_without_rows_has_all_columns(name: str) -> None:
    kind = TABLES[name]
    table = arrow_table([], kind)
    assert table.schema == schema(kind)
    assert set(COLUMNS[kind]) < set(table.column_names)


def test_every_field_of_a_row_is_a_column() -> None:
    told = {
        "at": {"time"},
        "origin": set(),
        "source": set(),
        "sample": set(),
        "metrics": set(),
        "sent": set(),
        "seqs": {"seqs", "seq", "last_seq"},
    }
    told["tokens"] = {f"{name}_tokens" for name in (*traces.Tokens.__struct_fields__, "uncached_input")}
    told["by_sub_agent"] = {"by_sub_agent", "has_failed"}
    for kind, columns in COLUMNS.items():
        fields = kind.__struct_fields__  # type: ignore[attr-defined]
        assert set().union(*(told.get(name, {name}) for name in fields)) == set(columns)


def test_a_slice_and_a_page_are_rows(log: Path) -> None:
    calls = traces.load(log).calls
    assert calls[1:].to_arrow().column("name").to_pylist() == ["Write"]
    assert calls[1:].to_arrow().column("source").to_pylist() == [str(log)]
    assert calls[0].name == "Bash"


def test_more_rows_than_are_read_at_a_time(tmp_path: Path) -> None:
    calls = traces.load(write(tmp_path / "log.json", *many(2_500, size=10))).calls
    commands = calls.to_arrow().column("args").to_pylist()
    assert len(commands) == 2_500
    assert "number2499 " in commands[-1]


def test_frames(log: Path) -> None:
    calls = traces.load(log).calls
    assert list(calls.to_pandas()["name"]) == ["Bash", "Write"]
    assert calls.to_polars()["name"].to_list() == ["Bash", "Write"]


def test_values_that_a_column_cannot_hold_are_null_and_half_characters_are_replaced(log: Path) -> None:
    trace = traces.load(log)
    odd = traces.Event(session="\ud800", seq=10**30, kind="user", at=1e300, text="fine", live="no")  # type: ignore[arg-type]
    row = arrow_table([trace.events[0], odd], traces.Event).to_pylist()[1]
    assert (row["session"], row["seq"], row["time"], row["text"], row["live"]) == (
        "?",
        None,
        None,
        "fine",
        None,
    )


def test_a_log_that_became_shorter_is_reported(log: Path) -> None:
    calls = traces.load(log).calls
    log.write_text("{}")
    with pytest.raises(traces.TraceError, match="shorter"):
        calls.to_arrow()


def test_missing_packages_are_named(log: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    calls = traces.load(log).calls
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(traces.TraceError, match="pip install pandas"):
        calls.to_pandas()


@pytest.mark.parametrize("sample", LOGS)
def test_texts_of_a_sample_are_whole(sample: str) -> None:
    trace = traces.load(SAMPLES / sample)
    for event in trace.events.to_arrow().to_pylist():
        assert event["full_text"].startswith(event["text"])
        assert len(event["full_text"]) >= event["size"]
    assert None not in trace.calls.to_arrow().column("args").to_pylist()
