"""Cards are stored compressed, and those of earlier versions are not."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from nbtools.cards.card_model import Card
from nbtools.cards.packing import MAX_JSON, pack, unpack
from tests.contract.sample_cards import CARDS


@given(st.binary())
def test_packed_data_is_unpacked_unchanged(data: bytes) -> None:
    assert unpack(pack(data)) == data


@pytest.mark.parametrize("card", CARDS, ids=lambda card: card.id)
def test_a_stored_card_is_the_same_card(card: Card) -> None:
    assert Card.model_validate(card.packed()) == card
    assert Card.model_validate(card.model_dump(mode="json")) == card


@pytest.mark.parametrize(
    "packed",
    [
        "%%%",
        "AAAA",
        "",
        pack(b"{}")[:-6],
        pack(b"[{]"),
        pack(b'[{"type":"unknown"}]'),
        pack(b" " * (MAX_JSON + 1)),
    ],
)
def test_other_texts_are_no_card(packed: str) -> None:
    with pytest.raises(ValidationError):
        Card.model_validate({**CARDS[0].model_dump(mode="json", exclude={"blocks"}), "packed": packed})
