"""Signals are found where their definition says so, and not otherwise."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from nbtools.traces import TraceError, load, load_many
from nbtools.traces.corpus import Corpus
from nbtools.traces.corpus.parts import Batch, WritePart
from nbtools.traces.corpus.plan import plan_ingest
from nbtools.traces.reviews import signals
from nbtools.traces.reviews.commands import programs_of, runs_tests
from nbtools.traces.reviews.records import Signal
from nbtools.traces.reviews.review import review
from nbtools.traces.reviews.signals import DEFINITIONS
from tests.traces.recorded import LOGS, SAMPLES
from tests.traces.reviews.logs import Log


@pytest.fixture
def found(tmp_path: Path):
    """Returns the kinds and the steps' numbers (calls and messages from 0) of a log's signals."""

    def found(log: Log) -> list[tuple[str, list[str]]]:
        trace = load(log.write(tmp_path / "log.jsonl"))
        names = {(call.session, call.seq): call.subject for call in trace.calls}
        return [
            (one.kind, [names.get((one.session, seq), "message") for seq in one.seqs])
            for one in review(trace).signals
        ]

    return found


def test_repeated_identical_calls(found) -> None:
    assert found(Log().person("go").bash("git log").bash("git log")) == []
    assert found(Log().person("go").bash("git log").bash("pwd").bash("git log").bash("git log")) == [
        ("repeated_call", ["git log"] * 3)
    ]
    edited = (
        Log().person("go").bash("make").edit("/a", "1", "2").bash("make").edit("/a", "2", "3").bash("make")
    )
    assert found(edited) == []  # running it again after a change is work
    other = Log().person("go")
    for limit in (1, 2, 3):
        other.call("Read", {"file_path": "/a", "offset": limit})
    assert found(other) == []  # other arguments


def test_edits_that_are_undone(found) -> None:
    undone = (
        Log()
        .person("go")
        .edit("/a", "one", "two")
        .edit("/a", "two", "three")
        .bash("ls")
        .edit("/a", "three", "one")
    )
    assert found(undone) == [("undone_edit", ["/a"] * 3)]
    assert found(Log().person("go").edit("/a", "one", "two").edit("/a", "two", "three")) == []
    assert found(Log().person("go").edit("/a", "one", "two").edit("/b", "two", "one")) == []
    assert (
        found(Log().person("go").edit("/a", "one", "two").edit("/a", "x", "y").edit("/a", "two", "one")) == []
    )  # another part of the file


def test_failures_that_are_not_retried(found) -> None:
    assert found(Log().person("go").bash("cargo build", failed=True).agent("Done.")) == [
        ("failure_not_retried", ["cargo build"])
    ]
    assert (
        found(Log().person("go").bash("cargo build", failed=True).bash("cd x && cargo build --release")) == []
    )
    assert found(Log().person("go").bash("grep -r needle .", failed=True)) == []
    assert found(Log().person("go").bash("make && ls nothing", failed=True)) == []


@pytest.mark.parametrize(
    "claim",
    [
        "All tests pass now.",
        "Done. All 14 tests are passing.",
        "The test suite passes.",
        "I fixed it: tests pass!",
    ],
)
def test_tests_that_were_claimed_but_not_run(found, claim: str) -> None:
    assert found(Log().person("go").bash("make").agent(claim)) == [("tests_claimed_not_run", ["message"])]
    assert found(Log().person("go").bash("uv run pytest -q").agent(claim)) == []
    assert found(Log().person("go").bash("cat tests/test_a.py").agent(claim)) == [
        ("tests_claimed_not_run", ["message"])
    ]


@pytest.mark.parametrize(
    "text",
    [
        "Next I make sure that all tests pass.",
        "If the tests pass, we are done.",
        "All tests should pass now.",
        "The tests do not pass.",
        "Do all tests pass?",
        "I will run the tests.",
        "Please verify that the tests pass.",
    ],
)
def test_other_texts_are_not_claims(found, text: str) -> None:
    assert found(Log().person("go").agent(text)) == []


def test_a_claim_far_into_a_long_message(found) -> None:
    assert found(Log().person("go").agent("x " * 5_000 + "\nAll tests pass.")) == [
        ("tests_claimed_not_run", ["message"])
    ]


def test_files_read_often(found) -> None:
    log = Log().person("go")
    for offset in range(5):
        log.call("Read", {"file_path": "/a", "offset": offset})
    assert found(log) == [("file_read_often", ["/a"] * 5)]
    log.lines = log.lines[:7]
    log.edit("/a", "x", "y")
    for offset in range(3):
        log.call("Read", {"file_path": "/a", "offset": offset})
    assert found(log) == []


def test_compactions() -> None:
    (signal,) = [
        one for one in review(load(SAMPLES / "pi/made--tree.jsonl")).signals if one.kind == "context_pressure"
    ]
    assert signal.seq == signal.last_seq


def test_a_context_that_shrinks(tmp_path: Path) -> None:
    def sizes(*tokens: int) -> list[str]:
        log = Log().person("go")
        for number, count in enumerate(tokens):
            log.agent(f"answer {number}")
            record = json.loads(log.lines[-1])
            record["message"] |= {
                "model": "m",
                "stop_reason": "end_turn",
                "usage": {"input_tokens": 9, "cache_read_input_tokens": count},
            }
            record["message"]["usage"]["output_tokens"] = 5
            log.lines[-1] = json.dumps(record).encode() + b"\n"
        return [one.explanation for one in review(load(log.write(tmp_path / "log.jsonl"))).signals]

    assert sizes(10_000, 99_991, 40_000) == ["The request before had 100,000 tokens, this one has 40,009"]
    assert sizes(10_000, 99_991, 60_000) == []
    assert sizes(10_000, 40_000, 9_000) == []


def test_logs_whose_sessions_have_the_same_id(tmp_path: Path) -> None:
    logs = [Log().person("go").bash("git log"), Log().person("go").bash("git log").bash("git log")]
    trace = load_many([log.write(tmp_path / f"{number}.jsonl") for number, log in enumerate(logs)])
    assert review(trace).signals == []


def test_signals_are_a_table(tmp_path: Path) -> None:
    log = Log().person("go").bash("make").agent("All tests pass.")
    trace = load(log.write(tmp_path / "log.jsonl"))
    rows = trace.sql(
        "select s.kind, e.text, s.source from signals s join events e on e.session = s.session and e.seq = s.seq"
    ).fetchall()
    assert rows == [("tests_claimed_not_run", "All tests pass.", str(tmp_path / "log.jsonl"))]
    assert review(trace).signals.to_arrow().num_rows == 1


@pytest.fixture(scope="module")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> Corpus:
    made = Corpus(tmp_path_factory.mktemp("corpus"))
    assert made.ingest([SAMPLES / log for log in LOGS], progress=False).problems == {}
    return made


COLUMNS = "session, kind, seq, last_seq, seqs, explanation, source"


@pytest.mark.parametrize("log", LOGS)
def test_sql_has_the_signals_of_every_sample(log: str, corpus: Corpus) -> None:
    trace = load(SAMPLES / log)
    path = str(SAMPLES / log)
    rows = [
        (one.session, one.kind, one.seq, one.last_seq, list(one.seqs), one.explanation, path)
        for one in review(trace).signals
    ]
    assert trace.sql(f"select {COLUMNS} from signals").fetchall() == rows
    assert sorted(corpus.sql(f"select {COLUMNS} from signals where source = '{path}'").fetchall()) == sorted(
        rows
    )


def test_the_samples_have_signals(corpus: Corpus) -> None:
    kinds = {kind for (kind,) in corpus.sql("select distinct kind from signals").fetchall()}
    assert kinds == {"context_pressure", "failure_not_retried"}


def test_a_corpus_has_the_signals_that_can_be_computed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    log = Log().person("go").bash("make").agent("All tests pass.").write(tmp_path / "log.jsonl")
    made = Corpus(tmp_path / "corpus")

    def fails(_: object) -> Iterator[Signal]:
        raise TraceError("The log has changed.")

    monkeypatch.setattr(signals, "_RULES", (fails,))
    batch = Batch((plan_ingest(log, {}, keep=False).changed[0],))
    written = WritePart(made.folder)(batch)
    assert written.failures == {}
    assert written.rows[str(log)]["calls"] == 1
    assert written.rows[str(log)]["problems"] == 1


def test_every_kind_has_a_definition(found) -> None:
    assert sorted(DEFINITIONS) == [
        "context_pressure",
        "failure_not_retried",
        "file_read_often",
        "repeated_call",
        "tests_claimed_not_run",
        "undone_edit",
    ]


@pytest.mark.parametrize(
    ("command", "programs"),
    [
        ("cd /a && FOO=1 git -C x commit -m 'a; b | c' | tail -3", ["git x", "tail"]),
        ("python3 -m pytest -q; ls", ["python3 pytest", "ls"]),
        ('bash -lc "make test"', ["make test"]),
        ("sudo apt-get install -y x", ["apt-get install"]),
        ("for f in *; do wc -l $f; done", ["wc"]),
        ("cat <<'EOF' > a\nmake; rm -rf /\nEOF", ["cat"]),
        ("echo hi", []),
        ("", []),
        ("'", []),
    ],
)
def test_programs(command: str, programs: list[str]) -> None:
    assert list(programs_of(command)) == programs


@pytest.mark.parametrize(
    "command",
    ["pytest", "uv run pytest -q", "python -m unittest", "npm test", "npm run test:unit", "go test ./...", "cargo nextest run",
     "make check", "./gradlew build check", "bash run_tests.sh", "python tests/test_a.py", "cd x && yarn test", 'bash -lc "cargo test"'],
)  # fmt: skip
def test_commands_that_run_tests(command: str) -> None:
    assert runs_tests(command)


@pytest.mark.parametrize(
    "command",
    [
        "cat tests/test_a.py",
        "git add tests/test_a.py",
        "ls tests",
        "grep pytest setup.cfg",
        "npm install",
        "git commit -m 'go test'",
    ],
)
def test_commands_that_run_none(command: str) -> None:
    assert not runs_tests(command)
