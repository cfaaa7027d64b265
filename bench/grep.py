"""What a search costs: the grep tool through a session, against the bare rg process on the same tree.

python bench/grep.py [files]
"""

from __future__ import annotations

import asyncio
import os
import random
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from report import Figure, alternate, table

from nbtools import Session
from nbtools.workspace.search.ripgrep import find_rg

FILES = int(sys.argv[1]) if len(sys.argv) > 1 else 64_000
ROUNDS = 7
WORDS = ("alpha", "beta", "gamma", "delta", "return", "import", "value", "index", "matrix", "vector")


def plant(root: Path) -> None:
    """A tree of source-like files, the same at every run: 40 lines each, ``needle`` in one file of 2,000."""
    chance = random.Random(7)
    for number in range(FILES):
        folder = root / f"pkg{number % 40}" / f"mod{number % 1600}"
        folder.mkdir(parents=True, exist_ok=True)
        lines = [" ".join(chance.choices(WORDS, k=7)) for _ in range(40)]
        if number % 2000 == 0:
            lines[20] = "the needle is here"
        (folder / f"file{number}.py").write_text("\n".join(lines) + "\n")


def bare(root: Path, pattern: str) -> Callable[[], float]:
    """Seconds of ``rg -n PATTERN`` with its output read from a pipe and thrown away."""

    def run() -> float:
        start = time.perf_counter()
        with subprocess.Popen([find_rg(), "-n", pattern, "."], cwd=root, stdout=subprocess.PIPE) as process:
            assert process.stdout is not None
            while os.read(process.stdout.fileno(), 1 << 16):
                pass
        return time.perf_counter() - start

    return run


def ours(loop: asyncio.AbstractEventLoop, session: Session, pattern: str) -> Callable[[], float]:
    def run() -> float:
        start = time.perf_counter()
        result = loop.run_until_complete(session.call("grep", {"pattern": pattern}))
        taken = time.perf_counter() - start
        if not result.ok:
            raise RuntimeError(str(result.llm_content))
        return taken

    return run


def main() -> None:
    loop = asyncio.new_event_loop()
    with tempfile.TemporaryDirectory(prefix="nbtools-grep-") as folder:
        root = Path(folder)
        plant(root)
        session = Session(root)
        for name, pattern in (("few", "needle"), ("some", "^return return"), ("many", "return"), ("none", "nowhere at all")):
            runs = {"rg": bare(root, pattern), "tool": ours(loop, session, pattern)}
            found = loop.run_until_complete(session.call("grep", {"pattern": pattern}))
            runs["rg"]()
            taken = alternate(ROUNDS, **runs)
            table(
                f"grep, {name} matches ({found.summary}) in {FILES:,} files: s, {ROUNDS} rounds",
                [Figure("rg -n", taken["rg"], "s"), Figure("session.call('grep')", taken["tool"], "s", "≤ 1.10 x")],
            )


if __name__ == "__main__":
    main()
