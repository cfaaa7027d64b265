"""What a result shows, as blocks."""

from __future__ import annotations

from functools import singledispatch
from itertools import groupby
from typing import Literal

from nbtools.core import ansi
from nbtools.core.result import CommandOutput, FileDiff, FileText, Listing, Match, Matches, ToolResultDisplay
from nbtools.notebook.phrases import counted
from nbtools.notebook.rows import diff_block
from nbtools.notebook.spans import line_spans
from nbtools.notebook.syntax import coloured
from nbtools.notebook.visible import seen
from nbtools.notebook.wire import (
    Block,
    CodeBlock,
    ListingBlock,
    ListingEntry,
    MatchesBlock,
    MatchGroup,
    MatchLine,
    OutputBlock,
    Span,
    TextBlock,
)

TAIL_LINES = 200
TAIL_CHARACTERS = 32_000
"""How much of a terminal's output a card shows."""
MAX_LINES = 400
"""Lines of a file, matches and entries that a card shows."""
MAX_TEXT = 40_000
"""Characters of plain text that a card shows."""


def blocks_of(display: ToolResultDisplay, path: str = "", *, markdown: bool = False) -> tuple[Block, ...]:
    """The blocks that show ``display``.  ``path`` is the file that it is about; ``markdown``: a plain text is to be read as markdown."""
    if isinstance(display, str):
        return (text_block(display, markdown=markdown),) if display.strip() else ()
    if isinstance(display, FileDiff):
        return (diff_block(path or display.file_name, display.original_content, display.new_content),)
    return _blocks(display)


def text_block(text: str, *, tone: Literal["plain", "quiet", "error"] = "plain", markdown: bool = False) -> TextBlock:
    """``text`` with its hidden characters visible, cut where it is too long for a card."""
    body = seen(text[:MAX_TEXT], keep="\t\n").strip("\n")
    missing = len(text) - MAX_TEXT
    return TextBlock(text=body + (f"\n⋯ {counted(missing, 'more character')}" if missing > 0 else ""), tone=tone, markdown=markdown)


@singledispatch
def _blocks(display: object) -> tuple[Block, ...]:
    raise TypeError(f"a card cannot show {type(display).__name__}")


@_blocks.register
def _(display: Matches) -> tuple[Block, ...]:
    shown = display.matches[:MAX_LINES]
    by_path = groupby(shown, key=lambda match: match.path)
    groups = tuple(MatchGroup(path=seen(path), lines=tuple(map(_match, found))) for path, found in by_path)
    more = _more(len(display.matches) - len(shown), "match", display.more)
    return (MatchesBlock(groups=groups, more=more),) if groups or more else ()


def _match(match: Match) -> MatchLine:
    spans = line_spans([(match.text.rstrip("\r\n"), "")], match.ranges, "hit")
    return MatchLine(number=match.line, spans=spans, context=match.context)


@_blocks.register
def _(display: Listing) -> tuple[Block, ...]:
    shown = display.entries[:MAX_LINES]
    entries = tuple(ListingEntry(path=seen(entry.path), folder=entry.folder, size=entry.size) for entry in shown)
    more = _more(len(display.entries) - len(shown), "entry", display.more)
    return (ListingBlock(entries=entries, more=more),) if entries or more else ()


@_blocks.register
def _(display: FileText) -> tuple[Block, ...]:
    shown = display.lines[:MAX_LINES]
    lines = tuple(line_spans(spans) for spans in coloured(display.path, list(shown)))
    more = _more(len(display.lines) - len(shown), "line", display.more)
    return (CodeBlock(path=seen(display.path), start=display.start, lines=lines, more=more),) if lines or more else ()


def _more(hidden: int, noun: str, said: str) -> str:
    plural = {"match": "matches", "entry": "entries"}.get(noun, "")
    ours = f"{counted(hidden, noun, plural)} more are in the result" if hidden > 0 else ""
    return ". ".join(part for part in (ours, seen(said)) if part)


@_blocks.register
def _(display: CommandOutput) -> tuple[Block, ...]:
    lines = _tail(display.text)
    earlier = max(0, display.lines - len(lines))
    output = OutputBlock(lines=lines, earlier=earlier, full_output=seen(display.full_output))
    note = (text_block(display.note, tone="quiet"),) if display.note else ()
    return (*((output,) if lines or earlier else ()), *note)


def _tail(text: str) -> tuple[tuple[Span, ...], ...]:
    """The last lines as a terminal would show them."""
    tail = text[-TAIL_CHARACTERS:]
    if len(tail) < len(text):
        tail = tail[tail.find("\n") + 1 :]
    lines = ansi.styled(tail)
    while lines and not lines[-1]:
        lines.pop()
    return tuple(line_spans(line) for line in lines[-TAIL_LINES:])
