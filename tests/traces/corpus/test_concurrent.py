"""Processes that ingest into one corpus at the same time, and are killed,
lose nothing that was acknowledged as stored.
"""

from __future__ import annotations

import random
import subprocess
import sys
from collections.abc import Callable
from concurrent.futures import Future
from contextlib import suppress
from itertools import islice
from pathlib import Path
from typing import Any

import pytest

from nbtools.traces.corpus import Corpus, parts, plan
from nbtools.traces.query.tables import CORPUS_TABLES
from tests.traces.atif_logs import many, write

LOGS = 10
INGEST = """
import sys
from nbtools.traces import Corpus
from nbtools.traces.corpus import parts, plan
parts._BATCH_BYTES = (1, 1)
plan.MAX_SMALL_PARTS = 3
corpus, *logs = sys.argv[1:]
print("ready", flush=True)
made = Corpus(corpus).ingest(logs, progress=lambda progress: print(progress.path, flush=True))
assert not made.problems, made.problems
"""


@pytest.fixture
def logs(tmp_path: Path) -> list[Path]:
    return [
        write(tmp_path / "logs" / f"{number:02}.json", f"this is {number}", *many(3), session=f"s{number}")
        for number in range(LOGS)
    ]


@pytest.fixture
def place(tmp_path: Path) -> str:
    return str(tmp_path / "corpus")


def start(corpus: str, logs: list[Path]) -> subprocess.Popen[str]:
    command = [sys.executable, "-c", INGEST, corpus, *map(str, logs)]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def answers(corpus: Corpus) -> list[object]:
    found: list[object] = [
        corpus.sql(f"select * from {name} order by all").to_arrow().to_pylist() for name in CORPUS_TABLES
    ]
    hits = sorted(
        corpus.search("number2", limit=LOGS), key=lambda hit: hit.source
    )  # the order depends on what was read together
    return [*found, hits, [hit.snippet for hit in corpus.search('"this is 7"')]]


def test_two_that_ingest_at_once_make_what_one_would(place: str, logs: list[Path], tmp_path: Path) -> None:
    processes = [start(place, logs[:7]), start(place, logs[3:])]
    for process in processes:
        _, errors = process.communicate(timeout=120)
        assert process.returncode == 0, errors
    both, one = Corpus(place), Corpus(tmp_path / "one")
    one.ingest(logs)
    assert both.ingest(logs).same == LOGS
    assert answers(both) == answers(one)


def test_killed_processes_lose_nothing_that_was_stored(
    place: str, logs: list[Path], tmp_path: Path, all_rounds: bool
) -> None:
    chance = random.Random(17)
    stored: set[str] = set()
    for number in range(3 if all_rounds else 1):
        for log in chance.sample(logs, 5):
            write(log, f"this is {int(log.stem)}", *many(3 + number), session=f"s{int(log.stem)}")
        processes = [start(place, logs), start(place, logs[::-1]), start(place, logs[::2])]
        first = processes[0].stdout
        assert first is not None
        told = [line.strip() for line in islice(first, chance.randint(2, 8))]
        for process in processes:
            process.kill()
            with suppress(subprocess.TimeoutExpired):
                processes[-1].wait(timeout=chance.uniform(0, 0.2))
        told += [line for process in processes for line in process.communicate()[0].splitlines()]
        stored |= {*told} - {"ready"}
        here = Corpus(place)
        assert stored <= here._catalogue.logs.keys()
        assert len(here.sessions) == len(here._catalogue.sizes)
    assert stored
    one = Corpus(tmp_path / "one")
    one.ingest(logs)
    here.ingest(logs)
    assert answers(here) == answers(one)
    assert not here.ingest(logs).read


def test_a_change_that_is_read_later_counts_whatever_is_stored_first(
    tmp_path: Path, logs: list[Path]
) -> None:
    corpus, other = Corpus(tmp_path / "corpus"), Corpus(tmp_path / "corpus")
    corpus.ingest(logs[0])
    before = corpus._catalogue.logs[str(logs[0])]
    write(logs[0], "this is later", *many(9), session="s0")
    other.ingest(logs[0])
    corpus._catalogue.put([before])
    for one in (corpus, other, Corpus(tmp_path / "corpus")):
        assert one.sql("select count(*) from calls").fetchall() == [(9,)]


class OneWorker:
    """An executor after whose first task something happens."""

    _max_workers = 1

    def __init__(self, happens: Callable[[], object]) -> None:
        self._happens = happens

    def submit(self, work: Callable[..., Any], *arguments: Any) -> Future[Any]:
        done: Future[Any] = Future()
        done.set_result(work(*arguments))
        happens, self._happens = self._happens, lambda: None
        happens()
        return done


def test_logs_that_change_while_their_parts_are_renewed_keep_their_new_rows(
    tmp_path: Path, logs: list[Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    corpus = Corpus(tmp_path / "corpus")
    with monkeypatch.context() as patch:
        patch.setattr(parts, "_BATCH_BYTES", (1, 1))
        corpus.ingest(logs[:8])
    monkeypatch.setattr(plan, "MAX_SMALL_PARTS", 5)

    def change() -> None:
        write(logs[0], "this is later", *many(9), session="s0")
        logs[1].unlink()
        assert Corpus(tmp_path / "corpus").ingest(logs[:2], OneWorker(lambda: None)).gone == (str(logs[1]),)

    made = corpus.ingest(logs[:8], OneWorker(change))
    assert (made.read, made.same) == ((), 8)
    assert len(corpus._catalogue.parts) == 2
    counts = dict(corpus.sql("select session, count(*) from calls group by session").fetchall())
    assert counts == {"s0": 9, **{f"s{number}": 3 for number in range(2, 8)}}
    assert [hit.session for hit in corpus.search('"this is later"')] == ["s0"]
    assert corpus.search('"this is 1"') == ()
    assert corpus.ingest(logs[:8]).gone == ()
