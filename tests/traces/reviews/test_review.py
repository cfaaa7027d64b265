"""Reviews of traces as a person or a program writes them, and what queries read of them."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from nbtools.traces import Corpus, Trace, TraceError, load, load_many
from nbtools.traces.reviews.code_book import DEFAULT, CodeBook, load_code_book
from nbtools.traces.reviews.records import Label
from nbtools.traces.reviews.review import Review, review
from nbtools.traces.reviews.store import LabelFile, append_records
from tests.traces.recorded import SAMPLES
from tests.traces.reviews.logs import session

CODEX = SAMPLES / "codex/external-agents--019dc116-c183-74f3-8f98-b4e5bd8eddfa.jsonl"


@pytest.fixture(autouse=True)
def state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty state folder for each test."""
    monkeypatch.setenv("NBTOOLS_STATE", str(tmp_path / "state"))
    monkeypatch.setenv("NBTOOLS_CONFIG", str(tmp_path / "config"))
    monkeypatch.setenv("NBTOOLS_REVIEWER", "ana")
    return tmp_path / "state"


@pytest.fixture
def log(tmp_path: Path) -> Path:
    return session(commands=["ls", "make", "git status", "make test"]).write(tmp_path / "log.jsonl")


def facts(labels: list[Label]) -> list[tuple[str, str, str]]:
    return [(label.kind, label.value, label.step) for label in labels]


def test_notes_labels_and_verdicts(log: Path) -> None:
    trace = load(log)
    review(trace).note(2, "  Lists too much.  ")
    review(trace).label("3", "wrong tool")
    review(trace).label(trace.calls[1], "4", span="make")
    review(trace).verdict("3-4", "fail")
    review(trace).verdict(None, "defer")
    again = load(log)
    assert facts(review(again).labels) == [
        ("note", "Lists too much.", "2"),
        ("label", "wrong tool", "3"),
        ("label", "loop", "3"),
        ("verdict", "fail", "3"),
        ("verdict", "defer", ""),
    ]
    assert review(again).labels == review(trace).labels
    ranged = review(again).labels[3]
    assert (ranged.step, ranged.last_step, ranged.seq, ranged.last_seq) == (
        "3",
        "4",
        again.calls[1].seq,
        again.calls[2].seq,
    )
    assert review(again).rows_of(ranged) == (again.calls[1], again.calls[2])
    assert [label.whole_session for label in review(again).labels] == [False] * 4 + [True]
    assert (review(again).labels[2].call, review(again).labels[2].span, review(again).labels[2].reviewer) == (
        again.calls[1].id,
        "make",
        "ana",
    )


def test_a_verdict_replaces_the_one_before_and_a_label_is_there_once(log: Path) -> None:
    trace = load(log)
    for value in ("pass", "fail", "fail"):
        review(trace).verdict(2, value)
    first, second = review(trace).label(2, "loop"), review(trace).label(2, "loop")
    assert first == second
    assert facts(review(trace).labels) == [("verdict", "fail", "2"), ("label", "loop", "2")]
    assert len(review(trace).file.records()) == 3
    other = Review(trace, reviewer="ben")
    other.verdict(2, "pass")
    assert sorted(
        (label.reviewer, label.value) for label in review(trace).labels if label.kind == "verdict"
    ) == [
        ("ana", "fail"),
        ("ben", "pass"),
    ]


def test_undo_takes_back_ones_own_latest(log: Path) -> None:
    trace = load(log)
    review(trace).verdict(2, "pass")
    review(trace).verdict(2, "fail")
    note = review(trace).note(3, "Why?")
    review(trace).sort_note(note, "loop")
    Review(trace, reviewer="ben").label(2, "loop")
    undone = [review(trace).undo() for _ in range(4)]
    assert [(one.kind, one.value) for one in undone if one] == [
        ("code", "loop"),
        ("note", "Why?"),
        ("verdict", "fail"),
        ("verdict", "pass"),
    ]
    assert review(trace).undo() is None
    assert [(label.reviewer, label.value) for label in review(trace).labels] == [("ben", "loop")]


def test_notes_are_sorted_under_codes(log: Path) -> None:
    trace = load(log)
    note = review(trace).note(2, "It loops.")
    review(trace).sort_note(note, "wrong tool")
    code = review(trace).sort_note(note, "loop")
    assert [(one.value, one.about) for one in review(trace).labels if one.kind == "code"] == [
        ("loop", note.id)
    ]
    with pytest.raises(TraceError, match="Only notes"):
        review(trace).sort_note(code, "loop")
    review(trace).withdraw(note)
    assert review(trace).labels == []


@pytest.mark.parametrize(
    ("where", "value"),
    [
        ("99", "pass"),
        ("1-99", "pass"),
        (2, "passed"),
        ("x", "pass"),
        ("48.1", "fail"),
        ("", "pass"),
        ("--", "pass"),
    ],
)
def test_missing_targets_are_refused(log: Path, where: str, value: str) -> None:
    trace = load(log)
    with pytest.raises(TraceError):
        review(trace).verdict(where, value)
    with pytest.raises(TraceError):
        review(trace).label(2, "no such code")
    with pytest.raises(TraceError):
        review(trace).note(2, " ")
    assert not review(trace).file.path.exists()


def test_labels_of_other_logs_are_not_listed(log: Path) -> None:
    trace = load(log)
    review(trace).verdict(2, "pass")
    assert review(load(CODEX)).labels == []


def test_labels_follow_a_log_that_moves_and_grows(log: Path, tmp_path: Path) -> None:
    trace = load(log)
    review(trace).verdict(3, "fail")
    review(trace).verdict(None, "pass")
    grown = (
        session(commands=["ls", "make", "git status", "make test"])
        .bash("git push")
        .write(tmp_path / "elsewhere.jsonl")
    )
    log.unlink()
    labels = review(load(grown)).labels
    assert [(label.status, label.step) for label in labels] == [("same", "3"), ("same", "")]
    changed = session(commands=["ls", "make all", "git status"]).write(tmp_path / "log.jsonl")
    assert [(label.status, label.seq) for label in review(load(changed)).labels] == [
        ("changed", 2),
        ("changed", None),
    ]  # by the log's own id


def test_sql_joins_labels_with_calls(log: Path) -> None:
    trace = load(log)
    review(trace).label("2-3", "loop")
    review(trace).verdict(None, "fail")
    joined = trace.sql("""
        select l.value, c.subject from labels l join calls c
        on c.session = l.session and c.source = l.source and c.seq between l.seq and l.last_seq order by c.seq
    """)
    assert joined.fetchall() == [("loop", "ls"), ("loop", "make")]
    review(trace).label("4", "good")  # a query sees what was written after the one before
    rows = trace.sql(
        "select kind, value, step, status, whole_session, source, reviewer from labels order by time"
    ).fetchall()
    assert rows[1] == ("verdict", "fail", "", "same", True, str(log), "ana")
    assert rows[2][:3] == ("label", "good", "4")
    assert review(trace).labels.to_arrow().num_rows == 3


def test_sql_of_a_corpus_joins_labels_of_all_its_logs(log: Path, tmp_path: Path) -> None:
    copy = Path(shutil.copy(CODEX, tmp_path / "codex.jsonl"))
    corpus = Corpus(tmp_path / "corpus")
    corpus.ingest([log, copy])
    query = "select value, subject from labels l join calls c on c.session = l.session and c.source = l.source and c.id = l.call order by 1"
    assert corpus.sql(query).fetchall() == []
    trace = load(log)
    review(trace).label(3, "loop")
    review(trace).verdict(None, "pass")
    other = load(copy)
    review(other).label(other.calls[2], "unsafe")
    assert corpus.sql(query).fetchall() == [("loop", "make"), ("unsafe", other.calls[2].subject)]
    assert corpus.sql("select count(*) from labels where whole_session").fetchall() == [(1,)]
    mine = list(review(trace).file.records())
    review(trace).file.path.unlink()
    assert corpus.sql(query).fetchall() == []
    append_records(corpus.folder, mine)  # the labels travel with the corpus
    assert corpus.sql(query).fetchall() == [("loop", "make"), ("unsafe", other.calls[2].subject)]
    log.unlink()
    corpus.ingest([copy], keep=True)
    assert corpus.sql("select value, status from labels order by 1").fetchall() == [
        ("loop", "unchecked"), ("pass", "unchecked"), ("unsafe", "same"),
    ]  # fmt: skip
    assert corpus.sql(query).fetchall() == [("loop", "make"), ("unsafe", other.calls[2].subject)]


@pytest.fixture
def several(tmp_path: Path) -> Trace:
    """Twelve sessions, a third of which ended with a failed command."""
    paths = []
    for number in range(12):
        log = session(f"{number:08}-0000-4000-8000-000000000000", [f"make part{number}"])
        paths.append(log.bash("make", failed=number % 3 == 0).write(tmp_path / f"{number}.jsonl"))
    return load_many(paths)


def test_the_queue_is_reproducible_and_shrinks(several: Trace) -> None:
    mine = review(several)
    first = mine.queue(seed=7)
    assert (
        [one.id for one in first]
        == [one.id for one in mine.queue(seed=7)]
        != [one.id for one in mine.queue(seed=8)]
    )
    assert sorted(one.id for one in first) == sorted(one.id for one in several.sessions)
    mine.verdict(first[0], "pass")
    mine.verdict(first[1], "defer")
    assert mine.queue(seed=7) == first[2:]
    assert mine.progress() == (2, 12)
    assert len(Review(several, reviewer="ben").queue()) == 12
    assert mine.progress(steps=True) == (0, 24)


def test_a_stratified_queue_begins_with_each_outcome(several: Trace) -> None:
    failed = {several.sessions[number].id for number in range(0, 12, 3)}
    for seed in range(10):
        first = review(several).queue("stratified", seed)[:4]
        assert sum(one.id in failed for one in first) == 2


def test_one_session_is_reviewed_by_its_calls(log: Path) -> None:
    trace = load(log)
    assert review(trace).queue("recorded") == list(trace.calls)
    review(trace).verdict(trace.calls[0], "pass")
    review(trace).note(trace.calls[1], "a note is no verdict")
    assert review(trace).queue("recorded") == list(trace.calls[1:])
    assert review(trace).progress() == (1, 4)


def test_logs_whose_sessions_have_the_same_id(tmp_path: Path) -> None:
    logs = [session(commands=[f"make {number}"]).write(tmp_path / f"{number}.jsonl") for number in range(3)]
    trace = load_many(logs)
    review(trace).verdict(trace.sessions[1], "pass")
    review(trace).label(trace.calls[2], "loop")
    assert [label.source for label in review(trace).labels] == [str(logs[1]), str(logs[2])]
    assert review(trace).queue("recorded") == [trace.sessions[0], trace.sessions[2]]
    assert trace.sql("select source from labels order by time").fetchall() == [
        (str(logs[1]),),
        (str(logs[2]),),
    ]


def test_rates_and_agreement(several: Trace) -> None:
    ana, ben = review(several), Review(several, reviewer="ben")
    for number, one in enumerate(several.sessions):
        ana.verdict(one, "pass" if number < 8 else "fail")
        ben.verdict(one, "pass" if number < 6 else "fail")
        if number < 3:
            ana.label(one, "loop")
    agreement = ana.agreement("ana", "ben")
    assert (agreement.items, agreement.observed) == (12, 10 / 12)
    assert agreement.kappa == pytest.approx(2 / 3)  # 0.8333 observed, 0.5 by chance
    assert ana.agreement("ana", "nobody").kappa is None
    loop = next(rate for rate in ana.rates() if rate.value == "loop")
    assert (loop.count, loop.total, loop.rate) == (3, 12, 0.25)
    assert (loop.low, loop.high) == (pytest.approx(0.0889, abs=1e-4), pytest.approx(0.5323, abs=1e-4))
    assert ana.agreement("ana", "ben", "loop").observed == 9 / 12


def test_a_code_book_of_the_project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, log: Path) -> None:
    project = tmp_path / "project"
    (project / ".nbtools").mkdir(parents=True)
    (project / ".git").mkdir()
    (project / "src").mkdir()
    (project / ".nbtools/code_book.toml").write_text(
        'name = "mine"\ncodes = [{name = "slow", key = "1", description = "Took long."}]\n'
    )
    monkeypatch.chdir(project / "src")
    trace = load(log)
    assert review(trace).book.name == "mine"
    review(trace).label(2, "1")
    assert review(trace).labels[0].value == "slow"
    monkeypatch.chdir(tmp_path)
    assert load_code_book() == DEFAULT


@pytest.mark.parametrize(
    "text",
    [
        "codes = [{name = 'a', key = '0'}]",
        "codes = [{name = 'a', key = '1'}, {name = 'b', key = '1'}]",
        "codes = [{name = 'a'}, {name = 'a'}]",
        "codes = [{name = ''}]",
        'codes = [{name = "a\\nb"}]',
        "codes = 3",
        "codes = [",
        "name = 1",
    ],
)
def test_a_code_book_that_is_none(tmp_path: Path, text: str) -> None:
    path = tmp_path / "book.toml"
    path.write_text(text)
    with pytest.raises(TraceError, match=r"book\.toml"):
        load_code_book(path)


def test_two_traces_of_one_log_see_each_others_labels(log: Path, tmp_path: Path) -> None:
    file = LabelFile(tmp_path / "shared.jsonl")
    first, second = load(log), load(log)
    a, b = (
        Review(first, file, "ana", CodeBook("x", DEFAULT.codes)),
        Review(second, LabelFile(file.path), "ben"),
    )
    a.verdict(2, "pass")
    assert [label.value for label in b.labels] == ["pass"]
    b.withdraw(b.labels[0])
    assert a.labels == []
