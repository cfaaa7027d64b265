"""Measures following: processor time while nothing happens, from an appended line to its row,
and memory over the rows that it keeps.

``python bench/follow.py [MEGABYTES]`` makes a log of that size (default 200) and appends to it.
"""

from __future__ import annotations

import json
import os
import sys
import tempfile
import time
from itertools import islice
from pathlib import Path
from statistics import median
from threading import Event as Signal
from threading import Thread

import psutil

sys.path.insert(0, str(Path(__file__).parents[1]))

from nbtools import traces
from nbtools.traces.explorer.explorer import Explorer
from nbtools.traces.explorer.row_messages import TraceFollowParams
from nbtools.traces.model import Call
from tests.traces.test_generated import chain

IDLE_SECONDS = 10
APPENDED = 2_000
LATENCIES = 20
UPDATES = 10
_OUTPUT = b"x" * 6_000


def main(megabytes: int) -> None:
    process = psutil.Process()
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "session.jsonl"
        lines = chain(_OUTPUT)
        with path.open("wb") as file:
            file.writelines(line + b"\n" for line in islice(lines, megabytes * 310 + 1))
        started = time.perf_counter()
        trace = traces.load(path)
        loading = time.perf_counter() - started
        append(path, list(islice(lines, 2)))
        started = time.perf_counter()
        assert trace.update(), "the first update read nothing"
        first = time.perf_counter() - started
        print(
            f"log of {path.stat().st_size >> 20} MB, {len(trace.calls):,} calls: loaded in {loading:.1f} s, first update {first:.1f} s"
        )
        time.sleep(3 * first)  # the rest after reading a log as a whole
        grow(trace, path, lines, process)
        page(trace, path, lines)
        idle(path, process)
        latency(path, lines)


def grow(trace: traces.Trace, path: Path, lines: object, process: psutil.Process) -> None:
    """Appends calls one by one, and prints what an update costs and what stays in memory."""
    calls, before = len(trace.calls), process.memory_info().rss
    costs = []
    for _ in range(APPENDED):
        append(path, list(islice(lines, 2)))  # type: ignore[call-overload]
        started = time.perf_counter()
        changed = trace.update()
        costs.append(time.perf_counter() - started)
        assert any(isinstance(row, Call) and row.answered for row in changed), "an update read nothing"
    kept = len(trace.calls) - calls
    assert kept == APPENDED
    grown = (process.memory_info().rss - before) / (1 << 20)
    print(
        f"{kept:,} calls appended one by one: {1e3 * median(costs):.1f} ms an update, memory {grown:+.1f} MB"
    )


def page(trace: traces.Trace, path: Path, lines: object) -> None:
    """Prints what an update by one call costs for the page of an explorer, and what is sent to it."""
    explorer = Explorer(trace)
    version, costs, sizes = explorer.view().version, [], []
    for _ in range(UPDATES):
        append(path, list(islice(lines, 2)))  # type: ignore[call-overload]
        time.sleep(max(0.1, 2 * max(costs, default=1.0)))  # as long as an explorer rests
        params = TraceFollowParams(explorer=explorer.id, version=version)
        started = time.perf_counter()
        reply, buffers = explorer.methods.follow(params)
        costs.append(time.perf_counter() - started)
        assert reply.version > version, "an update read nothing"
        version = reply.version
        sizes.append(len(reply.model_dump_json()) + sum(map(len, buffers)))
    print(
        f"page of {explorer.size:,} rows: {1e3 * median(costs):.0f} ms an update, {median(sizes) / 1e3:.1f} kB"
    )


def idle(path: Path, process: psutil.Process) -> None:
    """Prints the processor time of following a log to which nobody writes."""
    stop = Signal()
    thread = Thread(target=lambda: [None for _ in traces.follow(path, stop=stop)])
    thread.start()
    time.sleep(max(5.0, path.stat().st_size / 50e6))
    before = process.cpu_times()
    time.sleep(IDLE_SECONDS)
    after = process.cpu_times()
    used = after.user + after.system - before.user - before.system
    print(f"idle: {100 * used / IDLE_SECONDS:.2f} % of a processor")
    stop.set()
    thread.join()


def latency(path: Path, lines: object) -> None:
    """Prints the time from an appended call to its row."""
    stop, seen = Signal(), Signal()
    arrived: dict[str, float] = {}

    def collect() -> None:
        for row in traces.follow(path, stop=stop):
            if isinstance(row, Call) and row.answered:
                arrived[row.id] = time.perf_counter()
                seen.set()

    thread = Thread(target=collect)
    thread.start()
    seen.wait()
    time.sleep(max(2.0, path.stat().st_size / 100e6))
    waits = []
    for _ in range(LATENCIES):
        asked, answered = islice(lines, 2)  # type: ignore[call-overload]
        name = json.loads(asked)["message"]["content"][0]["id"]
        append(path, [asked, answered])
        written = time.perf_counter()
        while name not in arrived:
            time.sleep(0.001)
        waits.append(arrived[name] - written)
        time.sleep(0.3)
    stop.set()
    thread.join()
    print(f"from line to row: {median(waits):.2f} s, at most {max(waits):.2f} s")


def append(path: Path, lines: list[bytes]) -> None:
    with path.open("ab") as file:
        file.writelines(line + b"\n" for line in lines)


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else int(os.environ.get("MEGABYTES", "200")))
