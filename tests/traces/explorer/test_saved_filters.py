"""Filters are saved by name, and found again in every explorer and in Python."""

from __future__ import annotations

import multiprocessing
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nbtools import traces
from nbtools.core.errors import TraceError
from nbtools.traces import Trace, load
from nbtools.traces.explorer.explorer import Explorer
from nbtools.traces.explorer.saved_filters import FilterFile, SavedFilter
from nbtools.traces.model import Call
from nbtools.traces.reviews.review import review
from tests.traces.explorer.asking import Problem, ask, hits, listed, with_chip
from tests.traces.reviews.logs import Log

FAILED = SavedFilter(name="failed", chips=("end:failed",))


@pytest.fixture
def file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> FilterFile:
    monkeypatch.setenv("NBTOOLS_STATE", str(tmp_path / "state"))
    return FilterFile()


@pytest.fixture
def trace(tmp_path: Path) -> Trace:
    log = (
        Log()
        .person("Please build it.")
        .bash("ls")
        .bash("make", failed=True)
        .edit("/a", "x", "y")
        .bash("make", failed=True)
    )
    return load(log.bash("git status").agent("All tests pass.").write(tmp_path / "log.jsonl"))


def names(file: FilterFile) -> list[str]:
    return list(file.filters())


def test_save_rename_delete(file: FilterFile) -> None:
    edits = SavedFilter(name=" Big edits ", text="x", chips=("kind:edits", "tool:Edit"), order="tokens")
    file.save(FAILED)
    file.save(edits)
    again = FilterFile()
    assert again.filters() == {"Big edits": edits.model_copy(update={"name": "Big edits"}), "failed": FAILED}
    again.rename("Big edits", "Zz")
    assert names(file) == ["failed", "Zz"]
    file.rename("Zz", "zz")
    file.rename("zz", " zz ")
    file.delete("failed")
    assert names(again) == ["zz"]
    file.save(FAILED)
    assert names(again) == ["failed", "zz"]
    assert file.path.stat().st_mode & 0o777 == 0o600


@pytest.mark.parametrize(
    "name",
    ["", "  ", "x" * 101, "x" * 10_000, "a\nb", "a\x00b", "a\u202eb", "a\u200bb", "\ud800"],
    ids=lambda name: ascii(name[:9]),
)
def test_an_invalid_name_is_refused(file: FilterFile, name: str) -> None:
    file.save(FAILED)
    with pytest.raises(TraceError, match="no name"):
        file.save(SavedFilter.model_construct(name=name, text="x", chips=(), order=""))
    with pytest.raises(TraceError, match="no name"):
        file.rename("failed", name)
    assert names(file) == ["failed"]


def test_nothing_is_replaced(file: FilterFile) -> None:
    file.save(FAILED)
    other = SavedFilter(name="other", text="y")
    file.save(other)
    with pytest.raises(TraceError, match="already"):
        file.save(SavedFilter(name="failed", text="mine"))
    with pytest.raises(TraceError, match="already"):
        file.rename("other", "failed")
    with pytest.raises(TraceError, match="no saved filter"):
        file.delete("gone")
    with pytest.raises(TraceError, match="no saved filter"):
        file.rename("gone", "new")
    with pytest.raises(TraceError, match="Nothing is filtered"):
        file.save(SavedFilter(name="empty"))
    with pytest.raises(TraceError, match="more than"):
        file.save(SavedFilter(name="huge", chips=("x" * 10_000,) * 9))
    assert file.filters() == {"failed": FAILED, "other": other}


def test_there_is_a_limit(file: FilterFile) -> None:
    for number in range(200):
        file.save(SavedFilter(name=f"{number}", text="x"))
    with pytest.raises(TraceError, match="no more are possible"):
        file.save(FAILED)


def _save(path: str, writer: int) -> None:
    for number in range(20):
        FilterFile(Path(path)).save(SavedFilter(name=f"{writer} {number}", text="x"))


def test_several_writers_lose_nothing(file: FilterFile) -> None:
    context = multiprocessing.get_context("spawn")
    writers = [context.Process(target=_save, args=(str(file.path), writer)) for writer in range(3)]
    for writer in writers:
        writer.start()
    for writer in writers:
        writer.join()
    assert len(names(file)) == 60


@given(
    lines=st.lists(
        st.binary(max_size=80)
        | st.sampled_from([b'{"name": 5}', b"[" * 100_000, b'{"name":"x","text":"y","deleted":1}'])
    )
)
def test_other_lines_of_the_file_are_left_out(
    lines: list[bytes], tmp_path_factory: pytest.TempPathFactory
) -> None:
    file = FilterFile(tmp_path_factory.mktemp("state") / "explorer/filters.jsonl")
    file.save(FAILED)
    with file.path.open("ab") as opened:
        opened.write(b"\n".join(lines))
    assert file.filters()["failed"] == FAILED
    file.save(SavedFilter(name="after", text="x"))
    assert {"failed", "after"} <= set(names(file))


def test_a_trace_is_filtered_as_the_explorer_does(file: FilterFile, trace: Trace) -> None:
    explorer = Explorer(trace)
    filters = [
        FAILED,
        SavedFilter(name="shell and failed", chips=("kind:shell", "end:failed")),
        SavedFilter(name="text", text="make", order="duration"),
        SavedFilter(name="of a tool that this log does not have", chips=("tool:Task",)),
        SavedFilter(name="said or edits", chips=("kind:said", "kind:edits")),
    ]
    for one in filters:
        file.save(one)
        found = [explorer.step_of(row) for row in traces.filter(trace, one.name)]
        matching = set(hits(explorer, one.text)) if one.text else set(range(explorer.size))
        for facet in ("kind", "end", "tool"):
            chosen = [chip for chip in one.chips if chip.startswith(f"{facet}:")]
            if chosen:
                matching &= {row["line"] for row in with_chip(explorer, *chosen)}
        rows = [row for row in listed(explorer) if row["line"] in matching]
        if one.order:
            rows.sort(key=lambda row: -row["seconds"] if row["seconds"] >= 0 else 1)
        assert found == [row["number"] for row in rows]
    assert [row.subject for row in traces.filter(trace, "failed")] == ["make", "make"]
    assert traces.filter(trace, "of a tool that this log does not have") == []


def test_chips_of_the_review_and_of_signals(file: FilterFile, trace: Trace) -> None:
    review(trace).verdict(trace.calls[0], "fail")
    file.save(SavedFilter(name="reviewed", chips=("review:fail",)))
    file.save(SavedFilter(name="signals", chips=("signal:tests claimed, not run",)))
    assert traces.filter(trace, "reviewed") == [trace.calls[0]]
    (message,) = traces.filter(trace, "signals")
    assert not isinstance(message, Call)
    assert message.text == "All tests pass."


def test_a_filter_that_a_trace_does_not_know(file: FilterFile, trace: Trace) -> None:
    with pytest.raises(TraceError, match="No filter is saved yet"):
        traces.filter(trace, "failed")
    file.save(SavedFilter(name="mine", chips=("mine:x",)))
    with pytest.raises(TraceError, match="Saved are: mine"):
        traces.filter(trace, "failed")
    with pytest.raises(TraceError, match="Unknown filter: mine:x"):
        traces.filter(trace, "mine")


def test_pages_of_two_explorers(file: FilterFile, trace: Trace) -> None:
    pages = Explorer(trace), Explorer(trace)
    filter_ = {"name": "<b>&", "text": '"<script>"'}
    saved = ask(pages[0], "saved_filters", action="save", filter=filter_)
    assert [one.name for one in saved.filters] == ["<b>&"]
    saved = ask(pages[1], "saved_filters", action="rename", name="<b>&", to="plain")
    assert saved.filters == (SavedFilter(name="plain", text='"<script>"'),)
    assert ask(pages[0], "saved_filters") == saved
    assert ask(pages[0], "saved_filters", action="delete", name="plain").filters == ()
    assert isinstance(ask(pages[0], "saved_filters", action="save"), Problem)
