"""The folders may contain anything: no file breaks or delays the list."""

from __future__ import annotations

import json
import os
import shutil
import signal
import socket
import sqlite3
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from nbtools.traces.session_index.figures import LogFigures
from nbtools.traces.session_index.head import read_head
from nbtools.traces.session_index.index import index_path
from nbtools.traces.session_index.left_out import left_out_count
from nbtools.traces.session_index.listing import SessionCatalog, SessionQuery
from nbtools.traces.session_index.places import places
from nbtools.traces.session_index.running import running_logs
from nbtools.traces.session_index.scan import find_logs
from tests.traces.session_index.home import CLAUDE, LOGS
from tests.traces.session_index.test_listing import REAL

TITLE = "<img src=x onerror=alert(1)>\N{RIGHT-TO-LEFT OVERRIDE} \x1b[31m "


def user(text, session="s"):
    message = {"role": "user", "content": text}
    record = {
        "type": "user",
        "parentUuid": None,
        "uuid": "u",
        "sessionId": session,
        "cwd": "/w\0\udc80",
        "message": message,
    }
    return json.dumps(record).encode() + b"\n"


def test_links_pipes_sockets_and_unreadable_files(home, catalog, tmp_path_factory):
    folder = home / CLAUDE
    outside = tmp_path_factory.mktemp("outside")
    shutil.copy(REAL, outside / "secret.jsonl")
    (folder / "out.jsonl").symlink_to(outside / "secret.jsonl")
    (folder / "loop.jsonl").symlink_to("loop.jsonl")
    (folder / "same.jsonl").symlink_to("9d5beed4.jsonl")
    (folder.parent / "away").symlink_to(outside)
    (folder.parent / "round").symlink_to(folder.parent)
    os.mkfifo(folder / "pipe.jsonl")
    (folder / "folder.jsonl").mkdir()
    listener = socket.socket(socket.AF_UNIX)
    os.chdir(folder)
    listener.bind("socket.jsonl")
    (folder / "empty.jsonl").touch()
    (folder / "binary.jsonl").write_bytes(os.urandom(200_000))
    shutil.copy(REAL, folder / "denied.jsonl")
    (folder / "denied.jsonl").chmod(0)
    catalog.refresh()
    listener.close()
    names = {one.path.name for one in catalog.page(SessionQuery(agent="claude-code"))}
    assert names - {"denied.jsonl"} == {"9d5beed4.jsonl", "012dbfb0.jsonl"}  # root reads every file
    assert left_out_count(catalog) in {1, 2}


def test_a_folder_that_is_a_link_itself_is_followed(home, catalog):
    shutil.move(home / ".claude", home / "disk")
    (home / ".claude").symlink_to(home / "disk")
    catalog.refresh()
    assert catalog.count(SessionQuery(agent="claude-code")) == 2


def test_a_pipe_that_takes_the_place_of_a_log_does_not_stall(home):
    log = find_logs(places())[str(home / CLAUDE / "9d5beed4.jsonl")]
    (home / CLAUDE / "9d5beed4.jsonl").unlink()
    assert read_head(log).problem == "No such file or directory"
    os.mkfifo(home / CLAUDE / "9d5beed4.jsonl")
    assert read_head(log).problem == "It is not a file."


@pytest.mark.parametrize(
    "content",
    [
        b"{" * 500_000,
        b'{"type":"user","message":' + b"[" * 100_000,
        user("x" * 3_000_000),
        b"\n" * 100_000,
        b'{"a":1}\n' * 1000,
        b"\xff\xfe" * 1000,
        user(TITLE) * 3,
        user("a")[:-20] + user("b"),
        b"SQLite format 3\x00" + b"CREATE TABLE session" * 10,
        b"PK\x03\x04" + b"\0" * 1000,
    ],
    ids=["braces", "nested", "long-line", "blank", "other", "not-utf8", "markup", "glued", "database", "zip"],
)
def test_odd_content_is_listed_or_counted(empty_home, catalog, content):
    path = empty_home / CLAUDE / "odd.jsonl"
    path.parent.mkdir(parents=True)
    path.write_bytes(content)
    catalog.refresh()
    assert catalog.read_now()
    assert catalog.count(SessionQuery()) + left_out_count(catalog) == 1
    if content.startswith(user(TITLE)):
        (one,) = catalog.page(SessionQuery("img onerror"))
        assert one.title.startswith("<img src=x onerror=alert(1)>")
        assert one.project == "/w\N{REPLACEMENT CHARACTER}"


@pytest.mark.parametrize("number", [10**30, -(2**63), 2**63 - 1])
def test_numbers_that_no_database_can_store_are_unknown(empty_home, catalog, number):
    path = empty_home / CLAUDE / "large.jsonl"
    path.parent.mkdir(parents=True)
    content = {
        "id": "m",
        "role": "assistant",
        "model": "m",
        "content": [],
        "usage": {"input_tokens": number, "output_tokens": number},
    }
    answer = {"type": "assistant", "uuid": "v", "parentUuid": "u", "sessionId": "s", "message": content}
    path.write_bytes(user("hi") + json.dumps(answer).encode() + b"\n")
    catalog.refresh()
    assert catalog.read_now()
    (one,) = catalog.page(SessionQuery())
    assert one.read
    assert one.input_tokens in {None, number}


def test_file_names_are_data(empty_home, catalog):
    folder = empty_home / CLAUDE
    folder.mkdir(parents=True)
    names = [
        b"\xff\xfe.jsonl",
        b"new\nline.jsonl",
        b"quote'\"; DROP TABLE logs;--.jsonl",
        "ü\N{RIGHT-TO-LEFT OVERRIDE} 日本.jsonl".encode(),
    ]
    for name in names:
        (folder / os.fsdecode(name)).write_bytes(user(f"prompt of {len(name)}"))
    catalog.refresh()
    assert catalog.read_now()
    listed = catalog.page(SessionQuery())
    assert {os.fsencode(one.path.name) for one in listed} == set(names)
    assert {catalog.path_of(one.id) for one in listed} == {one.path for one in listed}


def test_a_damaged_index_is_rebuilt(home, catalog):
    catalog.refresh()
    size = index_path().stat().st_size
    for damage in (b"nonsense", b"", b"SQLite format 3\x00" + b"\xff" * 4000):
        index_path().write_bytes(damage)
        with SessionCatalogOfTest() as other:
            assert other.count(SessionQuery()) == len(LOGS) + 2
    with index_path().open("r+b") as file:
        file.seek(4096)
        file.write(b"\x5a" * (size - 8192))
    with SessionCatalogOfTest() as other:
        assert other.count(SessionQuery()) == len(LOGS) + 2
    connection = sqlite3.connect(index_path())
    connection.execute("PRAGMA user_version = 999")
    connection.close()
    catalog.refresh()
    with SessionCatalogOfTest() as other:
        assert other.count(SessionQuery()) == len(LOGS) + 2
    assert catalog.count(SessionQuery()) == len(LOGS) + 2


class SessionCatalogOfTest(SessionCatalog):
    def __enter__(self):
        self.refresh()
        return self

    def __exit__(self, *_):
        self.close()


def test_a_state_folder_that_cannot_be_written_costs_only_the_figures(home, monkeypatch):
    (home / "file").touch()
    monkeypatch.setenv("NBTOOLS_STATE", str(home / "file" / "state"))
    with SessionCatalogOfTest() as catalog:
        assert catalog.count(SessionQuery()) == len(LOGS) + 2
        assert not catalog.read_in_background()


LOOK = """
from nbtools.traces.session_index.listing import *
for _ in range(3):
    catalog = SessionCatalog()
    catalog.refresh()
    catalog.read_now()
    assert catalog.count(SessionQuery()) == {count}, catalog.count(SessionQuery())
    catalog.index.put([], list(catalog.found.logs)[::2])
    catalog.close()
"""


def test_two_processes_and_a_killed_one_leave_a_sound_index(home):
    code = LOOK.format(count=len(LOGS) + 2)
    first, second, killed = (
        subprocess.Popen([sys.executable, "-c", code.replace("assert", "None if True else")])
        for _ in range(3)
    )
    killed.send_signal(signal.SIGKILL)
    assert [first.wait(), second.wait(), killed.wait()] == [0, 0, -signal.SIGKILL]
    connection = sqlite3.connect(index_path())
    assert connection.execute("PRAGMA integrity_check").fetchone() == ("ok",)
    connection.execute("INSERT INTO texts(texts) VALUES ('integrity-check')")
    connection.close()
    with SessionCatalogOfTest() as catalog:
        assert catalog.count(SessionQuery()) == len(LOGS) + 2
        assert catalog.count(SessionQuery("antigravity")) == 1


def test_threads_share_a_catalog(home, catalog):
    problems = []

    def look():
        try:
            catalog.refresh()
            catalog.read_now()
            assert catalog.count(SessionQuery()) == len(LOGS) + 2
        except BaseException as error:  # noqa: BLE001 - a thread's error would be lost
            problems.append(error)

    threads = [threading.Thread(target=look) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert problems == []


def test_the_background_process_reads_everything_and_ends(home, catalog):
    catalog.refresh()
    assert catalog.read_in_background()
    catalog._background._process.wait()
    assert not catalog.index.outdated()
    assert all(one.read and one.calls is not None for one in catalog.page(SessionQuery()))
    assert not catalog.read_in_background()


def test_the_background_process_ends_with_the_one_that_started_it(home):
    code = f"""
from nbtools.traces.session_index.worker import BackgroundProcess
import os, signal
helper = BackgroundProcess({"tests.traces.session_index.endless"!r})
helper.start()
print(helper._process.pid, flush=True)
os.kill(os.getpid(), signal.SIGKILL)
"""
    done = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        check=False,
        cwd=Path(__file__).parents[3],
    )
    assert done.stdout
    pid = int(done.stdout)
    while True:
        try:
            os.kill(pid, 0)
        except ProcessLookupError:
            break


def test_a_log_that_ends_its_reader_is_given_up(home, catalog):
    catalog.refresh()
    ((path, _), *_rest) = catalog.index.outdated(1)
    for _ in range(3):
        catalog.index.begin_figures(path)
    assert path not in dict(catalog.index.outdated())
    with Path(path).open("a") as file:
        file.write("\n")
    catalog.refresh()
    assert path in dict(catalog.index.outdated())


def test_a_log_that_was_read_has_all_its_tries_again(home, catalog):
    catalog.refresh()
    ((path, state), *_rest) = catalog.index.outdated(1)
    for _ in range(4):
        assert path in dict(catalog.index.outdated())
        catalog.index.begin_figures(path)
        catalog.index.put_figures(path, state, LogFigures(), 0.0)
        assert path not in dict(catalog.index.outdated())
        catalog.index.write(
            lambda connection: connection.execute("UPDATE logs SET figured = ''")
        )  # as a new fork has it


def test_a_growing_log_is_not_read_as_a_whole_again_and_again(home, catalog):
    catalog.refresh()
    catalog.read_now()
    path = home / CLAUDE / "9d5beed4.jsonl"
    with path.open("a") as file:
        file.write("\n")
    catalog.refresh()
    assert catalog.index.outdated() == []
    catalog.index.write(lambda connection: connection.execute("UPDATE logs SET figured_at = 0"))
    assert [found for found, _ in catalog.index.outdated()] == [str(path)]


def test_running_sessions(home):
    logs = find_logs(places())
    assert running_logs(logs.values()) == set()
    log = home / CLAUDE / "9d5beed4.jsonl"
    os.utime(log)
    assert running_logs(find_logs(places()).values()) == {str(log)}
    program = [
        sys.executable,
        "-c",
        "import sys; print('started', flush=True); sys.stdin.read()",
        "claude",
        "copilot",
    ]
    with subprocess.Popen(program, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as sleeper:
        assert sleeper.stdout is not None
        assert sleeper.stdout.readline() == b"started\n"
        (home / ".claude/sessions").mkdir()
        (home / f".claude/sessions/{sleeper.pid}.json").write_text(
            json.dumps({"pid": sleeper.pid, "sessionId": "012dbfb0"})
        )
        (home / f".claude/sessions/{os.getpid()}.json").write_text("[" * 10)
        (home / ".claude/sessions/99999999999999999999.json").write_text("{}")
        (home / f".copilot/session-state/5e/inuse.{sleeper.pid}.lock").touch()
        (home / ".copilot/session-state/5e/inuse.1.lock").touch()
        running = {
            str(log),
            str(home / CLAUDE / "012dbfb0.jsonl"),
            str(home / ".copilot/session-state/5e/events.jsonl"),
        }
        assert running_logs(find_logs(places()).values()) == running
    assert running_logs(find_logs(places()).values()) == {str(log)}
