"""Renders a card as plain text, for terminals and for the notebook's file."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from nbtools.cards.card_model import (
    AudioBlock,
    Block,
    Card,
    CodeBlock,
    CommandBlock,
    CommandPart,
    DiffBlock,
    ImageBlock,
    ListingBlock,
    ListingEntry,
    MatchesBlock,
    OutputBlock,
    PagesBlock,
    QuestionBlock,
    Span,
    TextBlock,
    TodoBlock,
    TodoEntry,
)
from nbtools.cards.diff_rows import UnifiedLine, file_action, number_width, unified_lines
from nbtools.cards.first_lines import entry_name, preview, whole
from nbtools.cards.highlighting import cut, text_of
from nbtools.cards.phrases import TODO_MARKS, size
from nbtools.core.message import counted

_SGR = {
    "bold": "1",
    "dim": "2",
    "italic": "3",
    "underline": "4",
    "strike": "9",
    "k": "35",
    "s": "32",
    "c": "2",
    "n": "36",
    "d": "34",
    "b": "36",
    "hit": "1;33",
    "mark": "7",
    "hidden": "7;31",
    "warn": "33",
    **{f"fg{number}": str(30 + number if number < 8 else 82 + number) for number in range(16)},
    **{f"bg{number}": str(40 + number if number < 8 else 92 + number) for number in range(16)},
}
_TONES = {"quiet": "2", "warning": "33"}
_STATES = {"awaiting_approval": "33", "executing": "34", "success": "32", "error": "31"}


def card_text(card: Card, *, colour: bool = False, width: int = 100, brief: bool = False) -> str:
    """Returns the card in lines of about ``width`` columns; with ``colour`` in the terminal's colours;
    ``brief`` with first lines only.
    """
    renderer = CardTextRenderer(width, colour=colour, shorten=preview if brief else whole)
    return "\n".join([renderer.head(card), *renderer.body(card), *renderer.foot(card)])


class CardTextRenderer:
    """Renders the parts of a card as text of a given width, with or without colours."""

    def __init__(self, width: int, *, colour: bool, shorten: Callable[[Block], Block] = whole) -> None:
        self.shorten = shorten
        self.width = width
        self.colour = colour

    def ink(self, text: str, codes: str) -> str:
        return f"\x1b[{codes}m{text}\x1b[0m" if self.colour and codes and text else text

    def spans(self, spans: Sequence[Span]) -> str:
        if not self.colour:
            return text_of(spans)
        return "".join(
            self.ink(text, ";".join(_SGR[word] for word in words.split() if word in _SGR))
            for text, words in spans
        )

    def fitted(self, spans: Sequence[Span], used: int) -> str:
        """Returns a line of code cut to the width; ``used`` columns are taken already."""
        room = max(20, self.width - used)
        if sum(len(text) for text, _ in spans) <= room:
            return self.spans(spans)
        return self.spans(cut(spans, 0, room - 1)) + "…"

    def head(self, card: Card) -> str:
        changes = " ".join(
            part
            for part in (f"+{card.added:,}" * bool(card.added), f"−{card.removed:,}" * bool(card.removed))
            if part
        )
        status = "  ".join(part for part in (card.status, card.detail) if part)
        room = max(10, self.width - len(card.tool) - len(changes) - len(status) - 6)
        subject = card.subject if len(card.subject) <= room else card.subject[: room - 1] + "…"
        left = " ".join(part for part in (card.tool, subject, changes) if part)
        gap = " " * max(2, self.width - len(left) - len(status) - 2)
        accent = "31" if card.failed else _STATES.get(card.state, "2")
        coloured = left.replace(card.tool, self.ink(card.tool, "1"), 1) if card.tool else left
        return (
            f"{self.ink('▌', accent)}"
            f" {coloured}{gap}{self.ink(card.status, accent)}{self.ink(status[len(card.status) :], '2')}"
        )

    def body(self, card: Card) -> Iterator[str]:
        for block in card.blocks:
            if not (card.folded and isinstance(block, DiffBlock | CommandBlock)):
                yield from self.block(self.shorten(block))

    def foot(self, card: Card) -> Iterator[str]:
        live = card.state in ("awaiting_approval", "executing")
        actions = [f"{action.label}: {action.magic}" for action in card.deeds]
        parts = [part for part in (card.record, card.note, *actions) if part]
        if card.record or actions or (live and parts):
            yield self.ink(f"  {' · '.join(parts)}", "2")

    def block(self, block: Block) -> Iterator[str]:
        match block:
            case DiffBlock():
                yield from self.diff(block)
            case CommandBlock():
                yield from map(self.part, block.parts)
                yield from [self.ink(f"  ▣ {block.sandbox}", "2")] if block.sandbox else []
            case OutputBlock():
                yield from self.gap(
                    block.earlier,
                    "earlier line",
                    f", full output in {block.full_output}" if block.full_output else "",
                )
                yield from (f"  {self.spans(line)}" for line in block.lines)
            case MatchesBlock():
                yield from self.matches(block)
            case ListingBlock():
                yield from map(self.entry, block.entries)
                yield from self.more(block.more)
            case CodeBlock():
                yield from self.code(block)
            case TextBlock():
                yield from self.words(block)
            case ImageBlock() | PagesBlock() | AudioBlock() | TodoBlock() | QuestionBlock():
                yield from self.aside(block)

    def aside(self, block: ImageBlock | PagesBlock | AudioBlock | TodoBlock | QuestionBlock) -> Iterator[str]:
        match block:
            case ImageBlock():
                yield self.ink(f"  {block.path} · {block.note}", "2")
            case PagesBlock():
                pass  # the text of the pages follows
            case AudioBlock():
                yield self.ink(f"  ♪ {block.note}", "2")
            case TodoBlock():
                yield from map(self.todo, block.items)
                yield from self.more(block.more)
            case QuestionBlock():
                yield from self.question(block)

    def words(self, block: TextBlock) -> Iterator[str]:
        lines = block.text.split("\n")
        if block.title:
            yield from self.gap(len(lines), "line", f" of {block.title.lower()}")
        else:
            yield from (self.ink(f"  {line}", _TONES.get(block.tone, "")) for line in lines)

    def question(self, block: QuestionBlock) -> Iterator[str]:
        header = f"{self.ink(block.header, '1')} · " if block.header else ""
        yield from f"  {header}{block.text}".replace("\n", "\n  ").split("\n")
        yield from (
            f"    {number}. {label}{self.ink(f'  {about}', '2') if about else ''}"
            for number, (label, about) in enumerate(block.choices, 1)
        )
        if block.answer:
            yield f"  → {block.answer}"

    def todo(self, item: TodoEntry) -> str:
        codes = {"in_progress": "1", "completed": "2", "cancelled": "2"}.get(item.status, "")
        return f"  {self.ink(f'{TODO_MARKS[item.status]} {item.text}', codes)}"

    def gap(self, count: int, noun: str, rest: str = "") -> Iterator[str]:
        if count or rest:
            yield self.ink(f"  ⋯ {counted(count, noun)}{rest}", "2")

    def more(self, text: str) -> Iterator[str]:
        if text:
            yield self.ink(f"  ⋯ {text}", "2")

    def diff(self, block: DiffBlock) -> Iterator[str]:
        if block.titled:
            yield self.ink(f"  {' · '.join(filter(None, (block.path, file_action(block))))}", "1")
        wide = number_width(block)
        for hunk in block.hunks:
            if hunk.folded:
                yield from self.gap(len(hunk.rows) + hunk.hidden, "unchanged line")
            else:
                yield from (self.line(line, wide) for line in unified_lines(hunk.rows, wide))
                yield from self.gap(hunk.hidden, "more line")

    def line(self, line: UnifiedLine, wide: int) -> str:
        sign = {"removed": "-", "added": "+"}.get(line.side, " ")
        code = self.fitted(line.spans, 2 * wide + 6)
        return (
            f"{self.ink(f'  {line.numbers}', '2')} {self.ink(sign, {'-': '31', '+': '32'}.get(sign, ''))}"
            f" {code}".rstrip()
        )

    def part(self, part: CommandPart) -> str:
        operator = f"{part.operator} " if part.operator else ""
        note = self.ink(f"⚠ {part.note}", "33") if part.warning else self.ink(part.note, "2")
        text = self.spans(part.spans).replace("\n", "\n  ")
        return f"  {operator}{text}" + (f"   {note}" if part.note or part.warning else "")

    def matches(self, block: MatchesBlock) -> Iterator[str]:
        wide = len(str(max((line.number for group in block.groups for line in group.lines), default=0)))
        for group in block.groups:
            yield self.ink(f"  {group.path} {group.part}".rstrip(), "1")
            for line in group.lines:
                number = self.ink(f"{line.number:>{wide + 2}}", "2")
                yield f"  {number}  {self.fitted(line.spans, wide + 6)}".rstrip()
        yield from self.more(block.more)

    def entry(self, entry: ListingEntry) -> str:
        name = entry_name(entry)
        note = f" {self.ink(entry.note, '2')}" if entry.note else ""
        shown = f"{self.ink(name, '34') if entry.folder else name}{note}"
        if entry.branch:
            return f"  {self.ink(entry.branch, '2')}{shown}"
        amount = "" if entry.size is None else size(entry.size)
        return f"  {self.ink(f'{amount:>9}', '2')}  {shown}"

    def code(self, block: CodeBlock) -> Iterator[str]:
        if block.title:
            yield self.ink(f"  {block.title}", "1")
        wide = len(str(block.start + len(block.lines)))
        for number, spans in enumerate(block.lines, block.start):
            yield f"  {self.ink(f'{number:>{wide}}', '2')}  {self.fitted(spans, wide + 4)}".rstrip()
        yield from self.more(block.more)
