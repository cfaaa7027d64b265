"""The exercises of the course: each is unsolved as it stands, and its folded solution solves it."""

from __future__ import annotations

import re
from pathlib import Path

import nbformat
import pytest
from nbclient import NotebookClient

COURSE = Path(__file__).parents[2] / "notebooks/course"
SOLUTION = re.compile(r"```python\n(.*?)```", re.DOTALL)
UNSOLVED = re.compile(r"^\w+ = \.\.\..*$", re.MULTILINE)


@pytest.mark.parametrize("path", sorted(COURSE.glob("*.ipynb")), ids=lambda path: path.stem)
def test_the_solution_solves_the_exercise(path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NBTOOLS_STATE", str(tmp_path / "state"))
    monkeypatch.setenv("NBTOOLS_CONFIG", str(tmp_path / "config"))
    notebook = nbformat.read(path, as_version=4)
    solutions = iter([match[1] for cell in notebook.cells if "<details>" in cell.source for match in SOLUTION.finditer(cell.source)])
    open_cells = [cell for cell in notebook.cells if cell.cell_type == "code" and UNSOLVED.search(cell.source)]
    assert open_cells
    for cell in open_cells:
        solution = next(solutions)
        cell.source = UNSOLVED.sub(lambda _, solution=solution: solution, cell.source, count=1)
    assert next(solutions, None) is None
    NotebookClient(notebook, timeout=120, kernel_name="python3", resources={"metadata": {"path": str(COURSE)}}).execute()
    checks = [cell for cell in notebook.cells if cell.cell_type == "code" and re.search(r"^check\(", cell.source, re.MULTILINE)]
    for cell in checks:
        assert "solved" in str(cell.outputs[-1]), cell.outputs
    assert len(checks) == len(open_cells)
