"""What all tests share."""

from __future__ import annotations

import os
import signal
import tempfile
from pathlib import Path

import pytest
from hypothesis import settings
from xdist.remote import Producer
from xdist.scheduler import LoadFileScheduling

# Sessions keep their journals, grants and trust here instead of in the person's own folders; kernels and programs inherit it.
os.environ["NBTOOLS_STATE"] = tempfile.mkdtemp(prefix="nbtools-tests-")
os.environ["NBTOOLS_CONFIG"] = tempfile.mkdtemp(prefix="nbtools-tests-")
os.environ["CLAUDE_CONFIG_DIR"] = tempfile.mkdtemp(prefix="nbtools-tests-")  # where Claude Code keeps the person's MCP servers

# A shell's background job ignores interrupts, and so would all that is started here.
if signal.getsignal(signal.SIGINT) == signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

# The same examples each time, however slow the machine: a check that fails is the change's own fault.  `make fuzz` looks for others.
settings.register_profile("same", derandomize=True, deadline=None)
settings.register_profile("search", derandomize=False)
settings.load_profile("same")

BROWSER_TESTS = sorted(path.name for path in (Path(__file__).parent / "browser").glob("test_*.py"))


class FileScheduling(LoadFileScheduling):
    """Gives each file to the next free process, and those of ``tests/browser`` to two: each has a browser and the servers that it opens."""

    def _split_scope(self, nodeid: str) -> str:
        file = super()._split_scope(nodeid)
        return f"tests/browser, part {BROWSER_TESTS.index(Path(file).name) % 2}" if file.startswith("tests/browser/") else file


def pytest_xdist_make_scheduler(config: pytest.Config, log: Producer) -> FileScheduling:
    return FileScheduling(config, log)
