"""The outcome of an evaluation's samples is read as the log records it."""

from __future__ import annotations

import json
import math
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
from tests.traces.column_reader import rows
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
            input="do it",
            error="boom",
            limit_reached="token",
            total_tokens=7,
            duration=2.5,
            working_time=1.0,
        ),
        SampleResult(
            session="b_epoch_1",
            id="b",
            epoch=1,
            input="do it",
            answer="7",
            scores={"f1": 0.5, "parts": {"x": 1}},
            total_tokens=7,
        ),
        SampleResult(session="b_epoch_2", id="b", epoch=2, input="do it", scores={"score": "I"}),
        SampleResult(session="c_epoch_1", id="c", epoch=1, input="do it", total_tokens=7),
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
        st.sampled_from(
            [
                "scores",
                "score",
                "error",
                "limit",
                "total_time",
                "working_time",
                "epoch",
                "id",
                "input",
                "target",
            ]
        ),
        VALUES,
    )
)
def test_hostile_results(record: dict[str, Any], tmp_path_factory: pytest.TempPathFactory) -> None:
    path = document(tmp_path_factory.mktemp("inspect") / "log", {**sample(tool("a", 1, "bash")), **record})
    trace = traces.load(path)
    assert len(trace.samples) == 1
    assert len(trace.sql("select * from samples")) == 1
    explorer = Explorer(trace)
    assert not isinstance(ask(explorer, "samples"), Problem)
    assert not isinstance(ask(explorer, "sample", sample=0), Problem)


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
        sample(
            tool("a", 1, "bash"),
            id_="a",
            input="Which\nnumber?",
            target="4",
            scores={"match": {"value": "C", "answer": "4"}, "length": {"value": 0.5}},
        ),
        sample(tool("b", 1, "bash"), id_="<b>", error={"message": "boom"}, total_time=2.5),
    )
    explorer = Explorer(trace)
    reply, data = ask(explorer, "samples")
    assert (reply.total, reply.scorers) == (2, ("match", "length"))
    first, second = rows(reply.block, data)
    assert {
        name: first[name] for name in ("id", "epoch", "input", "target", "answer", "outcome", "tokens")
    } == {
        "id": "a",
        "epoch": 1,
        "input": "Which ⏎ number?",
        "target": "4",
        "answer": "4",
        "outcome": "correct",
        "tokens": 7,
    }
    assert (first["score0"], first["value0"], first["score1"], first["value1"]) == ("C", 1.0, "0.5", 0.5)
    assert (second["id"], second["outcome"], second["error"], second["seconds"]) == (
        "<b>",
        "error",
        "boom",
        2.5,
    )
    assert (second["score0"], math.isnan(second["value0"])) == ("", True)
    starts = [explorer.lines.rows[int(row["line"])] for row in (first, second)]
    assert [getattr(row, "session", getattr(row, "id", "")) for row in starts] == [
        "a_epoch_1",
        "<b>_epoch_1",
    ]
    assert explorer.view().samples == 2


def test_scores_larger_than_a_float(load: Any) -> None:
    scores = {"big": {"value": 10**400}, "low": {"value": -(10**400)}, "usual": {"value": 2}}
    explorer = Explorer(load(sample(tool("a", 1, "bash"), scores=scores)))
    reply, data = ask(explorer, "samples")
    (row,) = rows(reply.block, data)
    assert row["value1"] < row["value2"] < row["value0"] < math.inf


def test_texts_of_samples(load: Any) -> None:
    mark = "0123456789abcdef0123456789abcdef"
    long = "a long text " * 20_000
    trace = load(
        sample(
            id_="a",
            input=f"attachment://{mark}",
            target=["4", "four"],
            attachments={mark: long},
            scores={
                "first": {"value": "I"},
                "second": {"value": 1, "answer": "5", "explanation": "5 is not 4"},
            },
        ),
        sample(
            id_="b",
            input=[{"role": "system", "content": "Be brief."}, {"role": "user", "content": "2 + 2?"}],
            target="",
        ),
        sample(id_="c", input=[{"role": "user", "content": [{"type": "text", "text": "one"}]}]),
    )
    first, second, third = trace.samples
    assert (first.input, first.target) == (long[:2_000], "4, four")
    assert (first.answer, first.explanation) == ("5", "5 is not 4")
    assert (second.input, second.target) == ("system: Be brief.\n\nuser: 2 + 2?", None)
    assert third.input == "one"
    opened = ask(Explorer(trace), "sample", sample=0)
    texts = [block.text for block in opened.card.blocks]
    assert texts[:2] == ["Input", long.strip("\n")]
    assert texts[2:] == [
        *("Target", "4, four"),
        *("Score of first", "I (incorrect)"),
        *("Score of second", "1"),
        *("Answer, by second", "5"),
        *("Explanation of second", "5 is not 4"),
    ]
    assert isinstance(ask(Explorer(trace), "sample", sample=3), Problem)
    found = trace.sql("select input, answer, explanation from samples where target = '4, four'").fetchall()
    assert found == [(long[:2_000], "5", "5 is not 4")]


def test_secrets_of_samples_are_not_shown(load: Any) -> None:
    secret = "sk-ant-api03-" + "Ab3" * 30
    explorer = Explorer(load(sample(id_="a", input=secret, target=secret, scores={"x": {"value": secret}})))
    reply, data = ask(explorer, "samples")
    shown = [str(reply), *map(str, rows(reply.block, data)), str(ask(explorer, "sample", sample=0))]
    assert not any("Ab3Ab3" in text for text in shown)


def test_an_input_of_ten_megabytes(load: Any) -> None:
    explorer = Explorer(load(sample(id_="a", input="x" * 10_000_000, target="<script>")))
    assert len(ask(explorer, "samples")[1]) < 5_000
    text = ask(explorer, "sample", sample=0).card.blocks[1].text
    assert len(text) < 1_001_000
    assert "9,000,000 more characters" in text


def test_the_head_has_the_scores_of_a_single_sample(load: Any) -> None:
    trace = load(sample(tool("a", 1, "bash"), scores={"match": {"value": "C"}}, limit={"type": "time"}))
    texts = [fact.text for fact in Explorer(trace).summary.facts]
    assert {"match: C", "time limit reached"} <= set(texts)
