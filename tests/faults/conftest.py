"""Fixtures of the tests of faults."""

from __future__ import annotations

import errno
import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

MEMORY = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None
"""Where there is such a place: what is killed is no disk,
and bringing everything to one takes most of the time.
"""


def report_of(program: Sequence[str], place: Path) -> Any:
    """Returns the output of a program; ``place`` is a folder for it alone."""
    command = [sys.executable, "-m", *(str(place) if word == "PLACE" else word for word in program)]
    ended = _run(command)
    shutil.rmtree(place, ignore_errors=True)
    assert ended.returncode == 0, ended.stderr
    return json.loads(ended.stdout)


def _run(command: Sequence[str]) -> subprocess.CompletedProcess[str]:
    """Under load a kernel may refuse to start a program that is there with ``EFAULT``:
    that says nothing of it.
    """
    for last in (False, False, True):
        try:
            return subprocess.run(
                command,
                cwd=Path(__file__).parents[2],
                capture_output=True,
                text=True,
                check=False,
                timeout=590,
            )
        except OSError as error:
            if last or error.errno != errno.EFAULT:
                raise
    raise AssertionError


@pytest.fixture(scope="module")
def programs(request: pytest.FixtureRequest, all_rounds: bool) -> Iterator[Mapping[str, Future[Any]]]:
    """The ``program`` of each test of a file, as many at a time as there are processors:
    each of them keeps one busy.

    Tests that name the same program share what it finds.
    """
    tests = [item for item in request.session.items if item.path == request.path]
    named = {
        test.name: tuple(request.module.program(**test.callspec.params, all_rounds=all_rounds))
        for test in tests
    }
    distinct = list(dict.fromkeys(named.values()))
    with (
        tempfile.TemporaryDirectory(prefix="nbtools-faults-", dir=MEMORY) as folder,
        ThreadPoolExecutor(os.cpu_count()) as pool,
    ):
        try:
            started = {
                program: pool.submit(report_of, program, Path(folder, str(number)))
                for number, program in enumerate(distinct)
            }
            yield {name: started[program] for name, program in named.items()}
        finally:
            pool.shutdown(cancel_futures=True)


@pytest.fixture
def found(programs: Mapping[str, Future[Any]], request: pytest.FixtureRequest) -> Any:
    """Returns the findings of the test's own program."""
    return programs[request.node.name].result()
