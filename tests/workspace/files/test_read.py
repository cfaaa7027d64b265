"""Lines out of a file of any size."""

import asyncio
import codecs
import os
import threading
import tracemalloc

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nbtools.core.errors import ErrorCode, ToolFailure
from nbtools.diff.text_lines import split_lines
from nbtools.workspace.cancellation import CancellationFlag, WorkCancelled, run_in_thread
from nbtools.workspace.files import read
from nbtools.workspace.files.read import read_lines
from tests.examples import examples


@settings(max_examples=examples(150), deadline=None)
@given(
    lines=st.lists(st.sampled_from(["a", "bc", "", "ä", "\u0a0a\u0a00", "𝄞", "long" * 9]), max_size=30),
    final=st.booleans(),
    start=st.integers(-40, 40).filter(bool),
    count=st.integers(1, 40),
    codec=st.sampled_from(["utf-8", "utf-8-sig", "utf-16", "utf-32"]),
    chunk=st.integers(1, 8),
)
def test_lines_by_chunks_are_the_lines(lines, final, start, count, codec, chunk, tmp_path_factory):
    text = "\n".join(lines) + "\n" * final
    path = tmp_path_factory.mktemp("lines") / "f"
    path.write_bytes(text.encode(codec))
    part = read_lines(path, "f", start, count, CancellationFlag(), chunk_size=chunk * 4)
    wanted = split_lines(text)
    first = start - 1 if start > 0 else max(0, len(wanted) + start)
    assert (part.start, part.total) == (first + 1, len(wanted))
    assert part.data.decode(part.encoding.codec) == "".join(wanted[first : first + count])


@pytest.mark.parametrize("final", [b"", b"\n"])
@pytest.mark.parametrize("mark", [b"", codecs.BOM_UTF8])
@pytest.mark.parametrize("counter", ["wc", "python"])
def test_long_files_are_counted_by_wc_with_the_same_outcome(tmp_path, monkeypatch, mark, final, counter):
    monkeypatch.setattr(read, "_WC_THRESHOLD", 1)
    if counter == "python":
        monkeypatch.setenv("PATH", "")
    path = tmp_path / "f"
    path.write_bytes(mark + b"\n".join(b"%d" % n for n in range(1, 100_001)) + final)
    for start, lines in (
        (99_999, b"99999\n100000" + final),
        (-2, b"99999\n100000" + final),
        (2, b"2\n3\n4\n"),
        (40_000, b"40000\n40001\n40002\n"),
    ):
        part = read_lines(path, "f", start, 3, CancellationFlag())
        assert (part.data, part.total) == (lines, 100_000)


def test_a_surrogate_pair_on_the_edge_of_the_first_look(tmp_path):
    path = tmp_path / "f"
    text = "a" * 32_766 + "𝄞" * 5 + "\nend\n"
    path.write_bytes(codecs.BOM_UTF16_LE + text.encode("utf-16-le"))
    assert read_lines(path, "f", 2, 1, CancellationFlag()).data.decode("utf-16-le") == "end\n"


@pytest.mark.parametrize("start", [89, -2])
def test_a_large_file_needs_little_memory(tmp_path, start):
    path = tmp_path / "large"
    with path.open("wb") as file:
        for _ in range(90):
            file.write(b"x" * 999_999 + b"\n")
    tracemalloc.start()
    try:
        part = read_lines(path, "large", start, 5, CancellationFlag())
        assert tracemalloc.get_traced_memory()[1] < 12_000_000
    finally:
        tracemalloc.stop()
    assert (len(part.data), part.start, part.total) == (2_000_000, 89, 90)
    with pytest.raises(ToolFailure) as caught:
        read_lines(path, "large", 1, 60, CancellationFlag())
    assert caught.value.code is ErrorCode.FILE_TOO_LARGE


def test_the_end_is_reached_without_reading_twice(tmp_path, monkeypatch):
    """Counted lines are read once, and the last lines once more."""
    path = tmp_path / "f"
    path.write_bytes(b"12345678\n" * 100_000)
    seen = []
    plain = os.pread
    monkeypatch.setattr(
        os, "pread", lambda descriptor, size, place: seen.append(size) or plain(descriptor, size, place)
    )
    read_lines(path, "f", -20, 20, CancellationFlag(), chunk_size=4096)
    assert sum(seen) < 900_000 * 1.03


async def test_work_that_was_called_off_has_ended():
    started, ended = threading.Event(), threading.Event()

    def work(halt):
        started.set()
        try:
            while True:
                halt.raise_if_cancelled()
        except WorkCancelled:
            ended.set()
            raise

    task = asyncio.create_task(run_in_thread(work))
    await asyncio.to_thread(started.wait)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert ended.is_set()
    assert await run_in_thread(lambda halt: halt.raise_if_cancelled() or 7) == 7


def test_counting_by_wc_can_be_called_off(tmp_path, monkeypatch):
    monkeypatch.setattr(read, "_WC_THRESHOLD", 1)
    (tmp_path / "f").write_bytes(b"1\n")
    halt = CancellationFlag()
    halt.cancel()
    with pytest.raises(WorkCancelled):
        read_lines(tmp_path / "f", "f", 1, 1, halt)
