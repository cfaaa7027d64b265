"""Fixtures: a user with fewer rights, and a small disk."""

import contextlib
import os
import shutil
import subprocess
import tempfile
from pathlib import Path

import pytest

NOBODY = 65534


@pytest.fixture
def open_folder():
    """A folder that everybody may enter: pytest's own are closed to others."""
    folder = Path(tempfile.mkdtemp(prefix="nbtools-test-"))
    folder.chmod(0o777)
    yield folder
    shutil.rmtree(folder)


@pytest.fixture
def as_nobody():
    """A context in which file modes count: root is nobody for its time, anyone else stays who they are."""

    @contextlib.contextmanager
    def nobody():
        if os.geteuid() != 0:
            yield
            return
        os.setegid(NOBODY)
        os.seteuid(NOBODY)
        try:
            yield
        finally:
            os.seteuid(0)
            os.setegid(0)

    return nobody


@pytest.fixture
def tiny_disk(tmp_path):
    """A file system of 64 kB."""
    place = tmp_path / "tiny"
    place.mkdir()
    command = ["mount", "-t", "tmpfs", "-o", "size=64k,mode=0777", "tmpfs", str(place)]
    if (
        shutil.which("mount") is None
        or subprocess.run(command, capture_output=True, check=False).returncode != 0
    ):
        pytest.skip("no tmpfs can be mounted here: that needs root")
    yield place
    subprocess.run(["umount", str(place)], check=True)
