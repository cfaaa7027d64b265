"""Measures a search: the grep tool through a session, against the bare rg process on the same tree.

python bench/grep.py [files]
"""

from __future__ import annotations

import asyncio
import json
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


NOTEBOOKS = 400


def plant_notebooks(root: Path) -> None:
    """Notebooks of 40 cells and about 60 kB of outputs each; ``needle`` in the source of one of 50."""
    chance = random.Random(8)
    for number in range(NOTEBOOKS):
        cells = []
        for at in range(40):
            output = {
                "output_type": "stream",
                "name": "stdout",
                "text": [" ".join(chance.choices(WORDS, k=200))],
            }
            source = ["needle = 1" if at == 20 and number % 50 == 0 else " ".join(chance.choices(WORDS, k=7))]
            cells.append(
                {
                    "cell_type": "code",
                    "id": f"c{at}",
                    "metadata": {},
                    "execution_count": 1,
                    "outputs": [output],
                    "source": source,
                }
            )
        whole = {"cells": cells, "metadata": {}, "nbformat": 4, "nbformat_minor": 5}
        (root / f"pkg{number % 40}" / f"analysis{number}.ipynb").write_text(json.dumps(whole, indent=1))


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
        compare(root, loop, session, "")
        plant_notebooks(root)
        compare(root, loop, session, f" and {NOTEBOOKS} notebooks")


def compare(root: Path, loop: asyncio.AbstractEventLoop, session: Session, also: str) -> None:
    """Prints what searches cost.  With notebooks the tool decodes their cells,
    where ``rg`` searches the JSON.
    """
    for name, pattern in (
        ("few", "needle"),
        ("some", "^return return"),
        ("many", "return"),
        ("none", "nowhere at all"),
    ):
        runs = {"rg": bare(root, pattern), "tool": ours(loop, session, pattern)}
        found = loop.run_until_complete(session.call("grep", {"pattern": pattern}))
        runs["rg"]()
        taken = alternate(ROUNDS, **runs)
        table(
            f"grep, {name} matches ({found.summary}) in {FILES:,} files{also}: s, {ROUNDS} rounds",
            [
                Figure("rg -n", taken["rg"], "s"),
                Figure("session.call('grep')", taken["tool"], "s", "" if also else "≤ 1.05 x"),
            ],
        )


if __name__ == "__main__":
    main()
