"""The list answers its page: rows, searches, and sessions to open; a page can only name what was listed."""

from __future__ import annotations

import shutil

import pytest

from nbtools.notebook.traces.log_tabs import answer
from nbtools.notebook.traces.widget import ExplorerWidget
from nbtools.traces.explorer.registry import EXPLORERS
from nbtools.traces.session_list import view as session_list
from nbtools.traces.session_list.session_messages import SessionFilter, SessionsTask
from nbtools.traces.session_list.session_text import age, cell_width, sessions_text
from nbtools.traces.session_list.view import SessionList
from tests.traces.session_index.conftest import empty_home, home  # noqa: F401 - fixtures
from tests.traces.session_index.home import BY_AGENT, CLAUDE
from tests.traces.session_index.test_hostile import TITLE, user
from tests.traces.session_index.test_listing import REAL


@pytest.fixture(autouse=True)
def catalog(empty_home):  # noqa: F811
    session_list.session_catalog.cache_clear()
    yield
    session_list.session_catalog().close()
    session_list.session_catalog.cache_clear()


@pytest.fixture
def listed(home):  # noqa: F811
    shown = SessionList()
    EXPLORERS.add(shown)
    shown.view()
    session_list.session_catalog().read_now()
    return shown


def ask(listed, **task):
    return EXPLORERS.respond({"id": 1, "explorer": listed.id, "task": task}).reply


def page(listed, first=0, count=50, **query):
    return ask(listed, type="sessions", filter=query, first=first, count=count)


def test_a_page_has_rows_and_choices(listed):
    shown = page(listed)
    assert (shown.total, shown.all, len(shown.rows)) == (15, 15, 15)
    assert {choice.key: choice.count for choice in shown.agents} == BY_AGENT
    row = next(row for row in shown.rows if row.title == "upgrade-external-agents-e2e-tests")
    assert (row.agent, row.project, row.calls, row.failed, row.added, row.removed) == (
        *("Claude Code", "external-agents", "102", "8", "+1,839", "−203"),
    )
    assert row.age == "1 h"
    assert not row.unread
    assert shown.unread == 0


def test_filters_and_sorting(listed):
    assert [row.agent for row in page(listed, agent="codex").rows] == ["Codex", "Codex"]
    assert page(listed, agent="codex").agents == page(listed).agents
    assert page(listed, text="antigravity").total == 1
    calls = [int(row.calls or -1) for row in page(listed, sort="calls").rows]
    assert calls == sorted(calls, reverse=True)
    assert [row.id for row in page(listed, first=2, count=3).rows] == [
        row.id for row in page(listed).rows[2:5]
    ]


def test_a_listed_session_is_opened_and_two_are_compared(listed):
    (one, *_), (two, *_) = page(listed, agent="codex").rows, page(listed, agent="claude-code").rows
    opened = ask(listed, type="open_sessions", ids=[one.id])
    assert opened.view.title == one.title
    compared = ask(listed, type="open_sessions", ids=[one.id, two.id])
    assert compared.view is None
    assert [run.name for run in compared.comparison.runs] == ["A", "B"]
    assert answer(None, {"logs": [f"session:{one.id}"]}).view.title == one.title
    assert (
        len(
            answer(
                None, {"logs": [f"session:{one.id}", f"session:{two.id}", f"session:{one.id}"]}
            ).comparison.runs
        )
        == 3
    )


def test_log_tabs_list_the_sessions(home):  # noqa: F811
    opened = answer(home, {"logs": []})
    assert opened.sessions.page.all == 15
    (row, *_) = opened.sessions.page.rows
    assert EXPLORERS.respond(
        {"id": 1, "explorer": opened.sessions.explorer, "task": {"type": "open_sessions", "ids": [row.id]}}
    ).reply.view


@pytest.mark.parametrize("named", ["/etc/passwd", "../../x", "", "f" * 40, "0" * 14])
def test_a_page_cannot_name_a_path(listed, named):
    assert ask(listed, type="open_sessions", ids=[named]).type == "problem"
    assert answer(None, {"logs": [f"session:{named}"]}).problem


def test_a_log_that_has_gone_is_a_problem(listed, home):  # noqa: F811
    (row, *_) = page(listed, text="upgrade").rows
    (home / CLAUDE / "9d5beed4.jsonl").unlink()
    assert ask(listed, type="open_sessions", ids=[row.id]).type == "problem"


def test_an_empty_machine_says_where_it_looked(empty_home):  # noqa: F811
    shown = SessionList()
    bundle = shown.bundle()
    assert "~/.claude" in shown.view().page.folders
    for text in (bundle["text/plain"], bundle["text/html"]):
        assert "No session" in text
        assert "nbtools trace --add FOLDER" in text


def test_hostile_titles_stay_text(empty_home):  # noqa: F811
    folder = empty_home / CLAUDE
    folder.mkdir(parents=True)
    (folder / "a.jsonl").write_bytes(user(f"{TITLE} sk-ant-api03-{'aB3' * 31}AA"))
    (folder / "b.jsonl").write_bytes(user("日本語の長い題名" * 20))
    bundle = SessionList().bundle()
    assert "<img" not in bundle["text/html"]
    assert "\x1b" not in bundle["text/plain"]
    assert "\N{RIGHT-TO-LEFT OVERRIDE}" not in bundle["text/html"] + bundle["text/plain"]
    assert "sk-ant" not in str(bundle)
    assert all(cell_width(line) <= 90 for line in sessions_text(SessionList().view().page, 90).splitlines())


def test_a_widget_asks_only_for_its_list_and_what_it_opened(listed, home):  # noqa: F811
    other = SessionList()
    EXPLORERS.add(other)
    widget = ExplorerWidget(listed.view())
    answers = []
    widget.send = answers.append
    (row, *_) = page(listed, text="upgrade").rows

    def send(explorer, **task):
        widget._on_request(widget, {"request": {"id": 1, "explorer": explorer, "task": task}}, [])

    send(other.id, type="open_sessions", ids=[row.id])
    assert answers == []
    send(listed.id, type="open_sessions", ids=[row.id])
    explorer = answers[0]["answer"]["reply"]["view"]["explorer"]
    send(explorer, type="raw", line=0)
    assert answers[1]["answer"]["reply"]["type"] == "raw"


def test_new_logs_appear_with_the_next_look(listed, home):  # noqa: F811
    session_list.session_catalog().found.at = -1e9
    shutil.copy(REAL, home / CLAUDE / "new.jsonl")
    reply = ask(listed, type="sessions", filter={}, first=0, count=1, look=True)
    assert (reply.all, reply.rows[0].running) == (16, True)


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (-5, "now"),
        (59, "now"),
        (60, "1 min"),
        (7200, "2 h"),
        (86_400, "1 d"),
        (59 * 86_400, "59 d"),
        (9e6, "3 months"),
        (1e8, "3 years"),
    ],
)
def test_age(seconds, text):
    assert age(seconds) == text


def test_the_filter_is_bounded():
    with pytest.raises(ValueError, match="1000"):
        SessionsTask(filter=SessionFilter(text="x" * 2000), first=0, count=1)
