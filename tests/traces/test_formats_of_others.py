"""A real package with a reader of its own is installed, and its logs are read."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import nbtools

EXAMPLE = Path(__file__).parent.parent / "example_package"
LOG = "trail 1\nfind\tx y\tok\ta.py\nbroken line\nsend\tx\tfailed\tno such address\n"
READ = """
from nbtools import traces
trace = traces.load({path!r})
print([(call.name, call.subject, call.status, call.detail.result) for call in trace.calls])
print([(problem.ref.line, problem.why) for problem in trace.problems])
print(len(trace.calls.to_arrow()))
facts = trace.facts()
print(facts["format"], facts["tool_calls"], facts["tool_errors"], facts["malformed"], facts["by_name"])
"""


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    target, source = tmp_path_factory.mktemp("target"), tmp_path_factory.mktemp("source") / "example"
    shutil.copytree(EXAMPLE, source, ignore=shutil.ignore_patterns("__pycache__"))
    pip = [
        sys.executable,
        "-m",
        "pip",
        "install",
        "--quiet",
        "--no-deps",
        "--no-index",
        "--no-build-isolation",
        "--target",
        str(target),
    ]
    subprocess.run([*pip, str(source)], check=True, capture_output=True, text=True, timeout=100)
    return target


def run(code: str, *folders: Path) -> str:
    env = {
        **os.environ,
        "PYTHONPATH": os.pathsep.join(map(str, (*folders, Path(nbtools.__file__).parents[1]))),
    }
    return subprocess.run(
        [sys.executable, "-c", code], env=env, capture_output=True, text=True, timeout=60, check=True
    ).stdout


def test_the_log_of_another_agent_is_read_by_the_package_that_knows_it(
    installed: Path, tmp_path: Path
) -> None:
    path = tmp_path / "walk.txt"
    path.write_text(LOG)
    told = run(READ.format(path=str(path)), installed).splitlines()
    assert told[0] == "[('find', 'x y', 'ok', 'a.py'), ('send', 'x', 'error', 'no such address')]"
    assert told[1] == "[(3, '1 fields, not 4')]"
    assert told[2] == "2"
    assert told[3] == "trail 2 1 1 {'find': 1, 'send': 1}"


def test_without_the_package_nothing_knows_it(tmp_path: Path) -> None:
    path = tmp_path / "walk.txt"
    path.write_text(LOG)
    code = f"from nbtools import traces\ntry:\n    traces.load({str(path)!r})\nexcept traces.TraceError as error:\n    print(error)"
    assert "is not recognised as a session log. Supported formats: nbtools, claude-code" in run(code)
