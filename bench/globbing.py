"""Measures the listing of files: the glob tool through a session,
against the bare rg --files on the same tree.

By path against rg --files; newest first against rg --files --sortr modified,
which looks at every file's time as we must.

python bench/globbing.py [files]
"""

from __future__ import annotations

import asyncio
import os
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
ROUNDS = 9


def plant(root: Path) -> None:
    """A tree of small files, a quarter of them Python."""
    for number in range(FILES):
        folder = root / f"pkg{number % 40}" / f"mod{number % 1600}"
        folder.mkdir(parents=True, exist_ok=True)
        (folder / f"file{number}.{('py', 'js', 'md', 'txt')[number // 1600 % 4]}").write_text("x\n")


def bare(root: Path, *arguments: str) -> Callable[[], float]:
    """Seconds of ``rg --files`` with its output read from a pipe and thrown away."""

    def run() -> float:
        start = time.perf_counter()
        with subprocess.Popen(
            [find_rg(), "--files", *arguments, "."], cwd=root, stdout=subprocess.PIPE
        ) as process:
            assert process.stdout is not None
            while os.read(process.stdout.fileno(), 1 << 17):
                pass
        return time.perf_counter() - start

    return run


def ours(loop: asyncio.AbstractEventLoop, session: Session, pattern: str, order: str) -> Callable[[], float]:
    def run() -> float:
        start = time.perf_counter()
        result = loop.run_until_complete(session.call("glob", {"pattern": pattern, "order": order}))
        taken = time.perf_counter() - start
        if not result.ok:
            raise RuntimeError(str(result.llm_content))
        return taken

    return run


def main() -> None:
    loop = asyncio.new_event_loop()
    with tempfile.TemporaryDirectory(prefix="nbtools-glob-") as folder:
        root = Path(folder)
        plant(root)
        session = Session(root)
        for pattern in ("**/*", "**/*.py", "pkg*/**/file*1.{py,js}", "pkg7/**/*.md"):
            found = loop.run_until_complete(session.call("glob", {"pattern": pattern}))
            runs = {
                "files": bare(root),
                "path": ours(loop, session, pattern, "path"),
                "sorted": bare(root, "--sortr", "modified"),
                "changed": ours(loop, session, pattern, "changed"),
            }
            taken = alternate(ROUNDS, **runs)
            print(f"\n{pattern}: {found.summary} of {FILES:,}, s, {ROUNDS} rounds")
            table(
                "by path",
                [
                    Figure("rg --files", taken["files"], "s"),
                    Figure("glob order=path", taken["path"], "s", "≤ 1.20 x"),
                ],
            )
            sort = Figure("rg --files --sortr modified", taken["sorted"], "s")
            table("newest first", [sort, Figure("glob order=changed", taken["changed"], "s", "≤ 1.20 x")])


if __name__ == "__main__":
    main()
