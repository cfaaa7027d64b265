"""Measures the journal: an edit with and without it, against the bare atomic write,
and a command's snapshot of the workspace.

python bench/journal.py
"""

from __future__ import annotations

import asyncio
import dataclasses
import os
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from report import Figure, alternate, table

from nbtools import Policy, Session
from nbtools.core.settings import Settings
from nbtools.workspace.files.atomic_write import replace_content
from nbtools.workspace.history.changes import make_change
from nbtools.workspace.history.journal import Journal
from nbtools.workspace.history.operations import Write

SIZES = {"1 kB": 1_000, "100 kB": 100_000, "1 MB": 1_000_000, "20 MB": 20_000_000}
ROUNDS = 15
LINE = "    value_{0} = compute(value_{0}, other, {0})  # a line of source like any other\n"
YOLO = Policy(mode="yolo")


def content(size: int) -> bytes:
    """Source-like lines, all different."""
    return "".join(LINE.format(number) for number in range(size // 80 + 1)).encode()[:size]


def timed(run: Callable[[bytes, bytes], object], one: bytes, other: bytes) -> Callable[[], float]:
    """Changes the file to and fro."""
    states = [one, other]

    def once() -> float:
        start = time.perf_counter()
        run(states[0], states[1])
        taken = time.perf_counter() - start
        states.reverse()
        return taken * 1e3

    return once


def writes(folder: Path, size: int) -> None:
    one = content(size)
    middle = size // 2
    other = one[:middle] + b"@" + one[middle + 1 :]
    bare, kept = folder / "bare", folder / "kept"
    for path in (bare, kept):
        path.write_bytes(one)
    journal = Journal(folder, Settings())
    name = next(name for name, bytes_ in SIZES.items() if bytes_ == size)
    taken = alternate(
        ROUNDS,
        bare=timed(lambda before, after: replace_content(bare, after, before, "bare"), one, other),
        journal=timed(
            lambda before, after: make_change(journal, Write(kept, "kept", before, after)), one, other
        ),
    )
    journal.close()
    figures = [
        Figure("atomic write", taken["bare"], "ms"),
        Figure("the same with the journal", taken["journal"], "ms", "≤ 2 x"),
    ]
    table(f"a file of {name} changed in one place: ms, {ROUNDS} rounds", figures)


async def edits(folder: Path) -> None:
    """A whole call of edit."""
    (folder / "f.py").write_bytes(content(100_000))
    words = ["other, 7)", "another, 7)"]

    async def once(session: Session) -> float:
        start = time.perf_counter()
        result = await session.call(
            "edit", {"path": "f.py", "old": f"value_7, {words[0]}", "new": f"value_7, {words[1]}"}
        )
        taken = time.perf_counter() - start
        if not result.ok:
            raise RuntimeError(result)
        words.reverse()
        return taken * 1e3

    plain: list[float] = []
    kept: list[float] = []
    async with (
        Session(folder, policy=YOLO, settings=Settings(journal=False)) as without,
        Session(folder, policy=YOLO) as session,
    ):
        for _ in range(ROUNDS):
            plain.append(await once(without))
            kept.append(await once(session))
    table(
        f"session.call('edit') on 100 kB: ms, {ROUNDS} rounds",
        [Figure("without the journal", plain, "ms"), Figure("with it", kept, "ms")],
    )


def plant(folder: Path, files: int) -> None:
    for number in range(files):
        path = folder / f"d{number % 100}" / f"f{number}.py"
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(content(5_000 + number % 1_000))
    time.sleep(0.1)  # what has just been written is read once more


async def commands(files: int) -> None:
    """A command that changes one file: the first in a workspace, and later ones."""
    with tempfile.TemporaryDirectory(prefix="nbtools-journal-") as name:
        folder = Path(name)
        plant(folder, files)
        settings = Settings()
        first: list[float] = []
        later: list[float] = []
        without: list[float] = []
        async with Session(folder, policy=YOLO, settings=settings) as session:
            for round_ in range(8):
                start = time.perf_counter()
                await session.call("shell", {"command": f"echo {round_} > d1/f1.py"})
                (later if round_ else first).append((time.perf_counter() - start) * 1e3)
            session.settings = dataclasses.replace(settings, journal=False)
            for round_ in range(7):
                start = time.perf_counter()
                await session.call("shell", {"command": f"echo {round_} > d1/f1.py"})
                without.append((time.perf_counter() - start) * 1e3)
    figures = [
        Figure("without the journal", without, "ms"),
        Figure("later", later, "ms"),
        Figure("the first", first, "ms"),
    ]
    table(f"session.call('shell') in a workspace of {files:,} files of 5 kB: ms", figures)


def main() -> None:
    with tempfile.TemporaryDirectory(prefix="nbtools-journal-") as name:
        os.environ["NBTOOLS_STATE"] = str(Path(name).resolve() / "state")
        for size in SIZES.values():
            folder = Path(name).resolve() / f"w{size}"
            folder.mkdir()
            writes(folder, size)
        asyncio.run(edits(folder))
        for files in (1_000, 10_000):
            asyncio.run(commands(files))


if __name__ == "__main__":
    main()
