"""Shortens long blocks to their first lines, with a sentence on the rest."""

from __future__ import annotations

from collections.abc import Sequence
from functools import singledispatch
from typing import TypeVar

from nbtools.cards.card_model import (
    Block,
    CodeBlock,
    DiffBlock,
    Hunk,
    ListingBlock,
    ListingEntry,
    MatchesBlock,
    OutputBlock,
    PagesBlock,
    TextBlock,
    TodoBlock,
)
from nbtools.core.message import counted

PREVIEW_LINES = 16
"""Lines of a block that are shown at first."""
SLACK = 4
"""A block with up to this many more lines is shown whole."""
FIRST_PAGES = 2
"""Pictures of a document's pages that are shown at first."""
DIFF_LINES = 40
"""Rows of a diff that a page without our renderer shows."""
_LINE = 100
"""Characters that count as one line in a text with long lines."""

T = TypeVar("T")


@singledispatch
def preview(block: Block) -> Block:
    """Returns the block with the lines that are shown at first;
    ``more`` says what is shown, loaded and existing.
    """
    return block


@singledispatch
def whole(block: Block) -> Block:
    """Returns the block with all its lines; ``more`` says how many exist, if those are not all."""
    return block


def first(lines: Sequence[T]) -> Sequence[T]:
    """Returns the lines of a block that are shown at first."""
    return lines if len(lines) <= PREVIEW_LINES + SLACK else lines[:PREVIEW_LINES]


@preview.register
def _(block: CodeBlock) -> Block:
    return _code(
        block, len(block.lines) if block.title else len(first(block.lines))
    )  # who approves code sees all of it


@whole.register
def _(block: CodeBlock) -> Block:
    return _code(block, len(block.lines))


def _code(block: CodeBlock, count: int) -> CodeBlock:
    last, total = block.start - 1 + count, max(block.total, block.start - 1 + len(block.lines))
    is_part = count < len(block.lines) or (block.total > 0 and count < total)
    extent = f"Lines {block.start:,}–{last:,} of {total:,}" if is_part and count else ""
    return block.model_copy(
        update={"lines": block.lines[:count], "more": ". ".join(filter(None, (extent, block.more)))}
    )


@preview.register
def _(block: ListingBlock) -> Block:
    shown = first(block.entries)
    more = extent(len(shown), len(block.entries), "entries", block.more)
    return block.model_copy(update={"entries": shown, "more": more})


@preview.register
def _(block: MatchesBlock) -> Block:
    total = sum(len(group.lines) for group in block.groups)
    limit = left = len(first(range(total)))
    groups = []
    for group in block.groups:
        if left > 0:
            groups.append(group.model_copy(update={"lines": group.lines[:left]}))
            left -= len(group.lines)
    return block.model_copy(
        update={"groups": tuple(groups), "more": extent(limit, total, "lines", block.more)}
    )


def extent(count: int, loaded: int, noun: str, more: str) -> str:
    """Returns one sentence on what is shown and loaded,
    and what the tool says of the rest (``1–100 of 560 matching lines``).
    """
    if count == loaded:
        return more
    if more[:1].isdigit():
        return f"{count} shown of {more}"
    return ". ".join(filter(None, (f"{count:,} of {loaded:,} {noun}", more)))


@preview.register
def _(block: OutputBlock) -> Block:
    """Keeps the last lines, which say how a command ended."""
    shown = len(first(block.lines))
    return block.model_copy(
        update={
            "lines": block.lines[len(block.lines) - shown :],
            "earlier": block.earlier + len(block.lines) - shown,
        }
    )


@preview.register
def _(block: TextBlock) -> Block:
    lines = block.text.split("\n")
    shown = text_lines(lines)
    if (
        block.markdown or block.title or shown == len(lines)
    ):  # a cut would open lists and code; what is folded takes no room
        return block
    return block.model_copy(
        update={"text": "\n".join([*lines[:shown], f"⋯ {counted(len(lines) - shown, 'more line')}"])}
    )


def text_lines(lines: Sequence[str]) -> int:
    """Returns how many lines of a text are shown at first; long ones count as several."""
    height = [1 + len(line) // _LINE for line in lines]
    if sum(height) <= PREVIEW_LINES + SLACK:
        return len(lines)
    count = used = 0
    while count < len(lines) and used + height[count] <= PREVIEW_LINES:
        used += height[count]
        count += 1
    return max(1, count)


@preview.register
def _(block: PagesBlock) -> Block:
    shown = block.pages[:FIRST_PAGES]
    return block.model_copy(
        update={"pages": shown, "more": extent(len(shown), len(block.pages), "pages", "")}
    )


@preview.register
def _(block: TodoBlock) -> Block:
    shown = first(block.items)
    return block.model_copy(
        update={"items": shown, "more": extent(len(shown), len(block.items), "items", "")}
    )


@preview.register
def _(block: DiffBlock) -> Block:
    """Keeps the first rows; unchanged lines between the hunks are only counted."""
    left, omitted, hunks = DIFF_LINES, 0, list[Hunk]()
    for hunk in block.hunks:
        rows = () if hunk.folded else hunk.rows[: max(0, left)]
        hidden = hunk.hidden + len(hunk.rows) - len(rows)
        if left <= 0:
            omitted += hidden
        else:
            hunks.append(hunk.model_copy(update={"rows": rows, "hidden": hidden}))
        left -= 0 if hunk.folded else len(hunk.rows)
    rest = (Hunk(rows=(), hidden=omitted),) if omitted else ()
    return block.model_copy(update={"hunks": (*hunks, *rest)})


def entry_name(entry: ListingEntry) -> str:
    """Returns what a listing shows of an entry: its path; in a tree only the last part."""
    path = entry.path.rstrip("/")
    return f"{path.rpartition('/')[2] if entry.branch else path}{'/' if entry.folder else ''}"
