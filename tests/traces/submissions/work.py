"""Folders of learners' work, as a course collects them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from tests.traces.reviews.logs import Log


def session_id(number: int) -> str:
    return f"{number:08x}-4e5f-4061-8071-2a3b4c5d6e7f"


def log_with_tests(number: int = 1, prompt: str = "Add up the prices.") -> Log:
    """A session with two edits, a test run, and an edit after it."""
    log = Log(session_id(number)).person(prompt)
    log.edit("/srv/shop/cart.py", "total = 0\n", "total = 1\n")
    log.edit("/srv/shop/cart.py", "total = 1\n", "total = 2\n")
    log.bash("pytest -q", failed=True)
    log.edit("/srv/shop/cart.py", "total = 2\n", "total = 3\n")
    return log.agent("The prices are added up.")


def code(source: str, count: int | None = None, error: str = "") -> dict[str, Any]:
    outputs = [{"output_type": "error", "ename": error, "evalue": "", "traceback": []}] if error else []
    return {
        "cell_type": "code",
        "source": source,
        "execution_count": count,
        "outputs": outputs,
        "metadata": {},
    }


def text(source: str) -> dict[str, Any]:
    return {"cell_type": "markdown", "source": source, "metadata": {}}


def write_notebook(path: Path, *cells: dict[str, Any]) -> Path:
    path.write_text(json.dumps({"nbformat": 4, "nbformat_minor": 5, "metadata": {}, "cells": cells}))
    return path


def submissions(folder: Path) -> Path:
    """Three learners: Anna with a session and a notebook, Ben with a session, Carla with a notebook."""
    root = folder / "submissions"
    for name in ("anna", "ben", "carla"):
        (root / name).mkdir(parents=True)
    log_with_tests(1).write(root / "anna/session.jsonl")
    write_notebook(
        root / "anna/hw1.ipynb",
        text("# Exercise"),
        code("x = 1", 1),
        code("y", 2, error="NameError"),
        code("# your answer\n...", 3),
        code(""),
    )
    (root / "anna/README.md").write_text("My work.")
    Log(session_id(2)).person("What is a sum?").agent("It is a total.").write(root / "ben/session.jsonl")
    write_notebook(root / "carla/hw1.ipynb", code("x = 1", 5), code("y = 2", 2))
    return root
