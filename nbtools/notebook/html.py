"""A card as script-free HTML, for every reader that does not draw the card's own format."""

from __future__ import annotations

from html import escape

from nbtools.notebook.blocks_html import block_html
from nbtools.notebook.diff_html import View
from nbtools.notebook.markup import NO_MATH, element, place_link, styled_element
from nbtools.notebook.style import ACCENTS, GREY, RED, STYLES, tint
from nbtools.notebook.wire import Card

ICONS = {
    "fileSearch": "≡",
    "folder": "▸",
    "globe": "◎",
    "hammer": "⚒",
    "lightBulb": "✦",
    "pencil": "✎",
    "regex": "⌕",
    "terminal": "❯",
}


def card_html(card: Card, *, view: View = "split") -> str:
    """The whole card in its frame.  A folded body opens by a click on the foot, everywhere that keeps ``<details>``."""
    inner = head_html(card)
    if card.folded and card.blocks:
        inner += f"<details>{foot_html(card, 'summary')}{body_html(card, view=view)}</details>"
    else:
        inner += body_html(card, view=view) + foot_html(card)
    style = f"{STYLES['card']};border-left-color:{accent(card)}"
    return f'<div class="nbt-card {NO_MATH}" style="{style}" dir="ltr">{inner}</div>'


def accent(card: Card) -> str:
    """The colour of the card's state."""
    return RED if card.failed else ACCENTS.get(card.state, GREY)


def head_html(card: Card) -> str:
    """The line that says what, and how it stands."""
    colour = tint(accent(card))
    parts = [
        f'<span style="{colour}">{escape(ICONS.get(card.icon, "⚒"))}</span>',
        element("b", "tool", escape(card.tool)),
        element("span", "subject", _subject(card), f' title="{escape(card.subject)}"') if card.subject else "",
        element("span", "plus", f"+{card.added:,}") if card.added else "",
        element("span", "minus", f"−{card.removed:,}") if card.removed else "",
        element("span", "space", "·"),
        styled_element("span", "status", colour, escape(card.status), f' title="{escape(card.note)}"' if card.note else ""),
        element("span", "quiet", escape(card.detail)) if card.detail else "",
    ]
    return element("div", "head", " ".join(filter(None, parts)))


def _subject(card: Card) -> str:
    """The object; where that is one file, the way to it."""
    text = f"<bdi>{escape(card.subject)}</bdi>"
    return place_link(card, card.places[0], text, "plain") if _is_about_one_file(card) else text


def body_html(card: Card, *, view: View = "split") -> str:
    """The blocks.  A question's widget puts its buttons below."""
    return "".join(element("div", "block", block_html(card, block, view)) for block in card.blocks)


def foot_html(card: Card, name: str = "div") -> str:
    """Who decided, what can be opened; empty where there is nothing to say.  As a ``summary`` it also names what it opens.

    The note of a call that is over takes no line of its own.
    """
    opens = element("span", "link", escape(card.unfold or "show")) if name == "summary" else ""
    links = [link for link in (_file_link(card), opens) if link]
    live = card.state in ("awaiting_approval", "executing", "scheduled")
    undo = "".join(element("code", "record", escape(deed.magic)) for deed in card.deeds)
    if not (card.record or opens or undo or (card.note and live)):
        return ""
    note = element("span", "record", escape(card.note)) if card.note else ""
    record = element("span", "record", escape(card.record)) if card.record else ""
    separated = ' <span class="nbt-dim" style="opacity:.5">·</span> '.join(links)
    right = f"<span>{separated}</span>" if links else ""
    return element(name, "foot", " ".join(filter(None, [record, element("span", "space", ""), note, undo, right])))


def _file_link(card: Card) -> str:
    """The way to the one file that the call is about, unless the body links its files itself."""
    linked = place_link(card, card.places[0], "open file") if _is_about_one_file(card) else ""
    return linked if linked != "open file" else ""


def _is_about_one_file(card: Card) -> bool:
    return len(card.places) == 1 and not any(block.type in ("matches", "listing", "command") for block in card.blocks)
