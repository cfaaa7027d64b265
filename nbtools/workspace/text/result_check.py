"""Checks what a change leaves behind, before anyone is asked: a notebook, Python that compiles."""

from __future__ import annotations

import ast
import json
import warnings
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from nbtools.core.errors import ErrorCode, ToolFailure
from nbtools.core.message import Advice, Message, ToolName

_LONGEST_CODE = 1_000_000
"""Characters up to which Python code is compiled: about 0.3 seconds."""
_TEXT = (str, list)
_OUTPUT_FIELDS: Mapping[str, Mapping[str, type | tuple[type, ...]]] = {
    "stream": {"name": str, "text": _TEXT},
    "display_data": {"data": dict, "metadata": dict},
    "execute_result": {"data": dict, "metadata": dict, "execution_count": (int, type(None))},
    "error": {"ename": str, "evalue": str, "traceback": list},
}


def refuse_broken_notebook(path: Path, subject: str, before: bytes | None, after: bytes) -> None:
    """Raises ``edit_preparation_failure`` if ``after`` makes of a notebook something that is none.

    A new file must be one by the schema of nbformat 4 (or 3).
    One that was none before may be repaired in several steps.
    """
    if path.suffix.lower() != ".ipynb" or before == after:
        return
    why = _notebook_problem(after)
    if why is None or (
        before is not None and _notebook_problem(before) is not None and not _becomes_worse(before, after)
    ):
        return
    fact = f"{subject} would not be a valid notebook afterwards: {why}. Nothing was changed."
    raise ToolFailure(
        ErrorCode.EDIT_PREPARATION_FAILURE,
        Message.of(fact, Advice(" Change its cells with ", ToolName("cells"), ".")),
    )


def _becomes_worse(before: bytes, after: bytes) -> bool:
    """Returns whether the cells could be read before, and cannot be read any more."""
    return _cells(before) is not None and _cells(after) is None


def _cells(data: bytes) -> list[Any] | None:
    try:
        notebook = json.loads(data)
    except (ValueError, RecursionError):
        return None
    cells = notebook.get("cells") if isinstance(notebook, dict) and notebook.get("nbformat") == 4 else None
    if isinstance(cells, list) and all(isinstance(cell, dict) and "cell_type" in cell for cell in cells):
        return cells
    return None


def _notebook_problem(data: bytes) -> str | None:
    """Returns why ``data`` is not a notebook by the schema of its format; None if it is one."""
    try:
        notebook = json.loads(data)
    except json.JSONDecodeError as error:
        return f"it would not be JSON (line {error.lineno}, column {error.colno}: {error.msg})"
    except (ValueError, RecursionError):
        return "it would not be JSON that can be read"
    if not isinstance(notebook, dict):
        return "it would not be a JSON object"
    if notebook.get("nbformat") == 3 and isinstance(notebook.get("worksheets"), list):
        return None
    missing = _missing(notebook, {"nbformat": int, "nbformat_minor": int, "metadata": dict, "cells": list})
    if missing or notebook["nbformat"] != 4:
        return f"its {missing or 'nbformat'} would be missing or of the wrong type"
    problems = (_cell_problem(cell) for cell in notebook["cells"])
    return next((f"in cell {number}, {why}" for number, why in enumerate(problems, 1) if why), None)


def _cell_problem(cell: object) -> str | None:
    if not isinstance(cell, dict):
        return "the cell would not be an object"
    kind = cell.get("cell_type")
    fields: dict[str, type | tuple[type, ...]] = {"cell_type": str, "metadata": dict, "source": _TEXT}
    if kind == "code":
        fields |= {"outputs": list, "execution_count": (int, type(None))}
    missing = _missing(cell, fields)
    if missing or kind not in {"code", "markdown", "raw"}:
        return f"{missing or 'cell_type'} would be missing or wrong"
    if isinstance(cell["source"], list) and not all(isinstance(line, str) for line in cell["source"]):
        return "source would hold something else than lines"
    outputs = cell["outputs"] if kind == "code" else ()
    return next(
        (
            f"output {number} would not be valid"
            for number, one in enumerate(outputs, 1)
            if not _is_output(one)
        ),
        None,
    )


def _is_output(output: object) -> bool:
    fields = _OUTPUT_FIELDS.get(str(output.get("output_type"))) if isinstance(output, dict) else None
    return fields is not None and isinstance(output, dict) and not _missing(output, fields)


def _missing(mapping: Mapping[str, Any], fields: Mapping[str, type | tuple[type, ...]]) -> str | None:
    """Returns the first field that is absent or of another type."""
    return next(
        (name for name, kind in fields.items() if name not in mapping or not isinstance(mapping[name], kind)),
        None,
    )


def refuse_broken_code(path: Path, subject: str, before: str, after: str) -> None:
    """Raises ``ToolFailure`` if Python code that compiled would not compile after a loose match."""
    if path.suffix not in {".py", ".pyi"} or not _compiles(before) or _compiles(after):
        return
    raise ToolFailure(
        ErrorCode.EDIT_PREPARATION_FAILURE,
        f"{subject}: the old text is not in it exactly as given, and with the new text in place of the most"
        " similar text the file would not compile. Nothing was changed. Read the file and give both texts"
        " with its indentation.",
    )


def _compiles(text: str) -> bool:
    if len(text) > _LONGEST_CODE:
        return True
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            ast.parse(text)
        except (SyntaxError, ValueError, RecursionError, MemoryError):
            return False
    return True
