"""The edit engine, the reading of patches and the understanding of commands under a fuzzer that follows their
branches.
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path

import pytest

TARGETS = {path.stem: path for path in Path(__file__).parent.glob("*_target.py")}
ARGUMENTS = ("-runs=20000", "-max_len=400", "-seed=1", "-max_total_time=3", "-timeout=10")
Run = subprocess.CompletedProcess[str]


def fuzzed(target: Path, folder: Path) -> Run:
    command = [sys.executable, str(target), *ARGUMENTS]
    return subprocess.run(
        command, cwd=folder, capture_output=True, text=True, errors="replace", timeout=90, check=False
    )


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Mapping[str, Future[Run]]]:
    """All of them at once: each keeps one processor busy."""
    pytest.importorskip("atheris", reason="atheris has no build for this system")
    with ThreadPoolExecutor() as pool:
        yield {
            name: pool.submit(fuzzed, target, tmp_path_factory.mktemp(name))
            for name, target in TARGETS.items()
        }


@pytest.mark.parametrize("name", TARGETS)
def test_nothing_breaks_it(name: str, runs: Mapping[str, Future[Run]]) -> None:
    run = runs[name].result()
    assert run.returncode == 0, run.stdout[-1000:] + run.stderr[-3000:]
    assert "Done" in run.stderr
