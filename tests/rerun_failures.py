"""A test that a race may fail is rerun by itself, after the others;
one that passes then is *flaky*, and named.

Only tests that drive other processes are rerun: what a browser, a kernel or a server does depends on what
else the machine does.  Flaky tests are a fault, of the test or of nbtools: the run shows how each failed
first, and ends with their names.  A machine that stands still for a minute fails a test in every process, so
their number alone fails no run; but each of more than ``FEW`` has to pass three times.
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Generator

import pytest
from _pytest.terminal import TerminalReporter

WITH_OTHER_PROCESSES = (
    *(
        "tests/agents/",
        "tests/browser/",
        "tests/docs/",
        "tests/faults/",
        "tests/mcp/",
        "tests/notebook/",
        "tests/test_cli",
    ),
    *("tests/tools/", "tests/traces/corpus/", "tests/workspace/"),
)
FEW = 2
TIMES = 3
"""How often each has to pass by itself where there are more than a few."""
MOST = 8
"""Failed tests beyond which nothing is rerun, because so many are no chance."""
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
        times = 1 if len(again) <= FEW else TIMES
        flaky = {test for test in again if all(passes(test) for _ in range(times))}
        reporter.stats["flaky"] = [
            next(report for report in failed if report.nodeid == test) for test in tests if test in flaky
        ]
        for outcome in ("failed", "error"):
            left = [report for report in reporter.stats.pop(outcome, []) if report.nodeid not in flaky]
            if left:
                reporter.stats[outcome] = left
        if flaky == set(tests):
            session.exitstatus = pytest.ExitCode.OK

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_terminal_summary(self, terminalreporter: TerminalReporter) -> Generator[None]:
        flaky = terminalreporter.stats.get("flaky", [])
        for report in flaky:
            terminalreporter.write_sep(
                "_", f"flaky: {report.nodeid} failed, and passed when it was rerun by itself", yellow=True
            )
            terminalreporter.write_line(report.longreprtext)
        yield
        for report in flaky:
            terminalreporter.write_line(f"FLAKY {report.nodeid} - {reason(report)}", yellow=True)


def reason(report: pytest.TestReport) -> str:
    """Why a test failed, in a few words: the end of what it shows, where it names the error."""
    lines = [
        line.removeprefix("E").strip() for line in report.longreprtext.splitlines() if line.startswith("E ")
    ]
    return (lines or report.longreprtext.splitlines()[-1:] or [""])[0][:160]


def passes(test: str) -> bool:
    """Whether a test passes in a process of its own, with nothing beside it."""
    alone = [sys.executable, "-m", "pytest", "-q", "-n", "0", "-p", "no:cacheprovider", test]
    try:
        return subprocess.run(alone, stdout=subprocess.DEVNULL, timeout=LIMIT, check=False).returncode == 0
    except subprocess.TimeoutExpired:
        return False
