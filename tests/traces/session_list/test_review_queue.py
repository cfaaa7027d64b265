"""The list's page asks for verdicts, begins a review of several sessions, and opens one after the other."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from nbtools.core.errors import TraceError
from nbtools.traces import load
from nbtools.traces.explorer.explorer_messages import ReviewedLog
from nbtools.traces.explorer.registry import EXPLORERS
from nbtools.traces.reviews.review import Review
from nbtools.traces.reviews.review_settings import change_review_settings, review_settings
from nbtools.traces.session_list import view as session_list
from nbtools.traces.session_list.session_messages import (
    NextReviewParams,
    ReviewSessionsParams,
    SessionReviews,
    SessionReviewsParams,
    SessionRowsParams,
)
from nbtools.traces.session_list.view import SessionList
from tests.traces.column_reader import rows
from tests.traces.method_calls import call
from tests.traces.reviews.test_review_set import write_logs
from tests.traces.session_index.conftest import empty_home  # noqa: F401 - a fixture


@pytest.fixture(autouse=True)
def logs(empty_home: Path, monkeypatch: pytest.MonkeyPatch) -> list[Path]:  # noqa: F811
    """Six sessions; a call of every other one failed."""
    monkeypatch.setenv("NBTOOLS_REVIEWER", "ana")
    paths = write_logs(empty_home)
    for number, path in enumerate(paths):  # the first one is the latest
        os.utime(path, (1_700_000_000 - number, 1_700_000_000 - number))
    return paths


@pytest.fixture
def listed(logs: list[Path]) -> SessionList:
    session_list.session_catalog.cache_clear()
    shown = SessionList()
    EXPLORERS.add(shown)
    shown.view()
    session_list.session_catalog().read_now()
    shown.rows(SessionRowsParams(explorer=shown.id))
    yield shown
    session_list.session_catalog().close()
    session_list.session_catalog.cache_clear()


def ids(listed: SessionList) -> list[str]:
    """Returns the ids of the sessions, as they are numbered."""
    return [one.id for one in sorted(listed.sessions, key=lambda one: one.path.name)]


def judge(path: Path, value: str, reviewer: str = "ana") -> None:
    Review(load(path), reviewer=reviewer).verdict(None, value)


def read(listed: SessionList, **params: object) -> SessionReviews:
    return listed.reviews(SessionReviewsParams(explorer=listed.id, **params))


def begin(listed: SessionList, chosen: list[str], **params: object) -> SessionReviews:
    return listed.review(ReviewSessionsParams(explorer=listed.id, ids=chosen, **params))


def step(listed: SessionList, **params: str) -> ReviewedLog:
    return listed.next(NextReviewParams(explorer=listed.id, **params))


def by_number(listed: SessionList, reviews: SessionReviews) -> dict[int, tuple[str, str, bool]]:
    """Returns the verdicts by the numbers of the sessions."""
    reply, data = listed.rows(SessionRowsParams(explorer=listed.id))
    names = {row["key"]: ids(listed).index(row["id"]) for row in rows(reply.block, *data)}
    return {names[one.key]: (one.mine, one.others, one.disagree) for one in reviews.verdicts}


def test_the_page_gets_verdicts_once_for_each_change(listed: SessionList, logs: list[Path]) -> None:
    nothing = read(listed)
    assert (nothing.reviewer, nothing.blind, nothing.verdicts, nothing.keys) == ("ana", False, (), ())
    assert read(listed, version=nothing.version) == SessionReviews(version=nothing.version, changed=False)
    judge(logs[0], "pass")
    judge(logs[0], "fail", "ben")
    judge(logs[0], "pass", "cy")
    judge(logs[4], "defer", "ben")
    reviews = read(listed, version=nothing.version)
    assert by_number(listed, reviews) == {
        0: ("pass", "ben: fail, cy: pass", True),
        4: ("", "ben: defer", False),
    }
    blind = read(listed, version=reviews.version, blind=True)
    assert by_number(listed, blind) == {0: ("pass", "ben: fail, cy: pass", True)}
    assert read(listed).blind, "it is remembered"
    assert by_number(listed, read(listed, reviewer=" ben ", blind=False))[4] == ("defer", "", False)
    assert read(listed, reviewer="").reviewer == "ana"


def test_a_queue_is_opened_one_after_the_other(listed: SessionList, logs: list[Path]) -> None:
    chosen = ids(listed)[1:5]
    started = begin(listed, chosen)
    assert (len(started.keys), started.done, started.gone) == (4, 0, 0)
    judge(logs[2], "pass")
    opened = step(listed)
    visited = []
    while opened.view is not None:
        number = ids(listed).index(opened.session)
        visited.append(number)
        judge(logs[number], "fail")
        opened = step(listed, after=opened.session)
    assert visited == [1, 3, 4]
    assert (read(listed).done, len(read(listed).keys)) == (4, 4)
    assert step(listed, id=chosen[0]).view is not None, "a judged one is opened by its id"
    assert begin(listed, []).keys == ()


def test_the_next_session_of_a_queue_comes_after_the_one_that_is_open(listed: SessionList) -> None:
    chosen = ids(listed)
    begin(listed, chosen)
    assert step(listed, after=chosen[3]).session == chosen[4]
    assert step(listed, after=chosen[5]).session == chosen[0]
    assert step(listed, after="unknown").session == chosen[0]


def test_the_list_stays_while_many_sessions_are_opened_from_it(listed: SessionList) -> None:
    begin(listed, ids(listed))
    for number in range(30):
        assert call(listed, "sessions.next", id=ids(listed)[number % 6])[0]["result"]["view"]
    assert listed.id in EXPLORERS._recent


def test_a_sample_takes_each_outcome_and_is_the_same_for_a_seed(listed: SessionList) -> None:
    first = begin(listed, ids(listed), sample=4, seed=3)
    assert (len(first.keys), begin(listed, ids(listed)[::-1], sample=4, seed=3).keys) == (4, first.keys)
    assert len({begin(listed, ids(listed), sample=4, seed=seed).keys for seed in range(6)}) > 1
    assert len(begin(listed, ids(listed)[:2], sample=30).keys) == 2


def test_sessions_that_vanish_are_skipped(listed: SessionList, logs: list[Path]) -> None:
    chosen = ids(listed)[:4]
    begin(listed, chosen)
    logs[0].unlink()  # the list does not know yet
    opened = step(listed)
    assert (opened.session, len(opened.skipped)) == (chosen[1], 1)
    listed.rows(SessionRowsParams(explorer=listed.id, look=True))
    session_list.session_catalog().refresh()
    reviews = read(listed)
    assert (len(reviews.keys), reviews.gone) == (3, 1)
    with pytest.raises(TraceError):
        step(listed, id="0" * 14)


def test_a_log_that_cannot_be_read_is_skipped(listed: SessionList, logs: list[Path]) -> None:
    chosen = ids(listed)[:3]
    begin(listed, chosen)
    logs[0].write_bytes(b"\x00\xff\n")
    opened = step(listed)
    assert opened.session == chosen[1]
    assert len(opened.skipped) == 1


def test_agreement_in_the_queue(listed: SessionList, logs: list[Path]) -> None:
    for path, mine, bens in zip(logs, "pppffp", "pfppfp", strict=True):
        judge(path, {"p": "pass", "f": "fail"}[mine])
        judge(path, {"p": "pass", "f": "fail"}[bens], "ben")
    assert read(listed).agreements == (), "nothing is reviewed together"
    (agreement,) = begin(listed, ids(listed)[:5]).agreements
    assert (agreement.reviewer, agreement.items) == ("ben", 5)
    assert agreement.kappa == pytest.approx((0.6 - 0.52) / 0.48)
    assert agreement.low is not None
    assert agreement.low < agreement.kappa < (agreement.high or 0)


def test_the_queue_is_remembered_by_other_kernels(listed: SessionList) -> None:
    chosen = ids(listed)[:2]
    begin(listed, chosen)
    session_list.session_catalog.cache_clear()
    other = SessionList()
    other.view()
    other.rows(SessionRowsParams(explorer=other.id))
    assert len(read(other).keys) == 2
    assert step(other).session == chosen[0]
    session_list.session_catalog().close()


def test_hostile_settings(listed: SessionList, empty_home: Path) -> None:  # noqa: F811
    path = empty_home / "state/review/settings.json"
    path.parent.mkdir(parents=True, exist_ok=True)
    for content in (
        b"",
        b"{",
        b"[]",
        b'{"queue": [1]}',
        b'{"blind": 3}',
        b"\xff" * 10,
        b'{"reviewer": null}',
    ):
        path.write_bytes(content)
        assert read(listed).reviewer == "ana"
        assert not read(listed).keys
    path.write_bytes(b'{"queue": ["' + b"x" * 30 + b'", "../../etc/passwd"], "other": 1}')
    assert (read(listed).keys, read(listed).gone) == ((), 2)
    assert step(listed).view is None
    assert begin(listed, ids(listed)[:1]).keys
    assert path.stat().st_mode & 0o777 == 0o600


def test_a_page_sends_only_what_fits(listed: SessionList) -> None:
    for method, params in (
        ("sessions.reviews", {"reviewer": "x" * 201}),
        ("sessions.review", {"ids": ["x" * 41]}),
        ("sessions.review", {"ids": [], "sample": 0}),
        ("sessions.next", {"after": "x" * 41}),
    ):
        assert "problem" in call(listed, method, **params)[0], method


def test_two_kernels_that_change_settings_at_once_do_not_undo_each_other(empty_home: Path) -> None:  # noqa: F811
    children = []
    for name, values in (("reviewer", [f"r{i}" for i in range(40)]), ("blind", [False, True] * 20)):
        child = os.fork()
        if child == 0:
            for value in values:
                change_review_settings(**{name: value})
            os._exit(0)
        children.append(child)
    assert [os.waitpid(child, 0)[1] for child in children] == [0, 0]
    assert (review_settings().reviewer, review_settings().blind) == ("r39", True)
