"""The label file loses no record that was acknowledged."""

from __future__ import annotations

import os
import signal
import stat
import subprocess
import sys
from multiprocessing import get_context
from pathlib import Path

import msgspec
import pytest

from nbtools.core.errors import TraceError
from nbtools.traces.reviews.records import MAX_TEXT, Record, Target
from nbtools.traces.reviews.store import LabelFile, append_records, label_file, read_records
from tests.waiting import until

KILLS, SHARE = 12, 4
"""Kills in ``make fuzz``, and in the suite."""
WRITER = """
import sys
from pathlib import Path
from tests.traces.reviews.test_store import note
from nbtools.traces.reviews.store import LabelFile

file = LabelFile(Path(sys.argv[1]))
for number in range(100_000):
    name = f"{sys.argv[2]}-{number}"
    file.append([note(name, "x" * (number * 37 % 3_000))])
    print(name, flush=True)
"""


def note(name: str, text: str = "a note") -> Record:
    return Record(
        id=name,
        at=1.0,
        reviewer="ana",
        kind="note",
        value=text,
        target=Target(format="claude-code", session="s"),
    )


def test_appended_lines_are_read_by_others(tmp_path: Path) -> None:
    path = tmp_path / "review" / "labels.jsonl"
    writer, reader = LabelFile(path), LabelFile(path)
    assert reader.records() == []
    writer.append([note("a")])
    assert [one.id for one in reader.records()] == ["a"]
    writer.append([note("b"), note("c", "two\nlines ☃ \u2028")])
    assert reader.records() == writer.records() == [note("a"), note("b"), note("c", "two\nlines ☃ \u2028")]


def test_the_file_is_private(tmp_path: Path) -> None:
    path = tmp_path / "review" / "labels.jsonl"
    LabelFile(path).append([note("a")])
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700
    assert label_file() == Path(os.environ["NBTOOLS_STATE"]) / "review" / "labels.jsonl"


def test_kill_9_loses_no_acknowledged_record(tmp_path: Path, all_rounds: bool) -> None:
    """A writer is killed again and again, each time after another number of records."""
    path = tmp_path / "labels.jsonl"
    acknowledged: list[str] = []
    kills = range(0, KILLS, 1 if all_rounds else KILLS // SHARE)
    for kill in kills:
        with subprocess.Popen(
            [sys.executable, "-c", WRITER, str(path), str(kill)],
            stdout=subprocess.PIPE,
            text=True,
            cwd=Path(__file__).parents[3],
        ) as writer:
            assert writer.stdout is not None
            acknowledged += [writer.stdout.readline().strip() for _ in range(1 + kill * 5)]
            writer.send_signal(signal.SIGKILL)
            acknowledged += [line.strip() for line in writer.stdout if line.endswith("\n")]
    found = [record.id for record in LabelFile(path).records()]
    assert set(acknowledged) <= set(found)
    assert len(found) == len(set(found))
    assert len(acknowledged) >= sum(1 + kill * 5 for kill in kills)


@pytest.mark.parametrize("cut", [1, 20, 60])
def test_a_torn_line_is_set_aside_and_the_rest_is_read(tmp_path: Path, cut: int) -> None:
    path = tmp_path / "labels.jsonl"
    file = LabelFile(path)
    file.append([note("a")])
    file.append([note("torn")])
    with path.open("rb+") as opened:
        opened.truncate(path.stat().st_size - cut)
    torn = path.read_bytes().split(b"\n")[1]
    file.append([note("b")])
    read = LabelFile(path)
    complete = cut == 1  # only the newline is missing
    assert [one.id for one in read.records()] == (["a", "torn", "b"] if complete else ["a", "b"])
    assert read.unreadable == ([] if complete else [torn])
    assert torn in path.read_bytes()
    assert file.records() == read.records()


def test_lines_of_others_are_set_aside(tmp_path: Path) -> None:
    path = tmp_path / "labels.jsonl"
    strange = [b"{", b"[]", b"\xff\xfe", b'{"id": 3}', b'{"id":"x","at":"late"}', b"[" * 5_000]
    path.write_bytes(b"\n".join([*strange, msgspec.json.encode(note("a")), b"", b"null"]) + b"\n")
    file = LabelFile(path)
    assert [one.id for one in file.records()] == ["a"]
    assert file.unreadable == [*strange, b"null"]


def _write_many(path: str, name: str, count: int) -> None:
    file = LabelFile(Path(path))
    for number in range(count):
        file.append([note(f"{name}{number}", name * 500)])


def test_two_writers_lose_nothing(tmp_path: Path) -> None:
    path = tmp_path / "labels.jsonl"
    context = get_context("spawn")
    writers = [context.Process(target=_write_many, args=(str(path), name, 150)) for name in "ab"]
    for writer in writers:
        writer.start()
    for writer in writers:
        writer.join()
        assert writer.exitcode == 0
    file = LabelFile(path)
    assert sorted(record.id for record in file.records()) == sorted(
        f"{name}{number}" for name in "ab" for number in range(150)
    )
    assert file.unreadable == []


def test_lines_that_another_writer_overwrites_are_appended_again(tmp_path: Path) -> None:
    """Two tabs of a browser write: a tab that began to write before another one had written stores an older
    state of the file.
    """
    path = tmp_path / "labels.jsonl"
    one, other = LabelFile(path, overwritten=True), LabelFile(path, overwritten=True)
    one.append([note("a")])
    other.append([note("b", "longer")])
    before = path.read_bytes()
    one.append([note("c"), note("d")])
    path.write_bytes(before)
    other.append([note("e", "much longer")])
    assert [record.id for record in other.records()] == ["a", "b", "e"]
    assert [record.id for record in one.records()] == ["a", "b", "e", "c", "d"]
    path.write_bytes(b"")
    assert [record.id for record in other.records()] == ["b", "e"]
    assert (
        {record.id for record in one.records()} == {record.id for record in other.records()} == set("abcde")
    )
    path.unlink()  # by the person
    assert [one.records(), other.records()] == [[], []]
    one.append([note("f")])
    assert other.records() == read_records(tmp_path) == [note("f")]


async def test_an_overwritten_record_is_appended_again_without_another_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("nbtools.traces.reviews.store._CHECKS", (0.01,))
    path = tmp_path / "labels.jsonl"
    LabelFile(path, overwritten=True).append([note("a")])
    path.write_bytes(b"")
    await until(path.read_bytes)
    assert read_records(tmp_path) == [note("a")]


def test_values_that_do_not_fit_are_not_written(tmp_path: Path) -> None:
    file = LabelFile(tmp_path / "labels.jsonl")
    with pytest.raises(TraceError):
        file.append([note("a"), note("b", "x" * (MAX_TEXT + 1))])
    assert not file.path.exists()


def test_a_link_is_not_followed(tmp_path: Path) -> None:
    target = tmp_path / "precious"
    target.write_text("mine\n")
    path = tmp_path / "labels.jsonl"
    path.symlink_to(target)
    with pytest.raises(TraceError):
        LabelFile(path).append([note("a")])
    assert target.read_text() == "mine\n"


def test_a_file_that_was_replaced_is_read_again(tmp_path: Path) -> None:
    file = LabelFile(tmp_path / "labels.jsonl")
    file.append([note("a"), note("b")])
    assert len(file.records()) == 2
    other = LabelFile(tmp_path / "other.jsonl")
    other.append([note("c"), note("d"), note("e")])
    other.path.replace(file.path)
    assert [one.id for one in file.records()] == ["c", "d", "e"]
    file.path.unlink()
    assert file.records() == []


def test_labels_travel_with_a_folder(tmp_path: Path) -> None:
    assert read_records(tmp_path) == []
    assert append_records(tmp_path, [note("a"), note("b")]) == 2
    assert append_records(tmp_path, [note("b"), note("c")]) == 1
    assert [record.id for record in read_records(tmp_path)] == ["a", "b", "c"]
