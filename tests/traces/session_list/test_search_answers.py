"""A page searches the contents of all sessions, and gets what was found in parts."""

from __future__ import annotations

import pytest

from nbtools import open_trace
from nbtools.traces.explorer.registry import EXPLORERS
from nbtools.traces.session_list import search_answers
from nbtools.traces.session_list import view as session_list
from nbtools.traces.session_list.session_messages import SearchSessionsParams, SessionRowsParams
from nbtools.traces.session_list.view import SEARCH_PREFIX, SessionList
from tests.traces.column_reader import rows
from tests.traces.method_calls import call, result
from tests.traces.session_index.conftest import empty_home, home
from tests.traces.session_index.test_contents import grep, texts_of, without_pauses, write_log

__all__ = ["empty_home", "home"]
KEY = "AKIA" + "Q3ZT5YVX" * 2


@pytest.fixture(autouse=True)
def new_catalog():
    session_list.session_catalog.cache_clear()
    yield
    session_list.session_catalog().close()
    session_list.session_catalog.cache_clear()


def listed():
    """Returns a list whose page has all sessions, and their contents indexed."""
    sessions = SessionList()
    EXPLORERS.add(sessions)
    catalog = session_list.session_catalog()
    catalog.refresh()
    catalog.read_now(contents=True)
    sessions.rows(SessionRowsParams(explorer=sessions.id))
    return sessions


def ask(sessions, text, **params):
    reply, data = sessions.search(SearchSessionsParams(explorer=sessions.id, text=text, **params))
    return reply, {row["key"]: (row["hits"], row["excerpt"]) for row in rows(reply.block, *data)}


def rest(sessions, text, reply, found):
    """Asks until all sessions are searched."""
    while reply.left:
        reply, more = ask(sessions, text, search=reply.search, known=reply.known, titles=False)
        found |= more
    return reply, found


def test_all_sessions_with_the_text_are_found_with_their_hits(home):
    sessions = listed()
    reply, found = rest(sessions, "func Test", *ask(sessions, "func Test"))
    assert (reply.missing, reply.incomplete, reply.has_contents) == (0, 0, True)
    catalog = session_list.session_catalog()
    keys = session_list._changes_of(catalog).all_keys()
    for one in catalog.page(session_list.SessionQuery()):
        steps = grep(texts_of(one.path), "func Test")
        assert found.get(keys[one.id], (0, ""))[0] == len(steps)


def test_answers_come_in_parts_and_continue_where_they_ended(empty_home, monkeypatch):
    monkeypatch.setattr(search_answers, "_FIRST_SECONDS", 0)
    monkeypatch.setattr(search_answers, "_NEXT_SECONDS", 0)
    for number in range(4):
        write_log(empty_home, f"s{number}", [f"apple {number}", f"pear {KEY}"], age=3600 + number)
    sessions = listed()
    reply, found = ask(sessions, "apple")
    assert (reply.left, len(found), len(reply.keys)) == (3, 1, 4)
    again, same = ask(sessions, "apple", search=reply.search, known=0)
    assert (again.left, len(same)) == (2, 2)
    other, pears = ask(sessions, "pear", search=reply.search, known=7)
    assert other.search != reply.search
    assert len(pears) == 1
    assert KEY not in str(pears)
    last, more = ask(sessions, "apple", search=reply.search, known=again.known, titles=False)
    assert (last.left, len(more), last.keys) == (1, 1, ())


def test_hits_that_another_request_finds_at_the_same_time_are_not_lost(empty_home, monkeypatch):
    monkeypatch.setattr(search_answers, "_FIRST_SECONDS", 0)
    monkeypatch.setattr(search_answers, "_NEXT_SECONDS", 0)
    for number in range(3):
        write_log(empty_home, f"s{number}", [f"apple {number}"], age=3600 + number)
    sessions = listed()
    reply, found = ask(sessions, "apple")
    finish = search_answers._block

    def finish_after_another_request(*args):
        monkeypatch.setattr(search_answers, "_block", finish)
        ask(sessions, "apple", search=reply.search, known=reply.known)
        return finish(*args)

    monkeypatch.setattr(search_answers, "_block", finish_after_another_request)
    part, more = ask(sessions, "apple", search=reply.search, known=reply.known)
    assert (part.known, part.left) == (len(found | more), 1)
    _, last = ask(sessions, "apple", search=part.search, known=part.known)
    assert len(found | more | last) == 3


def test_a_log_that_has_changed_is_searched_again(empty_home, monkeypatch):
    without_pauses(monkeypatch)
    write_log(empty_home, "one", ["apple"])
    write_log(empty_home, "two", ["apple"])
    sessions = listed()
    reply, found = ask(sessions, "apple")
    assert len(found) == 2
    write_log(empty_home, "one", ["apple", "apple"])
    catalog = session_list.session_catalog()
    catalog.refresh()
    assert ask(sessions, "apple", search=reply.search, known=reply.known)[0].changed == 1
    catalog.read_now(contents=True)
    reply, found = ask(sessions, "apple", search=reply.search, known=reply.known)
    assert ([hits for hits, _ in found.values()], reply.changed) == ([2], 0)
    write_log(empty_home, "one", ["pear", "plum"])
    catalog.refresh()
    catalog.read_now(contents=True)
    reply, found = ask(sessions, "apple", search=reply.search, known=reply.known)
    assert list(found.values()) == [(0, "")]


def test_sessions_that_are_not_indexed_are_counted(home):
    sessions = listed()
    catalog = session_list.session_catalog()
    catalog.index.write(lambda connection: connection.execute("DELETE FROM contents"))
    reply, found = ask(sessions, "func Test")
    assert (reply.missing, found) == (len(catalog.page(session_list.SessionQuery())), {})


def test_without_a_lasting_index_only_titles_are_searched(home, monkeypatch):
    monkeypatch.setattr("nbtools.traces.session_index.index.IN_BROWSER", True)
    sessions = SessionList()
    session_list.session_catalog().refresh()
    sessions.rows(SessionRowsParams(explorer=sessions.id))
    reply, found = ask(sessions, "upgrade")
    assert (reply.has_contents, reply.missing, reply.left, found) == (False, 0, 0, {})
    assert len(reply.keys) == 1


def test_a_session_opens_at_the_first_hit_and_searches_there(home):
    sessions = listed()
    one = session_list.session_catalog().page(session_list.SessionQuery(agent="claude-code"))[0]
    view = result(sessions, "sessions.open", ids=[one.id], step=f"{SEARCH_PREFIX}func Test")["view"]
    first = min(grep(texts_of(one.path), "func Test"))
    assert view["search"] == "func Test"
    assert open_trace(one.path).lines.rows[view["step"]].seq == first
    view = result(sessions, "sessions.open", ids=[one.id], step=f"{SEARCH_PREFIX}xyzzyplugh")["view"]
    assert (view["step"], view["search"]) == (None, "xyzzyplugh")
    assert call(sessions, "sessions.open", ids=[one.id], step="999999")[0]["problem"]
