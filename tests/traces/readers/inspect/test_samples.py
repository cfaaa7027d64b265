"""The outcome of an evaluation's samples is read as the log records it."""

from __future__ import annotations

import json
import zipfile
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nbtools import traces
from nbtools.traces.corpus import Corpus
from nbtools.traces.explorer.explorer import Explorer
from nbtools.traces.model import SampleResult
from nbtools.traces.reviews.queue import outcome_of
from tests.traces.explorer.asking import Problem, ask
from tests.traces.readers.inspect.test_log import archive, document, sample, tool
from tests.traces.recorded import SAMPLES

EVALS = sorted((SAMPLES / "inspect").glob("*.eval"))


@pytest.fixture(params=[archive, document])
def load(request: pytest.FixtureRequest, tmp_path: Path) -> Any:
    return lambda *samples: traces.load(request.param(tmp_path / "log", *samples))


@pytest.mark.parametrize("path", EVALS, ids=lambda path: path.name)
def test_samples_of_published_logs(path: Path) -> None:
    """Against the summaries that Inspect has written itself."""
    with zipfile.ZipFile(path) as opened:
        written = {(str(one["id"]), one["epoch"]): one for one in json.loads(opened.read("summaries.json"))}
    found = traces.load(path).samples
    assert {(one.id, one.epoch) for one in found} == written.keys()
    for one in found:
        summary = written[one.id, one.epoch]
        assert one.scores == {name: score["value"] for name, score in summary["scores"].items()}
        assert (one.duration, one.working_time) == (summary.get("total_time"), summary.get("working_time"))
        assert one.error is one.limit_reached is None


def test_errors_limits_and_times(load: Any) -> None:
    trace = load(
        sample(
            id_="a",
            error={"message": "boom", "traceback": "…"},
            limit={"type": "token", "limit": 5},
            total_time=2.5,
            working_time=1,
        ),
        sample(id_="b", scores={"f1": {"value": 0.5}, "parts": {"value": {"x": 1}}, "no": {"answer": "7"}}),
        sample(id_="b", epoch=2, score={"value": "I"}, model_usage=None),
        sample(id_="c", scores={}),
    )
    assert list(trace.samples) == [
        SampleResult(
            session="a_epoch_1",
            id="a",
            epoch=1,
            error="boom",
            limit_reached="token",
            total_tokens=7,
            duration=2.5,
            working_time=1.0,
        ),
        SampleResult(
            session="b_epoch_1", id="b", epoch=1, scores={"f1": 0.5, "parts": {"x": 1}}, total_tokens=7
        ),
        SampleResult(session="b_epoch_2", id="b", epoch=2, scores={"score": "I"}),
        SampleResult(session="c_epoch_1", id="c", epoch=1, total_tokens=7),
    ]
    assert [outcome_of(session, ()) for session in trace.sessions] == [
        "error",
        "f1: 0.5, parts: {'x': 1}",
        "score: I",
        "",
    ]


def test_sql_of_traces_and_corpora(tmp_path: Path) -> None:
    path = archive(
        tmp_path / "log.eval",
        sample(id_="a", scores={"match": {"value": "C"}}),
        sample(id_="b", scores={"match": {"value": "I"}}),
    )
    corpus = Corpus(tmp_path / "corpus")
    corpus.ingest(path, progress=False)
    for database in (traces.load(path), corpus):
        assert database.sql(
            "select s.id, p.scores->>'match' from sessions s join samples p on p.session = s.id order by 1"
        ).fetchall() == [
            ("a_epoch_1", "C"),
            ("b_epoch_1", "I"),
        ]
    assert traces.load(SAMPLES / "pi/made--tree.jsonl").samples == []


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: (
        st.lists(inner) | st.dictionaries(st.sampled_from(["value", "message", "type", "x"]), inner)
    ),
    max_leaves=8,
)


@given(
    record=st.dictionaries(
        st.sampled_from(["scores", "score", "error", "limit", "total_time", "working_time", "epoch", "id"]),
        VALUES,
    )
)
def test_hostile_results(record: dict[str, Any], tmp_path_factory: pytest.TempPathFactory) -> None:
    path = document(tmp_path_factory.mktemp("inspect") / "log", {**sample(tool("a", 1, "bash")), **record})
    trace = traces.load(path)
    assert len(trace.samples) == 1
    assert len(trace.sql("select * from samples")) == 1
    assert not isinstance(ask(Explorer(trace), "samples"), Problem)


def test_deep_and_long_values(load: Any, tmp_path: Path) -> None:
    deep: Any = "x"
    for _ in range(500):
        deep = [deep]
    trace = load(
        sample(tool("a", 1, "bash"), scores={"deep": {"value": deep}, "long": {"value": "x" * 10_000}})
    )
    (found,) = trace.samples
    assert {name: len(value) for name, value in (found.scores or {}).items()} == {"deep": 300, "long": 300}


def test_the_explorer_lists_the_samples(load: Any) -> None:
    trace = load(
        sample(tool("a", 1, "bash"), id_="a", scores={"match": {"value": "C"}}),
        sample(tool("b", 1, "bash"), id_="<b>"),
    )
    explorer = Explorer(trace)
    (table,) = ask(explorer, "samples").tables
    assert [row.cells for row in table.rows] == [
        ("a", "1", "correct", "match: C", "", "", "7", ""),
        ("<b>", "1", "", "", "", "", "7", ""),
    ]
    rows = [explorer.lines.rows[row.line] for row in table.rows]
    assert [getattr(row, "session", getattr(row, "id", "")) for row in rows] == ["a_epoch_1", "<b>_epoch_1"]
    assert explorer.view().samples == 2


def test_the_head_has_the_scores_of_a_single_sample(load: Any) -> None:
    trace = load(sample(tool("a", 1, "bash"), scores={"match": {"value": "C"}}, limit={"type": "time"}))
    texts = [fact.text for fact in Explorer(trace).summary.facts]
    assert {"match: C", "time limit reached"} <= set(texts)
