"""The three representations that every display of a card carries."""

from __future__ import annotations

from nbtools.notebook.html import card_html
from nbtools.notebook.text import card_text
from nbtools.notebook.wire import MIME, Card


def bundle(card: Card) -> dict[str, object]:
    """A MIME bundle: the card itself for our renderer, HTML for other frontends and saved notebooks, text for the rest.

    The diff in it is unified: that reads on a page that keeps no styles, and in a narrow column.
    """
    return {MIME: card.model_dump(mode="json"), "text/html": card_html(card, view="unified"), "text/plain": card_text(card)}
