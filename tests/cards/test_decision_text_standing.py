"""A card says whether what its call changed still stands, and how to turn that."""

from __future__ import annotations

import contextvars
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from nbtools import Policy, Session
from nbtools.cards.card_model import Card
from nbtools.cards.html import card_html
from nbtools.cards.text import card_text
from nbtools.notebook.display_target import AnswerMethod, Bundle, DisplayTarget
from nbtools.notebook.live_cards import LiveCards


class Screen:
    """Keeps the last card of each display."""

    updates = True

    def __init__(self) -> None:
        self.shown: dict[str, Card] = {}

    def draw(self, card: Card) -> Bundle:
        return {"text/plain": "", "card": card}

    def show(self, bundle: Bundle, display_id: str, update: bool) -> None:
        self.shown[display_id] = bundle["card"]


class DrawnSession:
    """A session whose calls are drawn on a screen, each in the place of its id."""

    def __init__(self, session: Session) -> None:
        self.session = session
        self.screen = Screen()
        self.cards = LiveCards(lambda: self.target("elsewhere"), lambda: ".")
        self.cards.can_be_undone = lambda call: bool(session.workspace.journal.entries(call=call))
        session.observe(self.cards)

    def target(self, name: str) -> DisplayTarget:
        return DisplayTarget(self.screen, name, True, AnswerMethod.NOBODY, contextvars.copy_context())

    async def call(self, name: str, call_id: str, **arguments: Any) -> Card:
        self.cards.open(call_id, self.target(call_id))
        await self.session.call(name, arguments, id=call_id)
        return self.screen.shown[call_id]

    async def press(self, card: Card) -> str:
        """Does what a click on the card's link does; returns the id of the new call."""
        (deed,) = card.deeds
        target, call_id = self.cards.target_of(deed.id), self.session.new_id()
        assert target is not None
        self.cards.open(call_id, replace(target, display_id=call_id, silent=True, early=False))
        await self.session.undo(deed.id, merge=deed.verb == "merge", id=call_id)
        return call_id


@pytest.fixture
async def drawn(tmp_path: Path):
    (tmp_path / "a.txt").write_text("one\ntwo\nthree\nfour\nfive\n")
    async with Session(tmp_path, policy=Policy(allow=["edit", "shell"])) as session:
        yield DrawnSession(session)


def read(drawn: DrawnSession) -> str:
    return (Path(drawn.session.workspace.root) / "a.txt").read_text()


async def test_a_change_is_undone_and_redone_as_often_as_one_likes(drawn: DrawnSession) -> None:
    card = await drawn.call("edit", "x", path="a.txt", old="two", new="2")
    before = read(drawn)
    for _ in range(3):
        assert [deed.label for deed in card.deeds] == ["undo"]
        silent = await drawn.press(card)
        card = drawn.screen.shown["x"]
        assert (card.status, card.state, [deed.label for deed in card.deeds]) == (
            "Undone",
            "cancelled",
            ["redo"],
        )
        assert silent not in drawn.screen.shown
        assert "two" in read(drawn)
        await drawn.press(card)
        card = drawn.screen.shown["x"]
        assert card.status == "Done"
        assert read(drawn) == before


async def test_without_the_extension_the_card_shows_the_magic(drawn: DrawnSession) -> None:
    card = await drawn.call("edit", "x", path="a.txt", old="two", new="2")
    assert "%tools undo x" in card_html(card)
    assert "%tools undo x" in card_text(card)


async def test_a_merge_is_offered_where_both_changes_fit(drawn: DrawnSession) -> None:
    card = await drawn.call("edit", "x", path="a.txt", old="two", new="2")
    (Path(drawn.session.workspace.root) / "a.txt").write_text(read(drawn).replace("five", "5"))
    refused = drawn.screen.shown[await drawn.press(card)]
    assert refused.status == "Changed in the meantime"
    assert "diff" in [block.type for block in refused.blocks]
    assert [deed.verb for deed in refused.deeds] == ["merge"]
    await drawn.press(refused)
    assert read(drawn) == "one\ntwo\nthree\nfour\n5\n"
    assert drawn.screen.shown["x"].status == "Undone"


async def test_one_of_both_is_offered_where_they_do_not(drawn: DrawnSession) -> None:
    card = await drawn.call("edit", "x", path="a.txt", old="two", new="2")
    (Path(drawn.session.workspace.root) / "a.txt").write_text(read(drawn).replace("2", "deux"))
    refused = drawn.screen.shown[await drawn.press(card)]
    assert refused.status == "Changed in the meantime"
    assert [deed.verb for deed in refused.deeds] == ["keep", "take_back"]


async def test_a_call_without_changes_offers_no_undo(drawn: DrawnSession) -> None:
    assert (await drawn.call("read", "r", path="a.txt")).deeds == ()
    assert (await drawn.call("edit", "e", path="a.txt", old="nowhere", new="x")).deeds == ()
