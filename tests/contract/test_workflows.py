"""The workflows of GitHub run what a checkout runs: targets of the Makefile, and nothing else."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
import yaml

ROOT = Path(__file__).parents[2]
TARGETS = re.findall(r"^\.PHONY: (.*)$", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE)[
    0
].split()


@pytest.mark.parametrize(
    "path", sorted((ROOT / ".github/workflows").glob("*.yml")), ids=lambda path: path.stem
)
def test_each_command_is_a_target_of_the_makefile(path: Path) -> None:
    jobs = yaml.safe_load(path.read_text(encoding="utf-8"))["jobs"]
    for name, job in jobs.items():
        commands = [step["run"] for step in job["steps"] if "run" in step]
        assert commands, name
        assert {command.removeprefix("make ") for command in commands} <= {*TARGETS}
        assert job["timeout-minutes"] <= 60


def test_the_workflow_runs_the_checks_of_every_change() -> None:
    jobs = yaml.safe_load((ROOT / ".github/workflows/ci.yml").read_text(encoding="utf-8"))["jobs"]
    script = (ROOT / ".ci/run").read_text(encoding="utf-8")
    here = [
        word
        for line in re.findall(r"^(?:exec )?make (.*)$", script, re.MULTILINE)
        for word in line.split()
        if word in TARGETS
    ]
    assert [f"make {target}" for target in here] == [
        step["run"] for step in jobs["linux"]["steps"] if "run" in step
    ]
