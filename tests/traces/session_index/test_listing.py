"""Every agent's sessions are found, listed, searched, filtered and sorted."""

from __future__ import annotations

import itertools
import json
import os
import shutil
from collections import Counter
from pathlib import Path

import pytest

from nbtools.core.errors import TraceError
from nbtools.traces import add_log_folder, sessions
from nbtools.traces.explorer.nesting import step_tree
from nbtools.traces.explorer.summary import cost_text, summary_of
from nbtools.traces.formats import open_log
from nbtools.traces.session_index import index
from nbtools.traces.session_index.listing import SessionCatalog, SessionQuery
from nbtools.traces.trace import load
from nbtools.traces.usage import cost
from tests.traces.recorded import LOGS as RECORDED
from tests.traces.recorded import SAMPLES
from tests.traces.session_index.home import BY_AGENT, CLAUDE, EVENTS, LOGS, make_older

REAL = SAMPLES / "claude-code/external-agents--9d5beed4-5d67-47fd-93b7-154b73dbffaf.jsonl"


def titles(**query):
    return [one.title for one in sessions(**query)]


def tree(folder):
    return {
        path: (path.stat().st_mtime_ns, path.stat().st_size)
        for path in folder.rglob("*")
        if "state" not in path.parts
    }


@pytest.mark.usefixtures("home")
def test_each_agents_sessions_are_found():
    assert Counter(one.agent for one in sessions()) == BY_AGENT


@pytest.mark.usefixtures("home")
def test_the_beginnings_tell_title_agent_model_and_project():
    by_name = {one.path.name: one for one in sessions()}
    claude = by_name["012dbfb0.jsonl"]
    assert (claude.title, claude.name, claude.branch) == (
        "allow-external-agent-e2e-tests",
        "external-agents",
        "main",
    )
    codex = by_name["rollout-b.jsonl"]
    assert (codex.title, codex.model, codex.branch) == ("Fix issue 6", "gpt-5.4", "main")
    assert by_name["popularity.eval"].title == "popularity"
    assert by_name["ses_1.json"].title == "Fix the price"
    assert by_name["events"].title == "Fix the price."
    assert by_name["events"].agent == "openhands"
    assert claude.started == pytest.approx(1774032229.644)
    assert claude.calls is None
    assert not claude.read
    assert next(one.model for one in sessions("allow-external", complete=True)) == "claude-opus-4-6"


@pytest.mark.usefixtures("home")
def test_whole_logs_give_the_same_counts_as_the_explorer():
    for one in sessions(complete=True):
        trace = load(one.path)
        calls = [call for call in trace.calls if call.live and (call.level == "model" or call.by_sub_agent)]
        nested = [call for call in trace.calls if call.live and call not in calls]
        failed = [
            call for call in calls if call.status == "error" or (call.status == "ok" and call.exit_code)
        ]
        errors = [event for event in trace.events if event.kind == "error" and event.text]
        applied = [change for change in trace.file_changes if change.applied]
        assert one.read
        assert (one.calls, one.nested_calls) == (len(calls), len(nested)), one.path
        assert ((one.failed_calls or 0), one.errors) == (len(failed), len(errors))
        assert one.steps == len(step_tree(trace).rows)
        assert one.edits == len(applied)
        assert one.edited_files == summary_of(trace).changed
        assert (one.added_lines or 0, one.removed_lines or 0) == (
            sum(c.added or 0 for c in applied),
            sum(c.removed or 0 for c in applied),
        )
        tokens = [session.tokens for session in trace.sessions]
        assert (one.cache_read_tokens or 0) == sum(t.cache_read or 0 for t in tokens)
        assert (one.cache_write_tokens or 0) == sum(t.cache_write or 0 for t in tokens)
        assert (one.input_tokens or 0) == sum(
            (t.input or 0) + (t.cache_read or 0) + (t.cache_write or 0) for t in tokens
        )
        assert (one.output_tokens or 0) == sum(t.output or 0 for t in tokens)


@pytest.mark.usefixtures("home")
def test_old_names_of_numbers_warn_and_agree():
    one = max(sessions(complete=True), key=lambda one: one.failed_calls or 0)
    names = {
        "failed": "failed_calls",
        "added": "added_lines",
        "removed": "removed_lines",
        "tokens_in": "input_tokens",
        "tokens_out": "output_tokens",
    }
    in_json = one.as_json()
    for old, new in names.items():
        with pytest.warns(DeprecationWarning, match=new):
            assert getattr(one, old) == getattr(one, new) == in_json[old] == in_json[new]
    assert sessions(sort="failed") == sessions(sort="failed_calls")


def test_nothing_is_read_before_the_first_look_and_nothing_is_written_but_the_index(home):
    before = tree(home)
    catalog = SessionCatalog()
    assert not (home / "state").exists()
    catalog.refresh()
    catalog.read_now()
    catalog.close()
    assert tree(home) == before
    assert {path.name for path in (home / "state").iterdir()} == {"sessions.lock", "sessions.sqlite"}
    assert all(path.stat().st_mode & 0o077 == 0 for path in (home / "state").iterdir())


@pytest.mark.usefixtures("home")
def test_search_finds_titles_projects_and_prompts():
    assert titles(text="antigravity cosmic") == [
        "install google antigravity and make sure it has a shortcut for Cosmic DE"
    ]
    assert {one.name for one in sessions("agent-plug")} == {"agent-plugins"}
    assert [one.agent for one in sessions("EXTERNAL-agents upgrade")] == ["claude-code"]
    assert sessions("antigravity nothing-like-this") == []
    assert sessions("cart", complete=True)[0].agent == "opencode"
    for odd in (
        '"',
        "'",
        "*",
        "NEAR(",
        "a AND",
        "title:",
        "%",
        "_",
        "^",
        "-",
        "\0",
        "日本",
        "()",
        "a" * 5000,
    ):
        assert isinstance(sessions(odd), list)
    assert sessions("%") == []


@pytest.mark.usefixtures("home")
def test_filters_and_order():
    assert {one.agent for one in sessions(agent="claude")} == {"claude-code"}
    assert {one.agent for one in sessions(agent="Codex")} == {"codex"}
    with pytest.raises(TraceError, match="no known agent"):
        sessions(agent="hal")
    assert {one.name for one in sessions(project="external-agents")} == {"external-agents"}
    assert len(sessions(project="/Users/alisha/Projects")) == 3
    assert {one.name for one in sessions(project="external")} == {"external-agents", "e2e"}  # in it
    assert sessions(project="external-nothing") == []
    changed = [one.changed for one in sessions()]
    assert changed == sorted(changed, reverse=True)
    calls = [one.calls for one in sessions(sort="calls", complete=True)]
    assert calls == sorted(calls, reverse=True)
    lines = [one.input_tokens for one in sessions(sort="tokens", descending=False)]
    assert lines[-1] is None
    assert lines[0] is not None
    assert all(one.failed_calls for one in sessions(outcome="failed"))
    assert all(one.failed_calls == 0 and one.calls for one in sessions(outcome="clean"))
    assert {one.edits > 0 for one in sessions(outcome="changed")} == {True}
    assert sessions(outcome="running") == []


def test_the_folders_that_agents_honour_take_the_place_of_the_usual_ones(home, monkeypatch):
    (home / "elsewhere").mkdir()
    for variable, folder in {
        "CLAUDE_CONFIG_DIR": ".claude",
        "CODEX_HOME": ".codex",
        "COPILOT_HOME": ".copilot",
        "INSPECT_LOG_DIR": "logs",
    }.items():
        shutil.move(home / folder, home / "elsewhere" / folder)
        monkeypatch.setenv(variable, str(home / "elsewhere" / folder))
    shutil.move(home / ".gemini", home / "elsewhere" / ".gemini")
    monkeypatch.setenv("GEMINI_CLI_HOME", str(home / "elsewhere"))
    assert Counter(one.agent for one in sessions()) == BY_AGENT
    monkeypatch.setenv("CODEX_HOME", str(home / "nowhere"))
    assert not sessions(agent="codex")


def test_added_folders_are_searched_at_any_depth(empty_home, monkeypatch):
    (empty_home / "ci/run/1").mkdir(parents=True)
    shutil.copy(REAL, empty_home / "ci/run/1/log.jsonl")
    (empty_home / "ci/package.json").write_text('{"name": "shop"}')
    assert sessions() == []
    assert [one.agent for one in sessions(folders=[empty_home / "ci"])] == ["claude-code"]
    monkeypatch.setenv("NBTOOLS_LOG_FOLDERS", str(empty_home / "ci"))
    assert len(sessions()) == 1
    monkeypatch.delenv("NBTOOLS_LOG_FOLDERS")
    assert sessions() == []
    assert add_log_folder("ci") == empty_home / "ci"
    add_log_folder("ci")
    assert len(sessions()) == 1
    assert (empty_home / "config/log_folders.txt").read_text() == f"{empty_home / 'ci'}\n"
    with pytest.raises(TraceError, match="is not a folder"):
        add_log_folder("missing")


def test_each_log_that_can_be_opened_is_listed_in_an_added_folder(empty_home):
    folder = empty_home / "collected"
    for number, log in enumerate(RECORDED):
        (folder / str(number)).mkdir(parents=True)
        shutil.copy(SAMPLES / log, folder / str(number) / Path(log).name)
    events = folder / "openhands" / "conversation" / "events"
    events.mkdir(parents=True)
    for event in EVENTS:
        (events / f"{event['id']}.json").write_text(json.dumps(event))
    talk = [{"role": "user", "content": "Fix it."}, {"role": "assistant", "content": "Done."}]
    (folder / "talk.json").write_text(json.dumps(talk))
    (folder / "stream.log").write_bytes(REAL.read_bytes())
    (folder / "marked.txt").write_bytes(b"\xef\xbb\xbf" + REAL.read_bytes())
    (folder / "package.json").write_text('{"name": "shop"}')
    files = {path for path in folder.rglob("*") if path.is_file() and path.parent != events}
    expected = {path for path in files if can_be_opened(path)} | {events}
    assert {one.path for one in sessions(folders=[folder])} == expected
    assert files - expected == {folder / "package.json"}
    catalog = SessionCatalog([folder])
    catalog.refresh()
    assert catalog.below(folder) == (len(expected), 1)
    assert catalog.below(folder / "openhands") == (1, 0)
    catalog.close()


def can_be_opened(path):
    try:
        open_log(path)
    except TraceError:
        return False
    return True


def test_sub_agents_are_part_of_their_session(home):
    layout = SAMPLES / "claude-code/subagent-layout"
    shutil.copytree(layout, home / CLAUDE, dirs_exist_ok=True)
    shutil.copy(next(layout.rglob("agent-*.jsonl")), home / CLAUDE / "agent-1.jsonl")
    assert len(sessions(agent="claude")) == 3


def test_growth_deletion_and_replacement(home, catalog):
    path = home / CLAUDE / "9d5beed4.jsonl"
    catalog.refresh()
    catalog.read_now()
    (before,) = catalog.page(SessionQuery("upgrade"))
    title = {
        "type": "custom-title",
        "customTitle": "Renamed",
        "sessionId": "9d5beed4-5d67-47fd-93b7-154b73dbffaf",
    }
    with path.open("a") as file:
        file.write(json.dumps(title) + "\n")
    catalog.refresh()
    (renamed,) = catalog.page(SessionQuery("renamed"))
    assert renamed.running
    assert not renamed.read
    assert renamed.calls == before.calls
    assert renamed.id == before.id
    assert catalog.path_of(renamed.id) == path
    path.unlink()
    catalog.refresh()
    assert catalog.page(SessionQuery("renamed")) == []
    with pytest.raises(TraceError, match="no longer"):
        catalog.path_of(renamed.id)
    shutil.copy(SAMPLES / "codex/skills--019dd4b9-496d-7581-a780-16f20aecff69.jsonl", path)
    make_older(path, 3600)
    catalog.refresh()
    assert catalog.page(SessionQuery(agent="claude-code", text="issue"))[0].format == "codex"


def test_only_new_and_changed_logs_are_read(home, catalog, monkeypatch):
    read = []
    from nbtools.traces.session_index import listing

    real = listing.read_head
    monkeypatch.setattr(listing, "read_head", lambda log: read.append(log.path) or real(log))
    catalog.refresh()
    assert len(read) == len(LOGS) + 2
    read.clear()
    catalog.refresh()
    assert read == []
    with (home / CLAUDE / "9d5beed4.jsonl").open("a") as file:
        file.write("\n")
    catalog.refresh()
    assert read == [str(home / CLAUDE / "9d5beed4.jsonl")]


def test_a_slow_first_look_shows_the_newest_first(home, catalog):
    catalog.refresh(seconds=0)
    assert catalog.found.left == len(LOGS) + 2
    assert catalog.page(SessionQuery()) == []
    catalog.refresh()
    assert catalog.found.left == 0
    assert len(catalog.page(SessionQuery(), 0, 3)) == 3
    assert [one.path for one in catalog.page(SessionQuery(), 2, 1)] == [home / list(LOGS)[2]]


@pytest.mark.usefixtures("home")
def test_logs_that_change_all_the_time_keep_no_other_from_the_list():
    """Each look has time for few of them, and all that are listed have changed since the last one."""
    catalog = SessionCatalog(clock=itertools.count().__next__)
    for _ in range(len(LOGS) + 2):
        catalog.refresh(seconds=5)
        for path in catalog.index.states():
            os.utime(path)
    assert catalog.index.states().keys() == catalog.found.logs.keys()


def test_in_a_browser_the_size_tells_whether_a_log_has_changed(home, catalog, monkeypatch):
    """JupyterLite sets the time of a file that is read."""
    from nbtools.traces.session_index import listing

    monkeypatch.setattr(listing, "IN_BROWSER", True)
    path = home / CLAUDE / "9d5beed4.jsonl"
    catalog.refresh()
    os.utime(path)
    catalog.refresh(seconds=0)
    assert catalog.found.left == 0
    assert not catalog.found.running
    with path.open("a") as file:
        file.write("\n")
    catalog.refresh(seconds=0)
    assert catalog.found.left == 1


@pytest.mark.usefixtures("home")
def test_a_look_ends_with_its_time_and_the_next_one_continues():
    """Each look at the clock is a second later."""
    catalog = SessionCatalog(clock=itertools.count().__next__)
    left = len(LOGS) + 2
    while left:
        catalog.refresh(seconds=5)
        assert left - 5 <= catalog.found.left < left
        left = catalog.found.left
    assert len(catalog.page(SessionQuery(), 0, 3)) == 3


@pytest.mark.usefixtures("home")
def test_the_head_of_a_session_has_the_cost_of_the_list_as_long_as_it_is_that_of_the_log():
    session = {one.path.name: one for one in sessions(complete=True)}["rollout-b.jsonl"]

    def costs():
        facts = summary_of(load(session.path)).facts
        return [one.text for one in facts if f"by the prices of {session.prices}" in one.title]

    text = cost_text(session.cost)
    assert costs() == [text]
    catalog = SessionCatalog()
    number = index.number_of(str(session.path))
    catalog.index.write(lambda db: db.execute("UPDATE logs SET repeats = 3 WHERE number = ?", (number,)))
    assert costs() == []  # the list counts a part of the log
    catalog.index.write(lambda db: db.execute("UPDATE logs SET repeats = 0 WHERE number = ?", (number,)))
    assert costs() == [text]
    with session.path.open("ab") as file:
        file.write(b"\n")
    assert costs() == []  # it has grown since
    catalog.close()


@pytest.mark.usefixtures("home")
def test_a_session_costs_what_its_log_costs_and_other_price_lists_price_it_again(monkeypatch):
    found = {one.path.name: one for one in sessions(complete=True)}
    session = found["rollout-b.jsonl"]
    expected = load(session.path).cost(prices=True)
    assert expected.total
    assert session.cost == pytest.approx(expected.total)
    assert (session.prices, session.unpriced) == (expected.prices, 0)
    with monkeypatch.context() as patched:
        patched.setattr(index, "prices_name", lambda: "")  # genai-prices is not installed
        patched.setattr(cost, "prices_name", lambda: "")
        session = {one.path.name: one for one in sessions(complete=True)}["rollout-b.jsonl"]
        assert (session.cost, session.prices) == (None, "")
    session = {one.path.name: one for one in sessions(complete=True)}["rollout-b.jsonl"]
    assert session.cost == pytest.approx(expected.total)
    assert sessions(sort="cost")[0].cost == max(one.cost for one in sessions() if one.cost is not None)
