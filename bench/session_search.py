"""Measures the search in the contents of all sessions: 600 logs, 1.1 GB, in a temporary folder.

python bench/session_search.py [logs] [megabytes]

The logs are real ones of the tests (Claude Code and Codex), two or more in each file, with other ids, and in
each log with other words in place of forty of its words, so that few of them have the same contents.  They
are indexed by the background process, beside a kernel that does a small task again and again.  A search is
measured until its first answer, which has a time budget of 80 ms, and until all logs are searched.  What is
found is compared with grep, which gets the texts of a part of the logs, one file for each.

Bars: indexed in 60 s, a first answer in 100 ms, grep finds the same.
"""

from __future__ import annotations

import os
import random
import re
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from threading import Event, Thread
from typing import Self

import psutil
from report import Figure, table

from nbtools.traces import load
from nbtools.traces.session_index.content_search import ContentQuery, ContentSearch
from nbtools.traces.session_index.contents import ContentStore
from nbtools.traces.session_index.index import number_of
from nbtools.traces.session_index.listing import SessionCatalog, SessionQuery

SAMPLES = Path(__file__).resolve().parents[1] / "tests" / "traces" / "samples"
LOGS = int(sys.argv[1]) if len(sys.argv) > 1 else 600
MEGABYTES = int(sys.argv[2]) if len(sys.argv) > 2 else 1_100
BUDGET = 0.08
ROUNDS = 5
COMPARED = 60
"""Logs whose texts grep gets."""
SEARCHES = {
    "a rare word": "needle000007x",
    "a rare word, without its end": "eedle000007",
    "a frequent word": "function",
    "two words": "error failed",
    "code": "err != nil",
    "a path": "e2e/tests",
    "two characters": "=>",
    "two letters": "qz",
    "not found": "xyzzyplugh",
    "marks that are not found": "§§§",
}
STRINGS = [
    *("needle000003x", "goconst", "panic:", "failing", "Traceback", "func(", "=>", "--no-", "src/", ".go"),
    *(
        "err != nil",
        "if err",
        "e2e",
        "{}",
        "()",
        "**",
        "0x",
        "package main",
        "TODO",
        "http://",
        "//",
        "import",
    ),
    *("xyzzyplugh", "RUN", "Read", "a", "\\", "test_", "git commit -m", "2>&1"),
]


def write_logs(home: Path) -> float:
    """Writes the logs, and returns their size in megabytes."""
    samples = {
        kind: [
            path.read_bytes()
            for path in sorted((SAMPLES / kind).glob("*.jsonl"))
            if path.stat().st_size > 200_000
        ]
        for kind in ("claude-code", "codex")
    }
    words = {sample: words_of(sample) for parts in samples.values() for sample in parts}
    made = 0
    for number in range(LOGS):
        chance = random.Random(number)
        kind = "codex" if number % 5 == 0 else "claude-code"
        wanted = (MEGABYTES * 1_000_000 - made) // (LOGS - number)
        parts: list[bytes] = []
        while not parts or (kind == "claude-code" and sum(map(len, parts)) < wanted * 0.8):
            sample = samples[kind][(number + len(parts)) % len(samples[kind])]
            parts.append(changed(sample, words[sample], chance, f"{number:06}{len(parts):02}"))
        day = b"%d-%02d-%02dT" % (2024 + number // 336, number % 12 + 1, number % 336 // 12 + 1)
        content = re.sub(rb"\b20\d\d-\d\d-\d\dT", day, b"".join(parts))  # none is a fork of another
        path = home / f".claude/projects/-work-p{number % 40}/{number:08}-0000-4000-8000-000000000000.jsonl"
        if kind == "codex":
            path = home / f".codex/sessions/2026/01/{number % 28 + 1:02}/rollout-{number:06}.jsonl"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content.replace(b"agents", b"needle%06dx" % number, 3))
        at = time.time() - 3_600 - 60 * number
        os.utime(path, (at, at))
        made += len(content)
    return made / 1e6


def words_of(sample: bytes) -> list[bytes]:
    """Returns words that are only in texts: no keys, and no values that are one word."""
    names = set(re.findall(rb"[a-z_]+", b" ".join(re.findall(rb'\\*"[\w-]+\\*"', sample))))
    return sorted(set(re.findall(rb"(?<![\w\\])[a-z]{5,12}(?!\w)", sample)) - names)


def changed(sample: bytes, words: list[bytes], chance: random.Random, number: str) -> bytes:
    """Returns a log with other ids and with other words in place of some."""
    for word in chance.sample(words, 40):
        letters = bytes(chance.choice(b"abcdefghijklmnopqrstuvwxyz") for _ in word)
        sample = sample.replace(word, letters)
    return re.sub(rb"\b[0-9a-f]{8}(?=-[0-9a-f]{4}-[0-9a-f]{4}-)", number.encode(), sample)


class Kernel:
    """A thread that does a task of a few milliseconds, as often as ten times a second, and takes the time."""

    def __init__(self) -> None:
        self.times: list[float] = []
        self._over = Event()
        self._thread = Thread(target=self._run, daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        self._thread.join()

    def _run(self) -> None:
        while not self._over.wait(0.1):
            start = time.perf_counter()
            sum(number * number for number in range(50_000))
            self.times.append(1e3 * (time.perf_counter() - start))


def main() -> None:
    with tempfile.TemporaryDirectory(prefix="nbtools-sessions-") as folder:
        os.environ |= {
            "HOME": folder,
            "NBTOOLS_STATE": f"{folder}/state",
            "NBTOOLS_CONFIG": f"{folder}/config",
        }
        for name in ("CLAUDE_CONFIG_DIR", "CODEX_HOME", "XDG_DATA_HOME", "XDG_CONFIG_HOME"):
            os.environ.pop(name, None)
        os.chdir(folder)
        size = write_logs(Path(folder))
        measure(Path(folder), size)


def measure(home: Path, size: float) -> None:
    catalog = SessionCatalog()
    with Kernel() as alone:
        time.sleep(5)
    start = time.perf_counter()
    catalog.refresh()
    numbers = catalog.numbers(SessionQuery())
    catalog.read_in_background()
    counted, used, memory = 0.0, 0.0, 0.0
    with Kernel() as beside:
        while ContentStore(catalog.index).missing(numbers)[0]:
            time.sleep(0.25)
            catalog.read_in_background()
            for child in psutil.Process().children():
                used = max(used, sum(child.cpu_times()[:2]))
                memory = max(memory, child.memory_info().rss / 1e6)
            if not counted and not catalog.index.outdated(1):
                counted = time.perf_counter() - start
    seconds = time.perf_counter() - start
    packed, words = catalog.index.read("SELECT sum(length(texts)), sum(length(words)) FROM blocks")[0]
    index = catalog.index.path.stat().st_size / 1e6
    table(
        f"{len(numbers)} logs, {size:,.0f} MB",
        [
            Figure("all are indexed", [seconds], "s", "≤ 60 s"),
            Figure("of that, until all are counted", [counted], "s"),
            Figure("processor time of the background process", [used], "s"),
            Figure("its memory", [memory], "MB"),
            Figure("index", [index], "MB"),
            Figure("of that, texts", [packed / 1e6], "MB"),
            Figure("of that, words", [words / 1e6], "MB"),
        ],
    )
    table(
        "a task of a kernel",
        [
            Figure("alone, median", [statistics.median(alone.times)], "ms"),
            Figure("beside the process, median", [statistics.median(beside.times)], "ms"),
            Figure("alone, 19 of 20", [statistics.quantiles(alone.times, n=20)[-1]], "ms"),
            Figure("beside the process, 19 of 20", [statistics.quantiles(beside.times, n=20)[-1]], "ms"),
        ],
    )
    search_times(catalog, numbers)
    compare_with_grep(catalog, numbers, home)


def search_times(catalog: SessionCatalog, numbers: list[int]) -> None:
    first, whole = [], []
    for name, text in SEARCHES.items():
        firsts, totals = [], []
        for _ in range(ROUNDS):
            search = ContentSearch(catalog.index, ContentQuery(text))
            start = time.perf_counter()
            search.search(numbers, BUDGET)
            firsts.append(1e3 * (time.perf_counter() - start))
            searched = len(numbers) - search.left
            while search.left:
                search.search(numbers, BUDGET)
            totals.append(1e3 * (time.perf_counter() - start))
        first.append(Figure(f"{name} ({searched} logs)", firsts, "ms", "≤ 100 ms"))
        whole.append(Figure(f"{name} ({len(search.found)} found)", totals, "ms"))
    table("first answer", first)
    table("all logs", whole)


def compare_with_grep(catalog: SessionCatalog, numbers: list[int], home: Path) -> None:
    chosen = numbers[:: max(len(numbers) // COMPARED, 1)]
    paths = {number_of(path): path for path in catalog.found.logs}
    for number in chosen:
        searcher = load(paths[number]).searcher
        texts = (searcher.text(at).replace("\0", " ") for at in range(len(searcher.rows)))
        (home / f"{number}.texts").write_bytes("\0".join(texts).encode("utf-8", "replace"))
    different = []
    for text in STRINGS:
        search = ContentSearch(catalog.index, ContentQuery(f'"{text}"'))
        search.search(chosen)
        found = {hit.number: len(hit.steps) for hit in search.found}
        done = subprocess.run(
            ["grep", "-z", "-i", "-c", "-F", "-e", text, *(f"{home}/{number}.texts" for number in chosen)],
            capture_output=True,
            text=True,
            check=False,
            env={**os.environ, "LC_ALL": "C.UTF-8"},
        )
        lines = (line.rpartition(":") for line in done.stdout.splitlines())
        expected = {int(Path(path).stem): int(count) for path, _, count in lines if int(count)}
        if found != expected:
            different.append(text)
    table(
        f"{len(STRINGS)} strings in {len(chosen)} logs",
        [Figure("found as by grep", [len(STRINGS) - len(different)], "strings", f"≥ {len(STRINGS)} strings")],
    )
    print(*different)


if __name__ == "__main__":
    main()
