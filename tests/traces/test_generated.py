"""Logs larger and stranger than any that was recorded; made here, because nobody ships them."""

from __future__ import annotations

import json
import multiprocessing
import resource
from collections.abc import Iterable, Iterator
from itertools import islice
from pathlib import Path
from typing import Any

import pytest

from nbtools import traces
from nbtools.traces.model import Call, Problem

SESSION = "0a1b2c3d-4e5f-4061-8071-2a3b4c5d6e7f"
CALLS, SHARE = 200_000, 20_000
"""Calls of a large log in ``make fuzz``, and in the suite."""
_RECORD = (
    b'{"parentUuid":"%s","isSidechain":false,"sessionId":"' + SESSION.encode() + b'","type":"%s","uuid":"%s",'
    b'"timestamp":"2026-01-01T00:00:00.000Z","message":%s}'
)


def record(kind: bytes, uuid: bytes, parent: bytes, message: bytes) -> bytes:
    return _RECORD % (parent, kind, uuid, message)


def prompt(uuid: bytes, parent: bytes) -> bytes:
    return record(b"user", uuid, parent, b'{"role":"user","content":"Go on"}')


def call(number: int, parent: bytes, output: bytes = b"done") -> tuple[bytes, bytes]:
    """Requests and responses; their uuids are ``a<number>`` and ``r<number>``."""
    asked = b'{"id":"m%d","role":"assistant","content":[{"type":"tool_use","id":"t%d","name":"Bash","input":{"command":"ls"}}]}'
    answered = b'{"role":"user","content":[{"type":"tool_result","tool_use_id":"t%d","content":"%s"}]}'
    here = b"a%d" % number
    return record(b"assistant", here, parent, asked % (number, number)), record(
        b"user", b"r%d" % number, here, answered % (number, output)
    )


def chain(output: bytes = b"done") -> Iterator[bytes]:
    """A session without an end, line by line."""
    yield prompt(b"u", b"")
    parent, number = b"u", 0
    while True:
        yield from call(number, parent, output)
        parent, number = b"r%d" % number, number + 1


def write(path: Path, lines: Iterable[bytes]) -> Path:
    with path.open("wb") as file:
        file.writelines(line + b"\n" for line in lines)
    return path


def _streamed(path: Path, reported: Any) -> None:
    """In a process of its own, whose peak is then of this alone."""
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    calls = sum(type(row) is Call for row in traces.stream(path))
    reported.send((calls, before, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss))


def streamed(path: Path) -> tuple[int, int]:
    """Calls, and the megabytes that streaming the log took at its peak."""
    context = multiprocessing.get_context("spawn")
    ours, theirs = context.Pipe()
    process = context.Process(target=_streamed, args=(path, theirs))
    process.start()
    calls, before, after = ours.recv()
    process.join()
    return calls, (after - before) // 1024


def test_streaming_takes_as_much_memory_however_long_the_log(tmp_path: Path, all_rounds: bool) -> None:
    output = b"x" * 6_000
    peaks = []
    for megabytes in (75, 150) if all_rounds else (40, 80):
        path = write(tmp_path / "large.jsonl", islice(chain(output), megabytes * 310))
        assert path.stat().st_size > megabytes * 0.95e6
        calls, peak = streamed(path)
        assert calls == (megabytes * 310) // 2
        peaks.append(peak)
    assert peaks[1] < 60
    assert peaks[1] < peaks[0] + 25


def test_very_many_calls_with_lines_cut_joined_and_damaged(tmp_path: Path, all_rounds: bool) -> None:
    count = CALLS if all_rounds else SHARE
    lines = list(islice(chain(), 2 * count + 1))
    lines[1001:1003] = [lines[1001] + lines[1002]]  # two records on one line
    lines[2003] = lines[2003][:-40]  # a result cut short: call 1001 has none
    lines[3005] = lines[3005].replace(b"done", b"do\xff\xfe")  # no UTF-8
    lines[4000:4000] = [b"", b"\x00\x00", b"[]", b"nonsense"]
    trace = traces.load(write(tmp_path / "many.jsonl", lines))
    assert len(trace.calls) == count
    assert [c.seq for c in trace.calls] == sorted({c.seq for c in trace.calls})
    assert sum(c.answered for c in trace.calls) == count - 1
    assert [(problem.ref.line, problem.recovered) for problem in trace.problems] == [
        *((1002, 2), (2004, 0), (3006, 1)),
        *((4002, 0), (4003, 0), (4004, 0)),
    ]
    with (tmp_path / "many.jsonl").open("rb") as file:
        for problem in trace.problems:
            file.seek(problem.ref.offset)
            assert file.read(problem.ref.length).count(b"\n") == 1
    assert trace.calls[-1].detail.result == "done"
    assert all(c.live for c in trace.calls)


def test_a_thousand_rewinds(tmp_path: Path) -> None:
    lines = [prompt(b"u0", b""), *call(0, b"u0")]
    for number in range(1, 1001):
        lines += [prompt(b"u%d" % number, b"r0"), *call(number, b"u%d" % number)]
    trace = traces.load(write(tmp_path / "rewound.jsonl", lines))
    assert [c.native_id for c in trace.calls if c.live] == ["t0", "t1000"]


@pytest.mark.parametrize("parents", ["themselves", "each other", "the next"])
def test_parents_in_cycles(tmp_path: Path, parents: str) -> None:
    count = 20_000
    follows = {
        "themselves": lambda n: n,
        "each other": lambda n: n ^ 1,
        "the next": lambda n: (n + 1) % count,
    }[parents]
    lines = (prompt(b"u%d" % n, b"u%d" % follows(n)) for n in range(count))
    assert len(traces.load(write(tmp_path / "cycles.jsonl", lines)).events) == count


def test_sub_agents_ten_deep_and_ten_wide(tmp_path: Path) -> None:
    main = write(tmp_path / f"{SESSION}.jsonl", [prompt(b"u", b""), *_agent_call("n0", b"u")])
    folder = tmp_path / SESSION / "subagents"
    folder.mkdir(parents=True)
    for level in range(10):
        deeper = [
            line
            for n in range(10)
            if level < 9
            for line in _agent_call(f"n{level + 1}" if n == 0 else f"w{level}-{n}", b"p", str(n))
        ]
        write(folder / f"agent-n{level}.jsonl", [prompt(b"p", b""), *deeper])
        for n in range(1, 10):
            write(folder / f"agent-w{level}-{n}.jsonl", [prompt(b"p", b""), *call(1000 * level + n, b"p")])
    trace = traces.load(main)
    parents = {session.id: session.parent for session in trace.sessions}
    assert len(parents) == 1 + 10 + 90
    above, depth = "agent-n9", 0
    while above != SESSION:
        above, depth = parents[above], depth + 1
    assert depth == 10
    assert [parents[f"agent-w4-{n}"] for n in range(1, 10)] == ["agent-n4"] * 9


def _agent_call(child: str, parent: bytes, place: str = "0") -> Iterator[bytes]:
    name = f"{child}{place}"
    block = {"type": "tool_use", "id": f"t{name}", "name": "Agent", "input": {"prompt": "…"}}
    yield record(
        b"assistant", f"a{name}".encode(), parent, json.dumps({"id": f"m{name}", "content": [block]}).encode()
    )
    answer = json.dumps(
        {"content": [{"type": "tool_result", "tool_use_id": f"t{name}", "content": "ok"}]}
    ).encode()
    yield record(b"user", f"r{name}".encode(), f"a{name}".encode(), answer)[:-1] + json.dumps(
        {"toolUseResult": {"agentId": child}}
    ).encode().replace(b"{", b",", 1)


def test_a_log_of_which_every_line_is_cut(tmp_path: Path) -> None:
    rows = traces.stream(
        write(
            tmp_path / "cut.jsonl",
            (line if n == 0 else line[:-9] for n, line in enumerate(islice(chain(), 50_000))),
        )
    )
    assert sum(type(row) is Problem for row in rows) == 49_999
