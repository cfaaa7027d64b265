"""Sessions in opencode's database are logs; the agent's files are neither changed nor locked."""

from __future__ import annotations

import json
import os
import sqlite3
import time
from pathlib import Path
from typing import Any

import pytest

from nbtools import traces
from nbtools.core.errors import TraceError
from nbtools.traces import stored_sessions as stored
from nbtools.traces.session_index.left_out import left_out
from nbtools.traces.session_index.listing import SessionCatalog, SessionQuery, sessions
from tests.traces.session_index.conftest import empty_home, home  # noqa: F401 - fixtures

SCHEMA = """
create table session (id text primary key, project_id text not null, parent_id text, slug text not null,
  directory text not null, title text not null, version text not null, time_created integer not null,
  time_updated integer not null);
create table message (id text primary key, session_id text not null, time_created integer not null,
  time_updated integer not null, data text not null);
create table part (id text primary key, message_id text not null, session_id text not null,
  time_created integer not null, time_updated integer not null, data text not null);
"""
"""The columns of opencode 1.18.33 that are read."""
NOW = 1_795_975_027_000


class Database:
    """An agent that has its database open and writes into it."""

    def __init__(self, folder: Path) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self.path = folder / "opencode.db"
        self.connection = sqlite3.connect(self.path, isolation_level=None)
        self.connection.execute("pragma journal_mode = wal")
        self.connection.executescript(SCHEMA)

    def insert(self, table: str, **values: Any) -> None:
        marks = ", ".join("?" * len(values))
        self.connection.execute(
            f"insert into {table} ({', '.join(values)}) values ({marks})", [*values.values()]
        )

    def session(self, name: str, title: str, parent: str | None = None, calls: int = 1) -> None:
        about = {"id": name, "project_id": "global", "parent_id": parent, "slug": "otter", "title": title}
        self.insert(
            "session", **about, directory="/work/shop", version="1.18.33", time_created=NOW, time_updated=NOW
        )
        self.message(name, "user", [{"type": "text", "text": f"Please do: {title}"}])
        for number in range(calls):
            self.call(name, number)

    def message(self, session: str, role: str, parts: list[dict[str, Any]], **data: Any) -> None:
        ((number,),) = self.connection.execute("select count(*) from message").fetchall()
        key, times = f"msg_{number:06}", {"time_created": NOW + number, "time_updated": NOW + number}
        fields = {"role": role, "time": {"created": NOW + number}, **data}
        self.insert("message", id=key, session_id=session, **times, data=json.dumps(fields))
        for at, part in enumerate(parts):
            self.insert(
                "part",
                id=f"prt_{number:06}_{at}",
                message_id=key,
                session_id=session,
                **times,
                data=json.dumps(part),
            )

    def call(self, session: str, number: int) -> None:
        state = {
            "status": "completed",
            "input": {"command": f"echo {number}"},
            "output": f"{number}\n",
            "metadata": {"exit": 0},
        }
        tokens = {"input": 10, "output": 2, "reasoning": 0, "cache": {"read": 3, "write": 0}}
        part = {"type": "tool", "tool": "bash", "callID": f"call_{number}", "state": state}
        self.message(session, "assistant", [part], tokens=tokens, cost=0, modelID="scripted")

    def log(self, name: str) -> Path:
        return self.path / name

    def files(self) -> dict[str, tuple[int, int]]:
        return {
            one.name: (one.stat().st_size, one.stat().st_mtime_ns) for one in os.scandir(self.path.parent)
        }


@pytest.fixture(autouse=True)
def no_copies(monkeypatch: pytest.MonkeyPatch) -> None:
    stored._copies.cache_clear()
    monkeypatch.setattr(stored, "_PAUSE", 0.0)
    monkeypatch.setattr(stored, "_PAUSE_FACTOR", 0)


@pytest.fixture
def database(empty_home: Path, monkeypatch: pytest.MonkeyPatch):  # noqa: F811
    monkeypatch.delenv("XDG_DATA_HOME", raising=False)
    made = Database(empty_home / ".local/share/opencode")
    yield made
    made.connection.close()


def test_each_session_is_a_log_of_the_list_and_a_sub_agents_is_named(database: Database) -> None:
    database.session("ses_1", "Fix the price", calls=3)
    database.session("ses_2", "Count the lines", parent="ses_1")
    (listed,) = sessions(complete=True)
    assert (listed.title, listed.agent, listed.project) == ("Fix the price", "opencode", "/work/shop")
    assert (listed.calls, listed.failed_calls, listed.input_tokens, listed.output_tokens) == (3, 0, 39, 6)
    assert listed.path == database.log("ses_1")
    (named,) = left_out()
    assert named.path == database.log("ses_2")
    assert "started by the session ses_1" in named.reason
    trace = traces.load(listed.path)
    assert [one.detail.result for one in trace.calls] == ["0\n", "1\n", "2\n"]
    assert [one.kind for one in trace.events if one.kind == "user"] == ["user"]
    assert traces.load(database.log("ses_2")).sessions[0].parent == "ses_1"
    assert "Fix the price" in trace.to_atif(database.path.parent.parent / "a.json").read_text()


def test_records_only_in_the_write_ahead_log_are_read_without_a_lock_or_a_change(database: Database) -> None:
    database.connection.execute("pragma wal_autocheckpoint = 0")
    database.session("ses_1", "Fix the price")
    database.connection.execute("begin exclusive")
    before = database.files()
    assert len(sessions()) == 1
    assert len(traces.load(database.log("ses_1")).calls) == 1
    assert database.files() == before
    database.connection.execute("commit")


def test_a_session_that_grows_is_followed(database: Database) -> None:
    database.session("ses_1", "Fix the price")
    database.session("ses_2", "Another")
    trace = traces.load(database.log("ses_1"))
    assert trace.update() == []
    database.call("ses_2", 8)
    assert [one for one in trace.update() if isinstance(one, traces.Call)] == []
    database.call("ses_1", 9)
    added = [one for one in trace.update() if isinstance(one, traces.Call)]
    assert [one.detail.args["command"] for one in added] == ["echo 9"]
    assert len(trace.calls) == 2


def test_opening_the_database_or_an_unknown_session_says_what_there_is(database: Database) -> None:
    database.session("ses_1", "Fix the price")
    with pytest.raises(TraceError, match=r"1 session of opencode: ses_1\. Open one as"):
        traces.load(database.path)
    with pytest.raises(TraceError, match="No such file"):
        traces.load(database.log("ses_9"))


HOSTILE = {
    "views": "drop table part; create view part as select 1 as id, 2 as message_id, 3 as session_id, 4 as time_updated, 5 as data;",
    "endless": "drop table part; create view part as with recursive r(n) as (select 1 union all select n + 1 from r) select n as id from r;",
    "other columns": "drop table message; create table message (x);",
    "no tables": "drop table part;",
    "computed column": "alter table session add column x as (zeroblob(1 << 28));",
    "virtual table": "drop table part; create virtual table part using fts5(id, message_id, session_id, time_updated, data);",
}


@pytest.mark.parametrize("name", HOSTILE)
def test_another_schema_is_a_reason_and_nothing_else(database: Database, name: str) -> None:
    database.session("ses_1", "Fix the price")
    database.connection.executescript(HOSTILE[name])
    begin = time.monotonic()
    listed, named = sessions(), left_out()
    assert time.monotonic() - begin < 10
    assert all(one.problem or one.calls is None for one in listed)
    assert named or listed


def test_odd_values_are_read_as_far_as_they_go(database: Database) -> None:
    database.session("ses_1", "Fix the price")
    database.message("ses_1", "assistant", [{"type": "text", "text": "fine"}])
    times = {"time_created": NOW, "time_updated": NOW}
    for number, data in enumerate(["no json", b"\xff\xfe", "[]", 5, '{"type": "tool"}', "{" * 5000]):
        database.insert(
            "part", id=f"x{number}", message_id="msg_000002", session_id="ses_1", **times, data=data
        )
    database.insert("part", id="y", message_id="gone", session_id="ses_1", **times, data="{}")
    about = {
        "project_id": "p",
        "slug": "s",
        "directory": "",
        "title": "odd",
        "version": "",
        "time_created": "x",
    }
    database.insert("session", id="../escape", **about, time_updated=2**62)
    database.insert(
        "session", id="ses_\udcff".encode("utf-8", "replace"), **about, time_updated=None if 0 else -1
    )
    trace = traces.load(database.log("ses_1"))
    assert "fine" in [one.text for one in trace.events]
    assert len(trace.calls) == 2
    assert not any("escape" in one.path.name for one in sessions())


@pytest.mark.parametrize("cut", [100, 5_000, 20_000])
def test_a_damaged_database_is_named(database: Database, cut: int) -> None:
    database.session("ses_1", "Fix the price", calls=30)
    database.connection.execute("pragma wal_checkpoint(truncate)")
    database.connection.close()
    content = database.path.read_bytes()
    database.path.write_bytes(content[:cut] if cut < len(content) else content[:4096] + b"\xff" * 9000)
    listed, named = sessions(complete=True), left_out()
    assert {one.path for one in named} <= {database.path}
    assert named or all(one.path.parent == database.path for one in listed)


def test_a_database_that_is_being_replaced_keeps_its_last_copy(
    database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    database.session("ses_1", "Fix the price")
    assert len(stored.stored_sessions(database.path)) == 1
    database.session("ses_2", "Another")

    def fail(_: str) -> None:
        raise sqlite3.DatabaseError("database disk image is malformed")

    monkeypatch.setattr(stored, "_copied", fail)
    assert len(stored.stored_sessions(database.path)) == 1


def test_computed_columns_and_virtual_tables_are_no_tables_of_the_agent(database: Database) -> None:
    database.session("ses_1", "Fix the price")
    for name in ("computed column", "virtual table"):
        database.connection.executescript(HOSTILE[name])
        with pytest.raises(TraceError, match="does not have the tables of opencode"):
            stored.stored_sessions(database.path)
        database.connection.executescript("pragma foreign_keys = off; drop table session; drop table part;")
        database.connection.executescript(SCHEMA.replace("create table", "create table if not exists"))


def test_records_that_take_no_space_in_the_database_are_not_larger_than_the_memory(
    database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    database.session("ses_1", "Fix the price", calls=20)
    database.connection.execute("drop table message")
    database.connection.execute("create table message (id text, session_id text, time_created integer)")
    database.connection.execute("insert into message select 'm' || rowid, session_id, 1 from part")
    database.connection.execute(f"alter table message add column data text default '{'z' * 10_000}'")
    monkeypatch.setattr(stored, "_MAX_TEXT", 100_000)
    assert [one.id for one in stored.stored_sessions(database.path)] == ["ses_1"]
    with pytest.raises(TraceError, match=r"Its records are larger than 0 MB\.$"):
        traces.load(database.log("ses_1"))
    (named,) = left_out()
    assert "Its records are larger" in named.reason


@pytest.mark.parametrize("time", [2**62, -(2**62), 9 * 10**15, 1e300, "soon", None])
def test_a_session_with_an_impossible_time_is_listed(database: Database, time: Any) -> None:
    database.session("ses_1", "Fix the price")
    database.connection.execute("update part set time_updated = ?", (0 if time is None else time,))
    database.connection.execute("update session set time_updated = ?", (0 if time is None else time,))
    (listed,) = sessions(complete=True)
    assert listed.changed == 0


def test_sessions_in_a_database_that_another_list_does_not_look_at_stay_in_the_index(
    database: Database, tmp_path: Path
) -> None:
    other = Database(tmp_path / "more")
    other.session("ses_1", "Elsewhere")
    other.session("ses_2", "Deleted")
    catalog = SessionCatalog([tmp_path / "more"])
    catalog.refresh()
    sessions()
    assert {one.title for one in catalog.page(SessionQuery())} == {"Elsewhere", "Deleted"}
    other.connection.execute("delete from session where id = 'ses_2'")
    catalog.refresh()
    assert str(other.log("ses_2")) not in catalog.index.states()
    other.connection.close()
    other.path.unlink()
    sessions()
    assert str(other.log("ses_1")) not in catalog.index.states()
    catalog.close()


def test_a_database_that_cannot_be_read_is_not_copied_at_every_look(
    database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    database.connection.execute("drop table part")
    monkeypatch.setattr(stored, "_PAUSE", 3_600.0)
    copied = stored._copied
    copies: list[str] = []
    monkeypatch.setattr(stored, "_copied", lambda path: (copies.append(path), copied(path))[1])
    for _ in range(3):
        with pytest.raises(TraceError, match="does not have the tables of opencode"):
            stored.stored_sessions(database.path)
    assert len(copies) == 1
