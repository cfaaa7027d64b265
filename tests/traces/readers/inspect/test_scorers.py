"""Messages of scorers are told apart from the agent's, and the metrics of a run are read from its log."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nbtools import traces
from nbtools.traces.corpus import Corpus
from nbtools.traces.explorer.explorer import Explorer
from nbtools.traces.explorer.export.terminal import facts_json
from nbtools.traces.row_texts import text_of_event
from tests.traces.explorer.asking import ask, with_chip
from tests.traces.readers.inspect.test_log import HEADER, Record, archive, document, event, sample, span, tool
from tests.traces.recorded import SAMPLES

POPULARITY = SAMPLES / "inspect/2025-02-11T15-18-04-05-00_popularity_mj7khqpMM4GBCfVQozKgzB.eval"
GRADED = SAMPLES / "inspect/made--graded.json"
RESULTS: Record = {
    "total_samples": 1,
    "scores": [
        {
            "name": "graded",
            "scorer": "model_graded_fact",
            "reducer": "mean",
            "scored_samples": 10,
            "params": {"partial_credit": True},
            "metrics": {
                "accuracy": {"name": "accuracy", "value": 0.83, "params": {}},
                "stderr": {"name": "stderr", "value": 0.038, "params": {"cluster": "x"}},
            },
        }
    ],
}


@pytest.fixture(params=[archive, document])
def load(request: pytest.FixtureRequest, tmp_path: Path) -> Any:
    return lambda *samples: traces.load(request.param(tmp_path / "log", *samples))


def model(second: int, text: str, where: str = "", tokens: int = 10) -> Record:
    """A request to a model, and its answer."""
    output = {
        "choices": [{"message": {"role": "assistant", "content": text}}],
        "usage": {"input_tokens": tokens, "output_tokens": 1},
    }
    return event("model", second, model="m", span_id=where, output=output)


def end(id_: str, second: int) -> Record:
    return event("span_end", second, id=id_, span_id=id_)


def step(second: int, action: str, kind: str, name: str) -> Record:
    return event("step", second, action=action, type=kind, name=name)


IN_SPANS = [
    span("solvers", 1, "solvers"),
    span("generate", 1, "solver", "solvers"),
    model(2, "The answer is 4.", "generate"),
    span("early", 3, "scorer", "generate"),
    model(3, "So far GRADE: C", "early", 3),
    end("early", 3),
    tool("a", 4, "bash", "generate"),
    end("generate", 5),
    end("solvers", 5),
    span("scorers", 6, "scorers"),
    span("graded", 6, "scorer", "scorers"),
    span("inner", 6, "agent", "graded"),
    model(7, "GRADE: C", "inner", 5),
    tool("b", 8, "bash", "inner", error={"message": "no"}),
    end("graded", 9),
]
IN_STEPS = [
    step(1, "begin", "solver", "generate"),
    model(2, "The answer is 4."),
    tool("a", 3, "bash"),
    step(4, "end", "solver", "generate"),
    step(5, "begin", "scorer", "graded"),
    model(6, "So far GRADE: C", "", 3),
    model(7, "GRADE: C", "", 5),
    tool("b", 8, "bash", error={"message": "no"}),
    step(9, "end", "scorer", "graded"),
]


@pytest.mark.parametrize("events", [IN_SPANS, IN_STEPS], ids=["spans", "steps"])
def test_a_scorer_is_no_agent(load: Any, events: list[Record]) -> None:
    trace = load(sample(*events, model_usage={"m": {"input_tokens": 18, "output_tokens": 3}}))
    said = [
        (one.kind, one.role, one.text) for one in trace.events if one.kind in ("assistant_text", "scorer")
    ]
    assert said == [
        ("assistant_text", "assistant", "The answer is 4."),
        ("scorer", "scorer", "So far GRADE: C"),
        ("scorer", "scorer", "GRADE: C"),
    ]
    assert [(call.id, call.level) for call in trace.calls] == [("a", "model"), ("b", "nested")]
    assert (trace.counts.calls, trace.counts.nested_calls, trace.counts.failed_calls) == (1, 1, 0)
    assert [request.flags for request in trace.usage] == [(), ("scorer",), ("scorer",)]
    assert (trace.samples[0].total_tokens, trace.samples[0].scorer_tokens) == (21, 10)
    assert (
        trace.sql("select kind, role from events where kind = 'scorer'").fetchall()
        == [("scorer", "scorer")] * 2
    )
    explorer = Explorer(trace)
    rows = with_chip(explorer, "kind:scorers")
    assert [(row["name"], row["icon"], row["subject"]) for row in rows] == [
        ("scorer", "check", "So far GRADE: C"),
        ("scorer", "check", "GRADE: C"),
    ]
    assert [row["subject"] for row in with_chip(explorer, "kind:said")] == ["The answer is 4."]
    assert ask(explorer, "open", line=rows[0]["line"]).card.tool == "scorer"
    assert "10 tokens by scorers" in [fact.text for fact in explorer.summary.facts]


def test_the_last_answer_of_the_agent_is_not_the_scorers(tmp_path: Path) -> None:
    log = archive(tmp_path / "log", sample(*IN_SPANS))
    outcomes = traces.compare(log, log).outcomes("answer contains 4", "answer contains GRADE")
    assert [one.state for one in outcomes.cells[0]] == ["passed", "failed"]


def test_a_scorers_prompt_is_a_step_once(load: Any) -> None:
    sent = [{"role": "system", "content": "Grade."}, {"role": "user", "content": "Is 4 right?"}]
    asked = [{**model(2, "GRADE: C", "s"), "input": sent}, {**model(3, "GRADE: I", "s"), "input": sent}]
    trace = load(sample(span("s", 1, "scorer"), *asked))
    assert [one.text for one in trace.events if one.kind == "scorer"] == [
        "Grade.",
        "Is 4 right?",
        "GRADE: C",
        "GRADE: I",
    ]


def test_messages_after_the_end_of_the_solvers_are_those_of_scorers(load: Any) -> None:
    trace = load(
        sample(
            span("solvers", 1, "solvers"),
            model(2, "mine", "solvers"),
            end("solvers", 3),
            model(4, "graded"),
        )
    )
    said = [(one.kind, one.text) for one in trace.events if one.kind != "system"]
    assert said == [("assistant_text", "mine"), ("scorer", "graded")]


@given(
    events=st.lists(
        st.builds(
            event,
            st.sampled_from(["span_begin", "span_end", "step", "model"]),
            st.integers(0, 59),
            id=st.sampled_from(["a", "b", None, 7, {}]),
            parent_id=st.sampled_from(["a", "b", "c", None, []]),
            type=st.sampled_from(["scorer", "solvers", "scorers", None, {}, ["scorer"]]),
            action=st.sampled_from(["begin", "end", None, {}]),
            span_id=st.sampled_from(["a", "b", None]),
            input=st.sampled_from([None, 7, "x", [None, 1, {"role": "user", "content": "?"}]]),
            input_refs=st.sampled_from([None, {}, [7], [[0, 10**30]], [[0, 10**9], [-1, 2], [None, "x"]]]),
        ),
        max_size=8,
    )
)
def test_hostile_spans(events: list[Record], tmp_path_factory: pytest.TempPathFactory) -> None:
    pool = {"messages": [{"role": "user", "content": "Grade this."}, 7]}
    record = sample(tool("x", 1, "bash"), *events, events_data=pool)
    path = document(tmp_path_factory.mktemp("inspect") / "log", record)
    assert len(traces.load(path).samples) == 1


@pytest.mark.parametrize("write", [archive, document])
def test_metrics(tmp_path: Path, write: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(HEADER, "results", RESULTS)
    path = write(tmp_path / "log.eval", sample(tool("a", 1, "bash")), sample(tool("b", 1, "bash"), id_=2))
    trace = traces.load(path)
    accuracy, error = trace.metrics
    assert (accuracy.scorer, accuracy.name, accuracy.value, accuracy.reducer, accuracy.samples) == (
        "graded",
        "accuracy",
        0.83,
        "mean",
        10,
    )
    assert (accuracy.scorer_params, error.name, error.params) == (
        {"partial_credit": True},
        "stderr",
        {"cluster": "x"},
    )
    facts = {fact.text: fact.title for fact in Explorer(trace).summary.facts}
    assert "partial_credit" in facts["accuracy 0.83 ± 0.038"]
    assert "of 10 samples" in facts["accuracy 0.83 ± 0.038"]
    assert [one["value"] for one in json.loads(facts_json(str(path)))["metrics"]] == [0.83, 0.038]
    corpus = Corpus(tmp_path / "corpus")
    corpus.ingest(path, progress=False)
    for database in (trace, corpus):
        assert database.sql("select scorer, name, value from metrics order by name").fetchall() == [
            ("graded", "accuracy", 0.83),
            ("graded", "stderr", 0.038),
        ]


def test_a_log_that_inspect_wrote_has_a_grader() -> None:
    trace = traces.load(GRADED)
    assert [one.kind for one in trace.events if one.kind != "system"] == [
        "user",
        "assistant_text",
        "scorer",
        "scorer",
    ] * 3
    prompt, grade = [one for one in trace.events if one.kind == "scorer"][:2]
    assert (prompt.role, prompt.text.startswith("\nYou are comparing a submitted answer")) == ("user", True)
    assert "[Submission]: I believe that it is Sydney." in text_of_event(prompt, trace.readings[0])
    assert (grade.role, grade.model) == ("scorer", "mockllm/grader")
    assert sum(sample.scorer_tokens or 0 for sample in trace.samples) == 665
    assert next((one.id, one.target, one.answer) for one in trace.samples) == (
        "Australia",
        "Canberra",
        "I believe that it is Sydney.",
    )
    assert "model_graded_fact accuracy 0.667 ± 0.33" in [fact.text for fact in Explorer(trace).summary.facts]


def test_a_saved_notebook_names_scorers_and_metrics() -> None:
    shown = Explorer(traces.load(GRADED)).bundle()
    assert "accuracy 0.667 ± 0.33" in shown["text/html"]
    assert "scorer Sydney is not Canberra." in " ".join(shown["text/plain"].split())


def test_metrics_of_a_published_log() -> None:
    trace = traces.load(POPULARITY)
    assert [(one.scorer, one.name) for one in trace.metrics] == [("match", "accuracy"), ("match", "stderr")]
    assert "accuracy 0.8 ± 0.13" in [fact.text for fact in Explorer(trace).summary.facts]


@pytest.mark.parametrize(
    ("header", "text"),
    [
        (None, "run not finished"),
        (HEADER | {"status": "started"}, "run not finished"),
        (HEADER | {"status": "cancelled"}, "run cancelled"),
        (HEADER | {"status": "error", "error": {"message": "no key"}}, "run ended with an error"),
    ],
)
def test_a_run_that_did_not_end_well_says_so(tmp_path: Path, header: Record | None, text: str) -> None:
    trace = traces.load(archive(tmp_path / "log", sample(tool("a", 1, "bash")), header=header))
    facts = {fact.text: fact.title for fact in Explorer(trace).summary.facts}
    assert text in facts
    assert "no key" in facts[text] or "error" not in text
    assert trace.metrics == []


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: (
        st.lists(inner)
        | st.dictionaries(st.sampled_from(["scores", "metrics", "name", "value", "params", "scorer"]), inner)
    ),
    max_leaves=10,
)


@given(results=VALUES)
def test_hostile_metrics(results: Any, tmp_path_factory: pytest.TempPathFactory) -> None:
    path = tmp_path_factory.mktemp("inspect") / "log"
    path.write_text(json.dumps(HEADER | {"results": results, "samples": [sample(tool("a", 1, "bash"))]}))
    trace = traces.load(path)
    assert Explorer(trace).summary.facts
    trace.sql("select * from metrics")


def test_a_call_belongs_to_a_tool_at_most_500_spans_around_it(load: Any) -> None:
    around = [span("s0", 1, "tool"), {**tool("outer", 1, "agent"), "span_id": "s0"}]
    spans = [span(f"s{number}", 1, "agent", f"s{number - 1}") for number in range(1, 1001)]
    calls = [{**tool(f"c{depth}", 2, "bash"), "span_id": f"s{depth}"} for depth in (1, 400, 1000)]
    trace = load(sample(*around, *spans, *calls))
    outer = trace.calls[0]
    assert [call.parent for call in trace.calls[1:]] == [outer.id, outer.id, ""]


def test_steps_within_a_step_of_a_scorer_are_the_scorers(load: Any) -> None:
    trace = load(
        sample(
            step(1, "begin", "scorer", "a"),
            step(2, "begin", "solver", "b"),
            model(3, "inner"),
            step(4, "end", "solver", "b"),
            model(5, "outer"),
            step(6, "end", "scorer", "a"),
            step(7, "end", "scorer", "a"),
            model(8, "after"),
        )
    )
    written = {event.text: event.kind for event in trace.events if event.text in ("inner", "outer", "after")}
    assert written == {"inner": "scorer", "outer": "scorer", "after": "assistant_text"}
    assert not trace.problems


def test_a_log_of_scorers_alone_has_messages(load: Any) -> None:
    trace = load(sample(span("s", 1, "scorer"), model(2, "graded", "s")))
    assert [event.kind for event in trace.events if event.text == "graded"] == ["scorer"]
    assert not trace.problems
