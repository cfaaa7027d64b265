"""Failures of chance are named; any other failure fails the run."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]
CONFTEST = """
import sys
sys.path.append({root!r})
from tests.rerun_failures import RerunFailures

def pytest_configure(config):
    if config.getoption("numprocesses", None):
        config.pluginmanager.register(RerunFailures(config))
"""
FLAKY = """
def test_flaky_{0}():
    there = Path("{0}").exists()
    Path("{0}").touch()
    assert there
"""
"""Fails the first time, and passes from then on."""
FLAKY_AROUND = """
import pytest

@pytest.fixture
def around():
    there = Path("around").exists()
    Path("around").touch()
    yield there
    assert there

def test_around(around):
    assert around
"""
"""Fails the first time, and so does what comes after it."""
OFTEN = """
def test_often_{0}():
    with Path("{0}").open("a") as runs:
        runs.write(".")
    assert Path("{0}").stat().st_size == 2
"""
"""Passes the second time only."""


def run(folder: Path, *tests: str, where: str = "tests/browser") -> subprocess.CompletedProcess[str]:
    """Runs these tests in a process beside this one; returns what pytest printed, and its exit status."""
    (folder / "conftest.py").write_text(CONFTEST.format(root=str(ROOT)), encoding="utf-8")
    file = folder / where / "test_some.py"
    file.parent.mkdir(parents=True)
    file.write_text("from pathlib import Path\n" + "".join(tests), encoding="utf-8")
    command = [
        sys.executable,
        "-m",
        "pytest",
        "-q",
        "-n",
        "1",
        "--rootdir",
        str(folder),
        "-p",
        "no:cacheprovider",
        where,
    ]
    environment = {name: value for name, value in os.environ.items() if not name.startswith("PYTEST")}
    # Each of the processes would import every plugin that is installed, which takes longer than the tests.
    environment |= {"PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1", "PYTEST_PLUGINS": "xdist.plugin"}
    return subprocess.run(
        command, cwd=folder, env=environment, capture_output=True, text=True, timeout=300, check=False
    )


def named(done: subprocess.CompletedProcess[str]) -> list[str]:
    """The flaky tests that the run ends with."""
    *_, end = done.stdout.rpartition("short test summary")
    return [line.split()[1].partition("::")[2] for line in end.splitlines() if line.startswith("FLAKY")]


def test_a_test_that_passes_the_second_time_is_named_once_and_fails_no_run(tmp_path: Path) -> None:
    done = run(tmp_path, "def test_good(): pass\n", FLAKY_AROUND)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "1 passed, 1 flaky in" in done.stdout
    assert "assert around" in done.stdout, "the first outcome is shown"
    assert named(done) == ["test_around"]


def test_each_of_many_failures_has_to_pass_three_times(tmp_path: Path) -> None:
    done = run(tmp_path, *(FLAKY.format(f"f{number}") for number in range(2)), OFTEN.format("f2"))
    assert done.returncode == 1
    assert "1 failed, 2 flaky in" in done.stdout
    assert sorted(named(done)) == ["test_flaky_f0", "test_flaky_f1"]


def test_a_test_that_drives_no_other_process_is_not_rerun(tmp_path: Path) -> None:
    done = run(tmp_path, FLAKY.format("f"), where="tests/core")
    assert done.returncode == 1
    assert "1 failed in" in done.stdout
