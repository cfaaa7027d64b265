"""The logs of the course can be played: every call has its recorded result,
and the script writes the committed logs.
"""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from pathlib import Path

import pytest

from docs.scripts import course_logs
from nbtools import Agent, Policy, Session
from nbtools.agents.events import AgentEvent, Remark
from nbtools.lesson import RecordedModel
from nbtools.traces import load

COURSE = course_logs.COURSE
LOGS = sorted(path.stem for path in (COURSE / "logs").glob("*.jsonl") if path.stem in course_logs.SESSIONS)


def calls(log: Path) -> Sequence[tuple[str, object, str]]:
    return [(call.name, call.detail.args, call.detail.result) for call in load(log).calls]


def test_every_session_has_a_log() -> None:
    assert set(LOGS) == set(course_logs.SESSIONS)


@pytest.mark.parametrize("name", LOGS)
async def test_no_result_differs(name: str, tmp_path: Path) -> None:
    shop = shutil.copytree(
        COURSE / "shop", tmp_path / "shop"
    )  # in this repository, all of it would be copied for the run
    differences: list[str] = []

    def hear(event: AgentEvent) -> None:
        if isinstance(event, Remark) and event.about is not None:
            differences.append(event.text)

    async with Session(tmp_path, policy=Policy(mode="yolo")) as session:
        for function in course_logs.TOOLS.get(name, ()):
            session.tools.register(function)
        agent = Agent(session, RecordedModel(COURSE / "logs" / f"{name}.jsonl", project=shop))
        answer = await agent.run("", heard=hear)
        await agent.close()
    assert (answer.stopped, differences) == ("", [])
    assert answer.usage.calls == len(calls(COURSE / "logs" / f"{name}.jsonl"))


@pytest.mark.parametrize("name", LOGS)
def test_the_script_writes_the_committed_log(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("NBTOOLS_STATE", str(tmp_path))  # the script sets it: the test restores it
    (tmp_path / "log.jsonl").write_text(course_logs.log_text(name))
    assert calls(tmp_path / "log.jsonl") == calls(COURSE / "logs" / f"{name}.jsonl")


@pytest.mark.parametrize("name", LOGS)
def test_a_log_has_no_path_of_a_machine(name: str) -> None:
    text = (COURSE / "logs" / f"{name}.jsonl").read_text()
    assert str(COURSE.parents[1]) not in text
    assert "/var/" not in text
