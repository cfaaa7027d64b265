"""Sets of sessions to review: verdicts of several reviewers, found without reading logs."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest

from nbtools.traces import LoggedSession, ReviewSet, TraceError, load, review_set, sessions
from nbtools.traces.reviews.queue import sampled
from nbtools.traces.reviews.review import Review, new_record, review
from nbtools.traces.reviews.store import LabelFile, encode_records
from nbtools.traces.session_index.listing import SessionCatalog
from tests.traces.recorded import SAMPLES
from tests.traces.reviews.logs import session
from tests.traces.session_index.home import OVERRIDES


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A home folder with an empty state folder for each test."""
    for name in OVERRIDES:
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("NBTOOLS_STATE", str(tmp_path / "state"))
    monkeypatch.setenv("NBTOOLS_CONFIG", str(tmp_path / "config"))
    monkeypatch.setenv("NBTOOLS_REVIEWER", "ana")
    return tmp_path


@pytest.fixture
def logs(home: Path) -> list[Path]:
    """Six sessions of Claude Code; a call of every other one failed."""
    return write_logs(home)


def write_logs(home: Path, count: int = 6) -> list[Path]:
    folder = home / ".claude/projects/-p"
    folder.mkdir(parents=True)
    paths = []
    for number in range(count):
        log = session(session_id(number))
        if number % 2:
            log.bash("make test", failed=True)
        paths.append(log.write(folder / f"{session_id(number)}.jsonl"))
    return paths


def session_id(number: int) -> str:
    return f"{number:08x}-4e5f-4061-8071-2a3b4c5d6e7f"


def judge(path: Path, value: str, reviewer: str = "ana") -> None:
    Review(load(path), reviewer=reviewer).verdict(None, value)


def facts(found: ReviewSet) -> list[tuple[str, dict[str, str], bool]]:
    return [(row.mine, dict(row.others), row.disagree) for row in found.rows]


def numbers(found: list[LoggedSession]) -> list[int]:
    return [int(one.path.stem[:8], 16) for one in found]


def test_a_set_has_the_verdicts_of_all_reviewers_and_the_unreviewed_sessions(logs: list[Path]) -> None:
    found = review_set(logs)
    judge(logs[0], "pass")
    judge(logs[1], "fail")
    judge(logs[1], "pass", "ben")
    judge(logs[2], "defer", "ben")
    none: dict[str, str] = {}
    assert facts(found) == [
        ("pass", none, False),
        ("fail", {"ben": "pass"}, True),
        ("", {"ben": "defer"}, False),
        *[("", none, False)] * 3,
    ]
    assert numbers(found.unreviewed) == [2, 3, 4, 5]
    assert numbers([row.session for row in found.disagreements]) == [1]
    assert found.progress() == (2, 6)
    assert repr(found) == "<ReviewSet: 2 of 6 sessions reviewed by ana>"


def test_the_next_session_comes_after_a_session_and_then_from_the_start(logs: list[Path]) -> None:
    found = review_set(logs)
    for number in (0, 3, 4):
        found.verdict(logs[number], "pass")
    following = [found.following(path) for path in (None, logs[1], logs[2], logs[5])]
    assert numbers([one for one in following if one]) == [1, 2, 5, 1]
    for number in (1, 2):
        found.verdict(logs[number], "fail")
    assert found.following(logs[5]) is None, "the only one left is the one that is open"
    found.verdict(logs[5], "fail")
    assert found.following() is None
    assert found.progress() == (6, 6)


def test_a_verdict_that_was_replaced_or_taken_back(logs: list[Path]) -> None:
    found = review_set(logs[:1])
    for value in ("pass", "fail"):
        judge(logs[0], value)
    assert found.rows[0].mine == "fail"
    for before in ("pass", ""):
        review(load(logs[0])).undo()
        assert found.rows[0].mine == before
    review(load(logs[0])).verdict(2, "fail")
    assert found.rows[0].mine == "", "a verdict on a step is none on the session"


def test_a_set_is_made_from_paths_from_sessions_from_a_filter_and_as_a_sample(logs: list[Path]) -> None:
    listed = sessions(complete=True)
    assert len(review_set(listed)) == len(review_set()) == 6
    assert numbers(review_set(outcome="failed").sessions) == numbers(
        [one for one in listed if one.failed_calls]
    )
    assert len(review_set([*logs, *listed, str(logs[0])])) == 6
    with pytest.raises(TraceError, match="No such file"):
        review_set([logs[0].with_name("other.jsonl")])


def test_a_sample_takes_each_outcome_in_turn_and_is_the_same_for_a_seed(logs: list[Path]) -> None:
    listed = sessions(complete=True)
    first = sampled(listed, 4, seed=7)
    assert sampled(reversed(listed), 4, seed=7) == first
    assert sorted(bool(one.failed_calls) for one in first) == [False, False, True, True]
    assert {tuple(numbers(sampled(listed, 4, seed))) for seed in range(8)} > {tuple(numbers(first))}
    assert len(review_set(sample=4, seed=7)) == 4
    assert sampled(listed, 0) == sampled(listed, -1) == []


def test_a_blind_reader_sees_verdicts_of_others_after_the_own_one(logs: list[Path]) -> None:
    for path, value in zip(logs, ("pass", "fail", "pass"), strict=False):
        judge(path, value)
    blind = review_set(logs, reviewer="ben", blind=True)
    assert facts(blind) == [("", {}, False)] * 6
    assert [row.hidden for row in blind.rows] == [True] * 6
    assert blind.agreements() == []
    blind.verdict(logs[1], "pass")
    assert facts(blind)[:2] == [("", {}, False), ("pass", {"ana": "fail"}, True)]
    assert [(one.a, one.b, one.items) for one in blind.agreements()] == [("ben", "ana", 1)]


def test_agreement_is_counted_on_sessions_that_both_judged(logs: list[Path]) -> None:
    for path, mine, bens in zip(logs, "pppffp", "pfppf ", strict=True):
        judge(path, {"p": "pass", "f": "fail"}[mine])
        if bens != " ":
            judge(path, {"p": "pass", "f": "fail"}[bens], "ben")
    judge(logs[5], "fail", "cy")
    found = review_set(logs)
    assert [(one.a, one.b, one.items) for one in found.agreements()] == [("ana", "ben", 5), ("ana", "cy", 1)]
    kappa = found.agreement("ana", "ben")
    assert kappa.observed == pytest.approx(0.6)
    assert kappa.kappa == pytest.approx((0.6 - 0.52) / 0.48)
    assert kappa.low is not None
    assert -1 <= kappa.low < kappa.kappa < (kappa.high or 0) <= 1


def test_a_copy_of_a_log_under_another_name_has_its_verdict(logs: list[Path], home: Path) -> None:
    judge(logs[0], "fail")
    copy = shutil.copy(logs[0], home / "copy.jsonl")
    logs[0].rename(logs[0].with_name("renamed.jsonl"))
    assert [row.mine for row in review_set([copy]).rows] == ["fail"]
    assert [row.mine for row in review_set(sessions()).rows] == [""] * 6, "it was not read as a whole yet"
    listed = review_set(sessions(complete=True))
    assert [row.session.path.name for row in listed.rows if row.mine] == ["renamed.jsonl"]


def test_another_session_in_the_place_of_a_log_has_no_verdict(logs: list[Path]) -> None:
    judge(logs[0], "fail")
    session(session_id(77)).write(logs[0])
    sessions(complete=True)
    assert review_set(logs[:1]).rows[0].mine == ""


def test_a_log_that_grows_keeps_its_verdict(logs: list[Path]) -> None:
    short = session(session_id(50), ["ls"])
    short.write(logs[0])
    judge(logs[0], "pass")
    for command in ("make", "git status", "git diff", "git log", "make test", "ls"):
        short.bash(command)
    short.write(logs[0])
    for complete in (False, True):
        sessions(complete=complete)
        assert review_set(logs[:1]).rows[0].mine == "pass"
    judge(logs[0], "fail")
    assert review_set(logs[:1]).rows[0].mine == "fail"


def test_sessions_of_two_logs_with_the_same_id_have_verdicts_of_their_own(home: Path) -> None:
    logs = [session("same", [command]).write(home / f"{command}.jsonl") for command in ("ls", "make")]
    judge(logs[0], "pass")
    judge(logs[1], "fail")
    assert [row.mine for row in review_set(logs).rows] == ["pass", "fail"]
    assert [[one.value for one in review(load(log)).labels] for log in logs] == [["pass"], ["fail"]]


def test_a_log_of_several_sessions_is_reviewed_when_each_is(home: Path) -> None:
    path = home / "run.eval"
    shutil.copy(next((SAMPLES / "inspect").glob("*popularity*.eval")), path)
    roots = [one for one in load(path).sessions if not one.parent]
    assert len(roots) > 1
    found = review_set([path])
    for root in roots[:-1]:
        Review(load(path)).verdict(next(one for one in load(path).sessions if one.id == root.id), "pass")
        assert found.rows[0].mine == ""
    Review(load(path), reviewer="ben").verdict(load(path).sessions[0], "fail")
    assert found.rows[0].others == {"ben": "fail"}
    Review(load(path)).verdict(roots[-1], "fail")
    assert found.rows[0].mine == "mixed"
    with pytest.raises(TraceError, match="say which one"):
        found.verdict(path, "pass")


def test_a_session_that_vanishes_stays_in_the_set_with_its_verdict(logs: list[Path]) -> None:
    found = review_set(logs)
    found.verdict(logs[0], "pass")
    for path in logs[:2]:
        path.unlink()
    sessions()
    assert [row.mine for row in ReviewSet(found.sessions).rows] == ["pass", *[""] * 5]
    with pytest.raises(TraceError):
        found.verdict(logs[1], "pass")


def test_a_label_file_of_somebody_else(logs: list[Path], home: Path) -> None:
    """Strange names and records, and lines that are none, lead to no error, and to no verdict of mine."""
    names = ["ben\n<script>", "\u202eana", " ana", "a" * 200, "{}", "ana\u200b", "__proto__", "' or 1"]
    target = Review(load(logs[0])).anchors.target(load(logs[0]).sessions[0])
    records = [new_record("verdict", target, "fail", name) for name in names]
    records += [new_record("verdict", target, value, "cy") for value in ("", "PASS", "x" * 20_000)]
    file = home / "theirs.jsonl"
    broken = b'{"id": 1}\nnull\n\xff\xfe\n[[[[\n'
    file.write_bytes(broken + encode_records(records) + b'{"half')
    found = review_set(logs, file=file)
    assert found.rows[0].mine == ""
    assert set(found.rows[0].others) == {*names, "cy"}
    assert found.progress() == (0, 6)
    assert len(found.agreements()) == len(names) * (len(names) + 1) / 2


def test_two_processes_that_write_at_once_lose_nothing(logs: list[Path]) -> None:
    children = []
    for reviewer in ("ana", "ben"):
        child = os.fork()
        if child == 0:
            for path in logs:
                judge(path, "pass" if reviewer == "ana" else "fail", reviewer)
            os._exit(0)
        children.append(child)
    assert [os.waitpid(child, 0)[1] for child in children] == [0, 0]
    assert facts(review_set(logs)) == [("pass", {"ben": "fail"}, True)] * 6


def test_no_log_is_read_for_the_verdicts(logs: list[Path], monkeypatch: pytest.MonkeyPatch) -> None:
    catalog = SessionCatalog()
    catalog.refresh()
    catalog.read_now()
    catalog.close()
    judge(logs[3], "pass")

    def fail(*_: object) -> None:
        raise AssertionError("A log was read.")

    for name in ("load", "read_figures", "read_head"):
        monkeypatch.setattr(f"nbtools.traces.reviews.review_set.{name}", fail)
    monkeypatch.setattr("nbtools.traces.source.Source.lines", fail)
    found = review_set(sessions(), file=LabelFile().path)
    assert sum(bool(row.mine) for row in found.rows) == 1
