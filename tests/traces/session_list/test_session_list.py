"""The list answers its page: rows, searches, and sessions to open; a page can only name what was listed."""

from __future__ import annotations

import shutil
from collections import Counter
from math import isnan

import pytest

from nbtools import open_trace
from nbtools.core.errors import TraceError
from nbtools.notebook.traces.log_tabs import LogTabs
from nbtools.notebook.traces.widget import ExplorerWidget
from nbtools.traces.explorer.explorer_messages import LogParams
from nbtools.traces.explorer.registry import EXPLORERS
from nbtools.traces.explorer.summary import summary_of
from nbtools.traces.session_index.listing import SessionQuery
from nbtools.traces.session_list import view as session_list
from nbtools.traces.session_list.session_messages import (
    ReviewSessionsParams,
    SearchSessionsParams,
    SessionFilter,
    SessionRowsParams,
    SessionTotalsParams,
)
from nbtools.traces.session_list.session_text import age, cell_width, session_row, sessions_text
from nbtools.traces.session_list.view import SessionList, session_catalog
from nbtools.traces.trace import load
from tests.traces.column_reader import rows
from tests.traces.method_calls import call, result
from tests.traces.session_index.conftest import empty_home, home  # noqa: F401 - fixtures
from tests.traces.session_index.home import BY_AGENT, CLAUDE
from tests.traces.session_index.test_hostile import TITLE, user
from tests.traces.session_index.test_listing import REAL

RUNNING, UNREAD = 1, 2


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


def changes(listed, **params):
    """Returns a reply of ``sessions.rows``, with its rows."""
    reply, data = listed.rows(SessionRowsParams(explorer=listed.id, **params))
    return reply, rows(reply.block, *data)


def opened_log(folder, *logs):
    return LogTabs(folder).open(LogParams(logs=logs))


def all_rows(listed):
    return changes(listed)[1]


def found(listed, text):
    shown = all_rows(listed)
    reply, _ = listed.search(SearchSessionsParams(explorer=listed.id, text=text))
    return [row for row in shown if row["key"] in reply.keys]


def of_agent(listed, agent):
    return [row for row in all_rows(listed) if row["agent_key"] == agent]


def test_a_page_gets_texts_and_numbers(listed):
    reply, shown = changes(listed)
    assert (len(shown), reply.more, reply.gone) == (15, False, ())
    assert Counter(row["agent_key"] for row in shown) == BY_AGENT
    row = next(row for row in shown if row["title"] == "upgrade-external-agents-e2e-tests")
    assert (row["agent"], row["project"], row["calls"], row["failed"], row["added"], row["removed"]) == (
        *("Claude Code", "external-agents", 102, 7, 1839, 203),
    )
    assert reply.now - row["changed"] == pytest.approx(3600, abs=60)
    assert [row["flags"] for row in shown] == [0] * 15
    assert len({row["key"] for row in shown}) == 15


def test_a_log_that_is_going_to_be_read_is_marked(home):  # noqa: F811
    shown = SessionList()
    shown.view()
    assert any(row["flags"] == UNREAD for row in all_rows(shown))
    assert all(isnan(row["calls"]) for row in all_rows(shown) if row["flags"] == UNREAD)


def test_only_changed_sessions_are_sent_again(listed, home):  # noqa: F811
    reply, before = changes(listed)
    again, rest = changes(listed, version=reply.version)
    assert (again.version, rest) == (reply.version, [])
    session_list.session_catalog().found.at = -1e9
    shutil.copy(REAL, home / CLAUDE / "new.jsonl")
    gone = next(row for row in before if row["title"] == "upgrade-external-agents-e2e-tests")
    (home / CLAUDE / "9d5beed4.jsonl").unlink()
    new, added = changes(listed, version=reply.version, look=True)
    assert (len(added), new.gone) == (1, (gone["key"],))
    assert added[0]["flags"] & RUNNING
    assert added[0]["key"] not in {row["key"] for row in before}
    assert changes(SessionList(), version=new.version)[1] == []


def test_the_latest_sessions_come_first(listed, monkeypatch):
    monkeypatch.setattr(session_list, "FIRST_ROWS", 3)
    everything = all_rows(listed)
    reply, latest = changes(listed, latest=True)
    assert (reply.more, reply.version, len(latest)) == (True, 0, 3)
    times = sorted((row["changed"] for row in everything), reverse=True)
    assert [row["changed"] for row in latest] == times[:3]


def test_the_kernel_searches(listed):
    assert len(found(listed, "antigravity")) == 1
    assert found(listed, "no such words anywhere") == []


def test_a_listed_session_is_opened_and_two_are_compared(listed):
    (one, *_), (two, *_) = of_agent(listed, "codex"), of_agent(listed, "claude-code")
    assert result(listed, "sessions.open", ids=[one["id"]])["view"]["title"] == one["title"]
    compared = result(listed, "sessions.open", ids=[one["id"], two["id"]])
    assert compared["view"] is None
    assert [run["name"] for run in compared["comparison"]["runs"]] == ["A", "B"]
    assert opened_log(None, f"session:{one['id']}").view.title == one["title"]
    logs = [f"session:{row['id']}" for row in (one, two, one)]
    assert len(opened_log(None, *logs).comparison.runs) == 3


def test_log_tabs_list_the_sessions(home):  # noqa: F811
    opened = opened_log(home)
    shown = EXPLORERS.find(opened.sessions.explorer)
    (row, *others) = all_rows(shown)
    assert len(others) == 14
    assert result(shown, "sessions.open", ids=[row["id"]])["view"]


def test_an_open_log_is_compared_with_listed_sessions(listed):
    explorer = open_trace(REAL)
    EXPLORERS.add(explorer)
    shown = EXPLORERS.find(result(explorer, "trace.sessions")["sessions"]["explorer"])
    (row, *_) = found(shown, "antigravity")
    compared = result(explorer, "trace.compare_with", ids=[row["id"]])["comparison"]
    assert [run["name"] for run in compared["runs"]] == ["A", "B"]


@pytest.mark.parametrize("named", ["/etc/passwd", "../../x", "", "f" * 40, "f" * 41, "0" * 14])
def test_a_page_cannot_name_a_path(listed, named):
    assert call(listed, "sessions.open", ids=[named])[0]["problem"]
    with pytest.raises(TraceError):
        opened_log(None, f"session:{named}")


def test_a_log_that_has_gone_is_a_problem(listed, home):  # noqa: F811
    (row, *_) = found(listed, "upgrade")
    (home / CLAUDE / "9d5beed4.jsonl").unlink()
    assert call(listed, "sessions.open", ids=[row["id"]])[0]["problem"]


def test_an_empty_machine_says_where_it_looked(empty_home):  # noqa: F811
    shown = SessionList()
    bundle = shown.bundle()
    reply, nothing = changes(shown)
    assert "~/.claude" in reply.folders
    assert nothing == []
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
    assert all(cell_width(line) <= 90 for line in sessions_text(SessionList().first(60), 90).splitlines())


def test_a_widget_asks_only_for_its_list_and_what_it_opened(listed, home, monkeypatch):  # noqa: F811
    other = SessionList()
    EXPLORERS.add(other)
    widget, answers = ExplorerWidget(listed.view()), []
    monkeypatch.setattr(ExplorerWidget, "send", lambda _, content, buffers: answers.append(content))
    (row, *_) = found(listed, "upgrade")

    def send(explorer, method, **params):
        message = {"id": 1, "method": method, "params": {"explorer": explorer, **params}}
        widget._on_request(widget, message, [])

    send(other.id, "sessions.open", ids=[row["id"]])
    assert answers == [{"id": 1, "gone": True}]
    send(listed.id, "sessions.open", ids=[row["id"]])
    explorer = answers[1]["result"]["view"]["explorer"]
    send(explorer, "trace.sessions")
    chosen = answers[2]["result"]["sessions"]["explorer"]
    send(chosen, "sessions.search", text="upgrade")
    assert len(answers[3]["result"]["keys"]) == 1


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


def test_the_filter_is_bounded(listed):
    with pytest.raises(ValueError, match="1000"):
        SessionFilter(text="x" * 2000)
    assert call(listed, "sessions.search", text="x" * 2000)[0]["problem"]


def test_listed_sessions_are_added_up_by_day_project_model_and_agent(listed):
    _, shown = changes(listed)
    keys = [one["key"] for one in shown]
    totals = result(listed, "sessions.totals", keys=keys)
    calls = sum(one["calls"] for one in shown if not isnan(one["calls"]))
    tokens = sum(one["tokens"] for one in shown if not isnan(one["tokens"]))
    cost = sum(one["cost"] for one in shown if not isnan(one["cost"]))
    for table in ("day", "project", "agent"):
        assert sum(one["calls"] for one in totals[table]) == calls
    for table in ("day", "project", "model", "agent"):
        assert sum(one["tokens"] for one in totals[table]) == tokens
        assert sum(one["cost"] or 0 for one in totals[table]) == pytest.approx(cost)
        assert sum(one["unpriced"] for one in totals[table]) == sum(one.unpriced for one in listed.sessions)
    assert {one["name"]: one["sessions"] for one in totals["agent"]} == BY_AGENT
    opus = next(one for one in totals["model"] if one["name"] == "claude-opus-4-6")
    assert set(opus["keys"]) <= set(keys)
    assert len(opus["keys"]) == opus["sessions"]
    assert totals["prices"].startswith("genai-prices ")
    none = result(listed, "sessions.totals", keys=keys, since=9e9)
    assert none["day"] == none["model"] == []
    assert result(listed, "sessions.totals", keys=[10**9])["agent"] == []


def test_a_folder_is_added_from_the_list(listed, tmp_path):
    folder = tmp_path / "others"
    folder.mkdir()
    shutil.copy(REAL, folder / "other.jsonl")
    assert "is not a folder" in result(listed, "sessions.add_folder", folder=str(folder / "none"))["problem"]
    assert result(listed, "sessions.add_folder", folder="\0")["problem"]
    (folder / "odd.json").write_text('{"name": "shop"}')
    added = result(listed, "sessions.add_folder", folder=str(folder))
    assert (added["problem"], added["listed"], added["other"]) == ("", 1, 1)
    assert ".jsonl" in added["endings"]
    assert any(one.path == folder / "other.jsonl" for one in listed.sessions)


def test_the_head_of_a_session_has_the_cost_of_the_list(listed):
    session_catalog().read_now()
    rows = {one.path: session_row(one, 0) for one in session_catalog().page(SessionQuery())}
    shown = {}
    for path in rows:
        facts = summary_of(load(path)).facts
        shown[path] = next((fact.text for fact in facts if "$" in fact.text), "")
    costs = {path: row.cost for path, row in rows.items()}
    assert shown == costs
    assert any(cost.startswith("$") for cost in costs.values())


def test_a_request_names_as_many_sessions_as_are_listed():
    assert len(SessionTotalsParams(explorer="a", keys=range(250_000)).keys) == 250_000
    ids = tuple(f"{number:014x}" for number in range(250_000))
    assert len(ReviewSessionsParams(explorer="a", ids=ids).ids) == 250_000
