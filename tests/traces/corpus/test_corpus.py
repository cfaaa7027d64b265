"""A corpus has what its logs have now: it reads what is new, forgets what is gone,
and outlives being stopped.
"""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Callable
from concurrent.futures import BrokenExecutor, Future, ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import pytest

from nbtools import traces
from nbtools.traces.corpus import Corpus, Progress, parts
from nbtools.traces.query.tables import CORPUS_TABLES, REVIEW_TABLES, TABLES
from tests.traces.atif_logs import Called, many, write
from tests.traces.recorded import SAMPLES

COUNT = "select source, count(*) from calls group by source order by source"


@pytest.fixture
def logs(tmp_path: Path) -> Path:
    for name in ("a", "b", "c"):
        write(
            tmp_path / "logs" / f"{name}.json",
            f"this is {name}",
            *many(3),
            Called("Write", {"file_path": f"{name}.py"}),
            session=name,
        )
    return tmp_path / "logs"


@pytest.fixture
def corpus(tmp_path: Path) -> Corpus:
    return Corpus(tmp_path / "corpus's [1]")


def later(path: Path, *steps: str | Called) -> None:
    """The log is written again, at a time that differs."""
    before = path.stat().st_mtime_ns
    write(path, *steps, session=path.stem)
    os.utime(path, ns=(before + 10**9, before + 10**9))


def test_it_answers_as_the_traces_do(corpus: Corpus, logs: Path) -> None:
    made = corpus.ingest(f"{logs}/*.json")
    assert [Path(path).name for path in made.read] == ["a.json", "b.json", "c.json"]
    loaded = traces.load_many(f"{logs}/*.json")
    for name, key in (
        ("sessions", "id"),
        ("events", "session, seq"),
        ("calls", "session, seq"),
        ("file_changes", "session"),
        ("problems", "why"),
    ):
        query = f"select * from {name} order by {key}"
        assert corpus.sql(query).to_arrow().to_pylist() == loaded.sql(query).to_arrow().to_pylist()
        assert corpus.sql(f"from {name}").columns == loaded.sql(f"from {name}").columns


def test_it_has_the_tables_and_columns_of_a_trace(corpus: Corpus, logs: Path) -> None:
    corpus.ingest(logs, progress=False)

    def tables(of: Corpus | traces.Trace) -> dict[str, object]:
        names = [name for (name,) in of.sql("show tables").fetchall()]
        return {name: of.sql(f"describe {name}").fetchall() for name in names}

    in_corpus, in_trace = tables(corpus), tables(traces.load_many(logs / "*.json"))
    assert in_trace.keys() == {*TABLES, *REVIEW_TABLES}
    assert in_corpus.keys() - in_trace.keys() == {
        "session_starts",
        *(f"all_{name}" for name in CORPUS_TABLES),
    }
    assert {name: in_corpus[name] for name in in_trace} == in_trace
    assert corpus.sql("select count(*) from labels").fetchall() == [(0,)]


def test_unchanged_logs_are_not_read_again(corpus: Corpus, logs: Path) -> None:
    corpus.ingest(f"{logs}/*.json")
    parts = {part: part.stat().st_mtime_ns for part in corpus.folder.glob("parts/*/*.parquet")}
    again = corpus.ingest(f"{logs}/*.json")
    assert (again.read, again.same) == ((), 3)
    assert {part: part.stat().st_mtime_ns for part in corpus.folder.glob("parts/*/*.parquet")} == parts


def test_a_log_that_grew_is_read_again(corpus: Corpus, logs: Path) -> None:
    corpus.ingest(f"{logs}/*.json")
    assert corpus.search("gherkin") == ()
    later(logs / "b.json", *many(5), "this is a gherkin")
    assert [Path(path).name for path in corpus.ingest(f"{logs}/*.json").read] == ["b.json"]
    assert [count for _, count in corpus.sql(COUNT).fetchall()] == [4, 5, 4]
    assert [hit.session for hit in corpus.search("gherkin")] == ["b"]
    assert corpus.search('"this is b"') == ()
    assert len(list(corpus.folder.glob("parts/*"))) == 2


def test_deleted_logs_are_removed_on_default_and_stay_on_request(corpus: Corpus, logs: Path) -> None:
    corpus.ingest(f"{logs}/*.json")
    (logs / "a.json").unlink()
    assert corpus.ingest(f"{logs}/*.json", keep=True).gone == ()
    assert len(corpus.sessions) == 3
    assert corpus.ingest(f"{logs}/*.json").gone == (str(logs / "a.json"),)
    assert [row[0] for row in corpus.sql("select id from sessions order by id").fetchall()] == ["b", "c"]
    assert corpus.search('"this is a"') == ()
    assert corpus.ingest(f"{logs}/*.json").gone == ()


def test_other_paths_add_to_it(corpus: Corpus, logs: Path) -> None:
    corpus.ingest(logs / "a.json")
    corpus.ingest([logs / "b.json", str(logs / "b.json")])
    assert len(corpus.sessions) == 2


def test_a_file_that_is_no_log_is_a_problem_and_stops_nothing(corpus: Corpus, logs: Path) -> None:
    (logs / "notes.json").write_text('{"hello": 1}')
    (logs / "empty.json").write_text("")
    made = corpus.ingest(f"{logs}/*")
    assert len(made.read) == 3
    assert sorted(Path(path).name for path in made.problems) == ["empty.json", "notes.json"]
    assert (
        len(
            corpus.sql(
                "select * from problems where source like '%notes.json' and why like '%not recognised%'"
            )
        )
        == 1
    )
    assert corpus.ingest(f"{logs}/*").same == 5


def test_a_log_that_is_cut_is_read_as_far_as_it_goes(corpus: Corpus, logs: Path) -> None:
    whole = (logs / "a.json").read_bytes()
    (logs / "a.json").write_bytes(whole[: len(whole) // 2])
    made = corpus.ingest(f"{logs}/*")
    assert len(made.read) == 3
    assert len(corpus.sql("from problems")) == len(traces.load(logs / "a.json").problems) >= 1


def test_a_log_that_cannot_be_opened_is_tried_again(corpus: Corpus, logs: Path) -> None:
    gone = logs / "a.json"
    kept = gone.read_bytes()
    gone.unlink()
    gone.symlink_to(logs / "a.json")  # a link to itself cannot be opened by any user
    assert len(corpus.ingest([gone, logs / "b.json"]).read) == 1
    gone.unlink()
    gone.write_bytes(kept)
    assert corpus.ingest([gone, logs / "b.json"]).read == (str(gone),)


def test_search_finds_words_and_code(corpus: Corpus, logs: Path) -> None:
    corpus.ingest(f"{logs}/*.json")
    (hit,) = corpus.search('"this is b"')
    assert (hit.kind, hit.session, hit.seq, hit.source) == ("events", "b", 0, str(logs / "b.json"))
    assert hit.snippet == "this is b"
    assert len(corpus.search("number2 --fa")) == 3
    assert len(corpus.search("number2", limit=2)) == 2
    (call,) = corpus.search("a.py")
    assert call.row["paths"] == ["a.py"]
    assert corpus.search("nowhere") == ()
    assert [hit.session for hit in corpus.search("is c\n")] == ["c"]
    assert corpus.search("s/b.p") == ()


def test_an_ingest_that_was_stopped_goes_on(
    corpus: Corpus, logs: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(parts, "_BATCH_BYTES", (1, 1))

    def stop(progress: Progress) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        corpus.ingest(f"{logs}/*.json", progress=stop)
    assert len(Corpus(corpus.folder).sessions) == 1
    assert len(corpus.ingest(f"{logs}/*.json").read) == 2
    assert len(corpus.sessions) == 3


def test_parts_that_killed_processes_left_are_ignored_and_removed_by_the_next_ingest(
    corpus: Corpus, logs: Path
) -> None:
    corpus.ingest(logs / "a.json")
    part = next(corpus.folder.glob("parts/*"))
    with Corpus(corpus.folder)._catalogue.ingesting():
        left = [shutil.copytree(part, part.with_name(name)) for name in ("0" * 32, f".{'1' * 32}")]
        assert len(corpus.sessions) == 1
        corpus.ingest(logs / "b.json")
        assert all(folder.exists() for folder in left), "the other process may be writing them"
    corpus.ingest(logs / "b.json")
    assert not any(folder.exists() for folder in left)
    assert len(corpus.sessions) == 2


@pytest.mark.parametrize("damage", ["cut", "gone"])
def test_the_logs_of_a_damaged_part_are_read_again(corpus: Corpus, logs: Path, damage: str) -> None:
    corpus.ingest(logs)
    for file in corpus.folder.glob("parts/*/calls.parquet"):
        if damage == "cut":
            os.truncate(file, file.stat().st_size // 2)
        else:
            file.unlink()
    with pytest.raises(traces.TraceError, match="Run ingest again"):
        corpus.sql("from calls")
    (logs / "a.json").unlink()
    made = corpus.ingest(logs, keep=True)
    assert len(made.read) == 2
    assert made.gone == (str(logs / "a.json"),)
    assert "damaged" in made.problems[str(logs / "a.json")].why
    assert [count for _, count in corpus.sql(COUNT).fetchall()] == [4, 4]


@pytest.mark.parametrize("size", [0, 5_000, None])
def test_a_damaged_index_is_made_again(corpus: Corpus, logs: Path, size: int | None) -> None:
    corpus.ingest(logs)
    (index,) = corpus.folder.glob("parts/*/index.sqlite")
    if size is None:
        index.unlink()
    else:
        os.truncate(index, size)
    with pytest.raises(traces.TraceError, match="Run ingest again"):
        Corpus(corpus.folder).search("number1")
    assert len(corpus.ingest(logs).read) == 3
    assert len(corpus.search("number1")) == 3


def test_another_reader_sees_the_ingested_rows(corpus: Corpus, logs: Path) -> None:
    reader = Corpus(corpus.folder)
    assert len(reader.sessions) == 0
    corpus.ingest(f"{logs}/*.json")
    assert len(reader.sessions) == 3
    assert len(reader.search("this")) == 3


def test_progress_is_reported(corpus: Corpus, logs: Path) -> None:
    told: list[Progress] = []
    corpus.ingest(f"{logs}/*.json", progress=told.append)
    assert [(one.done, one.total) for one in told] == [(1, 3), (2, 3), (3, 3)]
    assert told[-1].bytes_done == told[-1].bytes_total == sum(path.stat().st_size for path in logs.iterdir())


def test_processes_that_are_spawned_give_the_same(corpus: Corpus, logs: Path, tmp_path: Path) -> None:
    corpus.ingest(f"{logs}/*.json")
    with ProcessPoolExecutor(2, mp_context=get_context("spawn")) as pool:
        other = Corpus(tmp_path / "other")
        other.ingest(f"{logs}/*.json", client=pool)
    assert (
        other.sql("from calls order by source, seq").fetchall()
        == corpus.sql("from calls order by source, seq").fetchall()
    )


def test_the_index_has_only_what_a_log_says_now(corpus: Corpus, logs: Path) -> None:
    log = logs / "a.json"
    corpus.ingest(log)
    for number in range(6):
        later(log, *many(20), f"round number {number}")
        corpus.ingest(log)
        (hit,) = corpus.search(f'"round number {number}"')
        assert hit.snippet.endswith(f"round number {number}")
        assert corpus.search(f'"round number {number - 1}"') == ()
    assert len(list(corpus.folder.glob("parts/*"))) == 1
    assert len(list(corpus.folder.glob("parts/*/index.sqlite"))) == 1


def test_a_sub_agents_file_is_part_of_its_session(corpus: Corpus) -> None:
    layout = SAMPLES / "claude-code" / "subagent-layout"
    corpus.ingest(f"{layout}/**/*.jsonl")
    (main,) = layout.glob("*.jsonl")
    expected = traces.load(main)
    assert corpus.sql("select count(*) from calls").fetchall() == [(len(expected.calls),)]
    assert corpus.sql("select distinct source from sessions").fetchall() == [(str(main),)]
    assert corpus.ingest(f"{layout}/**/*.jsonl").same == 1


def test_counts_are_those_of_json(corpus: Corpus, logs: Path) -> None:
    corpus.ingest(f"{logs}/*.json")
    counts = corpus.sql("select counts from sessions where id = 'a'").fetchall()[0][0]
    assert json.loads(counts)["schema_version"] == "ATIF-v1.8"


class DeadlyTo:
    """An executor whose process dies of this log."""

    def __init__(self, log: Path) -> None:
        self._log = str(log)

    def submit(self, work: Callable[..., Any], write: Any, batch: Any) -> Future[Any]:
        done: Future[Any] = Future()
        if any(log.path == self._log for log in batch.logs):
            done.set_exception(BrokenExecutor())
        else:
            done.set_result(work(write, batch))
        return done


def test_a_log_that_kills_its_process_fails_alone(corpus: Corpus, logs: Path) -> None:
    made = corpus.ingest(logs, DeadlyTo(logs / "b.json"))
    assert [Path(path).name for path in made.read] == ["a.json", "c.json"]
    assert made.problems[str(logs / "b.json")].why == "The process that read this log died."
    assert len(corpus.sessions) == 2
    assert corpus.ingest(logs).read == (str(logs / "b.json"),)
    assert corpus.sql("select count(*) from problems").fetchall() == [(0,)]
