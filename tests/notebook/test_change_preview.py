"""The card of a previewed replacement has an action that makes the change,
in a call that follows the policy.
"""

from __future__ import annotations

import contextvars
from pathlib import Path

import pytest

from nbtools import Policy, Session
from nbtools.cards.card import card_of
from nbtools.cards.text import card_text
from nbtools.core.errors import ErrorCode
from nbtools.notebook.change_preview import PREVIEWED_TOOL, applicable
from nbtools.notebook.display_target import AnswerMethod, DisplayTarget
from nbtools.notebook.live_cards import LiveCards
from nbtools.notebook.magics.command_line import parse
from nbtools.notebook.magics.flags import grammar_of
from tests.cards.test_decision_text_standing import Screen


class DrawnSession:
    """A session whose cards are drawn on a screen."""

    def __init__(self, session: Session) -> None:
        self.session = session
        self.screen = Screen()
        self.cards = LiveCards(lambda: self.target("elsewhere"), lambda: ".")
        session.observe(self.cards)

    def target(self, name: str) -> DisplayTarget:
        return DisplayTarget(self.screen, name, True, AnswerMethod.NOBODY, contextvars.copy_context())

    async def preview(self, call_id: str, **arguments):
        self.cards.open(call_id, self.target(call_id))
        await self.session.call(PREVIEWED_TOOL, arguments, id=call_id)
        return self.screen.shown[call_id]

    async def apply(self, preview: str):
        call_id = self.session.new_id()
        arguments = self.cards.apply(preview, call_id)
        return None if arguments is None else await self.session.call(PREVIEWED_TOOL, arguments, id=call_id)


@pytest.fixture(params=[{"allow": ["edit", PREVIEWED_TOOL]}, {}])
def policy(request):
    return Policy(**request.param)


@pytest.fixture
async def drawn(tmp_path: Path, policy: Policy):
    (tmp_path / "a.txt").write_text("one two\n")
    (tmp_path / "b.txt").write_text("two\n")
    async with Session(tmp_path, policy=policy) as session:
        await session.call("read", {"path": "a.txt"})
        await session.call("read", {"path": "b.txt"})
        yield DrawnSession(session)


def verbs(card) -> list[str]:
    return [action.verb for action in card.deeds]


async def test_the_action_makes_the_change_as_the_policy_decides(
    drawn: DrawnSession, tmp_path: Path, policy: Policy
) -> None:
    card = await drawn.preview("p", pattern="two", replacement="2 “x”")
    assert verbs(card) == ["apply"]
    assert "--apply" in card_text(card)
    result = await drawn.apply("p")
    if policy.allow:
        assert (tmp_path / "a.txt").read_text() == "one 2 “x”\n"
        assert verbs(drawn.screen.shown["p"]) == []
        assert await drawn.apply("p") is None
    else:
        assert result.error.code is ErrorCode.CONFIRMATION_REQUIRED
        assert (tmp_path / "a.txt").read_text() == "one two\n"
        assert verbs(drawn.screen.shown["p"]) == ["apply"]


@pytest.mark.parametrize(
    "arguments",
    [{"pattern": "nowhere", "replacement": "x"}, {"pattern": "two", "replacement": "x", "limit": 1}],
)
async def test_a_preview_that_cannot_be_applied_offers_no_action(drawn: DrawnSession, arguments) -> None:
    assert verbs(await drawn.preview("p", **arguments)) == []
    assert await drawn.apply("p") is None


async def test_another_call_is_not_applied(drawn: DrawnSession) -> None:
    drawn.cards.open("r", drawn.target("r"))
    await drawn.session.call("read", {"path": "a.txt"}, id="r")
    assert await drawn.apply("r") is None
    assert await drawn.apply("unknown") is None


@pytest.mark.parametrize("pattern", ["two", 'a "b"', r"\bx\b|two", "-v|two", "$HOME|two", "[{]x}|two"])
async def test_the_line_makes_the_same_call(drawn: DrawnSession, pattern: str) -> None:
    card = await drawn.preview("p", pattern=pattern, replacement="")
    for action in card.deeds:
        tool = drawn.session.tools["replace_in_files"]
        line = action.magic.removeprefix(f"%tool {PREVIEWED_TOOL} ")
        assert parse(grammar_of(tool), line) == {"pattern": pattern, "replacement": "", "apply": True}
    assert bool(card.deeds) == (pattern != 'a "b"')


async def test_a_running_call_has_no_action(drawn: DrawnSession) -> None:
    events = []
    drawn.session.observe(type("Notes", (), {"notice": lambda self, event: events.append(event)})())
    await drawn.preview("p", pattern="two", replacement="2")
    assert [bool(applicable(event, card_of(event, root=".")).deeds) for event in events[-1:]] == [True]
