"""No file in the agents' folders is left out of the list without a name and a reason."""

from __future__ import annotations

import json
import sqlite3

import pytest

from nbtools.traces.session_index.left_out import left_out
from nbtools.traces.session_index.listing import sessions
from tests.traces.session_index.home import CLAUDE


def export(folder, name, session, parent="", directory="/work/shop"):
    """Writes a session as ``opencode export`` does."""
    times = {"created": 1_770_000_000_000, "updated": 1_770_000_060_000}
    info = {
        "id": session,
        "projectID": "p",
        "directory": directory,
        "title": f"Title of {session}",
        "time": times,
    }
    parts = [
        {"id": "prt_1", "sessionID": session, "messageID": "msg_1", "type": "text", "text": f"Do {name}."}
    ]
    about = {"id": "msg_1", "sessionID": session, "role": "user", "time": times}
    document = {
        "info": info | ({"parentID": parent} if parent else {}),
        "messages": [{"info": about, "parts": parts}],
    }
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{name}.json"
    path.write_text(json.dumps(document))
    return path


def reasons(folder):
    return {one.path.name: one.reason for one in left_out([folder])}


@pytest.mark.usefixtures("empty_home")
def test_a_session_whose_parent_is_not_there_is_listed_and_one_whose_parent_is_has_a_reason(tmp_path):
    folder = tmp_path / "exports"
    export(folder, "child", "ses_2", parent="ses_1")
    export(folder, "lonely", "ses_9", parent="ses_8")
    assert {one.title for one in sessions(folders=[folder])} == {"Title of ses_2", "Title of ses_9"}
    assert reasons(folder) == {}
    export(folder, "parent", "ses_1")
    export(folder, "grandchild", "ses_3", parent="ses_2")
    export(folder, "own parent", "ses_5", parent="ses_5")
    listed = {one.title for one in sessions(folders=[folder])}
    assert listed == {"Title of ses_1", "Title of ses_9", "Title of ses_5"}
    named = reasons(folder)
    assert named.keys() == {"child.json", "grandchild.json"}
    assert "started by the session ses_1" in named["child.json"]


@pytest.mark.usefixtures("empty_home")
def test_every_file_of_an_added_folder_is_listed_or_named(tmp_path):
    folder = tmp_path / "exports"
    export(folder, "parent", "ses_1")
    for number in range(30):
        export(folder, f"child {number}", f"ses_c{number}", parent="ses_1" if number % 2 else "ses_gone")
    (folder / "notes.json").write_text('{"name": "no log"}')
    (folder / "amp.json").write_text('{"v": 1, "id": "T", "created": 1, "messages": [], "env": {}}')
    (folder / "empty.jsonl").touch()
    listed, named = sessions(folders=[folder]), reasons(folder)
    assert {one.path.name for one in listed} | named.keys() | {"empty.jsonl"} == {
        one.name for one in folder.iterdir()
    }
    assert named["notes.json"] == "It is in no known format."
    assert named["amp.json"] == "It looks like a log of Amp, which is not read."


def test_databases_are_named_with_their_agent(empty_home):
    folder = empty_home / "databases"
    folder.mkdir()
    for name, tables in (("state.vscdb", ["ItemTable"]), ("other.db", ["customers"])):
        with sqlite3.connect(folder / name) as connection:
            for table in tables:
                connection.execute(f"create table {table} (id text)")
        connection.close()
    (folder / "text.db").write_text("no database")
    found = left_out([folder])
    assert [one.path.name for one in found] == ["state.vscdb"]
    assert "VS Code" in found[0].reason


def test_a_file_of_no_known_format_has_the_agent_of_its_folder(empty_home):
    (empty_home / CLAUDE).mkdir(parents=True)
    (empty_home / CLAUDE / "odd.jsonl").write_text("no log at all\n")
    assert [(one.agent, one.reason) for one in left_out()] == [("claude-code", "It is in no known format.")]
