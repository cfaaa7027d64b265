"""The yes for a call of a server's tool: once, for the tool, for the server; what the server claims;
rules outrank all of it.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from pathlib import Path
from typing import TypeAlias

import pytest

from nbtools import Policy, Session, policy_layers
from nbtools.cards.card_model import TextBlock
from nbtools.cards.question_blocks import question_blocks
from nbtools.core.confirmation import (
    Answer,
    Confirmer,
    ToolConfirmationOutcome,
    ToolConfirmationPayload,
    ToolMcpConfirmationDetails,
)
from nbtools.core.decision import Action
from nbtools.mcp.config.entries import parse_server
from nbtools.policy.rules import Rule
from nbtools.testing import ONCE, ScriptedConfirmer
from tests.mcp.watching import program

ALWAYS_TOOL = Answer(ToolConfirmationOutcome.PROCEED_ALWAYS_TOOL)
ALWAYS_SERVER = Answer(ToolConfirmationOutcome.PROCEED_ALWAYS_SERVER)
Open: TypeAlias = Callable[..., AbstractAsyncContextManager[Session]]


@pytest.fixture
def opened(tmp_path: Path) -> Open:
    @asynccontextmanager
    async def opened(
        confirmer: Confirmer | None = None, policy: Policy | None = None, *, trust: bool = False
    ) -> AsyncIterator[Session]:
        async with Session(
            tmp_path, policy=policy, confirmer=confirmer, layers=policy_layers(tmp_path)
        ) as session:
            session.mcp.add([parse_server("my.docs", program("content_server.py", trust=trust), {})])
            await session.mcp.connect()
            yield session

    return opened


async def test_once_is_once_and_always_is_the_tool_or_the_server(opened: Open) -> None:
    script = ScriptedConfirmer(ONCE, ALWAYS_TOOL, ALWAYS_SERVER)
    async with opened(script) as session:
        for tool in ("look", "look", "look", "wipe", "wipe", "add"):
            assert (await session.call(f"mcp__my_docs__{tool}")).ok
        assert [asked.tool for asked in script.asked] == [
            "mcp__my_docs__look",
            "mcp__my_docs__look",
            "mcp__my_docs__wipe",
        ]
        assert session.grants == ("mcp__my_docs__look", "mcp__my_docs__*")
        session.policy = Policy(ask=["mcp__my_docs__wipe"], deny=["mcp__my_docs__add"])
        assert session.decide("mcp__my_docs__look").action is Action.ALLOW
        assert session.decide("mcp__my_docs__wipe").action is Action.ASK
        assert session.decide("mcp__my_docs__add").action is Action.DENY


async def test_an_approval_of_the_server_is_stored_for_later_sessions(
    opened: Open, tmp_path: Path, tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("NBTOOLS_CONFIG", str(tmp_path_factory.mktemp("config")))
    monkeypatch.setenv("NBTOOLS_STATE", str(tmp_path_factory.mktemp("state")))
    async with opened(
        ScriptedConfirmer(Answer(ToolConfirmationOutcome.PROCEED_ALWAYS_SERVER, save=True))
    ) as session:
        assert (await session.call("mcp__my_docs__add")).ok
    async with Session(tmp_path, layers=policy_layers(tmp_path)) as later:
        assert later.saved_grants == ("mcp__my_docs__*",)
        later.mcp.add([parse_server("my.docs", program("content_server.py"), {})])
        await later.mcp.connect()
        assert (await later.call("mcp__my_docs__wipe")).ok


async def test_the_approval_request_shows_the_claims_of_the_server(opened: Open) -> None:
    script = ScriptedConfirmer(*[ONCE] * 4)
    async with opened(script) as session:
        for tool in ("look", "wipe", "add", "long"):
            await session.call(f"mcp__my_docs__{tool}", {"id": 1})
    details = [asked.details for asked in script.asked]
    claims = [one.claims for one in details if isinstance(one, ToolMcpConfirmationDetails)]
    assert claims == [
        "According to my.docs, it only reads, does not access other systems (not verified).",
        "According to my.docs, it may overwrite or delete, has no further effect when repeated (not verified).",
        "According to my.docs, it only adds, never overwrites or deletes, may access other systems (not verified).",
        "my.docs does not declare what it does (no annotations).",
    ]
    assert details[1].title == "Let my.docs run Wipe it?"
    shown = [block.text for block in question_blocks(details[0], "/w") if isinstance(block, TextBlock)]
    assert shown == ["look on the server my.docs", claims[0], '{\n  "id": 1\n}']


async def test_a_claim_lets_nothing_run_unless_the_server_is_trusted(opened: Open) -> None:
    policy = Policy(allow=[Rule("mcp__my_docs__*", annotations=(("readOnlyHint", True),))])
    careful = Policy(mode="yolo", ask=[Rule("mcp__my_docs__*", annotations=(("destructiveHint", True),))])
    async with opened(policy=policy) as session:
        assert session.decide("mcp__my_docs__look").action is Action.ASK
        session.policy = Policy(mode="plan")
        assert session.decide("mcp__my_docs__look").action is Action.DENY
        session.policy = careful
        decided = {
            tool: session.decide(f"mcp__my_docs__{tool}").action for tool in ("look", "wipe", "add", "long")
        }
        assert decided == {"look": Action.ALLOW, "wipe": Action.ASK, "add": Action.ALLOW, "long": Action.ASK}


async def test_calls_of_a_trusted_server_run_and_rules_still_apply(opened: Open) -> None:
    async with opened(trust=True) as session:
        assert session.decide("mcp__my_docs__wipe").action is Action.ALLOW
        session.policy = Policy(mode="plan")
        assert session.decide("mcp__my_docs__look").action is Action.ALLOW
        assert session.decide("mcp__my_docs__wipe").action is Action.DENY
        session.policy = Policy(ask=["mcp__my_docs"], deny=["mcp__my_docs__wipe"])
        assert session.decide("mcp__my_docs__look").action is Action.ASK
        assert session.decide("mcp__my_docs__wipe").action is Action.DENY
        session.policy = Policy()
        await session.mcp.remove("my.docs")
        session.mcp.add([parse_server("my.docs", program("content_server.py"), {})])
        await session.mcp.connect()
        assert session.decide("mcp__my_docs__wipe").action is Action.ASK


async def test_changed_arguments_are_validated_again(opened: Open) -> None:
    def changed(number: int) -> Answer:
        return Answer(
            ToolConfirmationOutcome.MODIFY_WITH_EDITOR, ToolConfirmationPayload(arguments={"id": number})
        )

    script = ScriptedConfirmer(changed(7), ONCE, changed(0))
    async with opened(script) as session:
        result = await session.call("mcp__my_docs__look", {"id": 1})
        assert str(result.llm_content).startswith(
            "look {'id': 7}\n\n[The person changed the call before it ran; it ran with id=7]"
        )
        wrong = await session.call("mcp__my_docs__look", {"id": 1})
        assert wrong.error is not None
        assert (wrong.error.code, "id: 0 is less than the minimum of 1" in wrong.error.message) == (
            "invalid_tool_params",
            True,
        )


async def test_a_denial_without_a_person_names_the_rule_that_would_allow_it(opened: Open) -> None:
    async with opened() as session:
        result = await session.call("mcp__my_docs__look")
        assert result.error is not None
        assert result.error.code == "confirmation_required"
        assert "%tools allow" in result.error.message
