"""Real clients of a real ``nbtools mcp``."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from mcp import StdioServerParameters

from tests.warm_python import warm_python


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A small code tree."""
    folder = tmp_path / "project"
    (folder / "src").mkdir(parents=True)
    (folder / "src" / "cart.py").write_text("def total(items):\n    total = 0\n    return total\n")
    (folder / "notes.txt").write_text("TODO: round\n")
    return folder


@pytest.fixture
def over_stdio(project: Path) -> StdioServerParameters:
    """``nbtools mcp`` on the project, to be started by a client."""
    return server_on(project)


def server_on(project: Path, *more: str) -> StdioServerParameters:
    """Connects with more options."""
    arguments = ["-m", "nbtools", "mcp", "--workspace", str(project), *more]
    return StdioServerParameters(command=warm_python(), args=arguments, env=dict(os.environ))
