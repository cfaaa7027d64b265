"""Converts the display of a tool result into the blocks of a card."""

from __future__ import annotations

import base64
from collections.abc import Iterable, Sequence
from functools import singledispatch
from itertools import groupby
from typing import Literal, get_args

from nbtools.cards.card_model import (
    AudioBlock,
    Block,
    CodeBlock,
    ImageBlock,
    ListingBlock,
    ListingEntry,
    MatchesBlock,
    MatchGroup,
    MatchLine,
    OutputBlock,
    Page,
    PagesBlock,
    Picture,
    Sound,
    Span,
    TextBlock,
    TodoBlock,
    TodoEntry,
)
from nbtools.cards.diff_rows import diff_block
from nbtools.cards.hidden_characters import one_line, seen
from nbtools.cards.highlighting import coloured, line_spans
from nbtools.cards.phrases import size
from nbtools.core import terminal_text
from nbtools.core.message import counted
from nbtools.core.result import (
    CellPlace,
    CommandOutput,
    FileDiff,
    FileDiffs,
    FileText,
    Listing,
    Markdown,
    Match,
    Matches,
    Media,
    Several,
    TodoList,
    ToolResultDisplay,
)

Tone = Literal["plain", "quiet", "warning", "error"]

TAIL_LINES = 200
TAIL_CHARACTERS = 32_000
"""The end of a terminal's output that a card shows."""
MAX_LINES = 400
"""Lines of a file, matches and entries that a card shows."""
MAX_TEXT = 40_000
"""Characters of plain text that a card shows."""
MAX_IMAGE = 1_500_000
"""Bytes of an image or a sound that a card shows;
every display of the card sends them again, and the notebook stores them.
"""
MAX_MEDIA = 6_000_000
"""Bytes of all images and sounds of one result that a card shows."""
MAX_SHOWN = 40
"""Parts of one result that a card shows."""
MAX_DIFFS = 20
"""Files of one change whose diffs a card shows."""


def blocks_of(display: ToolResultDisplay, path: str = "", *, markdown: bool = False) -> tuple[Block, ...]:
    """Returns the blocks that show ``display``.
    ``path`` is the file of the call; with ``markdown``, text is rendered as Markdown.
    """
    if isinstance(display, str):
        return (text_block(display, markdown=markdown),) if display.strip() else ()
    if isinstance(display, FileDiff):
        name = changed_file(path, display.file_name)
        return (diff_block(name, display.original_content, display.new_content, language=display.language),)
    return _blocks(display)


def changed_file(path: str, name: str) -> str:
    """Returns the path of the file that a diff changes:
    ``path``, or ``name`` where ``path`` is empty or the file's folder.
    """
    return name if path in {"", "."} or name.startswith(f"{path}/") else path


def text_block(
    text: str, *, tone: Tone = "plain", markdown: bool = False, title: str = "", most: int = MAX_TEXT
) -> TextBlock:
    """Returns a block of ``text`` with hidden characters made visible, cut after ``most`` characters."""
    body = seen(text[:most], keep="\t\n").strip("\n")
    missing = len(text) - most
    more = f"\n⋯ {counted(missing, 'more character')}" if missing > 0 else ""
    return TextBlock(text=body + more, tone=tone, markdown=markdown, title=title)


@singledispatch
def _blocks(display: object) -> tuple[Block, ...]:
    raise TypeError(f"a card cannot show {type(display).__name__}")


@_blocks.register
def _(display: FileDiffs) -> tuple[Block, ...]:
    return diff_blocks(display.files)


def diffs_of(display: object) -> tuple[FileDiff, ...]:
    """Returns the diffs that a result displays."""
    if isinstance(display, FileDiffs):
        return display.files
    return (display,) if isinstance(display, FileDiff) else ()


def diff_blocks(files: Sequence[FileDiff]) -> tuple[Block, ...]:
    """Returns the diffs of several files that were changed together, each with its path as title."""
    diffs = (
        diff_block(one.file_name, one.original_content, one.new_content, titled=True)
        for one in files[:MAX_DIFFS]
    )
    missing = len(files) - MAX_DIFFS
    rest = (text_block(f"⋯ {counted(missing, 'more file')} changed", tone="quiet"),) if missing > 0 else ()
    return (*diffs, *rest)


@_blocks.register
def _(display: Media) -> tuple[Block, ...]:
    note = _media_note(display)
    picture, sound = _PICTURES.get(display.mime_type), _SOUNDS.get(display.mime_type)
    if display.text or display.pages:
        return (_caption(display), *_pages(display), *((text_block(display.text),) if display.text else ()))
    if len(display.data) > MAX_IMAGE or not (picture or sound):
        return (_caption(display),)
    data = base64.b64encode(display.data).decode("ascii")
    if sound:
        return (AudioBlock(mime_type=sound, data=data, note=seen(note)),)
    return (
        (ImageBlock(path=seen(display.path), mime_type=picture, data=data, note=seen(note)),)
        if picture
        else ()
    )


def _pages(display: Media) -> tuple[Block, ...]:
    pages = tuple(
        Page(number=page.number, data=base64.b64encode(page.data).decode("ascii")) for page in display.pages
    )
    return (PagesBlock(path=seen(display.path), pages=pages),) if pages else ()


def _caption(display: Media) -> Block:
    return text_block(_media_note(display), tone="quiet")


def _media_note(display: Media) -> str:
    return f"{display.note or display.mime_type} · {size(len(display.data))}"


_PICTURES: dict[str, Picture] = {kind: kind for kind in get_args(Picture)}
_SOUNDS: dict[str, Sound] = {
    **{kind: kind for kind in get_args(Sound)},
    **dict.fromkeys(("audio/x-wav", "audio/wave", "audio/vnd.wave"), "audio/wav"),
    **dict.fromkeys(("audio/mp3", "audio/x-mpeg"), "audio/mpeg"),
}


@_blocks.register
def _(display: Markdown) -> tuple[Block, ...]:
    return blocks_of(display.text, markdown=True)


@_blocks.register
def _(display: Several) -> tuple[Block, ...]:
    """Shows the parts that fit into one card; the result has all of them."""
    bytes_left, blocks = MAX_MEDIA, list[Block]()
    for one in display.shown[:MAX_SHOWN]:
        bytes_left -= len(one.data) if isinstance(one, Media) else 0
        blocks += blocks_of(one) if bytes_left >= 0 or not isinstance(one, Media) else (_caption(one),)
    missing = len(display.shown) - MAX_SHOWN
    rest = (
        (text_block(f"⋯ {counted(missing, 'more part')} in the result", tone="quiet"),) if missing > 0 else ()
    )
    return (*blocks, *rest)


@_blocks.register
def _(display: TodoList) -> tuple[Block, ...]:
    entries = tuple(TodoEntry(text=one_line(item.text, 300), status=item.status) for item in display.items)
    return (TodoBlock(items=entries),) if entries else ()


@_blocks.register
def _(display: Matches) -> tuple[Block, ...]:
    listed = display.matches[:MAX_LINES]
    by_place = groupby(listed, key=lambda match: (match.path, match.cell))
    groups = tuple(_match_group(path, cell, found) for (path, cell), found in by_place)
    more = _more(len(display.matches) - len(listed), "match", display.more)
    return (MatchesBlock(groups=groups, more=more),) if groups or more else ()


def _match_group(path: str, cell: CellPlace | None, found: Iterable[Match]) -> MatchGroup:
    lines = tuple(map(_match, found))
    if cell is None:
        return MatchGroup(path=seen(path), lines=lines)
    return MatchGroup(
        path=seen(path), part=str(cell), cell="" if cell.id.startswith("#") else seen(cell.id), lines=lines
    )


def _match(match: Match) -> MatchLine:
    spans = line_spans([(match.text.rstrip("\r\n"), "")], match.ranges, "hit")
    return MatchLine(number=match.line, spans=spans, context=match.context)


@_blocks.register
def _(display: Listing) -> tuple[Block, ...]:
    listed = display.entries[:MAX_LINES]
    entries = tuple(
        ListingEntry(
            path=seen(entry.path),
            branch=entry.branch,
            folder=entry.folder,
            size=entry.size,
            note=seen(entry.note),
        )
        for entry in listed
    )
    more = _more(len(display.entries) - len(listed), "entry", display.more)
    return (ListingBlock(entries=entries, more=more),) if entries or more else ()


@_blocks.register
def _(display: FileText) -> tuple[Block, ...]:
    listed = display.lines[:MAX_LINES]
    lines = tuple(line_spans(spans) for spans in coloured(display.path, list(listed)))
    block = CodeBlock(
        path=seen(display.path),
        start=display.start,
        lines=lines,
        total=display.total,
        more=seen(display.more),
    )
    return (block,) if lines or display.more else ()


def _more(hidden: int, noun: str, tool_note: str) -> str:
    plural = {"match": "matches", "entry": "entries"}.get(noun, "")
    own_note = f"{counted(hidden, noun, plural)} more in the result" if hidden > 0 else ""
    return ". ".join(part for part in (own_note, seen(tool_note)) if part)


@_blocks.register
def _(display: CommandOutput) -> tuple[Block, ...]:
    lines = _tail(display.text)
    earlier = max(0, display.lines - len(lines))
    output = OutputBlock(lines=lines, earlier=earlier, full_output=seen(display.full_output))
    note = (text_block(display.note, tone="quiet"),) if display.note else ()
    return (*((output,) if lines or earlier else ()), *note)


def _tail(text: str) -> tuple[tuple[Span, ...], ...]:
    """Returns the last lines as a terminal would show them."""
    tail = text[-TAIL_CHARACTERS:]
    if len(tail) < len(text):
        tail = tail[tail.find("\n") + 1 :]
    lines = terminal_text.styled_lines(tail)
    while lines and not lines[-1]:
        lines.pop()
    return tuple(line_spans(line) for line in lines[-TAIL_LINES:])
