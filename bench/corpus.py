"""Measures a corpus and how its cost grows:
ingest, ingest again with nothing new, SQL and search on copies of real logs.

python bench/corpus.py [megabytes ...] [--logs folder]

Logs are real ones of that folder, copied under other names until there are so many bytes;
without a folder, those of the tests.
"""

from __future__ import annotations

import argparse
import multiprocessing
import resource
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Any, Self

import psutil
from report import Figure, table

from nbtools.core.errors import TraceError
from nbtools.traces import load
from nbtools.traces.corpus import Corpus
from nbtools.traces.worker_pool import processors

SAMPLES = Path(__file__).resolve().parents[1] / "tests" / "traces" / "samples"
ROUNDS = 20
QUERIES = {
    "count of calls by name": "select name, count(*) from calls group by name order by 2 desc",
    "slowest sessions": "select id, ended - started as took from sessions order by took desc nulls last limit 10",
    "commands that failed": "select session, command from calls where op = 'shell' and status = 'error' limit 100",
    "result like": "select count(*) from calls where result like '%Traceback%'",
    "join": "select s.agent, f.path, count(*) from file_changes f join sessions s on f.session = s.id group by all limit 50",
}
SEARCHES = {
    "a word": "failing",
    "two words": "import error",
    "a phrase": '"test session"',
    "code": "package.json",
    "a piece": "ackage.js",
    "nothing": "xyzzyplugh",
}


def samples(folder: Path) -> list[Path]:
    """One file each, of formats that are read line by line: those are copied whole."""
    found = []
    for path in sorted(folder.glob("**/*.jsonl")):
        try:
            known = load(path)
        except TraceError:
            continue
        if known.calls and len(known.readings[0].source.files) == 1:
            found.append(path)
    return found


def plant(root: Path, megabytes: int, folder: Path) -> int:
    """Bytes of the logs made."""
    root.mkdir(exist_ok=True)
    made = number = 0
    texts = _copied(folder)
    while made < megabytes * 1_000_000:
        text = next(texts)
        (root / f"log{number:06}.jsonl").write_bytes(text)
        made += len(text)
        number += 1
    return made


def _copied(folder: Path) -> Iterator[bytes]:
    texts = [path.read_bytes() for path in samples(folder)]
    if not texts:
        sys.exit(f"there is no log in {folder}")
    while True:
        yield from texts


class Here:
    """An executor that does the work in this process: what all of it costs."""

    def submit(self, work: Callable[..., Any], *arguments: Any) -> Future[Any]:
        done: Future[Any] = Future()
        done.set_result(work(*arguments))
        return done


class Memory:
    """The most that one of the processes that this one started held, looked at ten times a second; MB."""

    def __init__(self) -> None:
        self.peak = 0.0
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._watch)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        self._thread.join()

    def _watch(self) -> None:
        me = psutil.Process()
        while not self._over.wait(0.1):
            for child in me.children(recursive=True):
                try:
                    self.peak = max(self.peak, child.memory_info().rss / 1e6)
                except psutil.Error:
                    continue


@dataclass(frozen=True)
class Row:
    """A line of the table: what it is, a value for each size, what it is counted in."""

    name: str
    unit: str
    value: float
    bar: str = ""


def timed(run: Callable[[], object]) -> float:
    start = time.perf_counter()
    run()
    return time.perf_counter() - start


def measured(folder: Path, megabytes: int, logs: Path, answers: Any) -> None:
    """All figures of one size, in a process of its own."""
    size = plant(folder / "logs", megabytes, logs) / 1e6
    corpus = Corpus(folder / "corpus")
    pattern = f"{folder}/logs/*"
    with Memory() as workers:
        ingested = timed(lambda: corpus.ingest(pattern, progress=False))
    again = timed(lambda: corpus.ingest(pattern, progress=False))
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e3
    opened = Corpus(corpus.folder)
    rows = [
        Row("logs", "logs", len(list((folder / "logs").iterdir()))),
        Row("ingest", "s", ingested),
        Row("ingest", "MB/s", size / ingested),
        Row("nothing new", "s", again),
        Row("memory, this process", "MB", peak),
        Row("memory, largest worker", "MB", workers.peak),
        Row("parts", "files", len(list(corpus.folder.glob("parts/**/*.parquet")))),
        Row("tables on disk", "MB", _size(corpus.folder, "parts/**/*.parquet")),
        Row("search on disk", "MB", _size(corpus.folder, "parts/*/index.sqlite")),
        Row("first query", "ms", timed(lambda: opened.sql("select count(*) from calls")) * 1e3),
    ]
    rows += [
        Row(f"SQL: {name}", "ms", _often(lambda query=query: opened.sql(query)))
        for name, query in QUERIES.items()
    ]
    for name, text in SEARCHES.items():
        rows.append(
            Row(
                f"search: {name} ({len(opened.search(text))} found)",
                "ms",
                _often(lambda text=text: opened.search(text)),
                "≤ 10 ms",
            )
        )
    answers.put(rows)


def _often(run: Callable[[], object]) -> float:
    """Milliseconds, the median."""
    return median(timed(run) for _ in range(ROUNDS)) * 1e3


def _size(folder: Path, pattern: str) -> float:
    return sum(path.stat().st_size for path in folder.glob(pattern)) / 1e6


def alone_and_together(folder: Path, megabytes: int, logs: Path) -> None:
    """Measures the same work in one process and in as many as there are processors, in turn.

    The process that ingests does its part alone:
    from its share of all processor time follows what more workers can gain.
    """
    plant(folder / "logs", megabytes, logs)
    ratios, shares = [], []
    for number in range(3):
        (one, all_work), (several, alone) = (
            timed_with_processor(
                lambda name=name, client=client: Corpus(folder / name).ingest(
                    f"{folder}/logs/*", client, progress=False
                )
            )
            for name, client in ((f"one{number}", Here()), (f"two{number}", None))
        )
        ratios.append(one / several)
        shares.append(alone / all_work)
        print(
            f"  one process {one:6.1f} s   {processors()} workers {several:6.1f} s   {ratios[-1]:.2f} x",
            flush=True,
        )
    bound = 1 / (median(shares) + (1 - median(shares)) / 4)
    print(
        f"  median {median(ratios):.2f} x (bar {0.8 * processors():.1f} where {processors()} processors are free)"
    )
    print(
        f"  not divided among workers: {median(shares):.1%} of the processor time, so four gain at most {bound:.2f} x (bar 3.2)"
    )


def timed_with_processor(run: Callable[[], object]) -> tuple[float, float]:
    """Seconds by the clock, and of this process's processor time."""
    start = time.process_time()
    return timed(run), time.process_time() - start


def main() -> None:
    asked = argparse.ArgumentParser()
    asked.add_argument("megabytes", nargs="*", type=int, default=[100, 1_000])
    asked.add_argument("--logs", type=Path, default=SAMPLES)
    given = asked.parse_args()
    spawning = multiprocessing.get_context("spawn")
    columns = []
    for megabytes in given.megabytes:
        with tempfile.TemporaryDirectory(prefix="nbtools-corpus-") as folder:
            answers = spawning.Queue()
            process = spawning.Process(target=measured, args=(Path(folder), megabytes, given.logs, answers))
            process.start()
            columns.append(answers.get())
            process.join()
    for megabytes, rows in zip(given.megabytes, columns, strict=True):
        table(
            f"a corpus of {megabytes:,} MB",
            [Figure(row.name, [row.value], row.unit, row.bar) for row in rows],
        )
    print("\nworkers")
    with tempfile.TemporaryDirectory(prefix="nbtools-corpus-") as folder:
        alone_and_together(Path(folder), min(given.megabytes), given.logs)


if __name__ == "__main__":
    main()
