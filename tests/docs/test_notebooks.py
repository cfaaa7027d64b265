"""Laws that hold for every tutorial: nothing that we choose is wider than a cell,
and each leads on to the next.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from fnmatch import fnmatch
from itertools import pairwise
from pathlib import Path
from typing import Any

import nbformat
import pytest

from docs import conf

ROOT = Path(__file__).parents[2]
WIDTH = 80
CODE_WIDTH = 78
"""Characters of a cell in a window of 800 pixels.  Outputs wrap there."""
TUTORIALS = sorted((ROOT / "notebooks").glob("*.ipynb"))
COURSE = sorted((ROOT / "notebooks/course").glob("*.ipynb"))
LAST = ROOT / "docs/how-to/index.md"
NEXT = [*pairwise([*TUTORIALS, *COURSE, LAST])]
BLOCK = re.compile(r"^```.*?\n(.*?)^```", re.DOTALL | re.MULTILINE)
WAY_ON = re.compile(r"\bNext: \[[^\]]+\]\(([^)]+)\)")


def code_of(notebook: Any) -> Iterator[str]:
    for cell in notebook.cells:
        yield from [cell.source] if cell.cell_type == "code" else BLOCK.findall(cell.source)


def printed_by(notebook: Any) -> Iterator[str]:
    """Yields the stored outputs that are only text; HTML wraps."""
    for output in (output for cell in notebook.cells for output in cell.get("outputs", ())):
        if output.output_type == "stream":
            yield output.text
        elif "text/html" not in output.data:
            yield output.data.get("text/plain", "")


@pytest.mark.parametrize("path", [*TUTORIALS, *COURSE], ids=lambda path: path.stem)
def test_no_cell_needs_a_scroll_bar(path: Path) -> None:
    notebook = nbformat.read(path, as_version=4)
    assert [line for text in code_of(notebook) for line in text.splitlines() if len(line) > CODE_WIDTH] == []
    assert [line for text in printed_by(notebook) for line in text.splitlines() if len(line) > WIDTH] == []


@pytest.mark.parametrize(("path", "following"), NEXT, ids=lambda path: path.stem)
def test_each_ends_with_a_way_on(path: Path, following: Path) -> None:
    last = nbformat.read(path, as_version=4).cells[-1]
    assert last.cell_type == "markdown"
    (link,) = WAY_ON.findall(last.source.splitlines()[-1])
    assert (path.parent / link).resolve() == following
    assert following.is_file()
    assert any(fnmatch(str(following.relative_to(ROOT)), pattern) for pattern in conf.include_patterns)


def test_there_are_notebooks() -> None:
    assert (len(TUTORIALS), len(COURSE)) == (11, 10)


def test_the_list_of_tutorials_names_each_by_its_title():
    listed = (ROOT / "docs/tutorials.md").read_text(encoding="utf-8")
    for path in (*TUTORIALS, *COURSE):
        title = nbformat.read(path, 4).cells[0].source.splitlines()[0].removeprefix("# ")
        assert f"[{title}](../{path.relative_to(ROOT)})" in listed
