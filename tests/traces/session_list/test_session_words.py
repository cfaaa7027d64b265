"""Words and options of a command line name an agent, a project, both, or the path of a log."""

from __future__ import annotations

import json
import os
import re
import shutil
import time
from datetime import datetime

import pytest

from nbtools.core.errors import TraceError
from nbtools.traces.session_index.listing import sessions
from nbtools.traces.session_index.places import add_log_folder
from nbtools.traces.session_index.times import since_time
from nbtools.traces.session_list import view
from nbtools.traces.session_list.session_words import add_folder, selected, session_table
from tests.traces.session_index.conftest import empty_home, home  # noqa: F401 - fixtures
from tests.traces.session_index.home import CLAUDE
from tests.traces.session_index.test_hostile import user


@pytest.fixture(autouse=True)
def catalog(empty_home):  # noqa: F811
    view.session_catalog.cache_clear()
    yield view.session_catalog()
    view.session_catalog().close()
    view.session_catalog.cache_clear()


def titles(words, rows=-1, **options):
    chosen = selected(words.split(), **options)
    return [one["title"] for one in json.loads(session_table(chosen, rows, as_json=True))]


def write(home, name, project, title):  # noqa: F811
    path = home / CLAUDE / f"{name}.jsonl"
    path.parent.mkdir(parents=True, exist_ok=True)
    record = {**json.loads(user(title)), "cwd": project}
    path.write_text(json.dumps(record) + "\n")
    return path


@pytest.fixture
def projects(empty_home):  # noqa: F811
    write(empty_home, "a", "/work/oh-my-posh", "posh")
    write(empty_home, "b", "/work/shop", "shop")
    write(empty_home, "c", "/work/shop/cart", "cart")
    write(empty_home, "d", "C:\\Users\\ann\\src\\Bookshop", "windows")
    return empty_home


@pytest.mark.parametrize(
    ("words", "found"),
    [
        ("", {"posh", "shop", "cart", "windows"}),
        ("posh", {"posh"}),
        ("oh-my", {"posh"}),
        ("shop", {"shop"}),
        ("/work/shop", {"shop", "cart"}),
        ("/work/shop/", {"shop", "cart"}),
        ("work/shop", {"shop"}),
        ("SHOP", {"shop"}),
        ("bookshop", {"windows"}),
        ("ann", {"windows"}),
        ("src/bookshop", {"windows"}),
        ("src\\Bookshop", {"windows"}),
        ("C:\\Users\\ann", {"windows"}),
        ("hop", {"shop", "cart", "windows"}),
        ("claude", {"posh", "shop", "cart", "windows"}),
        ("claude shop", {"shop"}),
        ("shop claude", {"shop"}),
        ("codex", set()),
    ],
)
def test_words_name_an_agent_a_project_or_both(projects, words, found):
    assert set(titles(words)) == found


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ("claud", "Did you mean claude"),
        ("bokshop", "Did you mean Bookshop"),
        ("latset", "Did you mean latest"),
        ("nothing-like-it", "no file, no agent, and no part of a session's project folder"),
        ("claude nothing-like-it", "'nothing-like-it' is no file"),
        ("shop posh", "'posh' is one name too many"),
    ],
)
def test_the_error_of_an_unknown_word_names_near_ones(projects, words, message):
    with pytest.raises(TraceError, match=message):
        selected(words.split())


def test_paths_are_logs_and_not_names(projects):
    assert selected(["nothing.jsonl"]) is None
    assert selected(["nowhere/at all"]) is None
    assert selected([str(projects / CLAUDE / "a.jsonl")]) is None
    with pytest.raises(TraceError, match="--since selects sessions"):
        selected(["nothing.jsonl"], since="7d")


def test_a_folder_is_its_project_and_no_part_of_another(projects, monkeypatch):
    (projects / "my").mkdir()
    assert selected(["my"]) is None
    write(projects, "e", str(projects / "my"), "mine")
    assert titles("my") == ["mine"]
    monkeypatch.chdir(projects / "my")
    assert titles(".") == ["mine"]


def test_sessions_are_selected_by_agent_time_and_number(home):  # noqa: F811
    assert len(titles("")) == 15
    assert len(titles("", agent="codex")) == len(titles("codex")) == 2
    assert len(titles("", 3)) == 3
    old = home / CLAUDE / "9d5beed4.jsonl"
    os.utime(old, (time.time() - 9 * 86_400,) * 2)
    assert len(titles("", since="7d")) == 14
    assert len(titles("", since="2020-01-01")) == 15
    with pytest.raises(TraceError, match="Did you mean codex"):
        selected([], agent="codx")


def test_the_table_says_how_to_list_the_rest(home):  # noqa: F811
    table = session_table(selected([]), 4)
    assert "11 more sessions (--all lists them, --limit N some)" in table
    assert "more sessions" not in session_table(selected([]), -1)


def test_a_number_is_a_row_of_the_list_that_the_words_before_it_select(projects):
    rows = session_table(selected([]), paths=True).splitlines()[1:]
    for words, list_words in (("2", ""), ("claude 2", "claude"), ("/work/shop 1", "/work/shop")):
        chosen = session_table(selected(list_words.split()), paths=True).splitlines()[1:]
        number = int(words.split()[-1])
        assert chosen[2 * number - 2].split()[0] == str(number)
        (path,) = selected(words.split())
        assert chosen[2 * number - 1].strip() == f"~/{os.path.relpath(path, projects)}"
    assert len(rows) == 8
    assert len(selected(["1", "3"])) == 2  # to compare them
    assert selected(["2"], text="price") == selected(["2"])
    assert selected(["1"], agent="claude") == selected(["1"])
    with pytest.raises(TraceError, match="no number 5 in the list of 4 sessions: their numbers are 1 to 4"):
        selected(["5"])
    with pytest.raises(TraceError, match="no number 0"):
        selected(["shop", "0"])
    with pytest.raises(TraceError, match="no number 1 in the list of 0 sessions"):
        selected(["codex", "1"])


def test_a_file_and_a_project_that_are_named_like_a_number_are_named_by_their_paths(projects, monkeypatch):
    write(projects, "e", "/work/2", "two")
    assert len(selected(["2"])) == 1
    assert titles("/work/2") == ["two"]
    monkeypatch.chdir(projects)
    (projects / "3").write_text("{}\n")
    assert len(selected(["3"])) == 1
    assert selected(["./3"]) is None


def test_the_worktrees_of_a_repository_are_of_its_project(projects):
    main = projects / "src" / "till"
    (main / ".git" / "worktrees" / "fix").mkdir(parents=True)
    linked = projects / "elsewhere" / "fix"
    linked.mkdir(parents=True)
    (linked / ".git").write_text(f"gitdir: {main}/.git/worktrees/fix\n")
    write(projects, "f", str(main), "main")
    write(projects, "g", str(linked / "tests"), "linked")
    write(projects, "h", "/gone/till/.claude/worktrees/old", "gone")
    assert set(titles("till")) == {"main", "linked", "gone"}
    assert set(titles(str(main))) == {"main", "linked"}
    assert titles("fix/tests") == ["linked"]
    assert {one.title for one in sessions(project="till")} == {"main", "linked", "gone"}
    os.utime(projects / CLAUDE / "g.jsonl", (time.time() + 60,) * 2)
    assert selected(["latest", "till"])[0].endswith("g.jsonl")


def test_the_table_has_the_cost_where_prices_are_known(home, monkeypatch):  # noqa: F811
    monkeypatch.setenv("COLUMNS", "140")
    table = session_table(selected([]), -1)
    assert re.search(r" Cost$", table.splitlines()[0])
    assert re.search(r" \$\d+\.\d+$", table, re.MULTILINE)
    assert "Costs are by genai-prices" in table


def test_the_latest_session_is_one_of_the_selected(home):  # noqa: F811
    assert selected(["latest"], agent="codex") == selected(["latest", "codex"])
    with pytest.raises(TraceError, match="No session"):
        selected(["latest"], since="2999-01-01")


NOW = datetime(2026, 3, 5, 15, 30).timestamp()  # noqa: DTZ001 - local time, as people type it


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("today", datetime(2026, 3, 5)),  # noqa: DTZ001 - as above
        ("Yesterday", datetime(2026, 3, 4)),  # noqa: DTZ001 - as above
        ("2026-03-01", datetime(2026, 3, 1)),  # noqa: DTZ001 - as above
        ("2026-03-01 12:30", datetime(2026, 3, 1, 12, 30)),  # noqa: DTZ001 - as above
        ("12h", NOW - 12 * 3600),
        ("2 weeks", NOW - 14 * 86_400),
        ("90min", NOW - 90 * 60),
        ("3 days ago", NOW - 3 * 86_400),
        (1.5e9, 1.5e9),
        (None, 0.0),
        ("", 0.0),
    ],
)
def test_times_are_read_as_people_type_them(text, expected):
    assert since_time(text, NOW) == (expected if isinstance(expected, float) else expected.timestamp())


def test_a_second_agent_and_a_text_that_is_too_long_are_errors_that_say_so(projects):
    with pytest.raises(TraceError, match="'codex' is one name too many"):
        selected(["claude", "codex"])
    with pytest.raises(TraceError, match="at most 1,000 characters, and these are 1,001"):
        selected([], text="q" * 1_001)


@pytest.mark.parametrize("text", ["soon", "7x", "2026-13-01", "d", "-7d", datetime.min])  # noqa: DTZ901 - as above
def test_a_time_that_is_none_says_how_to_write_one(text):
    with pytest.raises(TraceError, match="Write it as 7d"):
        since_time(text)


def test_sessions_in_python_take_the_same_words(projects):
    shutil.copy(projects / CLAUDE / "a.jsonl", projects / CLAUDE / "old.jsonl")
    os.utime(projects / CLAUDE / "old.jsonl", (1e9, 1e9))
    assert len(sessions(project="oh-my")) == 2
    assert len(sessions(project="oh-my", since="1d")) == 1
    with pytest.raises(TraceError, match="running, failed, clean, changed"):
        sessions(outcome="bad")
    with pytest.raises(TraceError, match="title, agent"):
        sessions(sort="size")


def test_a_folder_that_is_added_by_a_path_with_dots_is_that_folder(empty_home):  # noqa: F811
    (empty_home / "ci").mkdir()
    (empty_home / "ci/log.jsonl").write_bytes(user("In the folder.") + b"\n")
    added = add_folder("other/../ci")
    assert added.startswith(f"Session logs in {empty_home / 'ci'} are listed from now on: 1 session found.")
    assert add_log_folder("ci") == empty_home / "ci"
    assert (empty_home / "config/log_folders.txt").read_text() == f"{empty_home / 'ci'}\n"


def test_control_characters_in_the_name_of_a_folder_are_not_printed(empty_home):  # noqa: F811
    (empty_home / "red\x1b[31m").mkdir()
    assert "\x1b" not in add_folder("red\x1b[31m")
    (empty_home / "two\x1clines").mkdir()
    with pytest.raises(TraceError, match="line break"):
        add_log_folder("two\x1clines")
