"""A recorded session is a model: it repeats the recorded texts and calls, in a copy,
with real tools and real approvals.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from nbtools import Agent, AgentError, Answer, Limits, Policy, Session, ToolConfirmationOutcome, tool
from nbtools.agents.events import AgentEvent, CallStarted, Remark, TextReceived
from nbtools.core.confirmation import Confirmation
from nbtools.lesson import RecordedModel
from nbtools.replay.output_comparison import normalize
from nbtools.testing import CANCEL, ONCE, ScriptedConfirmer, modify
from tests.replay.samples import bash, codex_log, edit, exec_output, log, shop
from tests.traces.recorded import SAMPLES

YOLO = Policy(mode="yolo")
READ = ("Read", {"file_path": "/home/sam/shop/price.py"}, "     1\tprice = 1\n     2\ttax = 2\n", {})


class Heard:
    """The texts, calls and remarks of runs, in order."""

    def __init__(self) -> None:
        self.lines: list[str] = []
        self.remarks: list[Remark] = []

    def __call__(self, event: AgentEvent) -> None:
        match event:
            case TextReceived(text=text):
                self.lines.append(f'"{text}')
            case CallStarted(name=name):
                self.lines.append(f"call {name}")
            case Remark():
                self.remarks.append(event)
            case _:
                pass

    @property
    def remarked(self) -> str:
        return "\n".join(one.text for one in self.remarks)


def contents(root: Path) -> Mapping[str, str]:
    files = (path for path in sorted(root.rglob("*")) if path.is_file() and ".git" not in path.parts)
    return {str(path.relative_to(root)): hashlib.sha256(path.read_bytes()).hexdigest() for path in files}


@pytest.fixture
def project(tmp_path: Path) -> Path:
    return shop(tmp_path / "shop")


def lesson(tmp_path: Path, *calls: Any) -> Path:
    log(tmp_path / "lesson.jsonl", *calls)
    return tmp_path / "lesson.jsonl"


RAISE = edit("price = 5", "price = 7")
CAT = bash("cat price.py", "price = 7\ntax = 2\n")
TASK = ("Task", {"description": "Look", "prompt": "Look at all."}, "All is <b>well</b>.", {})


async def played(
    recorded: RecordedModel, root: Path, runs: int = 1, policy: Policy = YOLO, **more: Any
) -> tuple[Heard, list[str]]:
    """The events of the runs, and why each one stopped."""
    heard = Heard()
    async with Session(root, policy=policy, **more) as session:
        agent = Agent(session, recorded)
        return heard, [(await agent.run("", heard=heard)).stopped for _ in range(runs)]


async def test_the_tools_run_in_a_copy_and_the_project_stays(tmp_path: Path, project: Path) -> None:
    recorded, heard = RecordedModel(lesson(tmp_path, RAISE, CAT), project=project), Heard()
    async with Session(tmp_path, policy=YOLO) as session:
        agent = Agent(session, recorded)
        answer = await agent.run("", heard=heard)
        assert (answer.ok, answer.usage.requests, answer.usage.calls, answer.usage.tokens) == (True, 3, 2, 0)
        assert heard.lines[:2] == ["call edit", "call shell"]
        assert recorded.root is not None
        assert (recorded.root / "price.py").read_text() == "price = 7\ntax = 2\n"
        assert (project / "price.py").read_text() == "price = 5\ntax = 2\n"
        assert str(recorded.root) in heard.remarked
        assert "Raise the price." in heard.remarked
        assert recorded.is_over
        await agent.close()
        assert recorded.root is None


async def test_a_name_is_enough_and_a_missing_folder_says_what_to_do(tmp_path: Path) -> None:
    async with Session(tmp_path, policy=YOLO) as session:
        agent = Agent(session, f"recorded:{lesson(tmp_path, RAISE)}")
        with pytest.raises(
            AgentError, match=r"/home/sam/shop, which does not exist on this machine.*project=FOLDER"
        ):
            await agent.run("")
        with pytest.raises(AgentError, match="cannot be played"):
            await Agent(session, f"recorded:{tmp_path / 'none.jsonl'}").run("")


async def test_the_recorded_folder_is_copied_where_it_exists(tmp_path: Path, project: Path) -> None:
    path = f"{project}/price.py"
    log(tmp_path / "here.jsonl", edit("price = 5", "price = 7", path), cwd=str(project))
    async with Session(tmp_path, policy=YOLO) as session:
        agent = Agent(session, f"recorded:{tmp_path / 'here.jsonl'}")
        assert (await agent.run("")).ok
        copy = (await agent.open()).workspace.root
        assert ((copy / "price.py").read_text(), Path(path).read_text()) == (
            "price = 7\ntax = 2\n",
            "price = 5\ntax = 2\n",
        )
        await agent.close()


async def test_another_result_stops_with_a_diff_and_the_next_run_goes_on(
    tmp_path: Path, project: Path
) -> None:
    recorded = RecordedModel(lesson(tmp_path, READ, RAISE, CAT), project=project)
    heard, stopped = await played(recorded, tmp_path, 2)
    assert stopped == ["call 1 has another result than the recorded one", ""]
    assert "-price = 1" in heard.remarked
    assert "+price = 5" in heard.remarked
    assert [line for line in heard.lines if line.startswith("call")] == [
        "call read",
        "call edit",
        "call shell",
    ]


async def test_the_learner_approves_denies_and_changes(tmp_path: Path, project: Path) -> None:
    recorded = RecordedModel(lesson(tmp_path, RAISE, CAT, edit("tax = 2", "tax = 3")), project=project)
    confirmer = ScriptedConfirmer(CANCEL, ONCE, modify("price = 9\ntax = 3\n"), ONCE)
    heard, stopped = await played(recorded, tmp_path, 4, Policy(), confirmer=confirmer)
    assert stopped == [
        "call 1 was denied; the recording goes on as if it had run",
        "call 2 has another result than the recorded one",
        "call 3 has another result than the recorded one",
        "",
    ]
    assert recorded.root is not None
    assert (recorded.root / "price.py").read_text() == "price = 9\ntax = 3\n"
    assert len(heard.remarks) == 2 + 3


async def test_without_anybody_to_ask_the_call_is_not_made_and_a_later_rule_counts(
    tmp_path: Path, project: Path
) -> None:
    recorded = RecordedModel(lesson(tmp_path, RAISE, edit("tax = 2", "tax = 3")), project=project)
    async with Session(tmp_path) as session:
        agent = Agent(session, recorded)
        assert "nobody can answer" in (await agent.run("")).stopped
        session.allow("edit")
        assert (await agent.run("")).ok
        assert recorded.root is not None
        assert (recorded.root / "price.py").read_text() == "price = 5\ntax = 3\n"
        session.revoke("edit")
        agent.new()
        assert "nobody can answer" in (await agent.run("")).stopped


async def test_a_call_that_cannot_run_is_shown_as_recorded(tmp_path: Path, project: Path) -> None:
    recorded = RecordedModel(lesson(tmp_path, TASK, RAISE), project=project)
    async with Session(tmp_path, policy=YOLO) as session:
        agent = Agent(session, recorded)
        assert (await agent.run("")).ok
        first, second = (await agent.open()).history
    assert (first.request.name, second.request.name) == ("recorded_result", "edit")
    assert first.result.llm_content == "All is <b>well</b>."
    assert first.result.summary == "Recorded, not run"
    assert first.result.return_display.shown[0].startswith(
        "Recorded, not run: Task has no equivalent in nbtools."
    )


async def test_a_tool_of_the_session_is_called_by_its_recorded_name(tmp_path: Path, project: Path) -> None:
    def price(item: str) -> str:
        """The price of an item."""
        return f"{item}: 5"

    log(tmp_path / "own.jsonl", ("price", {"item": "tea"}, "tea: 5", {}))
    async with Session(tmp_path, policy=YOLO) as session:
        session.tools.register(tool(price))
        agent = Agent(session, RecordedModel(tmp_path / "own.jsonl", project=project))
        assert (await agent.run("")).ok
        (call,) = (await agent.open()).history
    assert (call.request.name, call.result.llm_content) == ("price", "tea: 5")


async def test_one_call_at_a_time_and_limits(tmp_path: Path, project: Path) -> None:
    recorded = RecordedModel(lesson(tmp_path, RAISE, CAT), project=project, pace="step")
    heard, stopped = await played(recorded, tmp_path, 3)
    assert stopped == ["call 1 is done", "call 2 is done", ""]
    recorded = RecordedModel(lesson(tmp_path, RAISE, CAT), project=project)
    async with Session(tmp_path, policy=YOLO) as session:
        agent = Agent(session, recorded, limits=Limits(steps=1))
        assert "limit of 1 step" in (await agent.run("")).stopped
        agent.limits = Limits()
        assert (await agent.run("")).ok
        with pytest.raises(AgentError, match="every prompt was played"):
            await agent.run("")
        agent.new()
        assert (await agent.run("Raise the price.\n\n# Why\n<b>x</b>", heard=heard)).ok
        assert "This is prompt 1 of 1" in heard.remarked
        agent.new()
        assert (await agent.run("Something else", heard=heard)).ok
        assert "cannot read your text. It plays prompt 1 of 1" in heard.remarked


async def test_seconds_before_each_step_leave_time_for_others(tmp_path: Path, project: Path) -> None:
    """A timer that is set in a step and is shorter than the pace ends before the next step,
    however slow the machine is.
    """
    loop, order = asyncio.get_running_loop(), list[str]()

    def hear(event: AgentEvent) -> None:
        if isinstance(event, CallStarted):
            order.append(event.name)
            loop.call_later(0.2, order.append, "timer")

    recorded = RecordedModel(
        lesson(tmp_path, RAISE, CAT, edit("tax = 2", "tax = 3")), project=project, pace=0.3
    )
    async with Session(tmp_path, policy=YOLO) as session:
        assert (await Agent(session, recorded).run("", heard=hear)).ok
    assert order == ["edit", "timer", "shell", "timer", "edit", "timer"]


async def test_a_run_can_be_stopped_while_it_waits_for_its_first_step(tmp_path: Path, project: Path) -> None:
    recorded, heard, began = (
        RecordedModel(lesson(tmp_path, RAISE), project=project, pace=3600),
        Heard(),
        asyncio.Event(),
    )

    def hear(event: AgentEvent) -> None:
        heard(event)
        began.set()

    async with Session(tmp_path, policy=YOLO) as session:
        agent = Agent(session, recorded)
        run = asyncio.ensure_future(agent.run("", heard=hear))
        await began.wait()
        agent.stop()
        assert (await run).stopped == "you stopped it"
        assert heard.lines == []
        recorded.pace = 0
        assert (await agent.run("", heard=heard)).ok
    assert heard.lines[0] == "call edit"


async def test_a_call_that_was_interrupted_is_made_again_without_its_words(
    tmp_path: Path, project: Path
) -> None:
    path, heard = lesson(tmp_path, RAISE), Heard()
    words = '[{"type": "text", "text": "I raise it."}, {"type": "tool_use"'
    path.write_text(path.read_text().replace('[{"type": "tool_use"', words, 1))

    class Interrupting:
        asked = 0

        async def ask(self, confirmation: Confirmation) -> Answer:
            self.asked += 1
            if self.asked == 1:
                agent.stop()
                await asyncio.Event().wait()
            return ONCE

    async with asyncio.timeout(60), Session(tmp_path, confirmer=Interrupting()) as session:
        agent = Agent(session, RecordedModel(path, project=project))
        assert (await agent.run("", heard=heard)).stopped == "you stopped it"
        assert (await agent.run("", heard=heard)).ok
    assert heard.lines[:3] == ['"I raise it.', "call edit", "call edit"]
    assert heard.lines.count('"I raise it.') == 1


async def test_a_grant_holds_for_the_lesson_only(tmp_path: Path, project: Path) -> None:
    recorded = RecordedModel(lesson(tmp_path, RAISE, edit("tax = 2", "tax = 3")), project=project)
    confirmer = ScriptedConfirmer(Answer(ToolConfirmationOutcome.PROCEED_ALWAYS, save=True))
    async with Session(tmp_path, confirmer=confirmer) as session:
        agent = Agent(session, recorded)
        assert (await agent.run("")).ok
        (asked,) = confirmer.asked
        copy = await agent.open()
        assert (asked.can_save, copy.grants, copy.saved_grants, copy.store.grants()) == (
            False,
            ("edit",),
            (),
            (),
        )
        assert (session.grants, session.saved_grants) == ((), ())


async def test_the_log_of_a_lesson_is_a_lesson(tmp_path: Path, project: Path) -> None:
    """The calls of a replayed session are recorded, in the session's own folder, and can be played again."""
    recorded = RecordedModel(lesson(tmp_path, RAISE, CAT), project=project)
    async with Session(tmp_path, policy=YOLO) as session:
        agent = Agent(session, recorded)
        await agent.run("")
        written = agent.log
        assert written is not None
        again = Agent(session, RecordedModel(written, project=project))
        heard = Heard()
        assert (await again.run("", heard=heard)).ok
        assert "Raise the price." in heard.remarked
        assert [line for line in heard.lines if line.startswith("call")] == ["call edit", "call shell"]


async def test_a_recording_without_calls_needs_no_project(tmp_path: Path) -> None:
    log(tmp_path / "words.jsonl")
    with (tmp_path / "words.jsonl").open("a") as file:
        said = {
            "type": "assistant",
            "uuid": "a",
            "message": {"id": "m", "role": "assistant", "content": [{"type": "text", "text": "Why?"}]},
        }
        file.write(json.dumps({**said, "sessionId": "s1", "timestamp": "2026-01-01T00:00:00.000Z"}) + "\n")
    heard, stopped = await played(RecordedModel(tmp_path / "words.jsonl"), tmp_path)
    assert (heard.lines, stopped) == (['"Why?'], [""])


CODEX = (
    ("exec_command", {"cmd": "cat price.py"}, exec_output("price = 5\ntax = 2\n")),
    (
        "apply_patch",
        "*** Begin Patch\n*** Update File: price.py\n@@\n-price = 5\n+price = 7\n*** End Patch",
        "Success.",
    ),
    (
        "exec_command",
        {"cmd": "date +%H:%M:%S; echo $RANDOM > new.txt; printf x > new.txt"},
        exec_output("10:00:00\n"),
    ),
)


@pytest.mark.parametrize("agent", ["claude", "codex", "gemini", "qwen", "pi"])
async def test_each_run_is_the_same(
    agent: str, tmp_path: Path, project: Path, all_rounds: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Messages, calls, results (but for times and temporary paths), stops and files."""
    monkeypatch.setenv(
        "PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1"
    )  # two of the logs run pytest, which would import every plugin for seconds
    logs = {
        "qwen": "qwen-code/made--price.jsonl",
        "pi": "pi/made--tree.jsonl",
        "gemini": "gemini-cli/synthetic--large.json",
    }
    if agent == "codex":
        codex_log(tmp_path / "lesson.jsonl", *CODEX)
    path = SAMPLES / logs[agent] if agent in logs else tmp_path / "lesson.jsonl"
    if agent == "claude":
        lesson(tmp_path, READ, RAISE, TASK, CAT, bash("ls -l price.py", "-rw 1"))
    seen = {await transcript(path, tmp_path, project) for _ in range(20 if all_rounds else 2)}
    assert len(seen) == 1
    assert "call" in seen.pop()


async def transcript(path: Path, folder: Path, project: Path) -> str:
    recorded, heard, lines = RecordedModel(path, project=project), Heard(), []
    async with Session(folder, policy=YOLO) as session:
        agent = Agent(session, recorded, log=False)
        while not recorded.is_over:
            answer = await agent.run("", heard=heard)
            lines.append(f"{answer.text} {answer.stopped} {answer.usage}")
        inner = await agent.open()
        lines += [
            f"{one.request.name} {one.request.arguments} {one.result.llm_content}" for one in inner.history
        ]
        lines += [*heard.lines, heard.remarked, str(contents(inner.workspace.root))]
        text = "\n".join(lines).replace(str(inner.workspace.root), "COPY")
        await agent.close()
    return normalize(text)
