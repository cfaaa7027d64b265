"""A search answers while the texts of the log are still being read, and says how far it is."""

from __future__ import annotations

from pathlib import Path

import pytest

from nbtools.core.errors import TraceError
from nbtools.notebook.explorer.search import Search, SearchResult
from nbtools.notebook.explorer.timeline import timeline
from nbtools.traces import load
from tests.traces.atif_logs import Called, write

MANY = 2_000


@pytest.fixture
def log(tmp_path: Path) -> Path:
    ends = ["early"] * (MANY - 1) + ["late"]
    calls = [Called("Bash", {"command": f"run {number}"}, f"result {number} {end}.") for number, end in enumerate(ends)]
    return write(tmp_path / "log.json", *calls)


def complete(search: Search, text: str) -> SearchResult:
    while (found := search.find(text)).indexed < 100:
        pass
    return found


def test_hits_of_an_unfinished_index_are_some_of_all_and_the_last_answer_has_all(log: Path) -> None:
    trace = load(log)
    lines = timeline(trace)
    trace.searcher.index_more(MANY // 2)
    search = Search(trace, lines)
    with trace.searcher._indexing:  # as while another search is reading texts
        half, none = search.find("early."), search.find("late.")
    assert (len(half.lines), half.indexed) == (MANY // 2, 49)
    assert (list(none.lines), none.indexed) == ([], 49)
    whole = complete(search, "early.")
    assert set(half.lines) < set(whole.lines)
    assert len(whole.lines) == MANY - 1
    assert len(search.find("late.").lines) == 1


def test_a_log_that_was_removed_is_a_problem_of_the_search(log: Path) -> None:
    trace = load(log)
    search = Search(trace, timeline(trace))
    log.unlink()
    with pytest.raises(TraceError, match=r"log\.json"):
        complete(search, "early")
