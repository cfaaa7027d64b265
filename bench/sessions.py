"""Measures the list of all sessions: 10,000 logs, 10 GB, in a temporary folder.

python bench/sessions.py [logs] [gigabytes]     (the front end must be built: make lab)

The logs are beginnings of real ones (Claude Code and Codex, a third of them Codex), each with ids and a
prompt of its own, followed by a hole up to its size (a sparse file: it takes no room on the disk, and its
last bytes are a line) — so the sizes are real and the heads are, while a whole reading is measured on
complete logs.  Cold: no index.  Warm: nothing has changed.  The files are in the page cache.

Bars: cold in 3 s, warm in 200 ms, a search in 50 ms, at most 150 MB of memory.
"""

from __future__ import annotations

import json
import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from report import Figure, table

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "labextension" / "scripts"))
import front_end  # noqa: E402

SAMPLES = ROOT / "tests" / "traces" / "samples"
LOGS = int(sys.argv[1]) if len(sys.argv) > 1 else 10_000
GIGABYTES = float(sys.argv[2]) if len(sys.argv) > 2 else 10
HEAD = 60_000
ROUNDS = 5
WORDS = [
    "fix",
    "add",
    "test",
    "page",
    "cache",
    "search",
    "login",
    "price",
    "table",
    "chart",
    "upload",
    "parser",
    "retry",
    "index",
]


def write_logs(home: Path) -> None:
    """Writes the logs of both agents."""
    size = int(GIGABYTES * 1e9 / LOGS)
    samples = {
        kind: [
            path.read_bytes()[:HEAD]
            for path in sorted((SAMPLES / kind).glob("*.jsonl"))
            if path.stat().st_size > 20_000
        ]
        for kind in ("claude-code", "codex")
    }
    for number in range(LOGS):
        kind = "codex" if number % 3 == 0 else "claude-code"
        head = samples[kind][number % len(samples[kind])]
        head = head[: head.rfind(b"\n") + 1]
        path = (
            home / f".codex/sessions/2026/{number % 12 + 1:02}/{number % 28 + 1:02}/rollout-{number:06}.jsonl"
            if kind == "codex"
            else home
            / f".claude/projects/-work-project{number % 200}/{number:08}-0000-4000-8000-000000000000.jsonl"
        )
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open("wb") as file:
            if kind == "claude-code":
                file.write(_prompt(number))
            file.write(head)
            file.seek(max(size - 1, len(head)))
            file.write(b"\n")
        os.utime(path, (1.7e9 + number, 1.7e9 + number))


def _prompt(number: int) -> bytes:
    text = f"{WORDS[number % len(WORDS)]} the {WORDS[number * 7 % len(WORDS)]} of part {number}"
    record = {
        "type": "user",
        "parentUuid": None,
        "uuid": f"u{number}",
        "sessionId": f"{number:08}-0000-4000-8000-000000000000",
        "timestamp": "2026-01-05T10:00:00.000Z",
        "cwd": f"/work/project{number % 200}",
        "message": {"role": "user", "content": text},
    }
    return json.dumps(record).encode() + b"\n"


def seconds(run: Callable[[], object]) -> float:
    start = time.perf_counter()
    run()
    return time.perf_counter() - start


def processor(run: Callable[[], object]) -> float:
    start = time.process_time()
    run()
    return time.process_time() - start


def _page(home: Path) -> tuple[list[float], list[float], tuple[int, int], dict[str, list[float]]]:
    """Returns the milliseconds of the kernel's replies to a page, their bytes, and what the page does itself."""
    from nbtools.traces.session_list.session_messages import SessionRowsParams  # noqa: PLC0415 - as in main
    from nbtools.traces.session_list.view import SessionList, session_catalog  # noqa: PLC0415 - as in main

    shown = SessionList()
    session_catalog().refresh()

    def ask(*, latest: bool) -> tuple[str, bytes]:
        reply, (data,) = shown.rows(SessionRowsParams(explorer=shown.id, latest=latest))
        return reply.model_dump_json(), data

    replies = [ask(latest=True), ask(latest=False)]
    first = [processor(lambda: ask(latest=True)) * 1000 for _ in range(ROUNDS)]
    everything = [processor(lambda: ask(latest=False)) * 1000 for _ in range(ROUNDS)]
    (home / "reply.json").write_text(replies[1][0])
    (home / "reply.bin").write_bytes(replies[1][1])
    node, script = Path(front_end.node_folder()) / "node", Path(__file__).with_suffix(".js")
    command = [node, script, home / "reply.json", home / "reply.bin", str(ROUNDS)]
    ran = subprocess.run(command, capture_output=True, text=True, check=True)
    sizes = tuple(len(text.encode()) + len(data) for text, data in replies)
    return first, everything, sizes, json.loads(ran.stdout)  # type: ignore[return-value]


def main() -> None:
    with tempfile.TemporaryDirectory(prefix="nbtools-bench-") as folder:
        home = Path(folder)
        os.environ |= {
            "HOME": folder,
            "NBTOOLS_STATE": f"{folder}/state",
            "NBTOOLS_CONFIG": f"{folder}/config",
        }
        for name in ("CLAUDE_CONFIG_DIR", "CODEX_HOME", "INSPECT_LOG_DIR"):
            os.environ.pop(name, None)
        os.chdir(home)
        write_logs(home)
        from nbtools.traces.session_index.listing import SessionCatalog, SessionQuery  # noqa: PLC0415 - after the environment is set

        before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
        cold, work = [], []
        for _ in range(3):
            (home / "state" / "sessions.sqlite").unlink(missing_ok=True)
            catalog = SessionCatalog()
            cold.append(seconds(lambda catalog=catalog: work.append(processor(catalog.refresh))))
            catalog.close()
        catalog = SessionCatalog()

        def look() -> None:
            catalog.refresh()
            assert len(catalog.page(SessionQuery(), 0, 100)) == min(100, LOGS)

        warm = [seconds(look) * 1000 for _ in range(ROUNDS)]
        searched = [
            seconds(lambda text=text: catalog.page(SessionQuery(text), 0, 100)) * 1000 for text in WORDS
        ]
        assert catalog.count(SessionQuery("part 1234")) == (1234 % 3 != 0)
        memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
        index = (home / "state" / "sessions.sqlite").stat().st_size / 1e6
        apparent = sum(path.stat().st_size for path in home.rglob("*.jsonl")) / 1e9
        first, everything, sizes, page = _page(home)
    print(
        f"{LOGS:,} logs, {apparent:.1f} GB (sparse), index {index:.1f} MB, memory before the first look {before:.0f} MB"
    )
    table(
        "first look, without an index",
        [Figure("cold", cold, "s", "≤ 3 s"), Figure("of one processor", work, "s")],
    )
    table(
        "further looks",
        [Figure("warm, first 100", warm, "ms", "≤ 200 ms"), Figure("search", searched, "ms", "≤ 50 ms")],
    )
    table(
        f"to the page, {sizes[0] / 1e3:.0f} kB at first and {sizes[1] / 1e3:.0f} kB of all",
        [Figure("the latest 2,000", first, "ms", "≤ 300 ms"), Figure("all", everything, "ms")],
    )
    table(
        "in the page, milliseconds of the processor",
        [Figure(name, values, "ms", "≤ 50 ms") for name, values in page.items()],
    )
    table("memory", [Figure("peak", [memory], "MB", "≤ 150 MB")])
    print(f"cold {statistics.median(cold):.2f} s")


if __name__ == "__main__":
    main()
