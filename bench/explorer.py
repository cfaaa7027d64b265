"""Measures the exploration of a long log: 100,000 calls, made from real sessions whose texts are cut.

python bench/explorer.py [calls]

In the kernel: from the rows to the picture, then what a page asks.  Bars: lines and picture in 500 ms, the
first screen of rows in 100 ms, 25,000 further ones in 250 ms, a step in 50 ms, a search in 300 ms, the index in 10 s.
bench/explorer_page.py measures the browser.
"""

from __future__ import annotations

import json
import sys
import tempfile
import time
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from report import Figure, table

from nbtools import open_trace
from nbtools.core.methods import respond
from nbtools.traces import stream
from nbtools.traces.explorer.explorer import Explorer
from nbtools.traces.explorer.page_methods import MAX_ROWS as STRETCH
from nbtools.traces.explorer.registry import EXPLORERS
from nbtools.traces.explorer.row_messages import TraceRowsParams
from nbtools.traces.model import Call

SAMPLES = Path(__file__).resolve().parents[1] / "tests" / "traces" / "samples" / "claude-code"
CALLS = int(sys.argv[1]) if len(sys.argv) > 1 else 100_000
LONGEST = 400
"""Characters of a text in the log: how long it is matters to reading, which bench/load.py measures."""
ROUNDS = 5
STEPS = 200
COMMON, RARE, CODE, PART = "error", "permission denied", "tests/test_", "ermission den"


def cut(value: Any) -> Any:
    if isinstance(value, str):
        return value[:LONGEST]
    if isinstance(value, list):
        return [cut(item) for item in value]
    return {key: cut(item) for key, item in value.items()} if isinstance(value, dict) else value


def copies() -> Iterator[bytes]:
    """The sessions again and again, each time under a name of its own."""
    texts = [path.read_text(encoding="utf-8").splitlines() for path in sorted(SAMPLES.glob("*.jsonl"))]
    sessions = [
        [cut(json.loads(line)) for line in lines if line.startswith("{") and line.endswith("}")]
        for lines in texts
    ]
    number = 0
    while True:
        for records in sessions:
            number += 1
            yield b"".join(_line(record, number) for record in records)


def _line(record: dict[str, Any], number: int) -> bytes:
    """Ids are told apart by an ending: what is repeated would be told to be."""
    return json.dumps(_renamed(record, f"-{number}")).encode() + b"\n"


def _renamed(value: Any, ending: str) -> Any:
    if isinstance(value, list):
        return [_renamed(item, ending) for item in value]
    if not isinstance(value, dict):
        return value
    named = {
        "id",
        "uuid",
        "parentUuid",
        "sessionId",
        "tool_use_id",
        "requestId",
        "sourceToolAssistantUUID",
        "messageId",
        "leafUuid",
    }
    return {
        key: item + ending if key in named and isinstance(item, str) else _renamed(item, ending)
        for key, item in value.items()
    }


def planted(path: Path) -> Path:
    """A log of about that many calls."""
    source = copies()
    with path.open("wb") as file:
        while file.tell() < 4_000_000:
            file.write(next(source))
    size = path.stat().st_size * CALLS / sum(type(row) is Call for row in stream(path))
    with path.open("ab") as file:
        while file.tell() < size:
            file.write(next(source))
    return path


def milliseconds(run: Callable[[], object]) -> float:
    start = time.perf_counter()
    run()
    return (time.perf_counter() - start) * 1e3


def asking(explorer: Explorer, method: str, **params: Any) -> Callable[[], object]:
    """Returns a function that calls a method as a page does, up to the JSON and the bytes that are sent."""
    message = {"id": 1, "method": f"trace.{method}", "params": {"explorer": explorer.id, **params}}

    def ask() -> int:
        sent: list[tuple[dict[str, Any], Any]] = []
        respond(EXPLORERS.find(explorer.id), message, lambda *answer: sent.append(answer))
        while "pending" in sent[-1][0]:
            time.sleep(0.001)
        reply, buffers = sent[-1]
        assert "result" in reply, reply
        return len(json.dumps(reply)) + sum(map(len, buffers))

    return ask


def rows_of(explorer: Explorer) -> tuple[float, list[float], int, float]:
    """Returns the milliseconds of the first screen and of each further stretch, the bytes of all rows, and
    the bytes of each after compression, as they go over the network.
    """
    first, *rest = [(0, 2_000), *((at, STRETCH) for at in range(2_000, explorer.size, STRETCH))]
    sizes: list[int] = []
    taken: list[float] = []
    for at, count in (first, *rest):
        ask = asking(explorer, "rows", version=0, first=at, count=count)
        taken.append(milliseconds(lambda ask=ask: sizes.append(ask())))  # type: ignore[misc]
    _, (data,) = explorer.methods.rows(
        TraceRowsParams(explorer=explorer.id, version=0, first=0, count=STRETCH)
    )
    compressed = len(zlib.compress(data, 1)) / max(1, min(explorer.size, STRETCH))
    return taken[0], taken[1:], sum(sizes), compressed


def opened(explorer: Explorer) -> list[float]:
    """After the first, with which our tools are loaded."""
    milliseconds(asking(explorer, "open", line=0))
    count = len(explorer.lines)
    return [milliseconds(asking(explorer, "open", line=count * n // STEPS)) for n in range(STEPS)]


def in_kernel(log: Path) -> Explorer:
    started = time.perf_counter()
    explorer = open_trace(log)
    loaded = (time.perf_counter() - started) * 1e3
    pictures: list[float] = []
    for _ in range(ROUNDS):
        fresh = Explorer(explorer.trace, log=str(log))
        pictures.append(milliseconds(fresh.bundle))
    explorer = fresh
    first, stretches, size, compressed = rows_of(explorer)
    steps = opened(explorer)
    added = {
        name: milliseconds(asking(explorer, method, **params)) for name, (method, params) in _USAGE.items()
    }
    processor = time.process_time()
    indexed = milliseconds(lambda: explorer.trace.search(COMMON))
    processor = (time.process_time() - processor) * 1e3
    table(
        f"Looking at {len(explorer.trace.calls):,} calls ({len(explorer.lines):,} steps)",
        [
            Figure("lines and picture", pictures, "ms", "≤ 500 ms"),
            Figure("rows: first screen", [first], "ms", "≤ 100 ms"),
            Figure(f"rows: {STRETCH:,} further ones", stretches, "ms", "≤ 250 ms"),
            Figure("rows: bytes of each", [size / explorer.size], "B", "≤ 170 B"),
            Figure("… compressed", [compressed], "B"),
            Figure("rows: all, of the time to load the log", [100 * (first + sum(stretches)) / loaded], "%"),
            Figure("step opened", steps, "ms", "≤ 50 ms"),
            *(
                Figure(f"search: {text}", searched(explorer, text), "ms", "≤ 300 ms")
                for text in (COMMON, RARE, CODE, PART)
            ),
            *(Figure(f"{name}, once", [taken], "ms") for name, taken in added.items()),
            Figure("log loaded, once", [loaded], "ms"),
            Figure("index made, once", [indexed], "ms", "≤ 10000 ms"),
            Figure("… its processor time", [processor], "ms", "≤ 10000 ms"),
        ],
    )
    return explorer


def searched(explorer: Explorer, text: str) -> list[float]:
    return [milliseconds(lambda: explorer.trace.search(text, CALLS)) for _ in range(ROUNDS)]


_USAGE: dict[str, tuple[str, dict[str, Any]]] = {
    "tokens of all rows": ("tokens", {"version": 0}),
    "overview by time": ("strip", {"mode": "time"}),
    "overview by tokens": ("strip", {"mode": "tokens"}),
    "usage": ("usage", {}),
}


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        in_kernel(planted(Path(folder, "session.jsonl")))


if __name__ == "__main__":
    main()
