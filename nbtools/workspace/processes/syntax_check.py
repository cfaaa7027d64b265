"""Checks the syntax of one file in a process of its own; nothing of the file is executed.

The process imports nothing of nbtools: it reads the content from its standard input and prints the problems
as JSON.
"""

from __future__ import annotations

import ast
import json
import re
import sys
import tomllib
import warnings
from collections.abc import Callable
from typing import Any

SECONDS = 10
_MEMORY = 2 << 30
_MOST = 100
_MAGIC = re.compile(r"(?m)^([ \t]*)(?:[%!?].*|\w[\w.]*\?{1,2}[ \t]*$)")
_ASSIGNED_MAGIC = re.compile(r"(?m)^([ \t]*[\w., ]+=[ \t]*)[%!].*$")


def problems_of(kind: str, data: bytes) -> list[dict[str, Any]]:
    """Returns at most 100 problems of a file of the ``kind`` ``python``, ``json``, ``toml``, ``notebook``.

    Each has ``severity``, ``message``, ``line``, ``end_line`` (from 1), ``column`` (from 1,
    or None) and ``cell`` (from 1, or None).
    """
    checks: dict[str, Callable[[bytes], list[dict[str, Any]]]] = {
        "python": _python,
        "json": _json,
        "toml": _toml,
        "notebook": _notebook,
    }
    return checks[kind](data)[:_MOST]


def _problem(
    severity: str, message: str, line: int | None, end_line: int | None, column: int | None
) -> dict[str, Any]:
    first = max(line or 1, 1)
    return {
        "severity": severity,
        "message": message,
        "line": first,
        "end_line": max(end_line or first, first),
        "column": column or None,
        "cell": None,
    }


def _python(source: bytes | str, flags: int = 0) -> list[dict[str, Any]]:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            compile(source, "<file>", "exec", flags=flags, dont_inherit=True)
            errors = []
        except SyntaxError as error:
            errors = [
                _problem(
                    "error",
                    f"{type(error).__name__}: {error.msg}",
                    error.lineno,
                    error.end_lineno,
                    error.offset,
                )
            ]
        except (ValueError, RecursionError, MemoryError, OverflowError) as error:
            errors = [
                _problem("error", f"cannot be compiled: {error or type(error).__name__}", 1, None, None)
            ]
    return errors + [
        _problem("warning", f"{one.category.__name__}: {one.message}", one.lineno, None, None)
        for one in caught
    ]


def _json(data: bytes) -> list[dict[str, Any]]:
    try:
        json.loads(data)
    except json.JSONDecodeError as error:
        return [_problem("error", error.msg, error.lineno, None, error.colno)]
    except (ValueError, RecursionError) as error:
        return [_problem("error", f"cannot be decoded: {error}", 1, None, None)]
    return []


def _toml(data: bytes) -> list[dict[str, Any]]:
    try:
        tomllib.loads(data.decode())
    except (ValueError, RecursionError) as error:
        place = re.search(r" \(at line (\d+), column (\d+)\)$", str(error))
        message = str(error)[: place.start()] if place else str(error)
        return [
            _problem("error", message, int(place[1]) if place else 1, None, int(place[2]) if place else None)
        ]
    return []


def _notebook(data: bytes) -> list[dict[str, Any]]:
    if problems := _json(data):
        return problems
    notebook = json.loads(data)
    if not isinstance(notebook, dict) or not isinstance(notebook.get("cells"), list):
        return [_problem("error", "is not a notebook of format 4: it has no list of cells", 1, None, None)]
    metadata = notebook.get("metadata")
    language = (
        metadata.get("language_info", metadata.get("kernelspec", {})) if isinstance(metadata, dict) else {}
    )
    name = (
        language.get("language", language.get("name", "python")) if isinstance(language, dict) else "python"
    )
    found: list[dict[str, Any]] = []
    for number, cell in enumerate(notebook["cells"], 1):
        if (
            not str(name).lower().startswith(("python", "ipython"))
            or not isinstance(cell, dict)
            or cell.get("cell_type") != "code"
        ):
            continue
        source = cell.get("source", "")
        text = "".join(map(str, source)) if isinstance(source, list) else str(source)
        found += [{**problem, "cell": number} for problem in _cell(text)]
    return found


def _cell(source: str) -> list[dict[str, Any]]:
    """Checks a code cell without the lines of IPython; cells of other languages (``%%``) are skipped."""
    if source.lstrip().startswith("%%"):
        return []
    plain = _ASSIGNED_MAGIC.sub(r"\1None", _MAGIC.sub(r"\1pass", source))
    return _python(plain, ast.PyCF_ALLOW_TOP_LEVEL_AWAIT)


def main() -> None:
    import resource  # noqa: PLC0415 - Pyodide has none, and starts no process

    resource.setrlimit(resource.RLIMIT_CPU, (SECONDS, SECONDS))
    resource.setrlimit(resource.RLIMIT_AS, (_MEMORY, _MEMORY))
    found = problems_of(sys.argv[1], sys.stdin.buffer.read())
    sys.stdout.write(json.dumps(found))


if __name__ == "__main__":
    main()
