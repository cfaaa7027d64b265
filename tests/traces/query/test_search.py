"""Words and pieces of code are found in messages, calls and output."""

from __future__ import annotations

from pathlib import Path

import pytest

from nbtools import traces
from nbtools.traces.query import search
from nbtools.traces.query.excerpts import snippet
from nbtools.traces.query.search import Searcher
from tests.traces.atif_logs import Called, write
from tests.traces.recorded import LOGS, SAMPLES

LONG = "word " * 200 + "the needle at the end"


@pytest.fixture
def trace(tmp_path: Path) -> traces.Trace:
    steps = (
        "I look for the failing test first.",
        Called(
            "Bash",
            {"command": "pytest --no-header tests/test_parse.py"},
            "E  assert MyParser.read_all('x') == 3",
        ),
        Called("Edit", {"file_path": "src/app/parse.py", "old_string": "a", "new_string": "naïve"}, "ok"),
        LONG,
    )
    return traces.load(write(tmp_path / "log.json", *steps))


@pytest.mark.parametrize(
    ("query", "found"),
    [
        ("failing", ["I"]),
        ("FAILING test", ["I"]),
        ("test failing", ["I"]),
        ('"failing test"', ["I"]),
        ('"test failing"', []),
        ("fail*", []),
        ("ail irs", ["I"]),  # stand nowhere as words
        ("needle", ["word"]),  # beyond what the row has
        ("NAÏVE", ["Edit"]),
        ("naive", []),
        ("failing failing", ["I"]),
        ("--no-header", ["Bash"]),
        ("test_parse.py", ["Bash"]),
        ("parser.read_all('", ["Bash"]),
        ("MyParser", ["Bash"]),
        ("Parser", ["Bash"]),
        ("src/app", ["Edit"]),
        ("I look needle", []),  # in two steps
        ("nowhere", []),
        ("", []),
        ("*", []),
        ('"', []),
        ("'; drop table words; --", []),
        ("NEAR(a b)", []),
    ],
)
def test_a_query_finds(trace: traces.Trace, query: str, found: list[str]) -> None:
    rows = [hit.row for hit in trace.search(query)]
    assert [row.name if isinstance(row, traces.Call) else row.text.split()[0] for row in rows] == found


def test_a_hit_shows_where_it_stands(trace: traces.Trace) -> None:
    (hit,) = trace.search("needle")
    assert hit.row is trace.events[-1]
    assert hit.snippet.startswith("…")
    assert hit.snippet.endswith("the needle at the end")
    (call,) = trace.search("MyParser.read")
    assert call.row is trace.calls[0]
    assert "assert MyParser.read_all" in call.snippet


def test_the_requested_number_of_hits_is_in_reading_order(tmp_path: Path) -> None:
    found = traces.load(write(tmp_path / "log.json", *[f"same word {n}" for n in range(30)])).search(
        "word", limit=7
    )
    assert [hit.row.seq for hit in found] == list(range(7))


@pytest.mark.parametrize(
    ("query", "excerpt"), [("two words", "a two words b"), ("b x", "a two words b"), ("q", "a two words b")]
)
def test_a_snippet_is_one_line(query: str, excerpt: str) -> None:
    assert snippet("a  two\n\twords b", query) == excerpt


def test_an_excerpt_is_contiguous(tmp_path: Path) -> None:
    trace = traces.load(write(tmp_path / "log.json", "x.abc bcd.y", "it is x.abcd.y"))
    assert [hit.row.text for hit in trace.search(".abcd.")] == ["it is x.abcd.y"]
    assert trace.search("abcde") == ()


def test_a_step_that_is_gone_is_found_no_more(tmp_path: Path) -> None:
    before = traces.load(write(tmp_path / "before.json", "it has x.abcd.y", "it stays"))
    after = traces.load(write(tmp_path / "after.json", "it stays"))
    searcher = Searcher(before.events, before.calls)
    queries = ("has", "bcd", "x.abcd")
    assert [len(searcher.find(query, 9)) for query in queries] == [1, 1, 1]
    searcher.update(after.events, after.calls)
    assert [len(searcher.find(query, 9)) for query in (*queries, "stays")] == [0, 0, 0, 1]


@pytest.mark.parametrize("log", LOGS)
def test_texts_without_displays_are_those_of_the_detail(log: str) -> None:
    for call in traces.load(SAMPLES / log).calls[:200]:
        light, whole = call.origin.texts(call), call.detail
        names = ("args", "command", "cwd", "result", "stdout", "stderr")
        assert [getattr(light, name) for name in names] == [getattr(whole, name) for name in names]


def test_long_texts_are_read_a_few_at_a_time(trace: traces.Trace, monkeypatch: pytest.MonkeyPatch) -> None:
    """All outputs of a log together may have hundreds of megabytes."""
    monkeypatch.setattr(search, "_INDEX_CHARACTERS", 60)
    searcher = Searcher(trace.events, trace.calls)
    read = []
    while searcher.index_more():
        read.append(searcher.indexed_fraction * len(searcher.rows))
    assert read == [2, 4]
    assert [found.row for found in searcher.find("needle", 9)] == [searcher.rows[-1]]
