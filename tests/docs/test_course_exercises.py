"""The notebooks of the course run as they stand, each exercise unsolved,
and an exercise's folded solution then solves it.
"""

from __future__ import annotations

import re
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import nbformat
import pytest
from nbclient import NotebookClient

ROOT = Path(__file__).parents[2]
COURSE = ROOT / "notebooks/course"
SOLUTION = re.compile(r"```python\n(.*?)```", re.DOTALL)
UNSOLVED = re.compile(r"^\w+ = \.\.\..*$", re.MULTILINE)
CHECK = re.compile(r"^check\(", re.MULTILINE)


@pytest.fixture
def course(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A copy of the course: recorded sessions run in a copy of the project's repository,
    and this one has thousands of files.
    """
    monkeypatch.setenv("NBTOOLS_STATE", str(tmp_path / "state"))
    monkeypatch.setenv("NBTOOLS_CONFIG", str(tmp_path / "config"))
    (tmp_path / "tests").symlink_to(ROOT / "tests")
    return (
        shutil.copytree(
            ROOT / "notebooks", tmp_path / "notebooks", ignore=shutil.ignore_patterns("*.ipynb", "scratch")
        )
        / "course"
    )


@pytest.mark.parametrize("path", sorted(COURSE.glob("*.ipynb")), ids=lambda path: path.stem)
def test_it_runs_unchanged_with_nothing_solved_and_then_each_solution_solves_its_exercise(
    path: Path, course: Path
) -> None:
    notebook = nbformat.read(path, as_version=4)
    solutions = iter(
        [
            match[1]
            for cell in notebook.cells
            if "<details>" in cell.source
            for match in SOLUTION.finditer(cell.source)
        ]
    )
    client = NotebookClient(
        notebook, timeout=120, kernel_name="python3", resources={"metadata": {"path": str(course)}}
    )
    with client.setup_kernel():
        for number, cell in enumerate(notebook.cells):
            client.execute_cell(cell, number)
        checks = [cell for cell in notebook.cells if cell.cell_type == "code" and CHECK.search(cell.source)]
        for cell in checks:
            assert "solved" not in str(cell.outputs[-1]).replace("not solved", ""), cell.outputs
        solved = [
            run_solved(client, number, solutions)
            for number, cell in enumerate(notebook.cells)
            if is_open(cell)
        ]
    assert solved == checks
    assert solved
    assert next(solutions, None) is None
    for cell in checks:
        assert "solved" in str(cell.outputs[-1]), cell.outputs


def is_open(cell: Any) -> bool:
    return cell.cell_type == "code" and UNSOLVED.search(cell.source) is not None


def run_solved(client: NotebookClient, number: int, solutions: Iterator[str]) -> Any:
    """Runs an open cell with the next solution, and what follows until the cell that checks it,
    which it returns.
    """
    solution = next(solutions)
    cells = client.nb.cells
    cells[number].source = UNSOLVED.sub(lambda _: solution, cells[number].source, count=1)
    while True:
        client.execute_cell(cells[number], number)
        if CHECK.search(cells[number].source):
            return cells[number]
        number += 1
