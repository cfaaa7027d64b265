"""The command line prints the sessions in which a text was found, and what was searched."""

from __future__ import annotations

import json

import pytest

from nbtools.traces.session_index import contents
from nbtools.traces.session_list import match_text
from nbtools.traces.session_list.match_text import matches_text
from nbtools.traces.session_list.session_messages import SessionFilter
from nbtools.traces.session_list.view import session_catalog
from tests.traces.session_index.conftest import empty_home, home
from tests.traces.session_index.test_contents import write_log

__all__ = ["empty_home", "home"]
KEY = "AKIA" + "Q3ZT5YVX" * 2


@pytest.fixture(autouse=True)
def new_catalog():
    session_catalog.cache_clear()
    yield
    session_catalog().close()
    session_catalog.cache_clear()


def test_the_latest_sessions_come_first_with_hits_excerpt_and_path(empty_home):
    write_log(empty_home, "old", ["needle here", "and a NEEDLE there", "hay"], age=7200)
    write_log(empty_home, "new", [f"needle {KEY}"], age=3600)
    lines = matches_text(SessionFilter(text="needle"), 40).splitlines()
    assert [line.split()[0] for line in lines[:6:3]] == ["1", "2"]
    assert [line.endswith(f" · {hits})") for line, hits in zip(lines[:6:3], ("1 hit", "2 hits"), strict=True)]
    assert KEY not in "\n".join(lines)
    assert lines[1].strip().startswith("needle ")
    assert [line.strip() for line in lines[2:6:3]] == [
        f"~/.claude/projects/-Users-alisha/{name}.jsonl" for name in ("new", "old")
    ]
    assert lines[-1] == (
        "3 steps of 2 sessions contain 'needle'."
        " Searched: messages, arguments, outputs and names of files of 2 sessions."
    )
    assert "1 more session: --limit N or --all prints more." in matches_text(SessionFilter(text="needle"), 1)


def test_nothing_is_left_out_silently(empty_home, monkeypatch):
    write_log(empty_home, "small", ["needle"])
    write_log(empty_home, "large", ["needle " * 100])
    monkeypatch.setattr(contents, "MAX_TEXT", 300)
    text = matches_text(SessionFilter(text="needle"), 40)
    assert "Not searched completely: ~/.claude/projects/-Users-alisha/large.jsonl (too large" in text
    assert "No step contains 'other'." in matches_text(SessionFilter(text="other"), 40)
    monkeypatch.setattr(match_text, "_INDEXING", -1)
    write_log(empty_home, "next", ["needle"])
    assert "1 session not searched, because not indexed yet" in matches_text(SessionFilter(text="needle"), 40)
    found = json.loads(matches_text(SessionFilter(text="needle"), -1, as_json=True))
    assert (found["searched"], found["not_indexed"], len(found["sessions"])) == (2, 1, 1)


def test_a_filter_selects_the_searched_sessions(home):
    found = json.loads(matches_text(SessionFilter(text="the", agent="codex"), -1, as_json=True))
    assert {one["agent"] for one in found["sessions"]} == {"codex"}
    assert found["searched"] == 2
