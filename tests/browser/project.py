"""The small project that stories work on, and the notebooks that stand in it."""

from __future__ import annotations

import atexit
import shutil
import subprocess
import tempfile
from collections.abc import Sequence
from functools import cache
from pathlib import Path

import nbformat

CART = '''\
"""The cart and what it costs."""

from cart.items import Item


class Cart:
    def __init__(self, items: list[Item]) -> None:
        self.items = items

    def add(self, item: Item) -> None:
        self.items.append(item)

    def remove(self, item: Item) -> None:
        self.items.remove(item)


def total(items: list[Item]) -> float:
    total = 0
    for item in items:
        total += item.price
    return round(total, 2)


def tax(items: list[Item], rate: float) -> float:
    return round(total(items) * rate, 2)
'''
ITEMS = '''\
"""What is in a cart."""

from dataclasses import dataclass


@dataclass
class Item:
    name: str
    price: float

    def __post_init__(self) -> None:
        self.price = round(self.price, 2)
'''
FILES = {
    "src/cart.py": CART,
    "src/items.py": ITEMS,
    "README.md": "# Cart\n\nA cart that knows what it costs.\n\nTODO: taxes of other countries\n",
    "notes.txt": "one\ntwo\nthree\n",
}
_GIT = ("git", "-c", "user.name=Ada", "-c", "user.email=ada@example.org", "-c", "commit.gpgsign=false")


def make_project(folder: Path) -> Path:
    """Writes the project, which is under git."""
    shutil.copytree(_project(), folder, dirs_exist_ok=True)
    return folder


@cache
def _project() -> Path:
    """Makes the project that all others are copies of."""
    folder = Path(tempfile.mkdtemp(prefix="nbtools-project-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    for name, text in FILES.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    (folder / "logo.bin").write_bytes(bytes(range(256)) * 4)
    git(folder, "init", "--quiet", "--template=", "--initial-branch=main")
    git(folder, "add", "--all")
    git(folder, "commit", "--quiet", "--message=The cart")
    return folder


def git(folder: Path, *arguments: str) -> str:
    return subprocess.run([*_GIT, *arguments], cwd=folder, check=True, capture_output=True, text=True).stdout


def write_notebook(path: Path, cells: Sequence[str]) -> None:
    """A notebook of code cells, the first of which loads nbtools."""
    made = nbformat.v4.new_notebook()  # type: ignore[no-untyped-call]
    made.cells = [nbformat.v4.new_code_cell(source) for source in ("%load_ext nbtools", *cells)]  # type: ignore[no-untyped-call]
    made.metadata.kernelspec = {
        "name": "python3",
        "display_name": "Python 3 (ipykernel)",
        "language": "python",
    }
    nbformat.write(made, path)  # type: ignore[no-untyped-call]
