"""Compiles nbtools and the tests, before several processes import them.

Modules of tests are compiled with pytest's assertions: each process of a run collects all tests, and would
rewrite the assertions of 450 files by itself, which takes five seconds of a processor.
"""

from __future__ import annotations

import compileall
import sys
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from _pytest.assertion import rewrite

ROOT = Path(__file__).parents[1]
FOLDERS = ("nbtools", "tests")


def rewrite_assertions(path: Path) -> None:
    """Writes what pytest would write when it imports the file, unless it is there.

    pytest has no public function for it.  Where its own ones are others, its processes do the work.
    """
    try:
        folder = rewrite.get_cache_dir(path)
        compiled = folder / f"{path.stem}{rewrite.PYC_TAIL}"
        if rewrite._read_pyc(path, compiled) is None:
            folder.mkdir(exist_ok=True)
            config: Any = None  # only says whether a hook for assertions that pass is on
            state: Any = SimpleNamespace(trace=lambda _: None)
            stamp, code = rewrite._rewrite_test(path, config)
            rewrite._write_pyc(state, code, stamp, compiled)
    except (AttributeError, TypeError, SyntaxError):
        return


def main() -> int:
    """Compiles; returns the exit code."""
    tests = [*ROOT.glob("tests/**/test_*.py"), *ROOT.glob("tests/**/conftest.py")]
    with ProcessPoolExecutor() as pool:
        for _ in pool.map(rewrite_assertions, tests, chunksize=20):
            pass
    compiled = [compileall.compile_dir(ROOT / folder, quiet=1, workers=0) for folder in FOLDERS]
    return not all(compiled)


if __name__ == "__main__":
    sys.exit(main())
