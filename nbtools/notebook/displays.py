"""What a result shows, as blocks."""

from __future__ import annotations

import base64
from collections.abc import Sequence
from functools import singledispatch
from itertools import groupby
from typing import Literal, get_args

from nbtools.core import ansi
from nbtools.core.result import (
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
from nbtools.notebook.phrases import counted, size
from nbtools.notebook.rows import diff_block
from nbtools.notebook.spans import line_spans
from nbtools.notebook.syntax import coloured
from nbtools.notebook.visible import one_line, seen
from nbtools.notebook.wire import (
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
    Picture,
    Sound,
    Span,
    TextBlock,
    TodoBlock,
    TodoEntry,
)

Tone = Literal["plain", "quiet", "warning", "error"]

TAIL_LINES = 200
TAIL_CHARACTERS = 32_000
"""How much of a terminal's output a card shows."""
MAX_LINES = 400
"""Lines of a file, matches and entries that a card shows."""
MAX_TEXT = 40_000
"""Characters of plain text that a card shows."""
MAX_IMAGE = 1_500_000
"""Bytes of a picture or a sound that a card shows: each display of a card sends them again, and the notebook keeps them."""
MAX_MEDIA = 6_000_000
"""Bytes of all pictures and sounds of one answer that a card shows."""
MAX_SHOWN = 40
"""Parts of one answer that a card shows."""
MAX_DIFFS = 20
"""Files of one change whose diffs a card shows."""


def blocks_of(display: ToolResultDisplay, path: str = "", *, markdown: bool = False) -> tuple[Block, ...]:
    """The blocks that show ``display``.  ``path`` is the file that it is about; ``markdown``: a plain text is to be read as markdown."""
    if isinstance(display, str):
        return (text_block(display, markdown=markdown),) if display.strip() else ()
    if isinstance(display, FileDiff):
        name = changed_file(path, display.file_name)
        return (diff_block(name, display.original_content, display.new_content, language=display.language),)
    return _blocks(display)


def changed_file(path: str, name: str) -> str:
    """The file that a diff called ``name`` is of, in a call about ``path``: that itself, unless it is the file's folder."""
    return name if path in {"", "."} or name.startswith(f"{path}/") else path


def text_block(text: str, *, tone: Tone = "plain", markdown: bool = False) -> TextBlock:
    """``text`` with its hidden characters visible, cut where it is too long for a card."""
    body = seen(text[:MAX_TEXT], keep="\t\n").strip("\n")
    missing = len(text) - MAX_TEXT
    return TextBlock(text=body + (f"\n⋯ {counted(missing, 'more character')}" if missing > 0 else ""), tone=tone, markdown=markdown)


@singledispatch
def _blocks(display: object) -> tuple[Block, ...]:
    raise TypeError(f"a card cannot show {type(display).__name__}")


@_blocks.register
def _(display: FileDiffs) -> tuple[Block, ...]:
    return diff_blocks(display.files)


def diff_blocks(files: Sequence[FileDiff]) -> tuple[Block, ...]:
    """The diffs of several files changed together, each under its path."""
    shown = (diff_block(one.file_name, one.original_content, one.new_content, titled=True) for one in files[:MAX_DIFFS])
    missing = len(files) - MAX_DIFFS
    rest = (text_block(f"⋯ {counted(missing, 'more file')} changed", tone="quiet"),) if missing > 0 else ()
    return (*shown, *rest)


@_blocks.register
def _(display: Media) -> tuple[Block, ...]:
    about = _about(display)
    picture, sound = _PICTURES.get(display.mime_type), _SOUNDS.get(display.mime_type)
    if len(display.data) > MAX_IMAGE or not (picture or sound):
        return (_named(display),)
    data = base64.b64encode(display.data).decode("ascii")
    if sound:
        return (AudioBlock(mime_type=sound, data=data, note=seen(about)),)
    return (ImageBlock(path=seen(display.path), mime_type=picture, data=data, note=seen(about)),) if picture else ()


def _named(display: Media) -> Block:
    return text_block(_about(display), tone="quiet")


def _about(display: Media) -> str:
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
    """What fits into one card: the rest is in the result."""
    room, shown = MAX_MEDIA, list[Block]()
    for one in display.shown[:MAX_SHOWN]:
        room -= len(one.data) if isinstance(one, Media) else 0
        shown += blocks_of(one) if room >= 0 or not isinstance(one, Media) else (_named(one),)
    missing = len(display.shown) - MAX_SHOWN
    rest = (text_block(f"⋯ {counted(missing, 'more part')} are in the result", tone="quiet"),) if missing > 0 else ()
    return (*shown, *rest)


@_blocks.register
def _(display: TodoList) -> tuple[Block, ...]:
    entries = tuple(TodoEntry(text=one_line(item.text, 300), status=item.status) for item in display.items)
    return (TodoBlock(items=entries),) if entries else ()


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
