"""Additions to the context are attributed to their source."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path

import pytest

from nbtools import traces
from nbtools.traces.explorer.explorer import Explorer
from nbtools.traces.usage.context import programs_of
from nbtools.traces.usage.requests import input_of
from tests.traces.explorer.asking import ask
from tests.traces.readers.test_claude_code import SESSION, prompt, reply, text, write
from tests.traces.recorded import LOGS, SAMPLES


@pytest.mark.parametrize(
    ("command", "programs"),
    [
        ("pytest -q", "pytest"),
        ("cd src && FOO=1 /usr/bin/pytest -q | tail -3", "pytest, tail"),
        ("cd src", "cd"),
        ("git add . && git commit -m 'a; rm b'", "git"),
        ("for f in *.py; do wc -l $f; done", "wc"),
        ("python - <<'X'\nprint(1)\nX", "python"),
        ("echo $(date)", "echo, date"),
        ("", ""),
    ],
)
def test_the_programs_of_a_command(command: str, programs: str) -> None:
    assert programs_of(command) == programs


@pytest.mark.parametrize("log", LOGS)
def test_every_part_is_within_what_the_log_says(log: str) -> None:
    trace = traces.load(SAMPLES / log)
    characters = {(call.session, call.id): call.result_size for call in trace.calls}
    requests = {
        session.id: sum(row.session == session.id and row.scope == "request" for row in trace.usage)
        for session in trace.sessions
    }
    largest: dict[str, int] = {}
    for row in trace.usage:
        largest[row.session] = max(largest.get(row.session, 0), input_of(row.tokens) or 0)
    for part in trace.context:
        if part.call and part.part != "arguments":
            assert part.characters == characters[part.session, part.call]
        if part.tokens_min is not None and part.tokens_max is not None:
            assert 0 <= part.tokens_min <= part.tokens_max
            if part.part not in {"text", "thinking", "arguments"}:
                assert part.tokens_max <= largest[part.session]
        if part.requests is not None and part.cached_requests is not None:
            assert 0 <= part.cached_requests <= part.requests <= requests[part.session]


def test_parts_end_with_a_compaction() -> None:
    trace = traces.load(SAMPLES / "pi/made--tree.jsonl")
    parts = {(part.part, part.name): part for part in trace.context}
    assert (parts["file", "price.py"].characters, parts["file", "price.py"].requests) == (31, 3)
    assert parts["command", "pytest"].requests == 3
    assert parts["unlogged", ""].requests == 5
    assert parts["summary", ""].requests == 1


def test_a_single_part_of_an_answer_has_its_tokens() -> None:
    (answer,) = [
        part for part in traces.load(SAMPLES / "inspect/log_read_sample.eval").context if part.part == "text"
    ]
    assert (answer.tokens_min, answer.tokens_max, answer.characters) == (3, 3, 4)


def test_an_answer_with_hidden_thinking_has_more_than_its_text(tmp_path: Path) -> None:
    usage = {"input_tokens": 400, "output_tokens": 900}
    hidden = {"type": "thinking", "thinking": "", "signature": "s"}
    records = [
        prompt("a", None),
        reply("b", "a", hidden, key="m1", usage=usage),
        reply("c", "b", text("Yes."), key="m1", usage=usage),
        prompt("d", "c", "More"),
        reply("e", "d", text("No."), key="m2", usage={"input_tokens": 410, "output_tokens": 5}),
    ]
    trace = traces.load(write(tmp_path / f"{SESSION}.jsonl", records))
    answers = [part for part in trace.context if part.part in ("thinking", "text")]
    assert [(part.part, part.characters, part.tokens_min, part.tokens_max) for part in answers] == [
        ("thinking", None, 0, 900),
        ("text", 4, 0, 900),
        ("text", 3, 5, 5),
    ]
    assert (answers[1].tokens_estimate or 0) <= 10  # the input has grown by no more
    usage_view = ask(Explorer(trace), "usage")
    (row,) = [row for table in usage_view.tables for row in table.rows if row.cells[0] == "thinking"]
    assert (row.cells[1], row.chip) == ("", "")
    (row,) = [row for table in usage_view.tables for row in table.rows if row.cells[0] == "the model's text"]
    assert row.cells[2].startswith("≈")


def test_results_are_bounded_by_the_growth_of_the_input() -> None:
    trace = traces.load(SAMPLES / "codex/skills--019d78fc-c449-7300-92a1-1e92604a4f6a.jsonl")
    sizes = [input_of(row.tokens) or 0 for row in trace.usage]
    growths = {after - before for before, after in pairwise(sizes)}
    results = [
        part
        for part in trace.context
        if part.part in {"command", "file", "result"} and part.tokens_max is not None
    ]
    assert len(results) > 20
    assert {part.tokens_max for part in results} <= growths


def test_a_corpus_has_the_tables(tmp_path: Path) -> None:
    log = SAMPLES / "pi/made--tree.jsonl"
    trace, corpus = traces.load(log), traces.Corpus(tmp_path / "corpus")
    corpus.ingest([log])
    for table in ("usage", "context"):
        query = f"select * exclude (source) from {table} order by all"
        assert corpus.sql(query).fetchall() == trace.sql(query).fetchall()
        assert len(corpus.sql(query)) == len(getattr(trace, table))
