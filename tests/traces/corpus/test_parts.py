"""However many logs there are, their parts are few, and answer as before: the logs of small ones are read again."""

from __future__ import annotations

import os
from collections.abc import Callable
from concurrent.futures import Future
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nbtools import traces
from nbtools.traces.corpus import Corpus
from nbtools.traces.corpus import parts as module
from nbtools.traces.corpus.catalogue import Log
from nbtools.traces.corpus.plan import MAX_SMALL_PARTS
from tests.traces.atif_logs import many, write

LOGS = MAX_SMALL_PARTS + 6


class OneWorker:
    """An executor that works in this process: the number of workers is part of the rule."""

    _max_workers = 1

    def submit(self, work: Callable[..., Any], *arguments: Any) -> Future[Any]:
        done: Future[Any] = Future()
        done.set_result(work(*arguments))
        return done


ONE = OneWorker()


@pytest.fixture
def logs(tmp_path: Path) -> Path:
    for number in range(LOGS):
        write(tmp_path / "logs" / f"{number:02}.json", f"this is log{number}", *many(3), session=f"s{number}")
    return tmp_path / "logs"


@pytest.fixture
def corpus(tmp_path: Path, logs: Path, monkeypatch: pytest.MonkeyPatch) -> Corpus:
    corpus = Corpus(tmp_path / "corpus")
    with monkeypatch.context() as patch:
        patch.setattr(module, "_BATCH_BYTES", (1, 1))
        corpus.ingest(logs, ONE)
    assert parts(corpus) == LOGS
    again = corpus.ingest(logs, ONE)
    assert (again.read, again.same) == ((), LOGS)
    return corpus


def parts(corpus: Corpus) -> int:
    return len(list((corpus.folder / "parts").iterdir()))


def test_many_small_parts_become_one_that_answers_as_the_traces_do(corpus: Corpus, logs: Path) -> None:
    assert parts(corpus) == 1
    loaded = traces.load_many(f"{logs}/*.json")
    for name, key in (("sessions", "id"), ("events", "session, seq"), ("calls", "session, seq")):
        query = f"select * from {name} order by {key}"
        assert corpus.sql(query).to_arrow().to_pylist() == loaded.sql(query).to_arrow().to_pylist()


def test_a_search_finds_rows_in_a_renewed_part(corpus: Corpus, logs: Path) -> None:
    (found,) = corpus.search("log17")
    assert (found.session, found.source, found.row["full_text"]) == (
        "s17",
        str(logs / "17.json"),
        "this is log17",
    )
    (call,) = (one for one in corpus.search("number2", limit=LOGS) if one.session == "s5")
    assert call.row["source"] == str(logs / "05.json")


def test_a_log_that_changed_does_not_count_in_its_old_part(corpus: Corpus, logs: Path) -> None:
    write(logs / "07.json", "this is other", *many(5), session="s7")
    (logs / "08.json").unlink()
    made = corpus.ingest(logs)
    assert (made.read, made.gone) == ((str(logs / "07.json"),), (str(logs / "08.json"),))
    assert parts(corpus) == 2
    assert corpus.sql("select count(*), count(distinct source) from calls").fetchall() == [
        (3 * (LOGS - 2) + 5, LOGS - 1)
    ]
    assert corpus.search("log7") == corpus.search("log8") == ()
    assert len(corpus.search("other")) == 1


def test_a_part_with_mostly_outdated_rows_is_renewed(corpus: Corpus, logs: Path) -> None:
    for number in range(LOGS - 5):
        (logs / f"{number:02}.json").unlink()
    corpus.ingest(logs)
    assert parts(corpus) == 1
    assert corpus.sql("select count(*) from calls").fetchall() == [(15,)]
    assert [part.outdated for part in corpus._catalogue.parts.values()] == [[]]


def test_small_parts_stay_where_a_log_of_theirs_cannot_be_read_again(
    logs: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    corpus = Corpus(tmp_path / "corpus")
    with monkeypatch.context() as patch:
        patch.setattr(module, "_BATCH_BYTES", (1, 1))
        corpus.ingest(logs, ONE)
    for number in range(8):
        (logs / f"{number:02}.json").unlink()
    corpus.ingest(logs, ONE, keep=True)
    assert parts(corpus) == LOGS
    assert corpus.sql("select count(*) from calls").fetchall() == [(3 * LOGS,)]


def test_a_log_that_is_again_as_it_was_is_there_again(corpus: Corpus, logs: Path) -> None:
    log = logs / "03.json"
    kept = log.read_bytes()
    log.unlink()
    corpus.ingest(logs)
    log.write_bytes(kept)
    os.utime(log, (1, 1))
    assert corpus.ingest(logs).read == (str(log),)
    assert corpus.sql("select count(*) from calls").fetchall() == [(3 * LOGS,)]


@given(st.lists(st.integers(0, 300 << 20), max_size=60), st.integers(1, 9))
def test_batches_have_every_log_once_and_busy_workers(sizes: list[int], workers: int) -> None:
    logs = [Log(f"{number}", (), "key", size, "atif") for number, size in enumerate(sizes)]
    planned = module.plan_batches(logs, workers)
    assert sorted((log for batch in planned for log in batch.logs), key=lambda log: int(log.path)) == logs
    assert all(batch.logs for batch in planned)
    assert len(planned) <= 1 or len(planned) % workers == 0 or len(planned) == len(logs)
    large = [log.size for log in logs]
    assert all(batch.size <= max(module._BATCH_BYTES[1] + max(large), 2 * max(large)) for batch in planned)
    assert [batch.size for batch in planned] == sorted((batch.size for batch in planned), reverse=True)
