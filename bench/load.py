"""Measures the reading of logs: every row of 200 MB of sessions made from real ones,
against decoding the same lines and no more.

python bench/load.py [megabytes] [largest file in megabytes]

Bars: extraction in one process at 0.75 of orjson's rate, with two at 1.7 of that; at most 300 MB for one file
of any size.  With two, each process counts the rows of its files (what a corpus does, which writes them where
they are read).  ``load_many`` starts a second process each time and gets its rows: with two at 1.7 of one
process that keeps all rows.
"""

from __future__ import annotations

import json
import multiprocessing
import re
import resource
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Any

import orjson
from report import Figure, alternate, paired, rate, table

from nbtools import traces
from nbtools.traces.model import Call

SAMPLES = Path(__file__).resolve().parents[1] / "tests" / "traces" / "samples" / "claude-code"
MEGABYTES = int(sys.argv[1]) if len(sys.argv) > 1 else 200
LARGEST = int(sys.argv[2]) if len(sys.argv) > 2 else 1_000
FILES = 8
ROUNDS = 5
IDENTITY = re.compile(rb"((?:toolu|msg|req)_[0-9A-Za-z]{4}|[0-9a-f]{8}(?=-[0-9a-f]{4}-[0-9a-f]{4}-))")


def copies() -> Iterator[bytes]:
    """The samples again and again, each time with ids of their own: what is repeated would be told to be."""
    templates = [IDENTITY.split(path.read_bytes()) for path in sorted(SAMPLES.glob("*.jsonl"))]
    number = 0
    while True:
        for template in templates:
            number += 1
            names = {part: _renamed(part, number) for part in set(template[1::2])}
            yield b"".join(names[part] if at % 2 else part for at, part in enumerate(template))


def _renamed(identity: bytes, number: int) -> bytes:
    head, mark, tail = identity.partition(b"_")
    return b"%s_%dx%s" % (head, number, tail) if mark else b"%08x" % (int(identity, 16) ^ number)


def plant(path: Path, size: float, source: Iterator[bytes]) -> Path:
    with path.open("wb") as file:
        while file.tell() < size:
            file.write(next(source))
    return path


def extract(path: Path) -> int:
    return sum(type(row) is Call for row in traces.stream(path))


def kept_rows(path: Path) -> int:
    return len(traces.load(path).calls)


def decode(loads: Callable[[bytes], object]) -> Callable[[Path], int]:
    def run(path: Path) -> int:
        with path.open("rb", buffering=1 << 20) as lines:
            return sum(loads(line) is not None for line in lines)

    return run


def peak(path: Path, answers: Any) -> None:
    """In a process of its own: what reading one large file takes."""
    start = time.perf_counter()
    calls = extract(path)
    taken = time.perf_counter() - start
    size, memory = path.stat().st_size / 1e6, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e3
    answers.put((size, calls, size / taken, memory))


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        source = copies()
        files = [plant(Path(folder, f"{n}.jsonl"), MEGABYTES / FILES * 1e6, source) for n in range(FILES)]
        size = sum(file.stat().st_size for file in files) / 1e6
        with ProcessPoolExecutor(2, multiprocessing.get_context("spawn")) as pool:
            list(pool.map(extract, files))
            contenders: dict[str, Callable[[], object]] = {
                "orjson": lambda: list(map(decode(orjson.loads), files)),
                "rows": lambda: list(map(extract, files)),
                "rows_kept": lambda: list(map(kept_rows, files)),
                "rows_two": lambda: list(pool.map(extract, files)),
                "sent": lambda: len(traces.load_many(files, workers=2).calls),
                "json": lambda: list(map(decode(json.loads), files)),
            }
            rates = alternate(ROUNDS, **{name: rate(run, size) for name, run in contenders.items()})
        table(
            f"Reading {size:.0f} MB of sessions ({FILES} files)",
            [
                Figure("orjson.loads only", rates["orjson"], "MB/s"),
                Figure("all rows, one process", rates["rows"], "MB/s", "≥ 0.6 x"),
                Figure("all rows, kept (load)", rates["rows_kept"], "MB/s"),
                Figure("all rows, two processes", rates["rows_two"], "MB/s"),
                Figure("load_many(workers=2)", rates["sent"], "MB/s"),
                Figure("json.loads only", rates["json"], "MB/s"),
            ],
        )
        scale = paired(rates["rows_two"], rates["rows"])
        print(
            f"  two processes are {scale:.2f} x one; load_many with two is {paired(rates['sent'], rates['rows_kept']):.2f} x load (1.7)"
        )
        spawning = multiprocessing.get_context("spawn")
        for megabytes in sorted({LARGEST // 10, LARGEST}):
            large = plant(Path(folder, "large.jsonl"), megabytes * 1e6, source)
            answers = spawning.Queue()
            process = spawning.Process(target=peak, args=(large, answers))
            process.start()
            size, calls, speed, memory = answers.get(timeout=600)
            process.join()
            table(
                f"One file of {size:.0f} MB, {calls:,} calls, streamed",
                [Figure("read", [speed], "MB/s"), Figure("peak memory", [memory], "MB", "≤ 300 MB")],
            )


if __name__ == "__main__":
    main()
