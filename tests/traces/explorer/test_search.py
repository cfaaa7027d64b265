"""A search answers while the texts of the log are still being read, and says how far it is."""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import Future
from pathlib import Path

import pytest

from nbtools.core.background import run_in_background, wait_briefly
from nbtools.core.errors import TraceError
from nbtools.traces import load
from nbtools.traces.explorer.explorer import Explorer
from nbtools.traces.explorer.saved_filters import SavedFilter
from nbtools.traces.explorer.search import Search, SearchResult
from nbtools.traces.explorer.timeline import Timeline
from nbtools.traces.query.text_store import TextStore
from tests.traces.atif_logs import Called, write

MANY = 2_000


@pytest.fixture
def log(tmp_path: Path) -> Path:
    ends = ["early"] * (MANY - 1) + ["late"]
    calls = [
        Called("Bash", {"command": f"run {number}"}, f"result {number} {end}.")
        for number, end in enumerate(ends)
    ]
    return write(tmp_path / "log.json", *calls)


def complete(search: Search, text: str) -> SearchResult:
    while (found := search.find(text)).indexed < 100:
        pass
    return found


def test_hits_of_an_unfinished_index_are_some_of_all_and_the_last_answer_has_all(log: Path) -> None:
    trace = load(log)
    lines = Timeline(trace)
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
    search = Search(trace, Timeline(trace))
    log.unlink()
    with pytest.raises(TraceError, match=r"log\.json"):
        complete(search, "early")


def raised_within(seconds: float, work: Callable[[], object]) -> BaseException | None:
    """Returns what ``work`` raises; fails where it has not ended after so many seconds."""
    raised: list[BaseException | None] = []

    def run() -> None:
        try:
            work()
        except BaseException as error:  # noqa: BLE001 - it is what the test looks at
            raised.append(error)
        else:
            raised.append(None)

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    thread.join(seconds)
    assert raised, "it is still waiting"
    return raised[0]


def test_whatever_the_index_raises_reaches_those_who_wait_and_starts_no_second_thread(
    log: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    trace = load(log)
    explorer, search = Explorer(trace), Search(trace, Timeline(trace))

    def full(*_: object) -> None:
        raise MemoryError  # no TraceError

    monkeypatch.setattr(TextStore, "add", full)
    before = threading.active_count()
    for work in (
        lambda: explorer.rows_under(SavedFilter(name="", text="early")),
        lambda: complete(search, "early"),
        search.finish,
    ):
        assert isinstance(raised_within(20, work), MemoryError)
    assert threading.active_count() <= before + 1


def test_an_exception_of_background_work_is_raised_by_the_wait_for_it() -> None:
    def fail() -> None:
        raise OSError("the disk")

    for error in (
        raised_within(20, run_in_background(fail, "fails").result),
        raised_within(20, lambda: wait_briefly(failed(), 20)),
    ):
        assert isinstance(error, OSError)


def failed() -> Future[None]:
    future: Future[None] = Future()
    future.set_exception(OSError("the disk"))
    return future
