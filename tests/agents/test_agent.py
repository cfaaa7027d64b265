"""An agent works with a session's tools: told in order, asked, refused, changed, stopped, limited;
its history can be gone on with.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from threading import Thread
from typing import Any

import pytest
from pydantic_ai import ModelResponse, TextPart, ToolCallPart
from pydantic_ai.messages import ModelMessage, ModelRequest, ToolReturnPart, UserPromptPart
from pydantic_ai.models.function import AgentInfo, FunctionModel

from nbtools import (
    Agent,
    AgentError,
    Limits,
    Policy,
    Session,
    ToolConfirmationOutcome,
    ToolConfirmationPayload,
    tool,
)
from nbtools.agents.events import Answer
from nbtools.agents.usage import Usage
from nbtools.testing import ONCE, ScriptedConfirmer, modify, temporary_workspace
from tests.agents.functions import Heard, Script

YOLO = Policy(mode="yolo")
READ = ("read", {"path": "a.txt"})


@pytest.fixture
async def root() -> AsyncIterator[Path]:
    with temporary_workspace({"a.txt": "one\n", "b.txt": "two\n"}) as folder:
        yield folder


def prompts(messages: list[ModelMessage]) -> list[str]:
    return [
        str(part.content)
        for message in messages
        if isinstance(message, ModelRequest)
        for part in message.parts
        if isinstance(part, UserPromptPart)
    ]


def unanswered(messages: list[ModelMessage]) -> set[str]:
    asked = {
        part.tool_call_id
        for one in messages
        if isinstance(one, ModelResponse)
        for part in one.parts
        if isinstance(part, ToolCallPart)
    }
    return asked - {
        part.tool_call_id for one in messages for part in one.parts if isinstance(part, ToolReturnPart)
    }


async def test_a_run_reports_its_events_in_order_and_answers(root: Path) -> None:
    heard = Heard()
    model = Script(["~Let me see.", "I look.", READ, ("ls", {})], "It says one.")
    async with Session(root, policy=YOLO, observers=[heard]) as session:
        agent = Agent(session, model, instructions="Be short.")
        answer = await agent.run("What is in a.txt?", heard=heard)
    first, rest = heard.all[:3], heard.all[3:]
    assert first == ["~Let me see.", '"I look. ', "step 1"]
    assert rest[-2:] == ['"It says one. ', "step 2"]
    for name in ("read", "ls"):
        assert [line.split(" ")[-1] for line in rest if name in line] == [
            name,
            "validating",
            "scheduled",
            "executing",
            "success",
        ]
    assert (answer.ok, answer.text.strip(), answer.stopped) == (True, "It says one.", "")
    assert (answer.usage.requests, answer.usage.calls, answer.usage.cost) == (2, 2, None)
    assert agent.usage == answer.usage
    assert model.answered(1)[0].startswith("one")
    told = str(model.told[0].instructions)
    assert told.startswith("Be short.")
    assert str(root) in told
    assert "read, read_many" in told


async def test_the_history_goes_on_and_can_be_forgotten(root: Path) -> None:
    model = Script("First.", "Second.", "Third.")
    async with Session(root) as session:
        agent = Agent(session, model)
        await agent.run("one")
        await agent.run("two")
        assert prompts(model.seen[1]) == ["one", "two"]
        agent.new()
        await agent.run("three")
    assert prompts(model.seen[2]) == ["three"]
    assert agent.usage.requests == 3


async def test_tools_have_the_names_of_the_dialect(root: Path) -> None:
    model = Script([("Read", {"file_path": str(root / "a.txt")})], "Done.")
    async with Session(root, policy=YOLO, dialect="claude") as session:
        await Agent(session, model).run("go")
    assert "one" in model.answered(1)[0]
    assert "Bash" in {one.name for one in model.told[0].function_tools}


async def test_refusals_and_changes_reach_the_model(root: Path) -> None:
    no = type(ONCE)(ToolConfirmationOutcome.CANCEL, reason="not that one")
    other = type(ONCE)(
        ToolConfirmationOutcome.MODIFY_WITH_EDITOR,
        ToolConfirmationPayload(arguments={"command": "echo mine"}),
    )
    confirmer = ScriptedConfirmer(ONCE, no, modify("theirs\n"), ONCE, other, ONCE)
    write: Callable[[str], Any] = lambda text: ("write", {"path": "new.txt", "content": text})  # noqa: E731
    model = Script(
        [write("yes\n")], [write("no\n")], [write("ours\n")], [("shell", {"command": "echo ours"})], "Done."
    )
    async with Session(root, confirmer=confirmer) as session:
        answer = await Agent(session, model).run("go")
    assert answer.ok
    assert "not that one" in model.answered(2)[0]
    assert "changed the call before it ran" not in model.answered(1)[0]
    assert "The person changed the proposed text before it was written." in model.answered(3)[0]
    assert "+theirs" in model.answered(3)[0]
    assert "changed the call before it ran" not in model.answered(3)[0]
    assert (root / "new.txt").read_text() == "theirs\n"
    assert "mine" in model.answered(4)[0]
    assert (
        '[The person changed the call before it ran; it ran with command="echo mine"]' in model.answered(4)[0]
    )


async def test_mistakes_of_the_model_are_returned_to_it(root: Path) -> None:
    wrong = [
        ("read", '{"path": '),
        ("nonsense", {}),
        ("read", {"pfad": "a.txt"}),
        ("read", {"path": "nowhere"}),
    ]
    model = Script(*[[one] for one in wrong], "I give up.")
    async with Session(root, policy=YOLO) as session:
        answer = await Agent(session, model).run("go")
    assert answer.text.strip() == "I give up."
    last = [str(messages[-1]) for messages in model.seen[1:]]
    assert "JSON" in last[0]
    assert "nonsense" in last[1]
    assert "pfad" in last[2]
    assert "no file nowhere" in last[3]


async def test_a_model_that_fails_for_ever_ends_at_its_steps(root: Path) -> None:
    model = Script(*[[("read", {"path": "nowhere"})]] * 5, "On I go.")
    async with Session(root, policy=YOLO) as session:
        agent = Agent(session, model, limits=Limits(steps=5))
        answer = await agent.run("go")
        assert (answer.ok, answer.stopped) == (False, "it reached its limit of 5 steps")
        assert (answer.usage.requests, answer.usage.calls) == (5, 5)
        assert not unanswered(agent.messages)
        assert (await agent.run("more")).text.strip() == "On I go."
    assert "no file nowhere" in str(model.seen[5])
    assert prompts(model.seen[5]) == ["go", "more"]


@pytest.mark.parametrize(
    ("limits", "why"),
    [(Limits(tokens=10), "its limit of 10 tokens"), (Limits(cost=1.0), "the price of this model is unknown")],
)
async def test_other_limits_stop_it_with_what_it_has(root: Path, limits: Limits, why: str) -> None:
    model = Script([READ], "Never said.")
    async with Session(root, policy=YOLO) as session:
        answer = await Agent(session, model, limits=limits).run("go")
    assert why in answer.stopped
    assert answer.usage.requests == 1


async def test_a_last_word_over_a_limit_is_one(root: Path) -> None:
    async with Session(root) as session:
        assert (await Agent(session, Script("All of it."), limits=Limits(steps=1, tokens=1)).run("go")).ok


async def test_stopped_in_the_middle_of_a_text(root: Path) -> None:
    async def slow(messages: list[ModelMessage], info: AgentInfo) -> AsyncIterator[str]:
        yield "I begin"
        await asyncio.Event().wait()

    async with Session(root) as session:
        agent = Agent(session, FunctionModel(stream_function=slow))

        def stop(_: object) -> None:
            Thread(target=agent.stop, args=("enough",)).start()

        answer = await agent.run("go", heard=stop)
        assert (answer.text, answer.stopped) == ("I begin", "enough")
        agent.model = Script("Again.")
        assert (await agent.run("on")).ok
    assert prompts(agent.messages) == ["go", "on"]


async def test_stopped_in_the_middle_of_calls(root: Path) -> None:
    started = asyncio.Event()

    @tool
    async def wait_for_ever() -> str:
        """Waits."""
        started.set()
        await asyncio.Event().wait()
        return ""

    model = Script([READ, ("wait_for_ever", {})], "Then not.")
    async with Session(root, policy=YOLO) as session:
        session.tools.register(wait_for_ever)
        agent = Agent(session, model)
        running = asyncio.create_task(agent.run("go"))
        await started.wait()
        agent.stop()
        answer = await running
        assert answer.stopped == "you stopped it"
        assert not session.active
        assert {call.request.name: call.state for call in session.history} == {
            "read": "success",
            "wait_for_ever": "cancelled",
        }
        assert not unanswered(agent.messages)
        assert (await agent.run("and now?")).ok
    assert "one" in str(model.seen[1])


async def test_cancelled_from_outside_it_leaves_a_history(root: Path) -> None:
    asked = asyncio.Event()

    class Nobody:
        async def ask(self, confirmation: object) -> Any:
            asked.set()
            await asyncio.Event().wait()

    model = Script([("write", {"path": "x", "content": ""})], "Fine.")
    async with Session(root, confirmer=Nobody()) as session:
        agent = Agent(session, model)
        running = asyncio.create_task(agent.run("go"))
        await asked.wait()
        running.cancel()
        with pytest.raises(asyncio.CancelledError):
            await running
        assert session.history[-1].state == "cancelled"
        assert not unanswered(agent.messages)
        assert (await agent.run("on")).ok
    assert not (root / "x").exists()


async def test_one_run_at_a_time_and_stop_between_runs_is_nothing(root: Path) -> None:
    async with Session(root) as session:
        agent = Agent(session, Script("Yes.", "No."))
        agent.stop()
        first = asyncio.create_task(agent.run("go"))
        await asyncio.sleep(0)
        with pytest.raises(AgentError, match="already running"):
            await agent.run("too")
        assert (await first).ok
        assert (await agent.run("then")).ok


async def test_stopped_before_it_has_begun(root: Path) -> None:
    async with Session(root) as session:
        agent = Agent(session, Script("Never."))
        running = asyncio.create_task(agent.run("go"))
        await asyncio.sleep(0)
        agent.stop("no")
        assert await running == Answer("", Usage(), "no")
    assert agent.messages == []


async def test_a_function_that_does_not_stream_is_reported_too(root: Path) -> None:
    def whole(messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
        return ModelResponse(
            [TextPart("I look."), ToolCallPart(*READ)] if len(messages) == 1 else [TextPart("Done.")]
        )

    heard = Heard()
    async with Session(root, policy=YOLO) as session:
        await Agent(session, FunctionModel(whole)).run("go", heard=heard)
    assert heard.all == ['"I look.', "step 1", "call read", '"Done.', "step 2"]


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("openai:gpt-5", "OPENAI_API_KEY"),
        ("anthropic:claude-sonnet-4-5", "pip install"),
        ("nobody:nothing", "The model 'nobody:nothing' does not exist"),
    ],
)
async def test_unavailable_models_are_an_error_in_one_line(
    root: Path, name: str, words: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    monkeypatch.delenv("OPENAI_BASE_URL", raising=False)
    monkeypatch.delenv("ANTHROPIC_API_KEY", raising=False)
    async with Session(root) as session:
        agent = Agent(session, name)
        with pytest.raises(AgentError) as raised:
            await agent.run("go")
        assert words in str(raised.value) or (
            name.startswith("anthropic") and "ANTHROPIC_API_KEY" in str(raised.value)
        )
        assert "\n" not in str(raised.value)
        agent.model = "test"
        assert (await agent.run("go")).ok
