"""Labels travel with a corpus, and those of several reviewers come together in it."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from nbtools.traces import TraceError, load
from nbtools.traces.corpus import Corpus
from nbtools.traces.corpus.ingest import Ingest, Ingested
from nbtools.traces.formats import open_log
from nbtools.traces.reviews.review import review
from tests.traces.atif_logs import many, write
from tests.traces.recorded import SAMPLES

QUERY = "select session, reviewer, kind, value from labels order by all"


@pytest.fixture
def place(tmp_path: Path) -> str:
    return str(tmp_path / "corpus")


@pytest.fixture
def logs(tmp_path: Path) -> list[Path]:
    return [
        write(tmp_path / "logs" / f"{name}.json", f"this is {name}", *many(3), session=name) for name in "abc"
    ]


def become(reviewer: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NBTOOLS_STATE", str(tmp_path / reviewer))
    monkeypatch.setenv("NBTOOLS_REVIEWER", reviewer)


def test_labels_of_two_reviewers_come_together(
    place: str, logs: list[Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for reviewer, verdict in (("ana", "pass"), ("bo", "fail")):
        become(reviewer, tmp_path, monkeypatch)
        trace = load(logs[0])
        review(trace).verdict(None, verdict)
        review(trace).note(trace.calls[1], f"by {reviewer}")
        review(load(logs[2])).verdict(None, "defer")
        Corpus(place).ingest(logs[:2])
    become("ana", tmp_path, monkeypatch)
    trace = load(logs[0])
    review(trace).undo()
    Corpus(place).ingest(logs[:2])
    become("nobody", tmp_path, monkeypatch)
    corpus = Corpus(place)
    assert corpus.sql(QUERY).fetchall() == [
        ("a", "ana", "verdict", "pass"),
        ("a", "bo", "note", "by bo"),
        ("a", "bo", "verdict", "fail"),
    ]
    joined = "select c.subject from labels l join calls c on c.session = l.session and c.source = l.source and c.seq = l.seq"
    assert corpus.sql(joined).fetchall() == [(trace.calls[1].subject,)]
    assert corpus.ingest(logs[:2]).same == 2


def test_labels_are_copied_although_another_ingest_has_removed_the_parts(
    place: str, logs: list[Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    become("ana", tmp_path, monkeypatch)
    review(load(logs[0])).verdict(None, "pass")
    run = Ingest.run

    def run_then_another(ingest: Ingest, *arguments: Any, **options: Any) -> Ingested:
        made = run(ingest, *arguments, **options)
        monkeypatch.setattr(Ingest, "run", run)
        for log in logs:
            write(log, "this is another", *many(4), session=log.stem)
        become("bo", tmp_path, monkeypatch)
        Corpus(place).ingest(logs)
        become("ana", tmp_path, monkeypatch)
        return made

    monkeypatch.setattr(Ingest, "run", run_then_another)
    Corpus(place).ingest(logs)
    become("nobody", tmp_path, monkeypatch)
    assert Corpus(place).sql(QUERY).fetchall() == [("a", "ana", "verdict", "pass")]


def test_labels_of_many_reviewers_are_all_there(
    place: str, logs: list[Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    corpora = [Corpus(place) for _ in range(3)]
    corpora[0].ingest(logs)
    for number in range(8):
        become(f"reviewer{number}", tmp_path, monkeypatch)
        review(load(logs[0])).note(None, f"note {number}")
        corpus = Corpus(place)
        corpus.ingest(logs)
        if number % 3 == 0:
            corpora[1].ingest(logs)
    become("nobody", tmp_path, monkeypatch)
    expected = [(f"note {number}",) for number in range(8)]
    for corpus in (*corpora, Corpus(place)):
        assert corpus.sql("select value from labels order by value").fetchall() == expected


def test_lines_that_are_not_labels_are_skipped(
    place: str, logs: list[Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    become("ana", tmp_path, monkeypatch)
    review(load(logs[0])).verdict(None, "pass")
    corpus = Corpus(place)
    corpus.ingest(logs)
    file = corpus.folder / "labels.jsonl"
    file.write_bytes(b'\xff\n{"id": 5}\n[[[\n' + file.read_bytes() + file.read_bytes()[:-40])
    become("nobody", tmp_path, monkeypatch)
    assert Corpus(place).sql(QUERY).fetchall() == [("a", "ana", "verdict", "pass")]


def single_files() -> Iterator[Path]:
    """One log in a single file of each format."""
    seen = set()
    for path in sorted(SAMPLES.glob("*/*")):
        if path.is_file() and path.suffix in {".json", ".jsonl", ".traj", ".eval"}:
            with suppress(TraceError):
                log = open_log(path)
                if log.format.name not in seen and len(log.source.files) == 1:
                    seen.add(log.format.name)
                    yield path


@pytest.mark.parametrize("sample", list(single_files()), ids=lambda path: path.parent.name)
def test_labels_of_a_renamed_copy_are_found(
    sample: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    become("ana", tmp_path, monkeypatch)
    log = load(shutil.copy(sample, tmp_path / f"original{sample.suffix}"))
    session = log.sessions[0]
    review(log).verdict(session, "fail")
    review(log).label(next(row for row in (*log.calls, *log.events) if row.session == session.id), "loop")
    place = str(tmp_path / "corpus")
    copy = Path(shutil.move(tmp_path / f"original{sample.suffix}", tmp_path / f"another name{sample.suffix}"))
    Corpus(place).ingest(copy)
    become("nobody", tmp_path, monkeypatch)  # the labels travel with the corpus
    found = Corpus(place).sql(
        "select kind, value, status, source, session in (select id from sessions) from labels order by all"
    )
    assert found.fetchall() == [
        ("label", "loop", "same", str(copy), True),
        ("verdict", "fail", "same", str(copy), True),
    ]


def test_another_log_with_the_same_first_message_has_no_labels(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    become("ana", tmp_path, monkeypatch)
    log = load(write(tmp_path / "logs/a.json", "Hello", *many(9), session="a"))
    review(log).verdict(None, "pass")
    review(log).note(log.calls[8], "the last one")
    other = write(tmp_path / "logs/b.json", "Hello", *many(6), "Bye", session="b")
    corpus = Corpus(tmp_path / "corpus")
    corpus.ingest(other)
    assert corpus.sql("select * from labels").fetchall() == []
