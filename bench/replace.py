"""Measures a replacement in many files: preview and apply of replace_in_files,
against rg -l | xargs sed -i on the same tree.

python bench/replace.py [files]
"""

from __future__ import annotations

import asyncio
import random
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from itertools import cycle
from pathlib import Path

from report import Figure, alternate, table

from nbtools import Policy, Session
from nbtools.workspace.search.ripgrep import find_rg

FILES = int(sys.argv[1]) if len(sys.argv) > 1 else 10_000
ROUNDS = 3
WORDS = ("alpha", "beta", "gamma", "delta", "return", "import", "value", "index", "matrix", "vector")
NAMES = ("needle", "noodle")


def plant(root: Path) -> None:
    """A tree of source-like files, the same at every run: 40 lines each, two of which have ``needle``."""
    chance = random.Random(7)
    for number in range(FILES):
        folder = root / f"pkg{number % 40}" / f"mod{number % 400}"
        folder.mkdir(parents=True, exist_ok=True)
        lines = [" ".join(chance.choices(WORDS, k=7)) for _ in range(40)]
        lines[10] = lines[30] = "the needle is here"
        (folder / f"file{number}.py").write_text("\n".join(lines) + "\n")


def bare_search(root: Path) -> float:
    """Seconds of ``rg -c``, all that a preview needs at least."""
    start = time.perf_counter()
    subprocess.run([find_rg(), "-c", "n[eo]{2}dle", "."], cwd=root, stdout=subprocess.DEVNULL, check=True)
    return time.perf_counter() - start


def bare_replacement(root: Path, old: str, new: str) -> float:
    start = time.perf_counter()
    subprocess.run(
        f"{find_rg()} -l0 {old} . | xargs -0 sed -i s/{old}/{new}/g", shell=True, cwd=root, check=True
    )
    return time.perf_counter() - start


def ours(loop: asyncio.AbstractEventLoop, session: Session, old: str, new: str, *, apply: bool) -> float:
    start = time.perf_counter()
    arguments = {"pattern": old, "replacement": new, "apply": apply, "limit": 100_000}
    result = loop.run_until_complete(session.call("replace_in_files", arguments))
    if not result.ok or len(result.data.files) != FILES:
        raise RuntimeError(str(result.llm_content))
    return time.perf_counter() - start


def to_and_fro(run: Callable[[str, str], float]) -> Callable[[], float]:
    """Replaces one word by the other, and back the next time."""
    turns = cycle([NAMES, NAMES[::-1]])
    return lambda: run(*next(turns))


def main() -> None:
    loop = asyncio.new_event_loop()
    with (
        tempfile.TemporaryDirectory(prefix="nbtools-replace-") as one,
        tempfile.TemporaryDirectory(prefix="nbtools-replace-") as other,
    ):
        bare, root = Path(one), Path(other)
        plant(bare)
        plant(root)
        session = Session(root, policy=Policy(mode="yolo"))
        taken = alternate(
            ROUNDS,
            rg=lambda: bare_search(root),
            preview=lambda: ours(loop, session, "needl(e)", "noodl$1", apply=False),
        )
        table(
            f"replace_in_files, preview of {2 * FILES:,} places in {FILES:,} files: s, {ROUNDS} rounds",
            [Figure("rg -c", taken["rg"], "s"), Figure("replace_in_files", taken["preview"], "s")],
        )
        taken = alternate(
            ROUNDS,
            sed=to_and_fro(lambda old, new: bare_replacement(bare, old, new)),
            apply=to_and_fro(lambda old, new: ours(loop, session, old, new, apply=True)),
        )
        table(
            f"replace_in_files, {2 * FILES:,} places in {FILES:,} files replaced: s, {ROUNDS} rounds",
            [
                Figure("rg -l | xargs sed -i", taken["sed"], "s"),
                Figure("replace_in_files apply", taken["apply"], "s"),
            ],
        )


if __name__ == "__main__":
    main()
