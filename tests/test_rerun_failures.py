"""A failure of chance is named and tolerated twice; any other failure fails the run."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

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
BROKEN = "\ndef test_broken():\n    assert False\n"


def run(folder: Path, *tests: str, where: str = "tests/browser") -> subprocess.CompletedProcess[str]:
    """Runs these tests in two processes; returns what pytest printed, and its exit status."""
    (folder / "conftest.py").write_text(CONFTEST.format(root=str(ROOT)), encoding="utf-8")
    file = folder / where / "test_some.py"
    file.parent.mkdir(parents=True)
    file.write_text("from pathlib import Path\n" + "".join(tests), encoding="utf-8")
    command = [sys.executable, "-m", "pytest", "-q", "-n", "2", "--rootdir", str(folder), "-p", "no:cacheprovider", where]
    environment = {name: value for name, value in os.environ.items() if not name.startswith("PYTEST")}
    # Each of the processes would import every plugin that is installed, which takes longer than the tests.
    environment |= {"PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1", "PYTEST_PLUGINS": "xdist.plugin"}
    return subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, timeout=300, check=False)


@pytest.mark.parametrize(("count", "status"), [(1, 0), (2, 0), (3, 1)])
def test_a_test_that_passes_the_second_time_is_flaky(tmp_path: Path, count: int, status: int) -> None:
    done = run(tmp_path, "def test_good(): pass\n", *(FLAKY.format(f"f{number}") for number in range(count)))
    assert done.returncode == status, done.stdout + done.stderr
    assert f"1 passed, {count} flaky in" in done.stdout
    assert done.stdout.count("assert there") >= count, "the first outcome is shown"


def test_a_test_that_fails_twice_fails_the_run(tmp_path: Path) -> None:
    done = run(tmp_path, BROKEN, FLAKY.format("f"))
    assert done.returncode == 1
    assert "1 failed, 1 flaky in" in done.stdout


def test_a_test_that_drives_no_other_process_is_not_rerun(tmp_path: Path) -> None:
    done = run(tmp_path, FLAKY.format("f"), where="tests/core")
    assert done.returncode == 1
    assert "1 failed in" in done.stdout
