"""The question of a call in a copy says so."""

from __future__ import annotations

import pytest

from nbtools.cards.card import in_place
from nbtools.cards.card_model import Card
from nbtools.core.call import AwaitingApprovalCall


@pytest.mark.parametrize(
    ("subject", "expected"),
    [
        ("in the workspace", "in a temporary copy"),
        ("in the workspace · runs in zsh", "in a temporary copy · runs in zsh"),
        ("in src/", "in src/ · in a temporary copy"),
        ("src/cart.py", "src/cart.py · in a temporary copy"),
        ("", "in a temporary copy"),
    ],
)
def test_a_question_names_the_place(subject: str, expected: str) -> None:
    card = Card(
        id="1", state=AwaitingApprovalCall.state, tool="shell", icon="terminal", subject=subject, status=""
    )
    assert in_place(card, "in a temporary copy").subject == expected
    assert in_place(card, "").subject == subject


def test_a_finished_card_is_unchanged() -> None:
    card = Card(id="1", state="success", tool="shell", icon="terminal", subject="x", status="Done")
    assert in_place(card, "in a temporary copy") == card
