"""Fixtures and options of all tests."""

from __future__ import annotations

import gc
import os
import signal
import tempfile
from collections.abc import Generator
from pathlib import Path

import pytest
from hypothesis import settings
from xdist.remote import Producer

from tests.rerun_failures import RerunFailures
from tests.scheduling import FileScheduling, Recorder
from tests.traces.recorded import SAMPLES

# Sessions keep their journals, grants and trust here instead of in the person's own folders;
# kernels and programs inherit it.
os.environ["NBTOOLS_STATE"] = tempfile.mkdtemp(prefix="nbtools-tests-")
os.environ["NBTOOLS_CONFIG"] = tempfile.mkdtemp(prefix="nbtools-tests-")
os.environ["CLAUDE_CONFIG_DIR"] = tempfile.mkdtemp(
    prefix="nbtools-tests-"
)  # where Claude Code keeps the person's MCP servers
os.environ["IPYTHONDIR"] = tempfile.mkdtemp(
    prefix="nbtools-tests-"
)  # kernels would share the person's configuration and history
os.environ["DASK_DISTRIBUTED__WORKER__MULTIPROCESSING_METHOD"] = (
    "forkserver"  # workers of a local cluster share their imports
)

# A shell's background job ignores interrupts, and so would all that is started here.
if signal.getsignal(signal.SIGINT) == signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

# The same examples each time, however slow the machine: a check that fails is the change's own fault.  `make
# fuzz` looks for others, and for more of them: `tests/examples.py` has the share of a test that names how
# many it needs.
settings.register_profile("same", derandomize=True, deadline=None, max_examples=25)
settings.register_profile("search", derandomize=False, max_examples=100)
settings.load_profile("same")


_LONG_AGO = 1_767_225_600.0
"""Seconds since 1970: the beginning of 2026."""
FRONT_END = Path(__file__).parents[1] / "nbtools" / "labextension" / "package.json"


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--record-seconds",
        action="store_true",
        help="store how long each file takes, by which later runs are scheduled",
    )
    parser.addoption(
        "--all-rounds",
        action="store_true",
        help="kill and repeat as often as `make fuzz` does, not as `make test`",
    )


def pytest_configure(config: pytest.Config) -> None:
    if config.getoption("numprocesses", None):  # one test alone shows its failure at once
        config.pluginmanager.register(RerunFailures(config))
    if config.getoption("--record-seconds") and not hasattr(config, "workerinput"):
        config.pluginmanager.register(Recorder())


def pytest_sessionstart(session: pytest.Session) -> None:
    if not hasattr(session.config, "workerinput"):
        _rest(SAMPLES)


def _rest(folder: Path) -> None:
    """Sets the times of the sample logs to long ago.
    A log that has just changed, as one in a fresh clone, counts as one that is being written.
    """
    for path in folder.rglob("*"):
        if path.is_file():
            os.utime(path, (_LONG_AGO, _LONG_AGO))


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    """Collects without the garbage collector, and keeps what was collected out of its sight:
    20,000 tests stay to the end.
    """
    gc.disable()
    try:
        return (yield)
    finally:
        gc.enable()
        gc.freeze()


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item: pytest.Item) -> None:
    if (
        item.get_closest_marker("browser") and not FRONT_END.exists()
    ):  # a page would wait for a minute for what never appears
        pytest.fail(
            "The front end is not built, and this test needs it. Build it: make .make/front-end",
            pytrace=False,
        )


@pytest.fixture(scope="session")
def all_rounds(request: pytest.FixtureRequest) -> bool:
    """Whether what is repeated is repeated as often as in ``make fuzz``:
    the suite has a share of the rounds, in every case.
    """
    return bool(request.config.getoption("--all-rounds"))


def pytest_xdist_make_scheduler(config: pytest.Config, log: Producer) -> FileScheduling:
    return FileScheduling(config, log)
