"""Logs that begin alike are counted together, and not all of them again with each new one."""

from __future__ import annotations

import json
import os

import pytest

from nbtools.traces.session_index import index
from tests.traces.session_index.home import CLAUDE

MANY = 30


@pytest.fixture
def copies(empty_home, catalog):
    """Logs of sessions that begin with the same prompt; the first ones are the oldest."""

    def write(number, text="Fix the price."):
        record = {
            "type": "user",
            "uuid": "u",
            "parentUuid": None,
            "sessionId": f"session-{number}",
            "cwd": "/work/shop",
            "timestamp": "2026-01-05T10:00:00.000Z",
            "message": {"role": "user", "content": text},
        }
        path = empty_home / CLAUDE / f"{number}.jsonl"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(record) + "\n")
        os.utime(path, (1.7e9 + number, 1.7e9 + number))
        return path

    def outdated():
        catalog.refresh()
        return sorted(int(path.rpartition("/")[2].partition(".")[0]) for path, _ in catalog.index.outdated())

    def read():
        catalog.read_now()
        assert outdated() == []

    return write, outdated, read


def test_a_new_fork_of_few_logs_counts_all_again(copies):
    write, outdated, read = copies
    for number in range(4):
        write(number)
    assert outdated() == [0, 1, 2, 3]
    read()
    write(4).touch()
    assert outdated() == [0, 1, 2, 3, 4]
    read()
    write(5, "Another prompt.")
    assert outdated() == [5]


def test_a_new_copy_of_many_logs_counts_only_itself(copies):
    write, outdated, read = copies
    paths = [write(number) for number in range(MANY)]
    outdated()
    read()
    newest = write(MANY)
    assert outdated() == [MANY]
    read()
    newest.unlink()
    assert outdated() == []
    paths[0].unlink()
    assert outdated() == list(range(1, MANY))
    read()
    write(0)
    assert outdated() == list(range(MANY))


def test_a_copy_of_a_whole_log_is_not_read_with_it(copies, catalog):
    write, outdated, _ = copies
    path = write(0)
    path.with_name("9.jsonl").write_bytes(path.read_bytes())
    write(1)
    outdated()
    assert [one.rpartition("/")[2] for one in catalog.index.related(str(path))] == ["1.jsonl"]


def test_the_index_becomes_smaller_when_much_of_it_is_free(empty_home, catalog, monkeypatch):
    catalog.refresh()
    row = "INSERT INTO blocks VALUES (?, 0, x'00', x'00', NULL, 0, randomblob(1000000))"
    catalog.index.write(lambda connection: connection.executemany(row, [(number,) for number in range(8)]))
    monkeypatch.setattr(index, "_MIN_FREE", 4 << 20)
    assert not catalog.index.release_space()
    catalog.index.write(lambda connection: connection.execute("DELETE FROM blocks WHERE number > 1"))
    before = catalog.index.path.stat().st_size
    assert catalog.index.release_space()
    assert catalog.index.path.stat().st_size < before / 2
    assert len(catalog.index.read("SELECT * FROM blocks")) == 2
