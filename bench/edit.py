"""Measures an edit: the edit tool on small and large files, against reading the file,
``bytes.replace`` and an atomic write.

python bench/edit.py [megabytes …]
"""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from report import Figure, alternate, table

from nbtools.tools.edit import EditTool
from nbtools.workspace.workspace import Workspace

SIZES = [int(word) for word in sys.argv[1:]] if sys.argv[1:] and sys.argv[1] != "measure" else [1, 20]
ROUNDS = 3
STEPS = (1, 10, 100, 1_000)
LINE = "    value_{0} = compute(value_{0}, other, {0})  # a line of source like any other\n"


def plant(path: Path, megabytes: int) -> int:
    """A file of source-like lines, all different; how many."""
    count = megabytes * 1_000_000 // 90
    with path.open("w") as file:
        file.writelines(LINE.format(number) for number in range(count))
    return count


def steps(count: int, lines: int) -> list[dict[str, Any]]:
    """Replacements of single lines, spread over the file."""
    numbers = [number * (lines // count) + 1 for number in range(count)]
    return [
        {"old": LINE.format(number), "new": LINE.format(number).replace("other", "another")}
        for number in numbers
    ]


def arguments(kind: str, count: int, lines: int) -> Mapping[str, Any]:
    there = LINE.format(lines * 9 // 10) + LINE.format(lines * 9 // 10 + 1)
    match kind:
        case "edits":
            return {"path": "f", "edits": steps(count, lines)}
        case "every line":
            return {"path": "f", "old": "other,", "new": "another,", "count": "all"}
        case "indentation":
            return {"path": "f", "old": there.replace("    value", "\tvalue"), "new": "\tnew = 1\n"}
        case "close":
            return {"path": "f", "old": there.replace("compute", "comptue"), "new": "    new = 1\n"}
        case _:
            return {
                "path": "f",
                "old": there.replace("compute", "something_else_entirely"),
                "new": "    new = 1\n",
            }


def floor(path: Path, old: bytes, new: bytes) -> Callable[[], float]:
    """Seconds to read the file, replace one text, write the result beside it, safe on the disk,
    and rename it.
    """

    def run() -> float:
        start = time.perf_counter()
        beside = path.with_suffix(".new")
        with beside.open("wb") as file:
            file.write(path.read_bytes().replace(old, new))
            file.flush()
            os.fsync(file.fileno())
        beside.replace(path)
        return time.perf_counter() - start

    return run


def ours(folder: Path, parameters: Mapping[str, Any], *, fails: bool = False) -> Callable[[], float]:
    def run() -> float:
        source, path = folder / "source", folder / "f"
        path.write_bytes(source.read_bytes())
        tool = EditTool(Workspace(folder))
        start = time.perf_counter()
        result = asyncio.run(tool.validate_build_and_execute(parameters))
        taken = time.perf_counter() - start
        if result.ok is fails:
            raise RuntimeError(str(result.llm_content)[:500])
        return taken

    return run


def peak(folder: Path, kind: str, count: int, lines: int) -> float:
    """Peak memory of the edit in a process of its own, in multiples of the file:
    what it had before is taken off.
    """
    (folder / "f").write_bytes((folder / "source").read_bytes())
    command = [sys.executable, __file__, "measure", str(folder), kind, str(count), str(lines)]
    extra = float(subprocess.run(command, capture_output=True, text=True, check=True).stdout)
    return extra / (folder / "source").stat().st_size


def measure(folder: str, kind: str, count: str, lines: str) -> None:
    """Prints the bytes by which the peak of this process rises with the edit.
    Small files: what is loaded lazily is loaded before.
    """
    given = arguments(kind, int(count), int(lines))
    warm = Path(folder, "warm")
    warm.write_text(LINE.format(1) + LINE.format(2))
    tool = EditTool(Workspace(folder))
    text = (LINE.format(1) + LINE.format(2)).replace("compute", "comptue")
    asyncio.run(tool.validate_build_and_execute({"path": "warm", "old": text, "new": "x"}))
    before = _peak_of_this_process()
    asyncio.run(tool.validate_build_and_execute(given))
    print(_peak_of_this_process() - before)


def _peak_of_this_process() -> int:
    """In bytes.  Linux carries ``ru_maxrss`` over from the parent process, so it is read where it is not."""
    status = Path("/proc/self/status").read_text()
    return int(next(line for line in status.splitlines() if line.startswith("VmHWM")).split()[1]) * 1024


def main() -> None:
    for size in SIZES:
        with tempfile.TemporaryDirectory(prefix="nbtools-edit-") as name:
            folder = Path(name).resolve()
            lines = plant(folder / "source", size)
            (folder / "g").write_bytes((folder / "source").read_bytes())
            counts = [count for count in STEPS if count <= lines]
            runs = {f"{count:,} edits": ours(folder, arguments("edits", count, lines)) for count in counts}
            runs |= {
                kind: ours(folder, arguments(kind, 1, lines))
                for kind in ("every line", "indentation", "close")
            }
            runs["nothing like it"] = ours(folder, arguments("none", 1, lines), fails=True)
            taken = alternate(ROUNDS, floor=floor(folder / "g", b"other", b"other"), **runs)
            table(
                f"edit, {size} MB, {lines:,} lines: s, {ROUNDS} rounds",
                [
                    Figure("read, bytes.replace, atomic write" if kind == "floor" else kind, values, "s")
                    for kind, values in taken.items()
                ],
            )
            wanted = [("edits", count) for count in counts] + [
                ("every line", 1),
                ("indentation", 1),
                ("close", 1),
                ("none", 1),
            ]
            table(
                f"edit, {size} MB: peak memory, in multiples of the file",
                [
                    Figure(
                        f"{count:,} edits" if kind == "edits" else kind,
                        [peak(folder, kind, count, lines) for _ in range(2)],
                        "x file",
                    )
                    for kind, count in wanted
                ],
            )


if __name__ == "__main__":
    if sys.argv[1:2] == ["measure"]:
        measure(*sys.argv[2:])
    else:
        main()
