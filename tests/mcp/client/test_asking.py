"""Requests of a running server to the person and to the model, in the protocols before and after 2026."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from pathlib import Path
from typing import Any, TypeAlias

import pytest
import pytest_asyncio

from nbtools import Policy, Session
from nbtools.core.confirmation import (
    Answer,
    Confirmation,
    Confirmer,
    ToolConfirmationOutcome,
    ToolConfirmationPayload,
)
from nbtools.core.errors import ErrorCode, ToolFailure
from nbtools.core.language_model import GeneratedText, TextRequest
from nbtools.mcp.config.entries import parse_server
from nbtools.testing import CANCEL, ONCE, ScriptedConfirmer, answers
from tests.mcp.watching import program

Open: TypeAlias = Callable[..., AbstractAsyncContextManager[Session]]
pytestmark = pytest.mark.asyncio(loop_scope="module")  # as the sessions that the tests share
ERAS = pytest.mark.parametrize("era", ["legacy", "modern"])


class Poet:
    """Writes the same each time and keeps what it was asked."""

    name = "test:poet"

    def __init__(self, *, cut: bool = False, fails: bool = False) -> None:
        self.wanted: list[TextRequest] = []
        self.cut = cut
        self.fails = fails

    async def write(self, wanted: TextRequest) -> GeneratedText:
        self.wanted.append(wanted)
        if self.fails:
            raise ToolFailure(ErrorCode.EXECUTION_FAILED, "The model is not there.")
        return GeneratedText("roses are red", "poet-1", self.cut)


@asynccontextmanager
async def connected(folder: Path, era: str, seconds: float = 600) -> AsyncIterator[Session]:
    """A session with the server in that protocol, whose calls may take so long."""
    async with Session(folder, policy=Policy(allow=("mcp__asking__*",))) as session:
        server = parse_server("asking", program("asking_server.py", era), {})
        session.mcp.add([server.model_copy(update={"call_seconds": seconds})])
        await session.mcp.connect()
        connection = session.mcp.get("asking")
        assert connection.state == "connected", connection.problem
        assert (connection.server_info.protocol >= "2026") is (era == "modern")
        yield session


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def sessions(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Mapping[str, Session]]:
    """One session for each protocol: what a test sets in it, ``opened`` takes back."""
    async with (
        connected(tmp_path_factory.mktemp("legacy"), "legacy") as old,
        connected(tmp_path_factory.mktemp("modern"), "modern") as new,
    ):
        yield {"legacy": old, "modern": new}


@pytest.fixture
def opened(sessions: Mapping[str, Session]) -> Open:
    @asynccontextmanager
    async def opened(era: str, confirmer: Confirmer | None) -> AsyncIterator[Session]:
        session = sessions[era]
        session.confirmer, session.model = confirmer, None
        try:
            yield session
        finally:
            for rule in session.grants:
                session.revoke(rule)

    return opened


# --- elicitation


@ERAS
async def test_an_answer_reaches_the_tool_in_both_protocols(opened: Open, era: str) -> None:
    script = ScriptedConfirmer(answers("blue"))
    async with opened(era, script) as session:
        before = len(session.history)
        result = await session.call("mcp__asking__paint")
        assert result.llm_content == "painted blue"
        (asked,) = script.asked
        assert asked.details.type == "ask"
        (question,) = asked.details.questions
        assert question.text == "asking asks: The cake has one colour\nWhich colour?"
        assert [choice.label for choice in question.choices] == ["red", "blue"]
        assert [call.request.name for call in session.history[before:]] == ["ask", "mcp__asking__paint"]


class Slow:
    """Takes longer to answer than the server's calls may."""

    async def ask(self, confirmation: Confirmation) -> Answer:
        await asyncio.sleep(2.1)  # the time is the object
        return answers("blue") if confirmation.details.type == "ask" else ONCE


@ERAS
async def test_time_for_an_answer_does_not_count_for_the_server(tmp_path: Path, era: str) -> None:
    async with connected(tmp_path, era, seconds=2) as session:
        session.confirmer = Slow()
        assert (await session.call("mcp__asking__paint")).llm_content == "painted blue"
        session.model = Poet()
        assert "roses are red" in str((await session.call("mcp__asking__rhyme")).llm_content)


@ERAS
@pytest.mark.parametrize("confirmer", [ScriptedConfirmer(CANCEL), None])
async def test_a_no_and_nobody_there_decline(opened: Open, era: str, confirmer: Confirmer | None) -> None:
    async with opened(era, confirmer) as session:
        result = await session.call("mcp__asking__paint")
        assert result.error is not None
        assert "decline" in result.error.message


async def test_a_form_with_every_kind_of_field(opened: Open) -> None:
    script = ScriptedConfirmer(
        answers("Ann", "3", "Small", "Cherry, Nuts, chopped"), answers("ann@example.org", "no")
    )
    async with opened("legacy", script) as session:
        result = await session.call("mcp__asking__order")
        content = {
            "name": "Ann",
            "count": 3,
            "size": "s",
            "toppings": ["c", "n"],
            "mail": "ann@example.org",
            "wrapped": False,
        }
        assert json.loads(str(result.llm_content)) == {"action": "accept", "content": content}
    questions = [
        question
        for asked in script.asked
        if asked.details.type == "ask"
        for question in asked.details.questions
    ]
    assert [question.default for question in questions] == ["", "", "Large, with cream", "", "", "yes"]
    assert [question.optional for question in questions] == [False, False, True, True, True, True]


async def test_an_invalid_answer_repeats_the_question_with_the_answer(opened: Open) -> None:
    script = ScriptedConfirmer(
        answers("Ann", "30", "", ""), answers("", ""), answers("Ann", "3", "", ""), answers("", "")
    )
    async with opened("legacy", script) as session:
        result = await session.call("mcp__asking__order")
        content = {"name": "Ann", "count": 3, "size": "l", "wrapped": True}
        assert json.loads(str(result.llm_content)) == {"action": "accept", "content": content}
    again = script.asked[2].details
    assert again.type == "ask"
    assert "count: 30 is out of range (at least 1, at most 9)" in again.questions[0].text
    assert [question.default for question in again.questions] == ["Ann", "30", "Large, with cream", ""]


async def test_a_question_without_a_valid_answer_is_cancelled(opened: Open) -> None:
    script = ScriptedConfirmer(*[answers("Ann", "many", "", ""), answers("", "")] * 3)
    async with opened("legacy", script) as session:
        assert json.loads(str((await session.call("mcp__asking__order")).llm_content))["action"] == "cancel"


@pytest.mark.parametrize(("reply", "action"), [("yes", "accept"), ("no", "decline")])
async def test_a_form_without_fields_asks_for_a_yes(opened: Open, reply: str, action: str) -> None:
    async with opened("legacy", ScriptedConfirmer(answers(reply))) as session:
        assert json.loads(str((await session.call("mcp__asking__agree")).llm_content))["action"] == action


@pytest.mark.parametrize(("reply", "action"), [("yes", "accept"), ("no", "decline")])
async def test_a_page_is_named_whole_and_opened_by_nobody_but_the_person(
    opened: Open, reply: str, action: str
) -> None:
    script = ScriptedConfirmer(answers(reply))
    async with opened("legacy", script) as session:
        assert (await session.call("mcp__asking__visit")).llm_content == action
    details = script.asked[0].details
    assert details.type == "ask"
    assert "on login.example.org: Log in\nhttps://login.example.org/x?y=1\n" in details.questions[0].text


class Patient:
    """Never answers; knows when it was asked, and that the question was taken back."""

    def __init__(self) -> None:
        self.asked = asyncio.Event()
        self.taken_back = asyncio.Event()

    async def ask(self, _: Confirmation) -> Answer:
        self.asked.set()
        try:
            return await asyncio.get_running_loop().create_future()
        finally:
            self.taken_back.set()


@ERAS
async def test_a_call_that_is_stopped_takes_its_question_back(opened: Open, era: str) -> None:
    patient = Patient()
    async with opened(era, patient) as session:
        call = asyncio.create_task(session.call("mcp__asking__paint", id="painting"))
        async with asyncio.timeout(60):
            await patient.asked.wait()
            session.cancel("painting")
            result = await call
            await patient.taken_back.wait()
        assert result.error is not None
        assert result.error.code == "cancelled"


# --- sampling


@ERAS
async def test_a_text_is_generated_after_the_person_has_seen_the_request(opened: Open, era: str) -> None:
    script = ScriptedConfirmer(ONCE)
    async with opened(era, script) as session:
        before = len(session.history)
        session.model = poet = Poet(cut=True)
        result = await session.call("mcp__asking__rhyme")
        assert result.llm_content == "poet-1 (maxTokens): roses are red"
        assert [call.request.name for call in session.history[before:]] == [
            "sampling__asking",
            "mcp__asking__rhyme",
        ]
    (asked,) = script.asked
    assert (asked.tool, asked.offers, asked.details.title) == (
        "sampling__asking",
        ("sampling__asking",),
        "Let asking use test:poet?",
    )
    assert asked.details.type == "info"
    shown = asked.details.prompt
    for words in (
        "requests a text of up to 50 tokens from test:poet",
        "Preferred models: claude. Preferred properties (0 to 1): fast (0.5). It requests the context of this server, which is not sent.",
        "Instructions: You are a poet.",
        "user: A poem on this, please [image/png]",
    ):
        assert words in shown
    (wanted,) = poet.wanted
    assert (wanted.instructions, wanted.max_tokens) == ("You are a poet.", 50)
    assert [list(part) for part in wanted.turns[0].content if isinstance(part, dict)] == [
        ["text"],
        ["inline_data"],
    ]


async def test_the_model_reads_the_request_as_the_person_changed_it(opened: Open) -> None:
    changed = ToolConfirmationPayload(
        arguments={"turns": [{"role": "user", "content": "only this"}], "longest": 5}
    )
    script = ScriptedConfirmer(Answer(ToolConfirmationOutcome.MODIFY_WITH_EDITOR, changed), ONCE)
    async with opened("legacy", script) as session:
        session.model = poet = Poet()
        assert (await session.call("mcp__asking__rhyme")).ok
        assert (poet.wanted[0].turns[0].content, poet.wanted[0].max_tokens) == ("only this", 5)


@ERAS
@pytest.mark.parametrize(
    ("model", "confirmer", "reply"),
    [
        (None, None, "asking requests a text from a model, but no model is set. Set one: agent.model"),
        (Poet(), None, "there is nobody to ask"),
        (Poet(), ScriptedConfirmer(CANCEL, CANCEL), "denied"),
        (Poet(fails=True), ScriptedConfirmer(ONCE, ONCE), "The model is not there"),
    ],
)
async def test_no_text_without_a_model_and_a_yes(
    opened: Open, era: str, model: Any, confirmer: Any, reply: str
) -> None:
    async with opened(era, confirmer) as session:
        session.model = model
        result = await session.call("mcp__asking__rhyme")
        assert result.error is not None
        assert reply in result.error.message


async def test_trust_in_a_server_does_not_allow_it_to_use_the_model(opened: Open) -> None:
    script = ScriptedConfirmer(Answer(ToolConfirmationOutcome.PROCEED_ALWAYS), ONCE)
    async with opened("legacy", script) as session:
        session.model = Poet()
        await session.call("mcp__asking__rhyme")
        await session.call("mcp__asking__rhyme")
        assert (len(script.asked), session.grants) == (1, ("sampling__asking",))


# --- roots


@ERAS
async def test_roots_are_the_workspace(opened: Open, era: str) -> None:
    async with opened(era, None) as session:
        assert (
            await session.call("mcp__asking__roots")
        ).llm_content == session.workspace.root.resolve().as_uri()
