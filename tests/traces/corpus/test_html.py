"""The display of a corpus: its content, the progress of an ingest, and the way from a row to its log."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest
from nbclient import NotebookClient
from nbformat import v4

from nbtools import traces
from nbtools.traces.corpus import Corpus
from tests.traces.atif_logs import many, write


@pytest.fixture
def logs(tmp_path: Path) -> Path:
    for name in ("a", "b"):
        write(tmp_path / "logs" / f"{name}.json", f"this is {name}", *many(3), session=name)
    (tmp_path / "logs" / "<x>.json").write_text("[]")
    return tmp_path / "logs"


@pytest.fixture
def corpus(tmp_path: Path) -> Corpus:
    return Corpus(tmp_path / "corpus")


def test_the_page_lists_its_content_and_how_to_query_it(corpus: Corpus, logs: Path) -> None:
    made = corpus.ingest(logs)
    shown = corpus._repr_html_()
    for text in (
        str(corpus.folder),
        "atif 2",
        "2026-01-02 to 2026-01-02",
        ">6<",
        "corpus.sql(",
        "corpus.open(",
        "1 not readable",
    ):
        assert text in shown
    assert "&lt;x&gt;.json" in made._repr_html_()
    assert "<x>" not in shown + made._repr_html_()
    assert "2 logs read" in repr(made)


def test_an_empty_one_can_be_looked_at(corpus: Corpus) -> None:
    assert "0.0 MB" in corpus._repr_html_()


def test_without_duckdb_it_is_still_shown(
    corpus: Corpus, logs: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    corpus.ingest(logs)
    monkeypatch.setitem(sys.modules, "duckdb", None)
    assert "<td>2, " in corpus._repr_html_()


def test_from_a_row_one_gets_back_to_the_log(corpus: Corpus, logs: Path) -> None:
    corpus.ingest(logs)
    (source,) = corpus.sql("select source from calls where session = 'b' limit 1").fetchall()[0]
    (found,) = corpus.search('"this is b"')
    for trace in (
        corpus.open("b"),
        corpus.open(source),
        corpus.open(Path(source)),
        corpus.open(found),
        found.open(),
    ):
        assert [session.id for session in trace.sessions] == ["b"]
    assert "this is b" in found._repr_html_()


def test_logs_that_cannot_be_opened_are_named(corpus: Corpus, logs: Path) -> None:
    write(logs / "again.json", "this is a", session="a")
    corpus.ingest(logs)
    with pytest.raises(traces.TraceError, match="has no session it's"):
        corpus.open("it's")
    with pytest.raises(traces.TraceError, match="2 logs have a session a"):
        corpus.open("a")
    (logs / "b.json").unlink()
    with pytest.raises(traces.TraceError, match=r"b\.json"):
        corpus.open("b")


def test_a_script_sees_it_when_it_asks(
    corpus: Corpus, logs: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    corpus.ingest(logs / "a.json")
    assert capsys.readouterr().err == ""
    corpus.ingest(logs / "b.json", progress=True)
    last = capsys.readouterr().err.rstrip().rpartition("\r")[2]
    assert last.startswith("1 of 1 logs: 100%")
    corpus.ingest(logs / "b.json", progress=True)
    assert capsys.readouterr().err == ""


def test_a_notebook_shows_it_in_one_output(tmp_path: Path, logs: Path) -> None:
    source = f"from nbtools.traces import Corpus\nCorpus({str(tmp_path / 'corpus')!r}).ingest({str(logs)!r})"
    book: Any = v4.new_notebook(cells=[v4.new_code_cell(source)])  # type: ignore[no-untyped-call]
    NotebookClient(book, timeout=60, coalesce_streams=True).execute()
    bar, result = book.cells[0].outputs
    assert bar.text.strip().startswith("2 of 2 logs: 100%")
    assert "2 logs read" in result.data["text/html"]
