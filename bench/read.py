"""Measures the reading of a window at the end of a very large file:
the read tool through a session, against tail and wc on the same file.

python bench/read.py [gigabytes]
"""

from __future__ import annotations

import asyncio
import multiprocessing
import os
import resource
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from pathlib import Path

from report import Figure, alternate, table

from nbtools import Session

GIGABYTES = float(sys.argv[1]) if len(sys.argv) > 1 else 5.0
ROUNDS = 5
WINDOW = 2_000
BLOCK = b"".join(
    b"%07d the quick brown fox jumps over the lazy dog, and over the next line, and again over that one\n" % n
    for n in range(20_000)
)


def plant(path: Path) -> int:
    """A file of lines of about a hundred characters; how many lines."""
    blocks = int(GIGABYTES * 1e9 / len(BLOCK))
    with path.open("wb") as file:
        for _ in range(blocks):
            file.write(BLOCK)
    return blocks * 20_000


def shell(command: str) -> Callable[[], float]:
    def run() -> float:
        start = time.perf_counter()
        subprocess.run(command, shell=True, check=True, stdout=subprocess.DEVNULL)
        return time.perf_counter() - start

    return run


def ours(loop: asyncio.AbstractEventLoop, session: Session, start: int) -> Callable[[], float]:
    def run() -> float:
        begin = time.perf_counter()
        result = loop.run_until_complete(session.call("read", {"path": "large", "start": start}))
        taken = time.perf_counter() - begin
        if not result.ok or result.data.end - result.data.start != WINDOW - 1:
            raise RuntimeError(str(result.llm_content)[-300:])
        return taken

    return run


def resident() -> float:
    """Megabytes of this process in memory just now."""
    with open("/proc/self/statm", encoding="ascii") as file:  # noqa: PTH123
        return int(file.read().split()[1]) * resource.getpagesize() / 1e6


def memory(folder: str, start: int, answer: multiprocessing.queues.Queue[float]) -> None:
    """Megabytes by which a fresh process grows at most while it reads the window."""
    loop = asyncio.new_event_loop()
    session = Session(folder)
    Path(folder, "small").write_bytes(BLOCK[:2_000])
    loop.run_until_complete(session.call("read", {"path": "small"}))
    before = most = resident()
    done = threading.Event()

    def watch() -> None:
        nonlocal most
        while not done.wait(0.002):
            most = max(most, resident())

    watcher = threading.Thread(target=watch)
    watcher.start()
    ours(loop, session, start)()
    done.set()
    watcher.join()
    answer.put(most - before)


def grown(folder: str, start: int) -> float:
    context = multiprocessing.get_context("spawn")
    answer = context.Queue()
    process = context.Process(target=memory, args=(folder, start, answer))
    process.start()
    growth: float = answer.get()
    process.join()
    return growth


def main() -> None:
    loop = asyncio.new_event_loop()
    with tempfile.TemporaryDirectory(prefix="nbtools-read-") as folder:
        total = plant(Path(folder, "large"))
        first = total - WINDOW + 1
        file = os.path.join(folder, "large")  # noqa: PTH118
        session = Session(folder)
        runs = {
            "tail": shell(f"tail -n +{first} {file} | head -n {WINDOW}"),
            "wc": shell(f"wc -l {file}"),
            "from_start": ours(loop, session, first),
            "from_end": ours(loop, session, -WINDOW),
            "middle": ours(loop, session, total // 2),
        }
        runs["wc"]()
        taken = alternate(ROUNDS, **runs)
        table(
            f"read, {WINDOW:,} lines of {total:,} in {GIGABYTES:g} GB: s, {ROUNDS} rounds",
            [
                Figure("tail -n +N | head", taken["tail"], "s"),
                Figure("wc -l", taken["wc"], "s"),
                Figure(f"read start={first}", taken["from_start"], "s", "≤ 1.20 x"),
                Figure(f"read start=-{WINDOW}", taken["from_end"], "s", "≤ 1.20 x"),
                Figure(f"read start={total // 2}", taken["middle"], "s"),
            ],
        )
        table(
            "memory while it reads, above a session that has read something small: MB",
            [
                Figure("read from the start", [grown(folder, first)], "MB", "≤ 32 MB"),
                Figure("read from the end", [grown(folder, -WINDOW)], "MB", "≤ 32 MB"),
            ],
        )


if __name__ == "__main__":
    main()
