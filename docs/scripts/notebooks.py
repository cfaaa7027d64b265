"""Runs the tutorials and stores their outputs in them: ``make notebooks``.
``--check`` names those whose outputs are out of date.

They run in a copy of the checkout's files with a home folder of its own, so that outputs do not depend on the
machine.  Stored are HTML, text and pictures, as a notebook shows them without the extension; and the hash of
the sources that the outputs belong to.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import nbformat
from nbclient import NotebookClient

ROOT = Path(__file__).resolve().parents[2]
_MIME_TYPES = ("text/html", "text/plain", "image/png", "image/svg+xml")
_SECONDS = 300
_TEMPORARY = re.compile(r"((?:/var)?/tmp/nbtools-)[\w-]+")


def notebooks() -> list[Path]:
    """Returns the notebooks of the checkout."""
    return sorted(
        path
        for path in (ROOT / "notebooks").rglob("*.ipynb")
        if "scratch" not in path.parts and ".ipynb_checkpoints" not in path.parts
    )


def sources_hash(notebook: Any) -> str:
    """Returns a hash of the notebook's cells without their outputs."""
    return hashlib.sha256(
        json.dumps([[cell["cell_type"], cell["source"]] for cell in notebook["cells"]]).encode()
    ).hexdigest()[:16]


def is_current(path: Path) -> bool:
    """Returns whether the stored outputs are those of the notebook's present sources."""
    notebook = nbformat.read(path, as_version=4)
    return bool(notebook.metadata.get("nbtools", {}).get("outputs_of") == sources_hash(notebook))


def run(paths: list[Path]) -> None:
    """Runs the notebooks one after the other, and stores their outputs."""
    with tempfile.TemporaryDirectory() as folder:
        home = Path(folder).resolve()
        copy = _copy_checkout(home / "nbtools")
        for path in paths:
            print(path.relative_to(ROOT), flush=True)
            notebook = nbformat.read(copy / path.relative_to(ROOT), as_version=4)
            _execute(notebook, (copy / path.relative_to(ROOT)).parent, home)
            _store(notebook, path, str(home))


def _copy_checkout(target: Path) -> Path:
    """Copies the files that git knows, notebooks without their outputs."""
    listed = subprocess.run(
        ["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, check=True, text=True
    ).stdout
    for name in filter(None, listed.split("\0")):
        (target / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(ROOT / name, target / name, follow_symlinks=False)
    for path in (target / "notebooks").rglob("*.ipynb"):
        notebook = nbformat.read(path, as_version=4)
        for cell in notebook.cells:
            if cell.cell_type == "code":
                cell.outputs = []
        nbformat.write(notebook, path)
    subprocess.run(["git", "init", "--quiet"], cwd=target, check=True)
    return target


def _execute(notebook: Any, folder: Path, home: Path) -> None:
    kernel = {
        **os.environ,
        "HOME": str(home),
        "NBTOOLS_STATE": str(home / ".state"),
        "NBTOOLS_CONFIG": str(home / ".config"),
    }
    client = NotebookClient(
        notebook,
        timeout=_SECONDS,
        kernel_name="python3",
        resources={"metadata": {"path": str(folder)}},
        coalesce_streams=True,
    )
    client.execute(env=kernel)


def _store(notebook: Any, path: Path, home: str) -> None:
    for cell in notebook.cells:
        cell.metadata.pop("execution", None)
        if cell.cell_type == "code":
            cell.outputs = [_stored(output, home) for output in cell.outputs]
    notebook.metadata.pop("widgets", None)
    notebook.metadata["nbtools"] = {"outputs_of": sources_hash(notebook)}
    nbformat.write(notebook, path)


def _stored(output: Any, home: str) -> Any:
    """Returns an output with the types that are stored; paths of this machine are replaced."""
    text = json.dumps(output).replace(home, "~").replace(sys.prefix, "~/nbtools/.venv")
    plain = json.loads(_TEMPORARY.sub(r"\1…", text))
    if "data" in plain:
        plain |= {
            "data": {mime: value for mime, value in plain["data"].items() if mime in _MIME_TYPES},
            "metadata": {},
        }
    return nbformat.from_dict(plain)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "--check", action="store_true", help="run nothing; exit with 1 if outputs are out of date"
    )
    parser.add_argument(
        "--all", action="store_true", help="also run those whose outputs belong to their sources"
    )
    parser.add_argument("notebooks", nargs="*", type=Path, help="run these, whatever their outputs belong to")
    options = parser.parse_args()
    stale = [path for path in notebooks() if options.all or not is_current(path)]
    if options.check:
        for path in stale:
            print(
                f"{path.relative_to(ROOT)}: its outputs are not those of its sources: run `make notebooks`",
                file=sys.stderr,
            )
        return int(bool(stale))
    run([path.resolve() for path in options.notebooks] or stale)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
