"""A fork repeats its parent's records in a log of its own: over several logs, each record counts once."""

from __future__ import annotations

import json
import uuid
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nbtools import traces
from nbtools.traces.explorer.summary import summary_of
from nbtools.traces.reviews.queue import outcome_of
from nbtools.traces.reviews.review import review
from nbtools.traces.trace import Trace, load, load_many
from tests.examples import examples

Record = dict[str, Any]


@dataclass
class Session:
    """A session of Claude Code as its records.
    ``fork`` copies them under another session's id, as ``--fork-session`` does.
    """

    clock: list[float]
    random: Random
    records: list[Record] = field(default_factory=list)
    id: str = ""

    def __post_init__(self) -> None:
        self.id = self._uuid()
        self._add("queue-operation", operation="enqueue")

    def work(self, prompts: int = 1, calls: int = 2) -> Session:
        for _ in range(prompts):
            self._add("user", message={"role": "user", "content": f"Repair part {self.random.random()}"})
            for _ in range(calls):
                self._call()
            self._answer([{"type": "text", "text": "It is repaired."}])
        return self

    def fork(self, records: int | None = None) -> Session:
        other = Session(self.clock, self.random)
        copied = [
            one for one in self.records[: len(self.records) if records is None else records] if "uuid" in one
        ]
        other.records += [{**one, "sessionId": other.id} for one in copied]
        return other

    def write(self, folder: Path) -> Path:
        folder.mkdir(parents=True, exist_ok=True)
        path = folder / f"{self.id}.jsonl"
        path.write_text("".join(json.dumps(one) + "\n" for one in self.records))
        return path

    def _call(self) -> None:
        name = f"toolu_{self.random.getrandbits(96):024x}"
        self._answer([{"type": "tool_use", "id": name, "name": "Bash", "input": {"command": "make"}}])
        self._add(
            "user",
            message={
                "role": "user",
                "content": [{"type": "tool_result", "tool_use_id": name, "content": "done"}],
            },
        )

    def _answer(self, content: list[Record]) -> None:
        usage = {
            "input_tokens": 7,
            "output_tokens": self.random.randrange(1, 99),
            "cache_read_input_tokens": 100,
        }
        name = f"msg_{self.random.getrandbits(96):024x}"
        message = {
            "id": name,
            "role": "assistant",
            "model": "m",
            "stop_reason": "end_turn",
            "content": content,
            "usage": usage,
        }
        self._add("assistant", message=message)

    def _add(self, kind: str, **fields: Any) -> None:
        self.clock[0] += 1
        at = f"2026-01-01T{int(self.clock[0] // 3600):02}:{int(self.clock[0] // 60 % 60):02}:{int(self.clock[0] % 60):02}.000Z"
        record = {"type": kind, "sessionId": self.id, "timestamp": at, "isSidechain": False, **fields}
        if kind != "queue-operation":
            parent = self.records[-1].get("uuid") if self.records else None
            record = {"parentUuid": parent, "uuid": self._uuid(), **record}
        self.records.append(record)

    def _uuid(self) -> str:
        return str(uuid.UUID(int=self.random.getrandbits(128), version=4))


def family() -> tuple[Session, Session, Session]:
    """A session, its fork, and a fork of the fork; all of them went on."""
    parent = Session([0.0], Random(7)).work(2)
    fork = parent.fork()
    fork.work()
    grandchild = fork.fork()
    grandchild.work()
    parent.work()
    return parent, fork, grandchild


def facts_of(sessions: Sequence[Session]) -> dict[str, int]:
    """Returns the totals of the records, each counted once."""
    records = {one["uuid"]: one for session in sessions for one in session.records if "uuid" in one}
    answers = {one["message"]["id"]: one["message"] for one in records.values() if one["type"] == "assistant"}
    prompts = [
        one
        for one in records.values()
        if one["type"] == "user" and isinstance(one["message"]["content"], str)
    ]
    return {
        "calls": sum(part["type"] == "tool_use" for one in answers.values() for part in one["content"]),
        "turns": len(prompts),
        "requests": len(answers),
        "output": sum(one["usage"]["output_tokens"] for one in answers.values()),
        "cache_read": sum(one["usage"]["cache_read_input_tokens"] for one in answers.values()),
    }


def counted(trace: Trace) -> dict[str, int]:
    return {
        "calls": len(trace.calls),
        "turns": sum(event.kind == "user" for event in trace.events),
        "requests": len(trace.usage),
        "output": sum(session.tokens.output or 0 for session in trace.sessions),
        "cache_read": sum(request.tokens.cache_read or 0 for request in trace.usage),
    }


COUNTS = """
select (select count(*) from calls), (select count(*) from events where kind = 'user'), (select count(*) from usage),
    (select sum(output_tokens) from sessions), (select sum(cache_read_tokens) from usage)
"""


def counted_in_sql(query: Callable[[str], Any]) -> dict[str, int]:
    (row,) = query(COUNTS).fetchall()
    return dict(zip(("calls", "turns", "requests", "output", "cache_read"), map(int, row), strict=True))


def test_several_logs_count_each_record_once(tmp_path: Path) -> None:
    logs = family()
    trace = load_many([one.write(tmp_path) for one in logs])
    assert counted(trace) == counted_in_sql(trace.sql) == facts_of(logs)
    assert len(trace.turns) == facts_of(logs)["turns"]
    assert [session.id for session in trace.sessions] == [one.id for one in logs]


def test_a_session_says_how_many_of_its_records_repeat_anothers(tmp_path: Path) -> None:
    logs = family()
    trace = load_many([one.write(tmp_path) for one in logs])
    own = [{one.get("uuid") for one in session.records} for session in logs]
    assert [session.counts.get("repeats", 0) for session in trace.sessions] == [
        0,
        len(own[1] & own[0]) - 1,
        len(own[2] & own[1]) - 1,
    ]
    assert ["repeats" in session.flags for session in trace.sessions] == [False, True, True]


def test_the_explorer_says_how_many_records_are_repeated(tmp_path: Path) -> None:
    trace = load_many([one.write(tmp_path) for one in family()])
    repeated = sum(session.counts.get("repeats", 0) for session in trace.sessions)
    facts = {fact.text: fact for fact in summary_of(trace).facts}
    assert facts[f"{repeated:,} repeated"].title.startswith("Records that")
    assert not any(
        "repeated" in fact.text for fact in summary_of(load(tmp_path / f"{trace.sessions[0].id}.jsonl")).facts
    )


def test_a_fork_by_itself_is_read_as_a_whole(tmp_path: Path) -> None:
    _, fork, _ = family()
    assert counted(load(fork.write(tmp_path))) == facts_of([fork])


@settings(max_examples=examples(40), deadline=None)
@given(
    st.lists(st.tuples(st.integers(0, 9), st.integers(1, 40), st.booleans()), max_size=6),
    st.randoms(use_true_random=False),
)
def test_the_records_of_any_family_count_once_in_any_order(
    forks: list[tuple[int, int, bool]], random: Any
) -> None:
    """Law: the numbers of a set are those of its different records, whichever logs are forks of which,
    wherever they were forked.
    """
    logs = [Session([0.0], Random(1)).work(2)]
    for origin, length, goes_on in forks:
        fork = logs[origin % len(logs)].fork(max(length, 4))
        logs.append(fork.work(1) if goes_on else fork)
    random.shuffle(logs)
    with TemporaryDirectory() as name:
        trace = load_many([one.write(Path(name)) for one in logs])
        expected = facts_of(logs)
        assert counted(trace) == expected
        assert sum(request.tokens.output or 0 for request in trace.usage) == expected["output"]


def test_a_copy_of_a_file_is_no_fork(tmp_path: Path) -> None:
    session = Session([0.0], Random(7)).work()
    paths = [session.write(tmp_path / "one"), session.write(tmp_path / "two")]
    assert len(load_many(paths).calls) == 2 * facts_of([session])["calls"]


def test_runs_with_counted_ids_at_the_same_time_are_no_forks(tmp_path: Path) -> None:
    logs = family()[:2]
    for log in logs:
        text = log.write(tmp_path).read_text()
        for number, name in enumerate(
            {one["message"]["id"] for one in log.records if one["type"] == "assistant"}
        ):
            text = text.replace(name, f"msg_{number}")
        (tmp_path / f"{log.id}.jsonl").write_text(_short_calls(text))
    trace = load_many(sorted(tmp_path.glob("*.jsonl")))
    assert len(trace.calls) == sum(facts_of([one])["calls"] for one in logs)


def _short_calls(text: str) -> str:
    found: dict[str, str] = {}
    parts = text.split('"toolu_')
    return parts[0] + "".join(
        f'"{found.setdefault(part[:24], f"call_{len(found)}")}{part[24:]}' for part in parts[1:]
    )


def test_signals_count_once(tmp_path: Path) -> None:
    parent = Session([0.0], Random(7)).work(1, 4)  # four times the same command: the signal repeated_call
    fork = parent.fork()
    paths = [one.write(tmp_path) for one in (parent, fork.work(1, 1))]
    trace = load_many(paths)
    assert [(one.session, one.kind) for one in review(trace).signals if len(one.seqs) >= 4] == [
        (parent.id, "repeated_call"),
        (fork.id, "repeated_call"),
    ]
    alone = load_many([one.write(tmp_path) for one in (parent, parent.fork())])
    assert [one.session for one in review(alone).signals] == [parent.id]


def test_rates_count_once(tmp_path: Path) -> None:
    logs = family()
    trace = load_many([one.write(tmp_path) for one in logs])
    assert review(trace).progress(steps=True) == (0, facts_of(logs)["calls"])
    by_session = [[call for call in trace.calls if call.session == one.id] for one in logs]
    assert all(outcome_of(session, calls) for session, calls in zip(trace.sessions, by_session, strict=True))


def test_a_fork_that_appears_later_or_grows_is_counted_once(tmp_path: Path) -> None:
    parent, fork, _ = family()
    trace = load_many([parent.write(tmp_path), fork.write(tmp_path)])
    before = trace.calls
    fork.work()
    fork.write(tmp_path)
    assert trace.update()
    assert counted(trace) == facts_of([parent, fork])
    assert len(before) < len(trace.calls)


@pytest.fixture
def corpus(tmp_path: Path) -> Iterator[traces.Corpus]:
    pytest.importorskip("duckdb")
    corpus = traces.Corpus(tmp_path / "corpus")
    yield corpus
    corpus.close()


def test_a_corpus_counts_each_record_once(tmp_path: Path, corpus: traces.Corpus) -> None:
    logs = family()
    paths = [one.write(tmp_path / "logs") for one in logs]
    corpus.ingest(tmp_path / "logs", progress=False)
    trace = load_many(paths)
    assert counted_in_sql(corpus.sql) == counted(trace) == facts_of(logs)
    for table in ("sessions", "events", "calls", "file_changes", "usage", "context", "signals"):
        count = f"select count(*) from {table}"
        assert corpus.sql(count).fetchall() == trace.sql(count).fetchall(), table
    repeats = "select id, cast(counts->>'repeats' as integer) from sessions order by id"
    assert corpus.sql(repeats).fetchall() == sorted(
        (one.id, one.counts.get("repeats")) for one in trace.sessions
    )


def test_records_that_left_the_parent_count_where_they_stay(tmp_path: Path, corpus: traces.Corpus) -> None:
    """A parent that is deleted, or comes later, changes what counts where."""
    parent, fork, _ = family()
    fork.write(tmp_path / "logs")
    corpus.ingest(tmp_path / "logs", progress=False)
    assert counted_in_sql(corpus.sql) == facts_of([fork])
    path = parent.write(tmp_path / "logs")
    corpus.ingest(tmp_path / "logs", progress=False)
    assert counted_in_sql(corpus.sql) == facts_of([parent, fork])
    path.unlink()
    corpus.ingest(tmp_path / "logs", progress=False)
    assert counted_in_sql(corpus.sql) == facts_of([fork])


def test_the_list_of_sessions_counts_each_record_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    logs = family()
    _, fork, grandchild = logs
    fork.write(tmp_path / "logs")
    grandchild.write(tmp_path / "logs")
    assert _listed(tmp_path / "logs") == _expected(logs[1:])
    parent = logs[0].write(tmp_path / "logs")
    assert _listed(tmp_path / "logs") == _expected(logs)
    parent.unlink()
    assert _listed(tmp_path / "logs") == _expected(logs[1:])


def _listed(folder: Path) -> tuple[int, int, int]:
    found = [
        one for one in traces.sessions(folders=[folder], complete=True) if one.path.is_relative_to(folder)
    ]
    assert all(one.read for one in found)
    return (
        sum(one.calls or 0 for one in found),
        sum(one.output_tokens or 0 for one in found),
        sum((one.repeats or 0) > 0 for one in found),
    )


def _expected(logs: Sequence[Session]) -> tuple[int, int, int]:
    facts = facts_of(logs)
    return facts["calls"], facts["output"], len(logs) - 1


def test_a_comparison_aligns_a_fork_as_a_whole_and_counts_what_it_repeats_once(tmp_path: Path) -> None:
    logs = family()[:2]
    comparison = traces.compare(*[one.write(tmp_path) for one in logs])
    assert sum(run.calls for run in comparison.runs) == facts_of(logs)["calls"]
    assert sum(run.tokens.output or 0 for run in comparison.runs) == facts_of(logs)["output"]
    assert [run.compared for run in comparison.runs] == [facts_of([one])["calls"] for one in logs]
    assert [run.repeats > 0 for run in comparison.runs] == [False, True]


CODEX_HEAD = {"cwd": "/w", "cli_version": "0.171.0", "source": "exec"}
PARENT, FORK = "01a22182-e256-7960-825f-978f3e49e2e8", "01a22182-eb5b-7681-b4df-66c0f836c5c5"


def _codex(path: Path, records: Sequence[tuple[str, Record]], minute: int) -> Path:
    lines = [
        {"timestamp": f"2026-11-28T09:{minute:02}:00.{number:02}0Z", "type": kind, "payload": payload}
        for number, (kind, payload) in enumerate(records)
    ]
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    return path


def _codex_turn(name: str, before: int, *, recorded: bool) -> list[tuple[str, Record]]:
    """A turn with one call and one request of ten tokens, as a running total."""
    usage = {"input_tokens": 9, "output_tokens": 1, "total_tokens": 10}
    total = {"input_tokens": before + 9, "output_tokens": before // 10 + 1, "total_tokens": before + 10}
    own = {"response_id": f"resp_{name}", "usage": usage, "thread_token_usage": total}
    return [
        (
            "response_item",
            {"type": "message", "role": "user", "content": [{"type": "input_text", "text": f"Do {name}"}]},
        ),
        (
            "response_item",
            {
                "type": "function_call",
                "name": "exec_command",
                "call_id": f"call_{name}",
                "arguments": '{"cmd": "ls"}',
            },
        ),
        *([("token_usage_record", own)] if recorded else []),
        (
            "event_msg",
            {"type": "token_count", "info": {"total_token_usage": total, "last_token_usage": usage}},
        ),
        ("response_item", {"type": "function_call_output", "call_id": f"call_{name}", "output": "a.py"}),
    ]


def test_a_codex_fork_that_refers_to_its_parent_counts_its_own_tokens(tmp_path: Path) -> None:
    """From 0.170 on a fork has no copies, but its running totals include the parent's."""
    parent = [("session_meta", {"id": PARENT, **CODEX_HEAD}), *_codex_turn("a" * 16, 0, recorded=True)]
    head = {"id": FORK, "forked_from_id": PARENT, "history_base": {"thread_id": PARENT}, **CODEX_HEAD}
    fork = [("session_meta", head), *_codex_turn("b" * 16, 10, recorded=True)]
    trace = load_many([_codex(tmp_path / "1.jsonl", parent, 1), _codex(tmp_path / "2.jsonl", fork, 2)])
    assert [(session.tokens.input, session.tokens.output) for session in trace.sessions] == [(9, 1), (9, 1)]
    assert [request.id for request in trace.usage] == [f"resp_{letter * 16}" for letter in "ab"]
    assert all(
        "unknown_records" not in session.flags and "tokens_differ" not in session.flags
        for session in trace.sessions
    )
    assert len(trace.calls) == 2


def test_the_copies_in_a_codex_fork_count_with_their_own_session(tmp_path: Path) -> None:
    parent = [
        ("session_meta", {"id": PARENT, "timestamp": "2026-11-28T09:01:00Z", **CODEX_HEAD}),
        *_codex_turn("a" * 16, 0, recorded=False),
    ]
    head = (
        "session_meta",
        {"id": FORK, "timestamp": "2026-11-28T09:02:00Z", "forked_from_id": PARENT, **CODEX_HEAD},
    )
    turn = ("turn_context", {"turn_id": "01a22183-0000-7000-8000-000000000000", "model": "m"})
    fork = [head, *parent, turn, *_codex_turn("b" * 16, 10, recorded=False)]
    paths = [_codex(tmp_path / "1.jsonl", parent, 1), _codex(tmp_path / "2.jsonl", fork, 2)]
    assert [session.id for session in load(paths[1]).sessions] == [FORK, PARENT]
    trace = load_many(paths)
    assert [(session.id, session.tokens.output) for session in trace.sessions] == [(PARENT, 1), (FORK, 1)]
    assert [call.native_id for call in trace.calls] == [f"call_{letter * 16}" for letter in "ab"]
    assert [event.text for event in trace.events if event.kind == "user"] == [
        f"Do {letter * 16}" for letter in "ab"
    ]
