"""Assigns the files of tests to processes and decides their order:
the longest first, by their last recorded seconds.
"""

from __future__ import annotations

import json
from collections import defaultdict
from pathlib import Path
from statistics import median

import pytest
from xdist.remote import Producer
from xdist.scheduler import LoadFileScheduling
from xdist.workermanage import WorkerController

BROWSER_TESTS = "tests/browser/"
RECORDED = Path(__file__).with_name("seconds.json")
"""Seconds that each file took; ``pytest --record-seconds`` writes it."""


class FileScheduling(LoadFileScheduling):
    """Gives each file to the next free process, the longest first.

    Those of ``tests/browser`` go to two of them as long as there are others.
    Each of the two has a browser and the servers that it opens.
    """

    def __init__(self, config: pytest.Config, log: Producer | None = None) -> None:
        super().__init__(config, log)
        self._seconds: dict[str, float] = json.loads(RECORDED.read_text(encoding="utf-8"))
        self._usual = median(self._seconds.values() or [0.0])

    def _assign_work_unit(self, node: WorkerController) -> None:
        files = sorted(self.workqueue, key=lambda file: -self._seconds.get(file, self._usual))
        browser = [file for file in files if file.startswith(BROWSER_TESTS)]
        others = [file for file in files if not file.startswith(BROWSER_TESTS)]
        first = [*browser, *others] if node in self.nodes[:2] else [*others, *browser]
        self.workqueue.move_to_end(first[0], last=False)
        super()._assign_work_unit(node)


class Recorder:
    """A plugin that keeps how long each file of a run takes, for the next ones."""

    def __init__(self) -> None:
        self._seconds: defaultdict[str, float] = defaultdict(float)

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        self._seconds[report.nodeid.partition("::")[0]] += report.duration

    def pytest_sessionfinish(self) -> None:
        told = {file: round(seconds, 1) for file, seconds in sorted(self._seconds.items())}
        RECORDED.write_text(json.dumps(told, indent=0) + "\n", encoding="utf-8")
