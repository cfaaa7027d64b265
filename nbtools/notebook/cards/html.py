"""Renders a card as script-free HTML, for every frontend without our renderer."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, TypeAlias

from nbtools.notebook.cards.markup import file_link, render
from nbtools.notebook.cards.model import Block, Card, CodeBlock, DiffBlock, ListingBlock, MatchesBlock, TextBlock, TodoBlock
from nbtools.notebook.cards.phrases import counted
from nbtools.notebook.cards.style import ACCENTS, GREY, RED

View: TypeAlias = Literal["split", "unified"]

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
    """Returns the whole card.  A click on the foot unfolds its body, wherever ``<details>`` is kept."""
    return _render("cards/card", card, view=view)


def head_html(card: Card) -> str:
    """Returns the head: the tool, its subject and the status."""
    return _render("cards/head", card)


def body_html(card: Card, *, view: View = "split") -> str:
    """Returns the blocks."""
    return _render("cards/body", card, view=view)


def block_html(card: Card, block: Block, view: View) -> str:
    return _render(f"cards/blocks/{block.type}", card, block=block, view=view)


def _render(template: str, card: Card, **values: object) -> str:
    colour = RED if card.failed else ACCENTS.get(card.state, GREY)
    return render(template, card=card, colour=colour, icon=ICONS.get(card.icon, "⚒"), file=_only_file(card), **values)


def _only_file(card: Card) -> str:
    """Returns a link to the file that the call is about; empty where there are several, or the body links its files itself."""
    if len(card.places) != 1 or any(block.type in ("matches", "listing", "command") for block in card.blocks):
        return ""
    return file_link(card.places[0].path, card, card.places[0].line)


OPEN_LINES = {"diff": 40, "code": 12, "listing": 24, "matches": 60, "text": 30, "todo": 30}
"""Number of lines up to which a block is shown unfolded, by its type."""
_LINE = 100
"""Characters that count as one line in a text with long lines."""
_NOUNS = {"code": ("line",), "listing": ("entry", "entries"), "matches": ("line",), "todo": ("item",)}


def unfolding(blocks: Sequence[Block], *, had_approval: bool) -> str:
    """Returns the link that unfolds the body; empty where it is shown.  Long bodies and approved diffs are folded."""
    for block in blocks:
        lines = _length(block)
        if isinstance(block, DiffBlock) and (had_approval or lines > OPEN_LINES["diff"]):
            return "show diff"
        if lines > OPEN_LINES.get(block.type, lines):
            return f"show {counted(lines, *_NOUNS[block.type])}" if block.type in _NOUNS else "show text"
    return ""


def _length(block: Block) -> int:
    match block:
        case DiffBlock():
            return sum(len(hunk.rows) for hunk in block.hunks if not hunk.folded)
        case TextBlock():
            return sum(1 + len(line) // _LINE for line in block.text.split("\n"))
        case MatchesBlock():
            return sum(len(group.lines) for group in block.groups)
        case CodeBlock(lines=parts) | ListingBlock(entries=parts) | TodoBlock(items=parts):
            return len(parts)
        case _:
            return 0
