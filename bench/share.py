"""Measures `traces.share` on a long log:
processor time and peak memory of a fresh process, and the size of the page.

python bench/share.py [MEGABYTES]     (default 100; the log is made of copies of the sample logs, each text with a number of its own)
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from load import copies
from report import Figure, table

MEGABYTES = int(sys.argv[1]) if len(sys.argv) > 1 else 100
LONG = 60
"""Characters from which a text gets the number of its copy:
repeated texts would be searched for secrets only once.
"""
ROUNDS = 1 if MEGABYTES > 50 else 3
CODE = """
import resource, sys, time
from nbtools import traces
from nbtools.traces import load
trace = load(sys.argv[1])
start = time.process_time()
page = traces.share(trace, sys.argv[2])
used = time.process_time() - start
print(used, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024, page.stat().st_size / 1e6, len(trace.calls))
page.unlink()
"""


def numbered(value: Any, number: int) -> Any:
    if isinstance(value, str):
        return f"{number} {value}" if len(value) > LONG else value
    if isinstance(value, list):
        return [numbered(item, number) for item in value]
    return {key: numbered(item, number) for key, item in value.items()} if isinstance(value, dict) else value


def write(path: Path) -> None:
    with path.open("w", encoding="utf-8") as file:
        for number, session in enumerate(copies()):
            for line in session.splitlines():
                file.write(json.dumps(numbered(json.loads(line), number), ensure_ascii=False) + "\n")
            if file.tell() > MEGABYTES * 1e6:
                return


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        log = Path(folder, "log.jsonl")
        write(log)
        command = [sys.executable, "-c", CODE, str(log), str(Path(folder, "page.html"))]
        runs = [
            [
                float(word)
                for word in subprocess.run(command, capture_output=True, text=True, check=True).stdout.split()
            ]
            for _ in range(ROUNDS)
        ]
        seconds, memory, sizes, calls = zip(*runs, strict=True)
    table(
        f"to_html of {MEGABYTES} MB, {calls[0]:,.0f} calls",
        [
            Figure("processor time", seconds, "s", "≤ 20 s" if MEGABYTES == 100 else ""),
            Figure("peak memory", memory, "MB", "≤ 400 MB"),
            Figure("page", sizes, "MB"),
        ],
    )


if __name__ == "__main__":
    main()
