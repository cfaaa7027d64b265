"""The contents of all sessions are searched like files with grep."""

from __future__ import annotations

import json
import os
import shutil
import sqlite3
import string
import subprocess
import sys
import time

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import nbtools
from nbtools.core.errors import TraceError
from nbtools.traces import load, search_sessions
from nbtools.traces.explorer.search import Search
from nbtools.traces.explorer.timeline import Timeline
from nbtools.traces.query import excerpts
from nbtools.traces.session_index import content_search, contents, index, worker
from nbtools.traces.session_index.content_search import ContentQuery, ContentSearch
from nbtools.traces.session_index.contents import ContentStore
from nbtools.traces.session_index.index import index_path, number_of
from nbtools.traces.session_index.listing import SessionCatalog, SessionQuery
from tests.traces.session_index.home import CLAUDE, LOGS, make_older

STRINGS = [
    *(
        "the",
        "goconst",
        "panic:",
        "failing",
        "Traceback",
        "func(",
        "=>",
        "--no-",
        "src/",
        ".go",
        "err != nil",
    ),
    *(
        '"if err != nil"',
        '"\\n"',
        "e",
        "{}",
        "()",
        "**",
        "0x",
        "ß",
        "é",
        "—",
        "✓",
        "日本",
        "İ",
        "%",
        "_",
        "\\",
    ),
    *("xyzzyplugh", "RUN", "Read", "package main", "a b c", '"', "'", "//", "http://", "TODO", "-", "…"),
]
"""What people search for, and what is difficult: marks, one and two characters, other scripts, quotes."""


def user(number: int, text: str, session: str = "s") -> bytes:
    record = {
        "type": "user",
        "uuid": f"u{number}",
        "parentUuid": f"u{number - 1}" if number else None,
        "sessionId": session,
        "cwd": "/w",
        "timestamp": f"2026-01-05T10:{number // 60 % 60:02}:{number % 60:02}Z",
        "message": {"role": "user", "content": text},
    }
    return json.dumps(record).encode() + b"\n"


def write_log(home, name: str, texts: list[str], age: float = 3600):
    path = home / CLAUDE / f"{name}.jsonl"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(b"".join(user(number, text, name) for number, text in enumerate(texts)))
    make_older(path, age)
    return path


def texts_of(path) -> dict[int, str]:
    """Returns the texts that the explorer searches in a log, by their positions."""
    searcher = load(path).searcher
    return {row.seq: searcher.text(number) for number, row in enumerate(searcher.rows)}


def plain(text: str) -> str:
    """Returns a text as every text is stored: no NUL, no half characters; without differences of case."""
    return text.replace("\0", " ").encode("utf-8", "replace").decode().casefold()


def grep(texts: dict[int, str], query: str) -> tuple[int, ...]:
    """Returns the positions of the texts that contain all words of a query, and its quoted texts."""
    terms = [plain(phrase or word) for phrase, word in excerpts.TERMS.findall(query)]
    found = (at for at, text in texts.items() if terms and all(term in plain(text) for term in terms))
    return tuple(sorted(found))


def search(catalog: SessionCatalog, query: str) -> dict[str, tuple[int, ...]]:
    """Returns the positions of the steps that contain a query, by path."""
    search = ContentSearch(catalog.index, ContentQuery(query))
    search.search(catalog.numbers(SessionQuery()))
    assert search.left == 0
    paths = {number_of(path): path for path in catalog.found.logs}
    return {paths[hit.number]: hit.steps for hit in search.found}


def without_pauses(monkeypatch) -> None:
    for module in (contents, index):
        monkeypatch.setattr(module, "_PAUSE", 0)
        monkeypatch.setattr(module, "_PAUSE_FACTOR", 0)


@pytest.fixture
def indexed(home, catalog):
    catalog.refresh()
    assert catalog.read_now(contents=True)
    return catalog


def test_every_string_is_found_where_grep_finds_it(indexed):
    logs = {str(one.path): texts_of(one.path) for one in indexed.page(SessionQuery())}
    assert sum(len(texts) for texts in logs.values()) > 700
    for query in STRINGS:
        expected = {path: steps for path, texts in logs.items() if (steps := grep(texts, query))}
        assert search(indexed, query) == expected, query


def test_the_explorer_lists_the_steps_that_the_list_counts(indexed):
    for one in indexed.page(SessionQuery()):
        trace = load(one.path)
        lines = Timeline(trace)
        explorer = Search(trace, lines)
        explorer.finish()
        for query in STRINGS:
            found = tuple(sorted(lines.rows[line].seq for line in explorer.find(query).lines))
            assert found == search(indexed, query).get(str(one.path), ()), (one.path, query)


TEXT = st.text(
    st.one_of(
        st.sampled_from("abAB01_ .,:(){}\"'-\n\tßẞſKİıÅåσςΣﬁ日本語ขยёЁ€😀\0\ud800"),
        st.characters(),
        st.sampled_from(string.printable),
    ),
    max_size=60,
)


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(logs=st.lists(st.lists(TEXT, min_size=1, max_size=6), min_size=1, max_size=3), data=st.data())
def test_any_text_is_found_where_it_is(empty_home, monkeypatch, logs, data):
    monkeypatch.setattr(contents, "BLOCK", 64)
    monkeypatch.setattr(contents, "PIECE", 24)
    monkeypatch.setattr(contents, "OVERLAP", 12)
    shutil.rmtree(empty_home / ".claude", ignore_errors=True)
    shutil.rmtree(empty_home / "state", ignore_errors=True)
    paths = [write_log(empty_home, f"s{at}", texts) for at, texts in enumerate(logs)]
    catalog = SessionCatalog()
    try:
        catalog.refresh()
        assert catalog.read_now(contents=True)
        known = {path: texts_of(path) for path in map(str, paths)}
        listed = {str(one.path) for one in catalog.page(SessionQuery())}
        known = {path: texts for path, texts in known.items() if path in listed}
        for _ in range(4):
            text = data.draw(
                st.sampled_from([text for texts in known.values() for text in texts.values()] or [""])
            )
            start = data.draw(st.integers(0, len(text)))
            piece = text[start : start + data.draw(st.integers(1, 6))]
            query = data.draw(
                st.sampled_from([piece, f'"{piece}"', piece.upper(), piece.swapcase(), f"a {piece}"])
            )
            expected = {path: steps for path, texts in known.items() if (steps := grep(texts, query))}
            assert search(catalog, query) == expected, query
    finally:
        catalog.close()


def test_all_words_are_in_one_step_and_quoted_texts_as_they_are(empty_home, catalog):
    write_log(
        empty_home, "one", ["Fix the price.", "the fix: a price of 3", "price fixed", "Fix it", "the price"]
    )
    catalog.refresh()
    catalog.read_now(contents=True)
    steps = {
        query: next(iter(search(catalog, query).values()), ()) for query in ("fix price", '"fix the" price')
    }
    assert steps == {"fix price": (0, 1, 2), '"fix the" price': (0,)}
    assert search(catalog, "") == search(catalog, "  ") == {}


def test_a_growing_log_keeps_its_blocks_and_a_shorter_one_loses_them(empty_home, catalog, monkeypatch):
    monkeypatch.setattr(contents, "BLOCK", 2_000)
    without_pauses(monkeypatch)
    texts = [f"needle{number:03} {'x' * 300}" for number in range(40)]
    path = write_log(empty_home, "one", texts)

    def blocks() -> list[int]:
        return [number for (number,) in catalog.index.read("SELECT rowid FROM blocks ORDER BY position")]

    def read_again() -> None:
        catalog.refresh()
        assert catalog.read_now(contents=True)

    read_again()
    before = blocks()
    assert len(before) > 5
    with path.open("ab") as file:
        file.write(user(40, "needle040 added"))
    read_again()
    assert before[:-1] == blocks()[: len(before) - 1]
    assert search(catalog, "needle040") == {str(path): (40,)}
    assert search(catalog, "needle000") == {str(path): (0,)}
    write_log(empty_home, "one", texts[10:12])
    read_again()
    assert search(catalog, "needle000") == search(catalog, "needle040") == {}
    assert search(catalog, "needle011") == {str(path): (1,)}
    path.unlink()
    catalog.refresh()
    assert catalog.index.read("SELECT (SELECT count(*) FROM blocks) + (SELECT count(*) FROM contents)") == [
        (0,)
    ]


def test_hostile_logs_are_searched_as_well(empty_home, catalog):
    folder = empty_home / CLAUDE
    write_log(empty_home, "word", ["start", "w" * 20_000_000 + "END", "other"])
    write_log(empty_home, "half", ["nul \0 here", "half \ud800 pair", "ok"])
    (folder / "line.jsonl").write_bytes(b'{"type": "user", "x": "' + b"y" * 5_000_000)
    (folder / "bytes.jsonl").write_bytes(user(0, "before") + os.urandom(300_000) + b"\n" + user(1, "after"))
    catalog.refresh()
    started = time.monotonic()
    assert catalog.read_now(contents=True)
    assert time.monotonic() - started < 60
    assert search(catalog, "wwwEND") == {str(folder / "word.jsonl"): (1,)}
    assert search(catalog, "nul here") == {str(folder / "half.jsonl"): (0,)}
    assert list(search(catalog, "after")) == [str(folder / "bytes.jsonl")]


@pytest.mark.parametrize("limit", ["MAX_TEXT", "MAX_SECONDS"])
def test_a_log_that_is_too_large_is_named(empty_home, catalog, monkeypatch, limit):
    path = write_log(empty_home, "large", ["word " * 100, "word"])
    write_log(empty_home, "small", ["word"])
    monkeypatch.setattr(contents, limit, 300 if limit == "MAX_TEXT" else -1)
    found = search_sessions("word")
    assert [match.log.path.stem for match in found] == (["small"] if limit == "MAX_TEXT" else [])
    assert "too large" in found.problems[path]
    assert found.missing == 0
    assert "not searched completely" in str(found)


def test_a_process_that_is_killed_leaves_nothing_wrong(home, catalog):
    catalog.refresh()
    code = (
        "import os, nbtools.traces.session_index.contents as contents, nbtools.traces.session_index.worker as worker\n"
        "from nbtools.traces.session_index.index import SessionIndex\n"
        "block, made = contents._block, []\n"
        "def die(*values):\n"
        "    made.append(1)\n"
        "    len(made) == 5 and os._exit(9)\n"
        "    return block(*values)\n"
        "contents._block = die\n"
        "worker.work(SessionIndex())\n"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 9
    with sqlite3.connect(index_path()) as database:
        half = "SELECT count(*) FROM blocks WHERE number NOT IN (SELECT number FROM contents)"
        assert database.execute(half).fetchone() == (0,)
        assert database.execute("SELECT count(*) FROM contents").fetchone()[0] in range(1, len(LOGS))
    assert catalog.read_now(contents=True)
    texts = {str(one.path): texts_of(one.path) for one in catalog.page(SessionQuery())}
    assert search(catalog, "the") == {
        path: steps for path, one in texts.items() if (steps := grep(one, "the"))
    }


def test_a_log_that_ends_its_reader_is_given_up_and_named(home, catalog):
    path = home / CLAUDE / "9d5beed4.jsonl"
    catalog.refresh()
    for _ in range(3):
        catalog.index.begin_figures(str(path))
    assert catalog.read_now(contents=True)
    found = search_sessions("the")
    assert found.problems == {path: "it cannot be read"}


def test_a_log_that_was_indexed_and_then_ends_its_reader_has_changed_since(indexed):
    path = str(indexed.page(SessionQuery())[0].path)
    indexed.index.write(lambda connection: connection.execute("UPDATE logs SET size = size + 1, tries = 3"))
    store = ContentStore(indexed.index)
    assert store.missing([number_of(path)]) == (0, 1, {})


def test_a_log_whose_reading_is_interrupted_has_all_its_tries_again(home, catalog, monkeypatch):
    catalog.refresh()

    def interrupt(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(worker, "read_figures", interrupt)
    for _ in range(4):
        with pytest.raises(KeyboardInterrupt):
            catalog.read_now(contents=True)
    monkeypatch.undo()
    assert catalog.index.read("SELECT max(tries) FROM logs") == [(0,)]
    assert worker.reading == []


def test_the_end_of_the_background_process_is_not_the_fault_of_the_log(home, catalog):
    catalog.refresh()
    code = (
        "import sys, threading, nbtools.traces.session_index.worker as worker\n"
        "def wait(*_):\n"
        "    print('reading', flush=True)\n"
        "    threading.Event().wait()\n"
        "worker.read_figures = wait\n"
        "worker.main()\n"
    )
    for _ in range(4):
        process = subprocess.Popen(
            [sys.executable, "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        with process:
            assert process.stdout.readline() == "reading\n"
    assert catalog.index.read("SELECT max(tries) FROM logs") == [(0,)]


def test_a_query_of_many_words_looks_for_few_of_them_in_the_words_of_all_blocks(indexed):
    query = ContentQuery(" ".join(f"word{number}" for number in range(140)))
    conditions, values = query.selection()
    assert len(conditions) == len(query.terms) > 100
    assert len(values) == 4
    texts = {str(one.path): texts_of(one.path) for one in indexed.page(SessionQuery())}
    for text in ("the a of in to e", "the a of in to e xyzzyplugh"):
        assert search(indexed, text) == {
            path: steps for path, one in texts.items() if (steps := grep(one, text))
        }


def test_answers_come_in_parts_the_latest_first(indexed):
    numbers = indexed.numbers(SessionQuery())
    search = ContentSearch(indexed.index, ContentQuery("e"))
    parts = []
    for left in range(len(numbers) - 1, -1, -1):
        search.search(numbers, 0)
        assert search.left == left
        parts.append(len(search.found))
    found = [hit.number for hit in search.found]
    assert found == [number for number in numbers if number in set(found)]
    search.search(numbers, 0)
    assert len(search.found) == parts[-1]  # nothing is searched twice


def test_a_log_that_has_changed_is_searched_again(empty_home, catalog, monkeypatch):
    without_pauses(monkeypatch)
    path = write_log(empty_home, "one", ["apple", "pear"])
    write_log(empty_home, "two", ["apple"])
    search = ContentSearch(catalog.index, ContentQuery("apple"))
    catalog.refresh()
    catalog.read_now(contents=True)
    search.search(catalog.numbers(SessionQuery()))
    assert [hit.steps for hit in search.found] == [(0,), (0,)]
    path.write_bytes(user(0, "pear only", "one"))
    catalog.refresh()
    catalog.read_now(contents=True)
    search.search(catalog.numbers(SessionQuery()))
    assert [(hit.number, hit.steps) for hit in search.found[2:]] == [(number_of(str(path)), ())]


def test_many_new_logs_are_counted_first_and_a_changed_one_is_read_once(empty_home, catalog, monkeypatch):
    monkeypatch.setattr(worker, "_BATCH", 3)
    for number in range(5):
        write_log(empty_home, f"s{number}", [f"word {number}"])
    reads = []
    read_log = worker.read_log
    monkeypatch.setattr(
        worker,
        "read_log",
        lambda index, path, state, *, contents: (
            reads.append(contents),
            read_log(index, path, state, contents=contents),
        ),
    )
    catalog.refresh()
    assert catalog.read_now(contents=True)
    assert reads == [False, False, False, True, True, True, True, True]
    reads.clear()
    write_log(empty_home, "s9", ["word 9"])
    catalog.refresh()
    assert catalog.read_now(contents=True)
    assert reads == [True]


def test_sessions_are_searched_from_python(home):
    found = search_sessions('"func test"', agent="claude")
    assert len(found) > 0
    match = found[0]
    assert match.log.agent == "claude-code"
    assert "func test" in match.excerpt.lower()
    assert len(match.excerpt) < 300
    assert match.hits == len(match.seqs)
    explorer = nbtools.open_trace(match)
    row = explorer.lines.rows[explorer.step]
    assert row.seq == match.seq
    with pytest.raises(TraceError, match="no known agent"):
        search_sessions("x", agent="nobody")


def test_an_excerpt_shows_the_case_of_the_log(empty_home):
    write_log(empty_home, "one", ["Straße: AKIA Wert", "İİİİ Émile ÉCOLE " + "ß" * 50 + " Ende"])
    assert search_sessions("STRASSE")[0].surroundings == "Straße: AKIA Wert"
    assert "ÉCOLE" in search_sessions("école")[0].excerpt


def test_a_missing_index_of_contents_is_named(home, catalog):
    catalog.refresh()
    catalog.read_now()
    found = content_search.matches_of(catalog, SessionQuery(), "the", seconds=-1)
    assert found.missing == len(catalog.page(SessionQuery()))
    assert not found
    assert "not indexed yet" in str(found)
