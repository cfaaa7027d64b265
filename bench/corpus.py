"""What a corpus costs: ingest, ingest again with nothing new, SQL and search on copies of real logs.

python bench/corpus.py [megabytes] [folder of logs]

Logs are real ones of that folder, copied under other names until there are so many bytes; without a folder, those of the tests.
"""

from __future__ import annotations

import resource
import shutil
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

from report import Figure, table

from nbtools.core.errors import TraceError
from nbtools.traces import load
from nbtools.traces.corpus import Corpus
from nbtools.traces.corpus.mapping import processors

MEGABYTES = int(sys.argv[1]) if len(sys.argv) > 1 else 1_000
SAMPLES = Path(sys.argv[2]) if len(sys.argv) > 2 else Path(__file__).resolve().parents[1] / "tests" / "traces" / "samples"
ROUNDS = 20
QUERIES = {
    "count of calls by name": "select name, count(*) from calls group by name order by 2 desc",
    "slowest sessions": "select id, ended - started as took from sessions order by took desc nulls last limit 10",
    "commands that failed": "select session, command from calls where op = 'shell' and status = 'error' limit 100",
    "result like": "select count(*) from calls where result like '%Traceback%'",
    "join": "select s.agent, f.path, count(*) from file_changes f join sessions s on f.session = s.id group by all limit 50",
}
SEARCHES = {"a word": "failing", "two words": "import error", "a phrase": '"test session"', "code": "self.assert", "nothing": "xyzzyplugh"}


def samples() -> list[Path]:
    """One file each, of formats that are read line by line: those are copied whole."""
    found = []
    for path in sorted(SAMPLES.glob("**/*.jsonl")):
        try:
            known = load(path)
        except TraceError:
            continue
        if known.calls and len(known.readings[0].source.files) == 1:
            found.append(path)
    return found


def plant(root: Path) -> int:
    """Bytes of the logs made."""
    made = number = 0
    texts = _copied()
    while made < MEGABYTES * 1_000_000:
        text, suffix = next(texts)
        (root / f"log{number:06}{suffix}").write_bytes(text)
        made += len(text)
        number += 1
    return made


def _copied() -> Iterator[tuple[bytes, str]]:
    texts = [path.read_bytes() for path in samples()]
    if not texts:
        sys.exit(f"there is no log in {SAMPLES}")
    while True:
        yield from ((text, ".jsonl") for text in texts)


def timed(run: Callable[[], object]) -> float:
    start = time.perf_counter()
    run()
    return time.perf_counter() - start


def main() -> None:
    with tempfile.TemporaryDirectory(prefix="nbtools-corpus-") as folder:
        logs = Path(folder) / "logs"
        logs.mkdir()
        size = plant(logs) / 1e6
        corpus = Corpus(Path(folder) / "corpus")
        ingests = {"ingest": timed(lambda: corpus.ingest(f"{logs}/*"))}
        ingests["nothing new"] = timed(lambda: corpus.ingest(f"{logs}/*"))
        title = f"ingest of {size:,.0f} MB in {len(list(logs.iterdir())):,} logs, {processors()} processors"
        table(title, [Figure(name, [taken], "s", f"{size / taken:,.0f} MB/s") for name, taken in ingests.items()])
        disk = {"parts": "parts/**/*.parquet", "search and manifest": "corpus.sqlite*"}
        table("on disk", [Figure(name, [_size(corpus.folder, pattern)], "MB") for name, pattern in disk.items()])
        opened = Corpus(corpus.folder)
        first = timed(lambda: opened.sql("select count(*) from calls"))
        table("first query of a corpus that is opened", [Figure("count of calls", [first * 1e3], "ms")])
        asked = {name: [timed(lambda query=query: opened.sql(query)) * 1e3 for _ in range(ROUNDS)] for name, query in QUERIES.items()}
        table("SQL", [Figure(name, taken, "ms") for name, taken in asked.items()])
        found = {name: [timed(lambda text=text: opened.search(text)) * 1e3 for _ in range(ROUNDS)] for name, text in SEARCHES.items()}
        table("search", [Figure(name, taken, "ms", "≤ 10 ms") for name, taken in found.items()])
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
        table("peak memory", [Figure("this process", [peak], "MB")])
        shutil.rmtree(corpus.folder)


def _size(folder: Path, pattern: str) -> float:
    return sum(path.stat().st_size for path in folder.glob(pattern)) / 1e6


if __name__ == "__main__":
    main()
