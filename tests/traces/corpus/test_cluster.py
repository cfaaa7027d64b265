"""On a cluster of dask a corpus is what it is on one machine."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from nbtools.core.errors import TraceError
from nbtools.traces.corpus import Corpus, Progress
from nbtools.traces.corpus.parallel import TaskFailure, map_files
from tests.traces.atif_logs import many, write
from tests.traces.corpus.works import Item, measure


@pytest.fixture(scope="module")
def client() -> Iterator[Any]:
    distributed = pytest.importorskip("distributed")
    with (
        distributed.LocalCluster(
            n_workers=2, threads_per_worker=1, host="127.0.0.1", dashboard_address=None
        ) as cluster,
        distributed.Client(cluster) as client,
    ):
        yield client


def test_the_same_corpus(client: Any, tmp_path: Path) -> None:
    for number in range(6):
        write(tmp_path / "logs" / f"{number}.json", f"this is {number}", *many(4), session=str(number))
    (tmp_path / "logs" / "broken.json").write_text("{")
    here, there = Corpus(tmp_path / "here"), Corpus(tmp_path / "there")
    one, other = here.ingest(f"{tmp_path}/logs/*"), there.ingest(f"{tmp_path}/logs/*", client=client)
    assert (one.read, one.problems) == (other.read, other.problems)
    for name in ("sessions", "events", "calls", "file_changes", "problems"):
        query = f"select * from {name} order by all"
        assert there.sql(query).fetchall() == here.sql(query).fetchall()
    assert len(there.search("this")) == len(here.search("this")) == 6


def test_a_file_that_fails_stops_no_other(client: Any) -> None:
    outcomes = {
        item.name: outcome
        for item, outcome in map_files([Item("a"), Item("bad"), Item("b")], measure, client)
    }
    assert outcomes == {"a": "A", "bad": TaskFailure("ValueError: it is bad"), "b": "B"}


def test_logs_that_were_ingested_are_ingested_again_on_request(client: Any, tmp_path: Path) -> None:
    log = write(tmp_path / "log.json", *many(2))
    for name in ("one", "two"):
        corpus = Corpus(tmp_path / name)
        corpus.ingest(log, client=client)
        assert corpus.sql("select count(*) from calls").fetchall() == [(2,)]


def test_a_schedulers_address_works_too_and_progress_is_reported(client: Any, tmp_path: Path) -> None:
    log = write(tmp_path / "log.json", *many(2))
    told: list[Progress] = []
    assert Corpus(tmp_path / "corpus").ingest(log, client.scheduler.address, told.append).read == (str(log),)
    assert [(one.done, one.total) for one in told] == [(1, 1)]


def test_without_distributed_an_error_says_what_to_install(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "distributed", None)
    with pytest.raises(TraceError, match=r'pip install "nbtools-agent\[cluster\]"'):
        Corpus(tmp_path / "corpus").ingest(tmp_path, "tcp://127.0.0.1:1")
