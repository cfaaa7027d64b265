"""Paths that a caller may have meant."""

import pytest

from nbtools.core.errors import ErrorCode
from nbtools.workspace.files.path_suggestions import nearest_paths, path_not_found
from nbtools.workspace.workspace import Workspace


@pytest.fixture
def workspace(tmp_path):
    for name in (
        "src/app/main.py",
        "src/app/models.py",
        "tests/test_main.py",
        "README.md",
        "node_modules/x/index.js",
        ".git/config",
    ):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).touch()
    return Workspace(tmp_path)


@pytest.mark.parametrize(
    ("path", "near"),
    [
        ("main.py", "src/app/main.py"),
        ("src/ap/main.py", "src/app/main.py"),
        ("src/app/model.py", "src/app/models.py"),
        ("readme.md", "README.md"),
        ("src/appp", "src/app"),
    ],
)
def test_the_nearest_comes_first(workspace, path, near):
    assert nearest_paths(workspace, path)[0] == near
    failure = path_not_found(workspace, path)
    assert failure.code is ErrorCode.FILE_NOT_FOUND
    assert f"Did you mean {near}" in failure.message


def test_a_name_that_resembles_nothing_gets_no_suggestion(workspace):
    assert nearest_paths(workspace, "zzz/qqq") == []
    assert nearest_paths(workspace, "index.js") == []
    assert "Use ls" in path_not_found(workspace, "zzz").message
