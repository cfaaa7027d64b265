"""git as judge: what it takes for an option that writes a file is a risk."""

from __future__ import annotations

import shutil
import subprocess
from itertools import chain, product
from pathlib import Path

import pytest

from nbtools.shell import analyse

COMMANDS = (
    "log",
    "show",
    "diff HEAD",
    "stash show",
    "stash list",
    "reflog",
    "reflog show",
    "whatchanged",
    "blame f",
    "shortlog",
)
PIECES = ("-n", "-pn", "-zn", "-L", "-pL", "-S", "-pS", "-m", "--", "--author", "--grep", "--message")

pytestmark = pytest.mark.skipif(shutil.which("git") is None, reason="there is no git")


@pytest.fixture(scope="module")
def repository(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("repository")
    (folder / "f").write_text("a\n")
    identity = ("-c", "user.name=a", "-c", "user.email=a@example.org")
    for words in (
        ("init", "-q"),
        ("add", "f"),
        (*identity, "commit", "-qm", "x"),
        None,
        (*identity, "stash", "-q"),
    ):
        if words is None:
            (folder / "f").write_text("b\n")
        else:
            subprocess.run(["git", *words], cwd=folder, check=True, capture_output=True)
    (folder / "f").write_text("c\n")
    return folder


@pytest.mark.parametrize("command", COMMANDS)
def test_no_option_that_writes_is_overlooked(repository: Path, command: str) -> None:
    for pieces in chain(((piece,) for piece in PIECES), product(PIECES, repeat=2)):
        line = f"git {command} {' '.join(pieces)} --output=out"
        if analyse(line).commands[0].risk:
            continue
        subprocess.run(["sh", "-c", line], cwd=repository, check=False, capture_output=True, timeout=60)
        assert not (repository / "out").exists(), line


def test_git_writes_what_such_options_name(repository: Path) -> None:
    subprocess.run(
        ["git", "log", "-pn", "--output=out"], cwd=repository, check=False, capture_output=True, timeout=60
    )
    assert (repository / "out").exists()
    (repository / "out").unlink()
