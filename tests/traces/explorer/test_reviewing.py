"""Reviews as an explorer's page requests them."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from nbtools.core.errors import TraceError
from nbtools.traces import load, load_many
from nbtools.traces.comparison.comparison import compare
from nbtools.traces.comparison.outcomes import Outcome
from nbtools.traces.explorer.explorer import Explorer
from nbtools.traces.explorer.reviewing.review_messages import TraceReview, TraceReviewParams
from nbtools.traces.explorer.saved_filters import SavedFilter
from nbtools.traces.model import Session
from nbtools.traces.reviews.review import Review, review
from nbtools.traces.reviews.review_settings import change_review_settings
from nbtools.traces.sharing.page import ShareOptions, shared_page
from tests.traces.explorer.asking import answered
from tests.traces.explorer.asking import ask as ask_page
from tests.traces.explorer.samples import LOGS, sample
from tests.traces.reviews.logs import Log, session
from tests.traces.sharing.test_page import everything_in


@pytest.fixture(autouse=True)
def state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NBTOOLS_STATE", str(tmp_path / "state"))
    monkeypatch.setenv("NBTOOLS_REVIEWER", "ana")


@pytest.fixture
def explorer(tmp_path: Path) -> Explorer:
    """Lines 0 to 5: a question, four commands, an answer."""
    return Explorer(
        load(session(commands=["ls", "make", "git status", "make test"]).write(tmp_path / "log.jsonl"))
    )


def ask(explorer: Explorer, action: str, line: int | None = None, **fields: Any) -> TraceReview:
    reply = explorer.review(TraceReviewParams(explorer=explorer.id, action=action, line=line, **fields))
    assert isinstance(reply, TraceReview)
    return reply


def marks(review: TraceReview) -> list[tuple[int, str, str]]:
    return [(mark.line, mark.tone, mark.text) for mark in review.marks]


def test_a_step_a_range_and_the_session(explorer: Explorer) -> None:
    first = ask(explorer, "read")
    assert (first.labels, first.marks, first.reviewer, first.done, first.total) == ((), (), "ana", 0, 4)
    assert ask(explorer, "verdict", 1, value="pass").message == "Step 2: pass."
    assert ask(explorer, "label", 2, last=3, value="loop", span="make").message == "Steps 3–4: label “loop”."
    assert ask(explorer, "note", 5, value="Not\ntrue").message == "Step 6: note “Not ⏎ true”."
    review = ask(explorer, "verdict", value="fail")
    assert review.message == "The session: fail."
    assert marks(review) == [
        (1, "pass", "pass"),
        (2, "label", "loop"),
        (3, "label", "loop"),
        (5, "note", "note"),
    ]
    assert [(one.step, one.line, one.last, one.span) for one in review.labels] == [
        ("2", 1, 1, ""), ("3–4", 2, 3, "make"), ("6", 5, 5, ""), ("", None, None, ""),
    ]  # fmt: skip
    assert (review.done, review.total, review.sessions) == (1, 4, False)


def test_a_label_is_switched(explorer: Explorer) -> None:
    assert marks(ask(explorer, "label", 1, value="loop")) == [(1, "label", "loop")]
    assert marks(ask(explorer, "label", 2, value="loop", reviewer="ben")) == [
        (1, "label", "loop · ana"),
        (2, "label", "loop"),
    ]
    assert marks(ask(explorer, "label", 1, value="loop")) == [(2, "label", "loop · ben")]
    assert [one.mine for one in ask(explorer, "read").labels] == [False]


def test_marks_of_others_have_their_names(explorer: Explorer) -> None:
    ask(explorer, "verdict", 1, value="fail", reviewer="ben\n\u202e" + "x" * 40)
    ask(explorer, "note", 1, value="Why?", reviewer="cy")
    assert marks(ask(explorer, "verdict", 1, value="pass")) == [
        (1, "fail", marks(ask(explorer, "read"))[0][2]),
        (1, "note", "note · cy"),
        (1, "pass", "pass"),
    ]
    first = marks(ask(explorer, "read"))[0][2]
    assert first.startswith("fail · ben")
    assert "\u202e" not in first
    assert len(first) < 40


def test_a_blind_reader_sees_nothing_of_others_before_the_own_verdict(explorer: Explorer) -> None:
    ask(explorer, "verdict", 1, value="fail")
    ask(explorer, "label", 2, value="loop")
    ask(explorer, "note", 3, value="Why?")
    ask(explorer, "verdict", value="fail")
    change_review_settings(reviewer="ben", blind=True)
    blind = ask(explorer, "read")
    assert (blind.reviewer, blind.hidden, blind.judged) == ("ben", True, False)
    assert (blind.labels, blind.marks, blind.records, blind.agreements) == ((), (), 0, ())
    assert not chips(explorer)
    own = ask(explorer, "verdict", 1, value="pass")
    assert (marks(own), own.agreements, own.records) == ([(1, "pass", "pass")], (), 1)
    assert {key: len(lines) for key, lines in chips(explorer).items()} == {"pass": 1, "unreviewed": 3}
    judged = ask(explorer, "verdict", value="pass")
    assert (judged.hidden, judged.judged, judged.records) == (False, True, 6)
    assert (2, "label", "loop · ana") in marks(judged)
    assert [(one.reviewer, one.items) for one in judged.agreements] == [("ana", 2)]
    assert {"loop", "note", "fail"} <= chips(explorer).keys()
    assert ask(explorer, "undo").hidden
    assert not ask(explorer, "read", reviewer="ana").hidden


def test_a_blind_reader_of_several_sessions_sees_those_that_are_judged(tmp_path: Path) -> None:
    logs = [session(name).write(tmp_path / f"{name}.jsonl") for name in ("one", "two")]
    for log in logs:
        review(load(log)).note(2, "Why?")
    change_review_settings(reviewer="ben", blind=True)
    explorer = Explorer(load_many(logs))
    roots = [line for line, row in enumerate(explorer.lines.rows) if isinstance(row, Session)]
    assert ask(explorer, "read").records == 0
    first = ask(explorer, "verdict", roots[0], value="pass")
    assert ([one.kind for one in first.labels], first.hidden, first.judged) == (
        ["note", "verdict"],
        True,
        False,
    )
    both = ask(explorer, "verdict", roots[1], value="pass")
    assert (both.records, both.hidden, both.judged) == (4, False, True)


def test_a_blind_reader_shares_compares_and_filters_nothing_of_others(
    explorer: Explorer, tmp_path: Path
) -> None:
    trace = explorer.trace
    review(trace).note(2, "Why?")
    review(trace).label(2, "loop")
    review(trace).verdict(None, "fail")
    change_review_settings(reviewer="ben", blind=True)
    options = ShareOptions(notes=True)
    assert ask_page(explorer, "share", notes=True).notes == 0
    assert "Why?" not in everything_in(shared_page(trace, options)[0])
    assert "Why?" not in trace.to_atif(tmp_path / "a.json", labels=True).read_text()
    with pytest.raises(TraceError, match="no labels to export"):
        trace.to_scout(tmp_path / "a.csv")
    other = load(session(commands=["ls"]).write(tmp_path / "other.jsonl"))
    assert (
        compare(trace, other).outcomes("verdict", "label loop").cells[0]
        == (Outcome("unknown", "not reviewed"),) * 2
    )
    assert explorer.rows_under(SavedFilter(name="a", chips=("review:loop",))) == []
    Review(trace, reviewer="ben").verdict(None, "pass")
    assert ask_page(explorer, "share", notes=True).notes == 4
    assert "Why?" in everything_in(shared_page(trace, options)[0])


def test_after_the_verdict_on_a_session_a_blind_reader_sees_marks_on_its_sub_agents() -> None:
    explorer = Explorer(
        load(sample("claude-code/subagent-layout/0a1b2c3d-4e5f-4061-8071-2a3b4c5d6e7f.jsonl"))
    )
    child = next(one for one in explorer.trace.sessions if one.parent)
    review(explorer.trace).verdict(child, "fail")
    change_review_settings(reviewer="ben", blind=True)
    Review(explorer.trace, reviewer="ben").verdict(child, "pass")
    assert ask(explorer, "read").hidden
    ask(explorer, "undo")
    read = ask(explorer, "verdict", value="pass")
    assert ([one.value for one in read.labels], read.hidden) == (["fail", "pass"], False)


def chips(explorer: Explorer) -> dict[str, Sequence[int]]:
    """Returns the lines of the chips of the review."""
    return dict(next(one for one in explorer.facets.added if one.name == "review").lines())


def test_undo_withdraw_and_sort(explorer: Explorer) -> None:
    note = ask(explorer, "note", 1, value="Why?").labels[0]
    assert ask(explorer, "sort", label=note.id, value="loop").labels[0].code == "loop"
    assert marks(ask(explorer, "read")) == [(1, "note", "note"), (1, "label", "loop")]
    assert ask(explorer, "undo").labels[0].code == ""
    ask(explorer, "verdict", 2, value="pass")
    assert [one.kind for one in ask(explorer, "withdraw", label=note.id).labels] == ["verdict"]
    assert ask(explorer, "undo").labels == ()
    assert ask(explorer, "undo").message == "There is nothing of yours to take back."


def test_the_queue(explorer: Explorer) -> None:
    assert ask(explorer, "read", order="recorded").following == 1
    assert ask(explorer, "verdict", 1, value="pass", order="recorded").following == 2
    assert ask(explorer, "read", 3, order="recorded").following == 4
    order = [ask(explorer, "read", seed=3).following]
    for _ in range(3):
        order.append(ask(explorer, "verdict", order[-1], value="fail", seed=3).following)
    assert sorted(set(order) - {None}) == [2, 3, 4]
    assert ask(explorer, "read").done == 4


def test_agreement_with_a_second_reader(explorer: Explorer) -> None:
    for line, (a, b) in enumerate(
        [("pass", "pass"), ("fail", "fail"), ("pass", "fail"), ("fail", "fail")], 1
    ):
        ask(explorer, "verdict", line, value=a)
        review = ask(explorer, "verdict", line, value=b, reviewer="ben")
    (agreement,) = review.agreements
    assert (agreement.reviewer, agreement.items, agreement.kappa) == ("ana", 4, 0.5)


def test_signals_are_marked_with_their_definition(tmp_path: Path) -> None:
    explorer = Explorer(
        load(
            Log()
            .person("go")
            .bash("cargo build", failed=True)
            .agent("All tests pass.")
            .write(tmp_path / "log.jsonl")
        )
    )
    review = ask(explorer, "read")
    while not review.complete:
        review = ask(explorer, "read")
    assert marks(review) == [(1, "signal", "failure not retried"), (2, "signal", "tests claimed, not run")]
    assert "no later command" in review.marks[0].title


def lines_under(explorer: Explorer, *chips: str) -> list[int]:
    """Returns the lines under a filter."""
    found = explorer.rows_under(SavedFilter(name="", chips=chips))
    return [explorer.lines.line_by_row[id(row)] for row in found]


def choices(explorer: Explorer, facet: str) -> dict[str, int]:
    """Returns the choices of a facet as its page gets them, with their numbers of lines."""
    for found in ask_page(explorer, "facets").facets:
        for one in found.choices:
            assert list(one.lines) == lines_under(explorer, one.key)
    return {
        one.label: len(one.lines)
        for found in ask_page(explorer, "facets").facets
        if found.name == facet
        for one in found.choices
    }


def test_the_list_is_filtered_by_the_review(explorer: Explorer) -> None:
    assert choices(explorer, "review") == {}
    ask(explorer, "read")
    assert choices(explorer, "review") == {}
    ask(explorer, "verdict", 1, value="fail")
    ask(explorer, "label", 2, last=3, value="loop")
    ask(explorer, "note", 5, value="Not true")
    assert choices(explorer, "review") == {"fail": 1, "loop": 2, "note": 1, "unreviewed": 3}
    assert lines_under(explorer, "review:loop", "review:note") == [2, 3, 5]
    assert lines_under(explorer, "review:loop", "kind:said") == []
    ask(explorer, "label", 2, last=3, value="loop")
    assert lines_under(explorer, "review:loop", "review:note") == [5]
    assert lines_under(explorer, "review:unreviewed") == [2, 3, 4]


def test_the_list_is_filtered_by_signals(tmp_path: Path) -> None:
    explorer = Explorer(
        load(
            Log()
            .person("go")
            .bash("cargo build", failed=True)
            .agent("All tests pass.")
            .write(tmp_path / "log.jsonl")
        )
    )
    while not ask(explorer, "read").complete:
        pass
    assert choices(explorer, "signal") == {"failure not retried": 1, "tests claimed, not run": 1}
    assert lines_under(explorer, "signal:failure not retried") == [1]


def test_a_review_follows_a_log_that_grows(tmp_path: Path) -> None:
    log = session(commands=["ls", "make"])
    lines, log.lines = log.lines, log.lines[:4]
    path = log.write(tmp_path / "log.jsonl")
    explorer = Explorer(load(path))
    assert marks(ask(explorer, "verdict", 1, value="pass")) == [(1, "pass", "pass")]
    log.lines = lines
    log.write(path)
    assert explorer.update()
    review = ask(explorer, "verdict", 2, value="fail")
    assert marks(review) == [(1, "pass", "pass"), (2, "fail", "fail")]
    assert lines_under(explorer, "review:fail") == [2]


def test_several_sessions_are_reviewed_as_sessions(tmp_path: Path) -> None:
    paths = [
        session(f"{number:08}-0000-4000-8000-000000000000").write(tmp_path / f"{number}.jsonl")
        for number in range(3)
    ]
    explorer = Explorer(load_many(paths))
    review = ask(explorer, "read", order="recorded")
    assert (review.sessions, review.total, review.following) == (True, 3, 0)
    review = ask(explorer, "verdict", 0, value="pass", order="recorded")
    assert (review.done, marks(review)[0]) == (1, (0, "pass", "pass"))
    with pytest.raises(TraceError):
        ask(explorer, "verdict", 0, last=2, value="pass")
    with pytest.raises(TraceError):
        ask(explorer, "verdict", 1, last=6, value="pass")  # steps of two sessions


@pytest.mark.parametrize(
    "fields",
    [
        {"action": "verdict", "line": 99, "value": "pass"},
        {"action": "verdict", "line": -1, "value": "pass"},
        {"action": "verdict", "line": 1, "value": "perfect"},
        {"action": "label", "line": 1, "value": "no such code"},
        {"action": "note", "line": 1, "value": " "},
        {"action": "sort", "label": "nothing", "value": "loop"},
        {"action": "withdraw", "label": "nothing"},
        {"action": "note", "line": 1, "value": "x" * 20_001},
        {"action": "delete", "line": 1},
        {"action": "verdict", "line": 1, "value": "pass", "reviewer": "x" * 201},
        {"action": "read", "seed": -1},
    ],
)
def test_requests_that_cannot_be_carried_out(explorer: Explorer, fields: dict[str, Any]) -> None:
    assert "problem" in answered(explorer, "review", **fields)[0]
    assert review(explorer.trace).labels == []


def test_hostile_labels_are_plain_text(explorer: Explorer) -> None:
    review = ask(explorer, "note", 1, value="<b>\u202e\x1b[31m</b>", reviewer="\u202eana")
    label = review.labels[0]
    assert not set("\u202e\x1b") & set(label.value + label.reviewer + review.marks[0].title)


@pytest.mark.parametrize("name", LOGS)
def test_every_kind_of_line_of_real_logs(name: str) -> None:
    explorer = Explorer(load(sample(name)))
    for line in range(0, explorer.size, max(1, explorer.size // 12)):
        review = ask(explorer, "verdict", line, value="pass")
        assert (line, "pass", "pass") in marks(review)
