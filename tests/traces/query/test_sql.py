"""SQL over a trace answers as its rows say."""

from __future__ import annotations

import gc
import sys
import weakref
from pathlib import Path

import pytest

from nbtools import traces
from nbtools.traces.query.sql import SESSION_COUNTS
from tests.traces.atif_logs import Called, many, write


@pytest.fixture
def trace(tmp_path: Path) -> traces.Trace:
    steps = (
        "hello",
        Called("Bash", {"command": "ls"}, "a\nb"),
        Called("Edit", {"file_path": "x.py"}),
        Called("Bash", {"command": "pwd"}, None),
    )
    return traces.load(write(tmp_path / "log.json", *steps))


def test_calls_are_counted(trace: traces.Trace) -> None:
    found = trace.sql("select name, count(*) as n from calls group by name order by n desc")
    assert found.fetchall() == [("Bash", 2), ("Edit", 1)]
    assert found.columns == ("name", "n")
    assert len(found) == 2


def test_texts_are_read_from_the_log(trace: traces.Trace) -> None:
    assert trace.sql("select result, args from calls where result like 'a%'").fetchall() == [
        ("a\nb", '{"command": "ls"}')
    ]
    assert trace.sql(
        "select json_extract_string(args, '$.file_path') from calls where op = 'edit'"
    ).fetchall() == [("x.py",)]
    assert trace.sql("select full_text from events where seq = 0").fetchall() == [("hello",)]


def test_tables_are_joined(trace: traces.Trace) -> None:
    query = "select s.agent, f.path, c.status from file_changes f join calls c on c.id = f.call join sessions s on s.id = c.session"
    assert trace.sql(query).fetchall() == [("maker", "x.py", "unknown")]


def test_the_columns_are_those_of_the_frames(trace: traces.Trace) -> None:
    for name in ("sessions", "events", "calls", "file_changes", "problems"):
        found = trace.sql(f"from {name}").to_arrow()
        frame = getattr(trace, name).to_arrow()
        assert found.column_names == [*frame.column_names, *(SESSION_COUNTS if name == "sessions" else ())]
        assert found.select(frame.column_names).to_pylist() == frame.to_pylist()


def test_a_query_that_wants_no_text_reads_nothing_from_the_log(trace: traces.Trace) -> None:
    trace.readings[0].source.path.unlink()
    assert trace.sql("select count(*) from calls").fetchall() == [(3,)]
    with pytest.raises(traces.TraceError, match="No such file"):
        trace.sql("select args from calls")


def test_frames(trace: traces.Trace) -> None:
    found = trace.sql("select seq, name, time from calls order by seq")
    assert list(found.to_pandas()["name"]) == ["Bash", "Edit", "Bash"]
    assert found.to_polars()["name"].to_list() == ["Bash", "Edit", "Bash"]


def test_two_columns_of_one_name_are_two_columns(trace: traces.Trace) -> None:
    assert trace.sql("select 1 as a, 2 as a, 3 as a").to_polars().rows() == [(1, 2, 3)]


def test_a_wrong_query_says_what_is_wrong(trace: traces.Trace) -> None:
    with pytest.raises(traces.TraceError, match="nothing_of_ours"):
        trace.sql("select * from nothing_of_ours")
    assert trace.sql("select 1").fetchall() == [(1,)]


def test_a_statement_without_rows_has_an_answer(trace: traces.Trace) -> None:
    trace.sql("create table kept as select name from calls")
    assert trace.sql("select count(*) from kept").fetchall() == [(3,)]
    assert trace.sql("set threads = 1").fetchall() == []


def test_names_of_python_are_no_tables(trace: traces.Trace) -> None:
    mine = trace.calls.to_arrow()
    with pytest.raises(traces.TraceError, match="mine"):
        trace.sql("select * from mine")
    assert mine.num_rows == 3


def test_in_a_notebook_it_is_a_table_of_text(trace: traces.Trace) -> None:
    shown = trace.sql("select '<script>' as x, null as y")._repr_html_()
    assert "&lt;script&gt;" in shown
    assert "<script>" not in shown
    assert "1 row × 2 columns" in shown


def test_a_long_answer_is_cut_and_says_so(tmp_path: Path) -> None:
    shown = traces.load(write(tmp_path / "log.json", *many(60))).sql("select seq from calls")._repr_html_()
    assert shown.count("<tr>") == 51
    assert "10 more" in shown
    assert "60 rows × 1 column<" in shown


def test_numbers_are_aligned_to_the_right_and_times_are_readable(trace: traces.Trace) -> None:
    shown = trace.sql(
        "select 1234567 as n, 0.25 as r, 'a' as t, timestamptz '2026-01-02 03:04:05.678Z' as time, ['x', 'y'] as l"
    )._repr_html_()
    assert ["text-align:right" in cell for cell in shown.split("<td")[1:]] == [
        True,
        True,
        False,
        False,
        False,
    ]
    for text in (
        ">1,234,567<",
        ">0.25<",
        ">2026-01-02 03:04:05<",
        'title="2026-01-02T03:04:05.678000+00:00"',
        ">x, y<",
    ):
        assert text in shown


def test_long_text_is_whole_in_its_title(trace: traces.Trace) -> None:
    shown = trace.sql("""select repeat('"ab ', 300) as x""")._repr_html_()
    assert shown.count("&#34;ab ") == 300 + 50
    assert "…</td>" in shown


@pytest.mark.parametrize("name", ["duckdb", "pyarrow"])
def test_missing_packages_are_named(trace: traces.Trace, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    monkeypatch.setitem(sys.modules, name, None)
    with pytest.raises(traces.TraceError, match=r'pip install "nbtools-agent\[traces\]"'):
        trace.sql("select 1")


def test_a_queried_trace_is_not_held_in_memory(tmp_path: Path) -> None:
    trace = traces.load(write(tmp_path / "log.json", *many(3)))
    trace.sql("select args from calls")
    call = weakref.ref(trace.readings[0].source)
    del trace
    gc.collect()
    assert call() is None
