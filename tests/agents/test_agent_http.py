"""An agent over HTTP, as a provider answers: pydantic-ai's real model of OpenAI, a server on loopback."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from pathlib import Path

import pytest

from nbtools import Agent, AgentError, Limits, Policy, Session
from nbtools.testing import ONCE, ScriptedConfirmer, temporary_workspace
from tests.agents.functions import Heard
from tests.agents.openai_stub import Refuses, Says, stub

YOLO = Policy(mode="yolo")
READ = ("call_1", "read", '{"path": "a.txt"}')
CACHED = {"prompt_tokens": 1000, "completion_tokens": 100, "prompt_tokens_details": {"cached_tokens": 600}}


@pytest.fixture
def root() -> Iterator[Path]:
    with temporary_workspace({"a.txt": "one\n"}) as folder:
        yield folder


async def test_steps_texts_thoughts_calls_and_what_they_cost(root: Path) -> None:
    heard = Heard()
    write = ("call_2", "write", '{"path": "b.txt", "content": "two\\n"}')
    with stub(
        Says(("I ", "look."), (READ, write), ("Well, ", "well.")), Says(("It says ", "one."), usage=CACHED)
    ) as server:
        async with Session(
            root, policy=Policy(allow=("read",)), confirmer=ScriptedConfirmer(ONCE)
        ) as session:
            agent = Agent(session, server.model())
            answer = await agent.run("go", heard=heard)
    assert heard.all == [
        "~Well, well.",
        '"I look.',
        "step 1",
        "call read",
        "call write",
        '"It says one.',
        "step 2",
    ]
    assert (root / "b.txt").read_text() == "two\n"
    used = answer.usage
    assert (used.requests, used.calls, used.input, used.cache_read, used.output, used.tokens) == (
        2,
        2,
        500,
        600,
        110,
        1210,
    )
    assert used.cost == pytest.approx((500 * 0.15 + 600 * 0.075 + 110 * 0.6) / 1e6)
    assert next(
        message["content"] for message in server.messages_of(1) if message["role"] == "tool"
    ).startswith("one")


async def test_a_limit_of_cost_holds(root: Path) -> None:
    with stub(Says((), (READ,), usage=CACHED)) as server:
        async with Session(root, policy=YOLO) as session:
            answer = await Agent(session, server.model(), limits=Limits(cost=0.0001)).run("go")
    assert answer.stopped.startswith("it reached its limit of $0.0001")


@pytest.mark.parametrize(
    ("reply", "words"),
    [
        (Refuses(401, "Incorrect API key"), "rejected the API key"),
        (Refuses(429, "Rate limit reached"), "rate limit is reached"),
        (Refuses(404, "no such model", "model_not_found"), "does not know this model"),
        (
            Refuses(400, "This model's maximum context length is 8 tokens", "context_length_exceeded"),
            "too long",
        ),
        (Refuses(500, "oops"), "oops"),
    ],
)
async def test_refusals_are_one_line(root: Path, reply: Refuses, words: str) -> None:
    with stub(reply, Says(("Now.",))) as server:
        async with Session(root) as session:
            agent = Agent(session, server.model())
            with pytest.raises(AgentError) as raised:
                await agent.run("go")
            assert words in str(raised.value)
            assert "\n" not in str(raised.value)
            assert (await agent.run("go")).text == "Now."
    assert [message["role"] for message in server.messages_of(1)] == ["system", "user"]


async def test_the_client_retries_temporary_failures(root: Path) -> None:
    with stub(Refuses(500, again=True), Says(("Now.",))) as server:
        async with Session(root) as session:
            assert (await Agent(session, server.model()).run("go")).text == "Now."


async def test_a_server_that_is_not_there(root: Path) -> None:
    with stub() as server:
        model = server.model()
    async with Session(root) as session:
        with pytest.raises(AgentError, match="cannot be reached"):
            await Agent(session, model).run("go")


async def test_a_stream_that_breaks_leaves_a_history(root: Path) -> None:
    with stub(Says((), (READ,)), Says(("I ", "beg", "in"), breaks_at=2), Says(("Again.",))) as server:
        async with Session(root, policy=YOLO) as session:
            agent = Agent(session, server.model())
            with pytest.raises(AgentError):
                await agent.run("go")
            assert (await agent.run("on")).text == "Again."
    assert [message["role"] for message in server.messages_of(2)][:4] == [
        "system",
        "user",
        "assistant",
        "tool",
    ]


async def test_stop_leaves_the_server(root: Path) -> None:
    slow = Says(("I begin", " and go on"), waits_at=1)
    with stub(slow, Says(("Fine.",))) as server:
        async with Session(root) as session:
            agent = Agent(session, server.model())
            running = asyncio.create_task(agent.run("go"))
            await asyncio.to_thread(slow.reached.wait)
            agent.stop()
            answer = await running
            assert answer.stopped == "you stopped it"
            assert await asyncio.to_thread(server.left.wait, 60)
            assert (await agent.run("and now")).text == "Fine."


async def test_by_name_and_address(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with stub(Says(("Here.",))) as server:
        monkeypatch.setenv("OPENAI_BASE_URL", server.url)
        monkeypatch.delenv("OPENAI_API_KEY", raising=False)
        async with Session(root) as session:
            answer = await Agent(session, "openai-chat:local").run("go")
    assert (answer.text, answer.usage.cost, server.asked[0]["model"]) == ("Here.", answer.usage.cost, "local")
