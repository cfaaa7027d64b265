"""What all tests share."""

from __future__ import annotations

import os
import signal
import tempfile

import pytest
from hypothesis import settings
from xdist.remote import Producer
from xdist.scheduler import LoadFileScheduling
from xdist.workermanage import WorkerController

from tests.second_run import SecondRun

# Sessions keep their journals, grants and trust here instead of in the person's own folders; kernels and programs inherit it.
os.environ["NBTOOLS_STATE"] = tempfile.mkdtemp(prefix="nbtools-tests-")
os.environ["NBTOOLS_CONFIG"] = tempfile.mkdtemp(prefix="nbtools-tests-")
os.environ["CLAUDE_CONFIG_DIR"] = tempfile.mkdtemp(prefix="nbtools-tests-")  # where Claude Code keeps the person's MCP servers
os.environ["IPYTHONDIR"] = tempfile.mkdtemp(prefix="nbtools-tests-")  # kernels would share the person's configuration and history

# A shell's background job ignores interrupts, and so would all that is started here.
if signal.getsignal(signal.SIGINT) == signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

# The same examples each time, however slow the machine: a check that fails is the change's own fault.  `make fuzz` looks for others.
settings.register_profile("same", derandomize=True, deadline=None)
settings.register_profile("search", derandomize=False)
settings.load_profile("same")

BROWSER_TESTS = "tests/browser/"


class FileScheduling(LoadFileScheduling):
    """Gives each file to the next free process, and those of ``tests/browser`` to two of them as long as there are others.

    Each of the two has a browser and the servers that it opens.  They begin with the files of the most tests.
    """

    def _assign_work_unit(self, node: WorkerController) -> None:
        browser = sorted((file for file in self.workqueue if file.startswith(BROWSER_TESTS)), key=lambda file: -len(self.workqueue[file]))
        others = [file for file in self.workqueue if not file.startswith(BROWSER_TESTS)]
        first = [*browser, *others] if node in self.nodes[:2] else [*others, *browser]
        self.workqueue.move_to_end(first[0], last=False)
        super()._assign_work_unit(node)


def pytest_configure(config: pytest.Config) -> None:
    if config.getoption("numprocesses", None):  # one test alone shows its failure at once
        config.pluginmanager.register(SecondRun(config))


def pytest_xdist_make_scheduler(config: pytest.Config, log: Producer) -> FileScheduling:
    return FileScheduling(config, log)
