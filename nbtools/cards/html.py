"""Renders a card as script-free HTML, for every frontend without our renderer."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, TypeAlias

from nbtools.cards.card_model import Block, Card, DiffBlock
from nbtools.cards.markup import file_link, render
from nbtools.cards.style import ACCENTS, GREY, RED

View: TypeAlias = Literal["split", "unified"]


def card_html(card: Card, *, view: View = "split") -> str:
    """Returns the card with the first lines of its blocks.
    A click on the foot unfolds its body, wherever ``<details>`` is kept.
    """
    return _render("card", card, view=view, brief=True)


def head_html(card: Card) -> str:
    """Returns the head: the tool, its subject and the status."""
    return _render("head", card)


def body_html(card: Card, *, view: View = "split") -> str:
    """Returns the blocks, with all their lines."""
    return _render("body", card, view=view, brief=False)


def block_html(card: Card, block: Block, view: View) -> str:
    return _render(f"blocks/{block.type}", card, block=block, view=view)


def _render(template: str, card: Card, **values: object) -> str:
    colour = RED if card.failed else ACCENTS.get(card.state, GREY)
    return render(template, card=card, colour=colour, file=_only_file(card), **values)


def _only_file(card: Card) -> str:
    """Returns a link to the file that the call is about;
    empty where there are several, or the body links its files itself.
    """
    if len(card.places) != 1 or any(block.type in ("matches", "listing", "command") for block in card.blocks):
        return ""
    return file_link(card.places[0].path, card, card.places[0].line)


OPEN_ROWS = 40
"""Rows of a diff up to which it is shown unfolded."""


def unfolding(blocks: Sequence[Block], *, had_approval: bool) -> str:
    """Returns the link that unfolds the body; empty where it is shown.
    Approved and long diffs are folded.
    """
    is_folded = any(
        isinstance(block, DiffBlock)
        and (had_approval or sum(len(hunk.rows) for hunk in block.hunks if not hunk.folded) > OPEN_ROWS)
        for block in blocks
    )
    return "show diff" if is_folded else ""
