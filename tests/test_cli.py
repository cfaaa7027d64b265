"""The command line, run as a person runs it."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest


@pytest.fixture
def nbtools(tmp_path):
    def run(*arguments, **environment):
        return subprocess.run(
            [sys.executable, "-m", "nbtools", *arguments],
            capture_output=True,
            text=True,
            check=False,
            env={**os.environ, "IPYTHONDIR": str(tmp_path / "ipython"), **environment},
        )

    return run


def kernel_says(nbtools_dir, code):
    command = [sys.executable, "-m", "IPython", "--simple-prompt", "--no-banner", "--colors=NoColor", "-c", code]
    environment = {**os.environ, "IPYTHONDIR": str(nbtools_dir / "ipython")}
    return subprocess.run(command, capture_output=True, text=True, check=False, env=environment).stdout


def test_enable_and_disable_leave_the_profile_as_it_was(nbtools, tmp_path):
    startup = tmp_path / "ipython" / "profile_default" / "startup"
    assert "not enabled" in nbtools("disable").stdout
    assert "Every new kernel loads nbtools" in nbtools("enable").stdout
    assert "Already enabled" in nbtools("enable").stdout
    assert "read" in kernel_says(tmp_path, "print(tools)")
    assert "is gone" in nbtools("disable").stdout
    assert {path.name for path in startup.iterdir()} <= {"README"}
    assert "read" not in kernel_says(tmp_path, "print(tools)")


def test_doctor_names_everything(nbtools):
    done = nbtools("doctor")
    for name in ("nbtools", "ipykernel", "ipywidgets", "jupyterlab", "ripgrep", "lab extension", "in every kernel"):
        assert name in done.stdout
    assert done.returncode == (1 if "missing" in done.stdout else 0)


def test_doctor_says_how_to_mend_what_is_missing(nbtools):
    done = nbtools("doctor", NBTOOLS_RG="/no/such/rg")
    assert done.returncode == 1
    assert "/no/such/rg" in done.stdout
    assert "pip install" in done.stdout


def test_lab_becomes_jupyterlab_and_changes_nothing(nbtools, tmp_path):
    done = nbtools("lab", "--version")
    assert "%load_ext nbtools" in done.stdout
    assert done.stdout.splitlines()[-1].startswith("4.")
    assert not (tmp_path / "ipython").exists()


@pytest.mark.parametrize("arguments", [(), ("dance",), ("doctor", "now")])
def test_what_is_not_understood_is_refused(nbtools, arguments):
    done = nbtools(*arguments)
    assert done.returncode == 2
    assert "Traceback" not in done.stderr
