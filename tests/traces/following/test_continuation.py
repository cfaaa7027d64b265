"""Finding the file in which a session goes on:
forks and copies count, everything else in the folder does not.
"""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from nbtools.core.errors import TraceError
from nbtools.traces.following import continuation
from nbtools.traces.following.continuation import ContinuationSearch, open_continuation
from nbtools.traces.formats import open_log
from tests.traces.following.test_growing_log import CLAUDE, CODEX, append, lines_of

LONG_AGO = 1_000_000_000
FORK = "0d0d0d0d-1111-4222-8333-444455556666"


def records_of(lines: list[bytes]) -> list[dict[str, Any]]:
    return [json.loads(line) for line in lines]


def written(records: list[dict[str, Any]]) -> bytes:
    return b"".join(json.dumps(record).encode() + b"\n" for record in records)


def forked(lines: list[bytes], **fields: Any) -> bytes:
    """Copies of records with the id of another session, as agents and their tools write them."""
    return written(
        [
            {**record, **({"sessionId": FORK} if "sessionId" in record else {}), **fields}
            for record in records_of(lines)
        ]
    )


def settle(folder: Path) -> None:
    os.utime(folder, (LONG_AGO, LONG_AGO))


def look(search: ContinuationSearch) -> Path | None:
    """Looks until every file has been judged, however slow the machine."""
    found = search.look()
    while search._queue:
        found = search.look()
    return found


@pytest.fixture
def claude(tmp_path: Path) -> tuple[Path, list[bytes]]:
    lines = lines_of(CLAUDE)
    path = tmp_path / "a.jsonl"
    path.write_bytes(b"".join(lines[:60]))
    return path, lines


def search_of(path: Path) -> ContinuationSearch:
    return ContinuationSearch(open_log(path))


def test_a_fork_that_names_its_session(claude: tuple[Path, list[bytes]]) -> None:
    path, lines = claude
    session = next(record["sessionId"] for record in records_of(lines) if "sessionId" in record)
    search, fork = search_of(path), path.with_name(f"{FORK}.jsonl")
    assert look(search) is None
    origin = {"forkedFrom": {"sessionId": session, "messageUuid": "u"}}
    changed = [{**record, "uuid": f"other-{i}"} for i, record in enumerate(records_of(lines[:40]))]
    fork.write_bytes(forked([json.dumps(record).encode() for record in changed], **origin))
    assert look(search) == fork
    assert open_continuation(open_log(path), fork).format.name == "claude-code"
    assert look(search_of(fork)) is None


def test_copies_of_the_first_records_with_later_ones(claude: tuple[Path, list[bytes]]) -> None:
    path, lines = claude
    search, fork = search_of(path), path.with_name(f"{FORK}.jsonl")
    fork.write_bytes(forked(lines[:20]))
    assert look(search) is None  # a copy of the beginning, which nobody has continued
    append(fork, forked(lines[60:70]))
    assert look(search) == fork
    assert look(search_of(fork)) is None


def test_a_backup_is_no_continuation(claude: tuple[Path, list[bytes]]) -> None:
    path, _ = claude
    shutil.copy(path, path.with_name("backup.jsonl"))
    assert look(search_of(path)) is None


def test_a_file_is_judged_once_it_has_records(claude: tuple[Path, list[bytes]]) -> None:
    path, lines = claude
    search, fork = search_of(path), path.with_name(f"{FORK}.jsonl")
    fork.write_bytes(b"")
    assert look(search) is None
    content = forked(lines[:70])
    append(fork, content[:100])
    settle(path.parent)
    assert look(search) is None
    append(fork, content[100:])
    assert look(search) == fork


def test_codex_forks_but_not_its_sub_agents(tmp_path: Path) -> None:
    lines = lines_of(CODEX)
    path = tmp_path / "rollout-1.jsonl"
    path.write_bytes(b"".join(lines))
    (head, *rest) = records_of(lines)
    parent = head["payload"]["id"]

    def write(name: str, **fields: Any) -> Path:
        fork = tmp_path / name
        fork.write_bytes(
            written([{**head, "payload": {**head["payload"], "id": FORK, **fields}}, head, *rest[:20]])
        )
        return fork

    write(
        "rollout-2.jsonl",
        source={"subagent": {"thread_spawn": {"parent_thread_id": parent}}},
        forked_from_id=parent,
    )
    write("rollout-3.jsonl")
    assert look(search_of(path)) is None
    fork = write("rollout-4.jsonl", forked_from_id=parent)
    assert look(search_of(path)) == fork
    assert look(search_of(fork)) is None


@pytest.mark.parametrize("name", ["qwen-code/made--price.jsonl", "pi/made--tree.jsonl"])
def test_other_readers_recognise_copied_records(tmp_path: Path, name: str) -> None:
    sample = Path(__file__).parents[1] / "samples" / name
    lines = sample.read_bytes().splitlines(keepends=True)
    path, fork, other = (tmp_path / one for one in ("a.jsonl", "b.jsonl", "c.jsonl"))
    path.write_bytes(b"".join(lines[:8]))
    other.write_bytes(b"".join(lines[8:]))
    assert look(search_of(path)) is None
    fork.write_bytes(b"".join(lines))
    assert look(search_of(path)) == fork


_ORIGIN = {
    "sessionId": next(record["sessionId"] for record in records_of(lines_of(CLAUDE)) if "sessionId" in record)
}
HOSTILE: dict[str, Callable[[Path, bytes], object]] = {
    "another suffix": lambda folder, content: (folder / "fork.txt").write_bytes(content),
    "a link": lambda folder, content: (folder / "fork.jsonl").symlink_to(_outside(folder, content)),
    "a folder": lambda folder, _: (folder / "fork.jsonl").mkdir(),
    "a pipe": lambda folder, _: os.mkfifo(folder / "fork.jsonl"),
    "another reader's": lambda folder, _: (folder / "fork.jsonl").write_bytes(
        forked(lines_of(CODEX), forkedFrom=_ORIGIN)
    ),
    "a folder below": lambda folder, content: _outside(folder, content),  # noqa: PLW0108 - it is defined below
    "bytes": lambda folder, _: (folder / "fork.jsonl").write_bytes(b"\xff\x00{" * 50_000),
    "deep": lambda folder, _: (folder / "fork.jsonl").write_bytes(
        b'{"parentUuid":1,"type":1,"sessionId":' + b"[" * 100_000
    ),
    "other types": lambda folder, _: (folder / "fork.jsonl").write_bytes(
        b'{"parentUuid":[],"type":{},"sessionId":{"a":1},"uuid":7,"timestamp":[],"forkedFrom":"x"}\n'
        b'{"parentUuid":null,"type":"user","sessionId":["s"],"forkedFrom":{"sessionId":{}}}\n'
    ),
}


def _outside(folder: Path, content: bytes) -> Path:
    (folder / "below").mkdir()
    outside = folder / "below" / "fork.jsonl"
    outside.write_bytes(content)
    return outside


@pytest.mark.parametrize("how", HOSTILE)
def test_other_logs_are_not_continuations(claude: tuple[Path, list[bytes]], how: str) -> None:
    path, lines = claude
    HOSTILE[how](path.parent, forked(lines))
    assert look(search_of(path)) is None


def test_an_empty_name_is_no_origin(claude: tuple[Path, list[bytes]]) -> None:
    path, lines = claude
    path.write_bytes(written([{**record, "sessionId": ""} for record in records_of(lines[:60])]))
    other = [
        {**record, "uuid": f"o{i}", "forkedFrom": {"sessionId": ""}}
        for i, record in enumerate(records_of(lines))
    ]
    path.with_name("b.jsonl").write_bytes(written(other))
    assert look(search_of(path)) is None


def test_nothing_is_read_while_the_folder_stays_the_same(
    claude: tuple[Path, list[bytes]], monkeypatch: pytest.MonkeyPatch
) -> None:
    path, lines = claude
    for number in range(50):
        path.with_name(f"{number}.jsonl").write_bytes(
            written([{**record, "uuid": f"{number}"} for record in records_of(lines[:3])])
        )
    settle(path.parent)
    search = search_of(path)
    assert look(search) is None
    reads = []
    monkeypatch.setattr(continuation.Path, "open", lambda *_, **__: reads.append("open"))
    monkeypatch.setattr(continuation.os, "scandir", lambda *_: reads.append("scandir"))
    for _ in range(10):
        assert look(search) is None
    assert reads == []


def test_a_look_ends_by_time_and_the_next_one_continues(
    claude: tuple[Path, list[bytes]], monkeypatch: pytest.MonkeyPatch
) -> None:
    path, lines = claude
    for number in range(9):
        path.with_name(f"{number}.jsonl").write_bytes(
            written([{**record, "uuid": f"{number}"} for record in records_of(lines[:3])])
        )
    fork = path.with_name(f"{FORK}.jsonl")
    fork.write_bytes(forked(lines))
    os.utime(fork, (LONG_AGO, LONG_AGO))  # judged last
    search = search_of(path)
    clock = iter(range(1000))
    monkeypatch.setattr(continuation.time, "monotonic", lambda: 0.03 * next(clock))  # one file in a look
    looks = [search.look() for _ in range(10)]
    assert looks == [None] * 9 + [fork]


def test_a_folder_that_has_gone(claude: tuple[Path, list[bytes]]) -> None:
    path, _ = claude
    search = search_of(path)
    shutil.rmtree(path.parent)
    assert look(search) is None


def test_the_file_is_of_the_same_reader_when_it_is_opened(claude: tuple[Path, list[bytes]]) -> None:
    path, _ = claude
    other = path.with_name("b.jsonl")
    other.write_bytes(b"".join(lines_of(CODEX)))
    with pytest.raises(TraceError, match="codex"):
        open_continuation(open_log(path), other)
