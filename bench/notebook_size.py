"""Measures the size of the outputs of 42 representative calls in a saved notebook, by representation.

A real kernel runs the calls in a project of Python's own modules;
nbformat writes the notebook as JupyterLab does.

python bench/notebook_size.py [NOTEBOOK]        # NOTEBOOK: where to keep it
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import nbformat
from nbclient import NotebookClient
from report import Figure, table

from nbtools.cards.card_model import MIME

BAR = 410_000
"""Bytes that the notebook may have: a quarter of the 1,643 kB that version 0.2 wrote for these calls."""
MODULES = (
    "textwrap",
    "argparse",
    "shlex",
    "glob",
    "fnmatch",
    "bisect",
    "heapq",
    "string",
    "csv",
    "configparser",
)
WRITTEN = "\\n".join(
    f"def area_{number}(width, height):\\n    return width * height * {number}\\n" for number in range(12)
)
CELLS = (
    *("ls", "ls src", "tree", "glob **/*.py", "glob src/*.py"),
    *(
        "grep def src",
        "grep 'raise ValueError' src",
        "grep -i todo",
        "grep import src --context 2",
        "grep nothing_like_this src",
    ),
    *(
        "read src/textwrap.py",
        "read src/argparse.py",
        "read src/shlex.py --start 1 --end 60",
        "read src/glob.py",
        "read src/string.py",
    ),
    *(
        "read src/heapq.py --start 1 --end 10",
        "read notes.txt",
        "read data.csv",
        "read big.log",
        "read missing.py",
    ),
    *(
        f"edit src/textwrap.py '{old}' '{new}'"
        for old, new in (("_whitespace", "_blank"), ("class TextWrapper", "class Wrapper"))
    ),
    "edit src/shlex.py 'class shlex' 'class Shlex'",
    "edit src/bisect.py 'not in it' 'x'",
    "edit src/heapq.py 'def heappush(heap, item):' 'def heappush(heap, entry):'",
    *(f'write new_{number}.py "{WRITTEN}"' for number in range(2)),
    "write src/fnmatch.py 'pass'",
    "replace_in_files self this src/csv.py src/configparser.py --apply",
    "delete new_1.py",
    *("shell ls -la src", "shell git log --oneline", "shell git status", "shell false", "shell seq 1 500"),
    *(
        "shell cat src/heapq.py",
        "shell git diff --stat",
        "shell printf '\\033[31mred\\033[0m\\n'",
        "shell python -V",
    ),
    *("shell wc -l src/*.py", "shell git diff"),
    "ls src --depth 2",
)


def project(root: Path) -> None:
    (root / "src").mkdir()
    for name in MODULES:
        shutil.copy(Path(os.__file__).with_name(f"{name}.py"), root / "src" / f"{name}.py")
    (root / "notes.txt").write_text(
        "".join(f"Line {number} of the notes.\n" for number in range(1, 41)), encoding="utf-8"
    )
    (root / "data.csv").write_text(
        "".join(f"{number},{number * number},name {number}\n" for number in range(300)), encoding="utf-8"
    )
    (root / "big.log").write_text(
        "".join(
            f"2026-01-01 12:00:00 INFO request {number} took {number % 97} ms\n" for number in range(12_000)
        ),
        encoding="utf-8",
    )
    git = ["git", "-c", "user.name=n", "-c", "user.email=n@example.org"]
    for words in (["init", "-q"], ["add", "-A"], ["commit", "-q", "-m", "first"]):
        subprocess.run([*git, *words], cwd=root, check=True)


def run(root: Path) -> Any:
    """The executed notebook."""
    sources = ["%load_ext nbtools\n%tools mode yolo", *(f"%tool {line}" for line in CELLS)]
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(source) for source in sources])
    NotebookClient(
        notebook,
        timeout=120,
        kernel_name="python3",
        resources={"metadata": {"path": str(root)}},
        allow_errors=True,
    ).execute()
    return notebook


def cards(notebook: Any) -> Iterator[dict[str, Any]]:
    return (
        output.data for cell in notebook.cells for output in cell.outputs if MIME in output.get("data", {})
    )


def written(notebook: Any) -> int:
    return len(nbformat.writes(notebook).encode())


def without(notebook: Any, kind: str) -> int:
    copy = nbformat.from_dict(json.loads(json.dumps(notebook)))
    for data in cards(copy):
        data.pop(kind, None)
    return written(copy)


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        project(root)
        notebook = run(root)
    if sys.argv[1:]:
        Path(sys.argv[1]).write_text(nbformat.writes(notebook), encoding="utf-8")
    total, shown = written(notebook), list(cards(notebook))
    states = Counter(data[MIME]["state"] for data in shown)
    print(f"{len(CELLS)} calls, {len(shown)} cards ({dict(states)})")
    kinds = (MIME, "text/html", "text/plain")
    parts = [
        Figure(kind.removeprefix("application/"), [(total - without(notebook, kind)) / 1000], "kB")
        for kind in kinds
    ]
    table(
        f"a notebook with {len(CELLS)} calls",
        [Figure("the notebook", [total / 1000], "kB", f"≤ {BAR / 1000:g} kB"), *parts],
    )
    heaviest = sorted(
        (
            (len(json.dumps(data, indent=1)), f"{data[MIME]['tool']} {data[MIME]['subject']}")
            for data in shown
        ),
        reverse=True,
    )
    for size, name in heaviest[:8]:
        print(f"{size:>10,} B  {name[:70]}")


if __name__ == "__main__":
    main()
