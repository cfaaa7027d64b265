"""A test that a race may fail is rerun by itself, after the others; one that passes then is *flaky*, and named.

Only tests that drive other processes are rerun: what a browser, a kernel or a server does depends on what else the machine does.  Flaky
tests are a fault, of the test or of nbtools: the summary lists each with its first outcome, and more than ``TOLERATED`` fail the run.
"""

from __future__ import annotations

import subprocess
import sys

import pytest
from _pytest.terminal import TerminalReporter

WITH_OTHER_PROCESSES = (
    *("tests/agents/", "tests/browser/", "tests/docs/", "tests/faults/", "tests/mcp/", "tests/notebook/", "tests/test_cli"),
    *("tests/tools/", "tests/traces/corpus/", "tests/workspace/"),
)
TOLERATED = 2
MOST = 8
"""Failures beyond which nothing is rerun, because so many are no chance."""
LIMIT = 600
"""Seconds for a test that is rerun."""


class RerunFailures:
    """A plugin of the process that collects what the others report."""

    def __init__(self, config: pytest.Config) -> None:
        self._config = config

    @pytest.hookimpl(tryfirst=True)
    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        reporter = self._config.pluginmanager.getplugin("terminalreporter")
        if not isinstance(reporter, TerminalReporter) or session.exitstatus != pytest.ExitCode.TESTS_FAILED:
            return
        failed = [report for outcome in ("failed", "error") for report in reporter.stats.get(outcome, [])]
        tests = list(dict.fromkeys(report.nodeid for report in failed))
        again = [test for test in tests if test.startswith(WITH_OTHER_PROCESSES)]
        if len(again) > MOST:
            return
        flaky = {test for test in again if passes(test)}
        reporter.stats["flaky"] = [report for report in failed if report.nodeid in flaky]
        for outcome in ("failed", "error"):
            left = [report for report in reporter.stats.pop(outcome, []) if report.nodeid not in flaky]
            if left:
                reporter.stats[outcome] = left
        if flaky == set(tests) and len(flaky) <= TOLERATED:
            session.exitstatus = pytest.ExitCode.OK

    def pytest_terminal_summary(self, terminalreporter: TerminalReporter) -> None:
        for report in terminalreporter.stats.get("flaky", []):
            terminalreporter.write_sep("_", f"flaky: {report.nodeid} failed, and passed when it was rerun by itself", yellow=True)
            terminalreporter.write_line(report.longreprtext)


def passes(test: str) -> bool:
    """Whether a test passes in a process of its own, with nothing beside it."""
    alone = [sys.executable, "-m", "pytest", "-q", "-n", "0", "-p", "no:cacheprovider", test]
    try:
        return subprocess.run(alone, stdout=subprocess.DEVNULL, timeout=LIMIT, check=False).returncode == 0
    except subprocess.TimeoutExpired:
        return False
