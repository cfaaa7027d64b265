"""Reads facts about a notebook from its file. Nothing in it is run."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

import msgspec
from msgspec import Struct

from nbtools.traces.source import DECODE_ERRORS, open_regular

MAX_BYTES = 50 << 20
"""Size of the largest notebook that is read."""
_MAX_ERRORS = 20
"""Names of errors that are kept of one notebook."""
NOTEBOOK_DEFINITIONS: Mapping[str, str] = {
    "cells": "Cells of the notebook, without an empty last one, which Jupyter adds",
    "code_cells": "Code cells that are not empty",
    "executed": "Those of the code cells that have an execution count",
    "in_order": "Whether the execution counts rise from the first cell to the last",
    "errors": "Code cells whose saved output is an error",
    "empty": (
        "Cells without an answer: without text, or with nothing but comments, an ellipsis, pass, or the"
        " placeholder of nbgrader"
    ),
}
"""What each fact means, for people to read."""
_COMMENT = re.compile(r"^[ \t]*#.*$", re.MULTILINE)
_NOTHING = frozenset({"", "...", "pass", "raise NotImplementedError", "raise NotImplementedError()"})


class NotebookFacts(Struct, frozen=True):
    """Facts that the file of a notebook tells, by ``NOTEBOOK_DEFINITIONS``. ``path`` begins below the
    learner's folder.

    ``in_order`` is None where no cell was run. ``error_names`` are the names of the errors, such as
    ``NameError``. ``problem`` says why the file cannot be read; then there are no numbers.
    """

    path: str
    cells: int = 0
    code_cells: int = 0
    executed: int = 0
    in_order: bool | None = None
    errors: int = 0
    empty: int = 0
    error_names: tuple[str, ...] = ()
    problem: str = ""


class _Output(Struct):
    output_type: Any = None
    ename: Any = None


class _Cell(Struct):
    cell_type: str
    source: str | list[str] = ""
    execution_count: int | None = None
    outputs: list[_Output] = []

    @property
    def text(self) -> str:
        return self.source if isinstance(self.source, str) else "".join(self.source)


class _Notebook(Struct):
    cells: list[_Cell]


_DECODER = msgspec.json.Decoder(_Notebook)


def notebook_facts(path: Path, name: str) -> NotebookFacts:
    """Returns the facts about a notebook, which is displayed as ``name``.
    Never raises because of the file.
    """
    try:
        with open_regular(path) as file:
            content = file.read(MAX_BYTES + 1)
        if len(content) > MAX_BYTES:
            return NotebookFacts(name, problem=f"It is larger than {MAX_BYTES >> 20} MB.")
        return _facts(name, _DECODER.decode(content).cells)
    except OSError as error:
        return NotebookFacts(name, problem=f"It cannot be read: {error.strerror or error}.")
    except DECODE_ERRORS:
        return NotebookFacts(name, problem="It is no notebook of format 4.")


def _facts(name: str, cells: Sequence[_Cell]) -> NotebookFacts:
    if cells and cells[-1].cell_type == "code" and not cells[-1].text.strip():
        cells = cells[:-1]
    code = [cell for cell in cells if cell.cell_type == "code" and cell.text.strip()]
    counts = [cell.execution_count for cell in code if cell.execution_count is not None]
    errors = [_error_names(cell.outputs) for cell in code]
    names = list(dict.fromkeys(name for one in errors for name in one))
    return NotebookFacts(
        name,
        cells=len(cells),
        code_cells=len(code),
        executed=len(counts),
        in_order=all(a < b for a, b in pairwise(counts)) if counts else None,
        errors=sum(bool(one) for one in errors),
        empty=sum(_is_empty(cell) for cell in cells),
        error_names=tuple(names[:_MAX_ERRORS]),
    )


def _error_names(outputs: Iterable[_Output]) -> list[str]:
    return [str(one.ename or "error")[:100] for one in outputs if one.output_type == "error"]


def _is_empty(cell: _Cell) -> bool:
    """Returns whether a cell has no answer."""
    text = cell.text
    if cell.cell_type != "code":
        return text.strip() in {"", "YOUR ANSWER HERE"}
    if "YOUR CODE HERE" in text and "NotImplementedError" in text:
        return True
    return _COMMENT.sub("", text).strip() in _NOTHING
