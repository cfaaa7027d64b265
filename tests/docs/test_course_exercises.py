"""The notebooks of the course run as they stand, each exercise unsolved, and an exercise's folded solution solves it."""

from __future__ import annotations

import re
import shutil
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
NOTEBOOKS = pytest.mark.parametrize("path", sorted(COURSE.glob("*.ipynb")), ids=lambda path: path.stem)


@pytest.fixture
def course(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A copy of the course: recorded sessions run in a copy of the project's repository, and this one has thousands of files."""
    monkeypatch.setenv("NBTOOLS_STATE", str(tmp_path / "state"))
    monkeypatch.setenv("NBTOOLS_CONFIG", str(tmp_path / "config"))
    (tmp_path / "tests").symlink_to(ROOT / "tests")
    return shutil.copytree(ROOT / "notebooks", tmp_path / "notebooks", ignore=shutil.ignore_patterns("*.ipynb", "scratch")) / "course"


def run(notebook: Any, folder: Path) -> list[Any]:
    """Runs a notebook in the folder; returns its cells that check an exercise."""
    NotebookClient(notebook, timeout=120, kernel_name="python3", resources={"metadata": {"path": str(folder)}}).execute()
    return [cell for cell in notebook.cells if cell.cell_type == "code" and CHECK.search(cell.source)]


@NOTEBOOKS
def test_it_runs_unchanged_with_nothing_solved(path: Path, course: Path) -> None:
    for cell in run(nbformat.read(path, as_version=4), course):
        assert "solved" not in str(cell.outputs[-1]).replace("not solved", ""), cell.outputs


@NOTEBOOKS
def test_the_solution_solves_the_exercise(path: Path, course: Path) -> None:
    notebook = nbformat.read(path, as_version=4)
    solutions = iter([match[1] for cell in notebook.cells if "<details>" in cell.source for match in SOLUTION.finditer(cell.source)])
    open_cells = [cell for cell in notebook.cells if cell.cell_type == "code" and UNSOLVED.search(cell.source)]
    assert open_cells
    for cell in open_cells:
        solution = next(solutions)
        cell.source = UNSOLVED.sub(lambda _, solution=solution: solution, cell.source, count=1)
    assert next(solutions, None) is None
    checks = run(notebook, course)
    for cell in checks:
        assert "solved" in str(cell.outputs[-1]), cell.outputs
    assert len(checks) == len(open_cells)
