"""A run of an agent is a trace like any other."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from nbtools import Agent, AgentError, Limits, Policy, Session, traces
from nbtools.testing import ONCE, ScriptedConfirmer, temporary_workspace
from nbtools.traces.explorer.timeline import Timeline
from nbtools.traces.recording.log_records import LONGEST_MESSAGE
from nbtools.traces.recording.session_logs import kept_logs
from nbtools.traces.row_texts import text_of_event
from tests.agents.functions import Script
from tests.agents.openai_stub import Refuses, Says, stub

TOKEN = "ghp_" + "aB3dE5fG7hJ9kL1mN3pQ5rS7tU9vW1xY3zA5"
READ = ("read", {"path": "a.txt"})


@pytest.fixture
def root() -> Iterator[Path]:
    with temporary_workspace({"a.txt": "one\n"}) as folder:
        yield folder


async def test_texts_calls_and_usage_are_recorded(root: Path) -> None:
    model = Script(
        ["~Hm.", "I look.", READ], ["I write.", ("write", {"path": "b", "content": "x\n"})], "Done.", "Yes."
    )
    async with Session(root, policy=Policy(allow=("read",)), confirmer=ScriptedConfirmer(ONCE)) as session:
        await session.call("ls", {})
        agent = Agent(session, model)
        await agent.run("Look, then write.")
        await session.call("ls", {})
        await agent.run("Sure?")
        of = session.workspace.journal.session
        await session.call("ls", {})
    assert agent.log is not None
    assert agent.log in kept_logs(root)
    trace = traces.load(agent.log)
    said = [(event.seq, event.kind, event.text.strip(), event.turn) for event in trace.events]
    assert said == [
        (0, "user", "Look, then write.", 1),
        (1, "thinking", "Hm.", 1),
        (2, "assistant_text", "I look.", 1),
        (4, "assistant_text", "I write.", 1),
        (6, "assistant_text", "Done.", 1),
        (7, "user", "Sure?", 2),
        (8, "assistant_text", "Yes.", 2),
    ]
    calls = [(call.seq, call.name, call.status, call.permission) for call in trace.calls]
    assert calls == [
        (3, "read", "ok", "allow: read"),
        (5, "write", "ok", "ask: edits need approval; proceed_once by the script"),
    ]
    (one,) = trace.sessions
    assert (one.models, one.title, one.cost) == (("script",), "Look, then write.", None)
    assert (one.tokens.input, one.tokens.output) == (agent.usage.input, agent.usage.output)
    facts = trace.facts()
    assert (facts["requests"], facts["calls_of"], facts["tool_calls"], facts["malformed"]) == (4, of, 2, 0)
    assert facts["tokens"]["output"] == agent.usage.output
    lines = Timeline(trace)
    assert [lines[number].subject.strip() for number in range(3)] == ["Look, then write.", "Hm.", "I look."]


async def test_models_costs_and_how_it_ended(root: Path) -> None:
    cached = {
        "prompt_tokens": 1000,
        "completion_tokens": 100,
        "prompt_tokens_details": {"cached_tokens": 600},
    }
    with stub(
        Says((), (("1", "read", '{"path": "a.txt"}'),), usage=cached), Refuses(401, f"bad key {TOKEN}")
    ) as server:
        async with Session(root, policy=Policy(mode="yolo")) as session:
            agent = Agent(session, server.model(), limits=Limits(steps=1))
            assert not (await agent.run("go")).ok
            with pytest.raises(AgentError):
                await agent.run("on")
    assert agent.log is not None
    trace = traces.load(agent.log)
    (one,) = trace.sessions
    assert one.models == ("gpt-4o-mini",)
    assert (one.tokens.input, one.tokens.cache_read, one.tokens.output) == (400, 600, 100)
    assert one.cost == pytest.approx(agent.usage.cost)
    ends = [event.text for event in trace.events if event.kind == "error"]
    assert ends[0] == "it reached its limit of 1 step"
    assert "rejected the API key" in ends[1]
    assert TOKEN not in agent.log.read_text()


async def test_secrets_and_lengths(root: Path) -> None:
    long = "word " * 500_000
    async with Session(root) as session:
        agent = Agent(session, Script(f"It is {TOKEN}.", "Long."))
        await agent.run(f"My token is {TOKEN}.")
        await agent.run(long)
    assert agent.log is not None
    text = agent.log.read_text()
    assert TOKEN not in text
    trace = traces.load(agent.log)
    last = next(event for event in trace.events if event.turn == 2)
    assert (last.size, len(text_of_event(last, trace.readings[0]))) == (len(long), LONGEST_MESSAGE)
    assert json.loads(text.splitlines()[0])["type"] == "session"


async def test_none_where_none_is_wanted(root: Path) -> None:
    async with Session(root) as session:
        agent = Agent(session, Script("Yes."), log=False)
        await agent.run("go")
    assert agent.log is None
    assert kept_logs(root) == ()
