"""Our own log, damaged in any way, and as large as it gets."""

from __future__ import annotations

import asyncio
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from nbtools import Policy, Session, traces
from nbtools.core.errors import TraceError
from nbtools.testing import temporary_workspace
from nbtools.traces.export import write_atif
from nbtools.traces.recording.recorder import Recorder
from tests.examples import examples


@pytest.fixture(scope="module")
def log(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return session(tmp_path_factory.mktemp("log") / "log.jsonl", "long\n" * 9_000)


@pytest.fixture(scope="module")
def atif(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    folder = tmp_path_factory.mktemp("atif")
    return write_atif(traces.load(session(folder / "log.jsonl", "short\n")), folder / "out.json").read_bytes()


def session(path: Path, text: str) -> Path:
    """The log of a real one."""

    async def work() -> None:
        with temporary_workspace({"a.py": "one = 1\n"}) as root:
            async with Session(
                root, policy=Policy(mode="yolo"), observers=[Recorder(path, workspace=root)]
            ) as session:
                await session.call("read", {"path": "a.py"})
                await session.call("edit", {"path": "a.py", "old": "1", "new": "2 # ä"})
                await session.call("write", {"path": "long", "content": text})
                await session.call("shell", {"command": "echo hi"})

    asyncio.run(work())
    return path


@st.composite
def damages(draw: st.DrawFn) -> tuple[str, float, int, bytes]:
    kind = draw(st.sampled_from(["cut", "flip", "drop", "insert", "glue"]))
    return kind, draw(st.floats(0, 1)), draw(st.integers(1, 200)), draw(st.binary(min_size=1, max_size=4))


def damaged(data: bytes, kind: str, where: float, length: int, junk: bytes) -> bytes:
    at = int(where * len(data))
    match kind:
        case "cut":
            return data[:at]
        case "flip":
            return data[:at] + junk + data[at + len(junk) :]
        case "drop":
            return data[:at] + data[at + length :]
        case "insert":
            return data[:at] + junk + data[at:]
    end = data.find(b"\n", at)
    return data[:end] + data[end + 1 :]


def everything(trace: traces.Trace) -> None:
    """Every field of each row is read."""
    for call in trace.calls:
        try:
            assert call.detail.args is not None
        except TraceError:
            continue
    trace.facts()


@given(st.lists(damages(), min_size=1, max_size=3))
@settings(
    max_examples=examples(150), deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
def test_damage_stops_no_reader(log: Path, tmp_path: Path, what: list[tuple[str, float, int, bytes]]) -> None:
    first, rest = log.read_bytes().split(b"\n", 1)
    for one in what:
        rest = damaged(rest, *one)
    path = tmp_path / "damaged.jsonl"
    path.write_bytes(first + b"\n" + rest)
    everything(traces.load(path))


@given(st.lists(damages(), min_size=1, max_size=3))
@settings(
    max_examples=examples(150), deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
def test_damage_stops_no_reader_of_atif(
    atif: bytes, tmp_path: Path, what: list[tuple[str, float, int, bytes]]
) -> None:
    data = atif
    for one in what:
        data = damaged(data, *one)
    path = tmp_path / "damaged.json"
    path.write_bytes(data)
    try:
        trace = traces.load(path)
    except TraceError:
        return  # its head is gone: nobody knows the format
    everything(trace)


_PEAK = """
import resource, sys
from nbtools import traces
from tests.examples import examples
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
count = sum(isinstance(row, traces.Call) for row in traces.stream(sys.argv[1]))
print(count, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before)
"""


def test_a_large_log_is_read_in_little_memory(log: Path, tmp_path: Path) -> None:
    first, rest = log.read_bytes().split(b"\n", 1)
    times = 100_000_000 // len(rest)
    with (tmp_path / "large.jsonl").open("wb") as file:
        file.write(first + b"\n")
        for _ in range(times):
            file.write(rest)
    ran = subprocess.run(
        [sys.executable, "-c", _PEAK, tmp_path / "large.jsonl"], check=True, capture_output=True, text=True
    )
    count, grown = map(int, ran.stdout.split())
    unit = 1 if sys.platform == "darwin" else 1024
    assert count == 4 * times
    assert grown * unit < 60_000_000
