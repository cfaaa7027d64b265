"""A corpus on an object store gives the same answers as one in a folder."""

from __future__ import annotations

import os
import shutil
import sys
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import pytest

from nbtools import traces
from nbtools.traces.corpus import Corpus
from nbtools.traces.corpus import parts as part_module
from nbtools.traces.query.tables import CORPUS_TABLES
from tests.traces.atif_logs import many, write
from tests.traces.corpus.conftest import serve, use
from tests.traces.recorded import SAMPLES

SEARCHES = ("error", "import os", '"the file"', "src/", "package.json", "xyzzyplugh", "test*")
PREFIX = "péfix with spaces/100%/a+b/#1?&'\"[x]"


def answers(corpus: Corpus) -> dict[str, Any]:
    """Returns the rows of a corpus, in an order that does not depend on how it is stored."""
    tables = {
        name: corpus.sql(f"select * from {name} order by all").to_arrow().to_pylist()
        for name in CORPUS_TABLES
    }
    hits = {text: corpus.search(text, limit=30) for text in SEARCHES}
    rows = {f"first {text}": found[0].row for text, found in hits.items() if found}
    return {**tables, **rows, **{text: [(hit, hit.snippet) for hit in found] for text, found in hits.items()}}


def outcome(made: Any) -> tuple[Any, ...]:
    return made.read, made.gone, made.problems, made.same


def test_the_sample_logs_give_the_same_answers_as_in_a_folder(s3: str, tmp_path: Path) -> None:
    logs = shutil.copytree(SAMPLES, tmp_path / "logs")
    here, there = Corpus(tmp_path / "corpus"), Corpus(f"{s3}/{PREFIX}/")

    def ingest(**options: Any) -> None:
        made = here.ingest(logs, progress=False, **options)
        assert outcome(there.ingest(logs, progress=False, **options)) == outcome(made)
        assert answers(there) == answers(here)

    ingest()
    assert len(here.sessions) > 20
    ingest()
    changed = sorted(logs.glob("codex/*.jsonl"))
    with changed[0].open("ab") as log:
        log.write(changed[1].read_bytes())
    changed[1].unlink()
    ingest(keep=True)
    ingest()
    other = Corpus(f"{s3}/{PREFIX}")
    assert answers(other) == answers(here)
    assert other.ingest(logs).same == len(here._manifest.logs())


@pytest.fixture
def logs(tmp_path: Path) -> Path:
    for number in range(6):
        write(tmp_path / "logs" / f"{number}.json", f"this is {number}", *many(3), session=str(number))
    return tmp_path / "logs"


def test_rows_ingested_by_another_process_are_seen(s3: str, logs: Path) -> None:
    corpus, reader = Corpus(s3), Corpus(s3)
    assert len(reader.sessions) == 0
    with ProcessPoolExecutor(2, mp_context=get_context("spawn")) as pool:
        corpus.ingest(logs, pool)
    assert len(reader.sessions) == 6
    (hit,) = reader.search('"this is 4"')
    assert hit.row["full_text"] == "this is 4"
    assert reader.open("4").sessions[0].id == "4"
    assert s3 in reader._repr_html_()


def test_small_parts_are_merged_and_replaced_ones_are_deleted(
    s3: str, logs: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(part_module, "_BATCH_BYTES", (1, 1))
    monkeypatch.setattr(part_module, "MAX_SMALL_PARTS", 3)
    corpus = Corpus(s3)
    corpus.ingest(logs)
    assert len(corpus._manifest.parts()) == 1
    assert len({name.split("/")[1] for name in corpus._storage.files("parts")}) == 1
    assert len(corpus.search("number2")) == 6
    assert [hit.row["text"] for hit in corpus.search('"this is 5"')] == ["this is 5"]


def test_a_search_reads_an_index_from_the_store_once(s3: str, logs: Path, tmp_path: Path) -> None:
    Corpus(s3).ingest(logs)
    corpus = Corpus(s3)
    assert corpus.search("number2")
    (cached,) = [path for path in (tmp_path / "state" / "corpora").rglob("*") if path.is_file()]
    assert oct(cached.parent.stat().st_mode)[-3:] == "700"
    before = cached.stat().st_mtime_ns
    assert Corpus(s3).search("number2")
    assert cached.stat().st_mtime_ns == before
    os.utime(logs / "0.json", (1, 1))
    for log in logs.iterdir():
        os.utime(log, (1, 1))
    corpus.ingest(logs)
    assert corpus.search("number2")
    assert not cached.exists()


def test_logs_of_another_machine_stay(s3: str, logs: Path) -> None:
    one, other = Corpus(s3, machine="one"), Corpus(s3, machine="other")
    one.ingest([logs / "0.json", logs / "1.json"])
    (logs / "0.json").unlink()
    assert other.ingest(logs / "2.json").gone == ()
    assert len(other.sessions) == 3
    (why,) = other.ingest(logs / "1.json").problems.values()
    assert "machine 'one'" in why.why
    assert one.ingest(logs / "1.json").gone == (str(logs / "0.json"),)
    assert [row[0] for row in one.sql("select id from sessions order by id").fetchall()] == ["1", "2"]


def test_a_foreign_object_is_left_alone(s3: str, logs: Path) -> None:
    corpus = Corpus(f"{s3}/prefix")
    foreign = (
        "notes.txt",
        "manifest/README",
        "parts/README.md",
        "parts/odd/calls.parquet",
        "manifest/1.json.gz",
    )
    for name in foreign:
        corpus._storage.write(name, b"somebody's")
    corpus.ingest(logs)
    (logs / "0.json").unlink()
    corpus.ingest(logs)
    assert len(Corpus(f"{s3}/prefix").sessions) == 5
    assert [corpus._storage.read(name) for name in foreign] == [b"somebody's"] * len(foreign)


@pytest.mark.parametrize("damage", [b"", b"PAR1 and no more", None])
def test_the_logs_of_a_damaged_part_are_read_again(s3: str, logs: Path, damage: bytes | None) -> None:
    corpus = Corpus(s3)
    corpus.ingest(logs)
    (name,) = (name for name in corpus._storage.files("parts") if name.endswith("calls.parquet"))
    if damage is None:
        corpus._storage.delete([name])
    else:
        corpus._storage.write(name, damage)
    with pytest.raises(traces.TraceError, match="Run ingest again"):
        corpus.sql("select sum(seq) from calls")
    assert len(corpus.ingest(logs).read) == 6
    assert corpus.sql("select count(*) from calls").fetchall() == [(18,)]


def test_a_bucket_that_does_not_exist_is_named(s3: str) -> None:
    with pytest.raises(
        traces.TraceError, match=r"s3://no-such-bucket/x: the bucket does not exist\. Create it"
    ):
        Corpus("s3://no-such-bucket/x")


@pytest.mark.parametrize(
    ("url", "what"),
    [
        ("s3://AKIA:secret@bucket/x", "must not contain credentials"),
        ("ftp://bucket/x", r"ftp:// is not supported.*s3://"),
        ("s3:///x", "names no bucket"),
        (Path("s3://bucket/x"), r"Write Corpus\('s3://bucket/x'\)"),
    ],
)
def test_an_address_that_cannot_be_meant_says_so(url: str | Path, what: str) -> None:
    with pytest.raises(traces.TraceError, match=what) as raised:
        Corpus(url)
    assert "secret" not in str(raised.value)


def test_wrong_credentials_say_where_they_come_from_and_are_not_shown(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with serve("auth") as server:
        bucket = server.bucket()
        use(server, monkeypatch, tmp_path / "state")
        with pytest.raises(traces.TraceError, match=r"access is denied.*AWS_PROFILE") as raised:
            Corpus(f"s3://{bucket}/x")
    assert "of-the-tests" not in str(raised.value)


def test_a_connection_that_breaks_loses_nothing_that_was_read(
    logs: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(part_module, "_BATCH_BYTES", (1, 1))
    with serve() as server:
        use(server, monkeypatch, tmp_path / "state")
        corpus = Corpus(f"s3://{server.bucket()}")
        with pytest.raises(traces.TraceError, match="cannot be reached") as raised:
            corpus.ingest(logs, progress=lambda _: server.end())
    assert "run ingest again" in str(raised.value)
    assert corpus._manifest.counts()[0] == 1
    with pytest.raises(traces.TraceError, match="AWS_ENDPOINT_URL"):
        corpus.sql("from calls")


@pytest.mark.parametrize("missing", ["pyarrow.fs", "old"])
def test_without_the_library_an_error_says_what_to_install(
    s3: str, monkeypatch: pytest.MonkeyPatch, missing: str
) -> None:
    if missing == "old":
        monkeypatch.setattr("pyarrow.fs.S3FileSystem", lambda endpoint_override, region: None)
    else:
        monkeypatch.setitem(sys.modules, "pyarrow.fs", None)
    monkeypatch.setenv("AWS_UNUSED", missing)  # a file system of the same settings is used again
    with pytest.raises(traces.TraceError, match=r'pip install "nbtools-agent\[object-stores\]"'):
        Corpus(f"{s3}/other")
