"""Renders a card as script-free HTML, for every frontend without our renderer."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

from nbtools.notebook.cards.command_block import STARTED
from nbtools.notebook.cards.diff_html import View, diff_html
from nbtools.notebook.cards.markup import (
    NO_MATH,
    element,
    lines_html,
    markdown_html,
    numbered,
    numbered_line,
    place_link,
    spans_html,
    styled_element,
    with_links,
)
from nbtools.notebook.cards.model import (
    AudioBlock,
    Block,
    Card,
    CardPlace,
    CodeBlock,
    CommandBlock,
    CommandPart,
    DiffBlock,
    ImageBlock,
    ListingBlock,
    ListingEntry,
    MatchesBlock,
    MatchGroup,
    MatchLine,
    OutputBlock,
    QuestionBlock,
    TextBlock,
    TodoBlock,
    TodoEntry,
)
from nbtools.notebook.cards.phrases import TODO_MARKS, counted, size
from nbtools.notebook.cards.style import ACCENTS, GREY, RED, STYLES, tint

OPEN_OUTPUT = 24
"""Last lines of an output that are visible; earlier ones are folded."""


def block_html(card: Card, block: Block, view: View) -> str:
    match block:
        case DiffBlock():
            return _title(card, block) + diff_html(block, view)
        case CommandBlock():
            return element("div", "parts", "".join(map(_part, block.parts)) + _sandbox(block))
        case OutputBlock():
            return _output(card, block)
        case TextBlock():
            return _text(block)
        case ImageBlock() | AudioBlock() | TodoBlock() | QuestionBlock():
            return _other(block)
        case MatchesBlock() | ListingBlock() | CodeBlock():
            return _paged(card, block) + _more(block.more)


def _paged(card: Card, block: MatchesBlock | ListingBlock | CodeBlock) -> str:
    match block:
        case MatchesBlock():
            return "".join(_group(card, group) for group in block.groups)
        case ListingBlock():
            return _pre("code", "\n".join(_entry(card, entry) for entry in block.entries))
        case CodeBlock():
            return _code(block)


def _other(block: ImageBlock | AudioBlock | TodoBlock | QuestionBlock) -> str:
    match block:
        case ImageBlock():
            return _image(block)
        case AudioBlock():
            return _audio(block)
        case TodoBlock():
            return _pre("pre", "\n".join(map(_todo, block.items)))
        case QuestionBlock():
            return _question(block)


def _pre(style: str, inner: str) -> str:
    return element("pre", style, inner) if inner else ""


def _more(text: str) -> str:
    return styled_element("div", "fold", "cursor:default", element("span", "dim", f"⋯ {with_links(text)}")) if text else ""


def _sandbox(block: CommandBlock) -> str:
    return element("div", "note", f"▣ {escape(block.sandbox)}") if block.sandbox else ""


def _part(part: CommandPart) -> str:
    operator = f"{escape(part.operator)} " if part.operator else ""
    lines = any("\n" in text for text, _ in part.spans)
    command = element("pre" if lines else "code", "command", operator + spans_html(part.spans))
    if not part.note:
        return element("div", "part", command)
    started = "margin-left:18px" if part.operator == STARTED else ""
    note = element("span", "alarm", f"⚠ {escape(part.note)}") if part.warning else element("em", "note", escape(part.note))
    return styled_element("div", "part", started, f"{command} {note}" if operator or part.spans else note)


def _output(card: Card, block: OutputBlock) -> str:
    folded, visible = block.lines[:-OPEN_OUTPUT], block.lines[-OPEN_OUTPUT:]
    everything = f" · {place_link(card, CardPlace(path=block.full_output), 'open all')}" if block.full_output else ""
    earlier = element("span", "dim", f"⋯ {counted(block.earlier, 'earlier line')}") if block.earlier else "⋯"
    omitted = styled_element("div", "fold", "cursor:default", earlier + everything) if block.earlier or everything else ""
    if not folded:
        return omitted + _pre("pre", lines_html(visible))
    summary = element("summary", "fold", element("span", "dim", f"⋯ {counted(len(folded), 'line')} before"))
    return f"{omitted}<details>{summary}{_pre('pre', lines_html(folded))}</details>{_pre('pre', lines_html(visible))}"


def _group(card: Card, group: MatchGroup) -> str:
    first = next((line.number for line in group.lines if not line.context), 1)
    path = element("div", "path", place_link(card, CardPlace(path=group.path, line=first), escape(group.path)))
    width = max((len(str(line.number)) for line in group.lines), default=1)
    return path + _pre("code", "\n".join(_match_line(line, max(5, width)) for line in group.lines))


def _match_line(line: MatchLine, width: int) -> str:
    text = spans_html(line.spans)
    return numbered_line(line.number, element("span", "dim", text) if line.context else text, width)


def _entry(card: Card, entry: ListingEntry) -> str:
    name = entry.path.rstrip("/") + "/" if entry.folder else entry.path
    amount = "" if entry.size is None else size(entry.size)
    target = escape(name) if entry.folder else place_link(card, CardPlace(path=entry.path), escape(name))
    return f"{element('span', 'number', f'{amount:>9}')}  {target}"


def _code(block: CodeBlock) -> str:
    last = block.start + len(block.lines) - 1
    return _pre("code", numbered(enumerate(block.lines, block.start), len(str(last))))


def _text(block: TextBlock) -> str:
    if block.markdown:
        return element("div", "text", markdown_html(block.text))
    text = with_links(block.text)
    match block.tone:
        case "quiet":
            return _pre("pre", element("span", "dim", text))
        case "warning":
            return element("div", "text", element("span", "warning", text))
        case _:
            return _pre("pre", text)


def _title(card: Card, block: DiffBlock) -> str:
    return element("div", "path", place_link(card, CardPlace(path=block.path), escape(block.path))) if block.titled else ""


def _image(block: ImageBlock) -> str:
    """Returns an image element; ``data`` is base64 and the type one of four, so neither can contain markup."""
    picture = f'<img src="data:{block.mime_type};base64,{block.data}" alt="{escape(block.path)}" style="{STYLES["picture"]}">'
    return element("div", "text", f"{picture}<br>{element('span', 'quiet', escape(block.note))}")


def _audio(block: AudioBlock) -> str:
    """Returns an audio element and its note, which remains where the element is removed."""
    player = f'<audio controls preload="metadata" src="data:{block.mime_type};base64,{block.data}"></audio>'
    return element("div", "text", f"{player}<br>{element('span', 'quiet', '♪ ' + escape(block.note))}")


def _todo(item: TodoEntry) -> str:
    mark, text = escape(TODO_MARKS[item.status]), escape(item.text)
    match item.status:
        case "in_progress":
            return f"{mark} <b>{text}</b>"
        case "completed" | "cancelled":
            return element("span", "dim", f"{mark} {text}")
        case _:
            return f"{mark} {text}"


def _question(block: QuestionBlock) -> str:
    text = element("div", "asked", (f"<b>{escape(block.header)}</b> · " if block.header else "") + with_links(block.text))
    answer = element("div", "asked", f"→ <b>{escape(block.answer)}</b>") if block.answer else ""
    return element("div", "text", text + "".join(_choice(*choice) for choice in block.choices) + answer)


def _choice(label: str, description: str) -> str:
    about = f" {element('span', 'quiet', escape(description))}" if description else ""
    return element("div", "choice", f"○ {escape(label)}{about}")


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
    inner = head_html(card)
    if card.folded and card.blocks:
        inner += f"<details>{foot_html(card, 'summary')}{body_html(card, view=view)}</details>"
    else:
        inner += body_html(card, view=view) + foot_html(card)
    style = f"{STYLES['card']};border-left-color:{state_colour(card)}"
    return f'<div class="nbt-card {NO_MATH}" style="{style}" dir="ltr">{inner}</div>'


def state_colour(card: Card) -> str:
    """Returns the colour of the card's state."""
    return RED if card.failed else ACCENTS.get(card.state, GREY)


def head_html(card: Card) -> str:
    """Returns the head: the tool, its subject and the status."""
    colour = tint(state_colour(card))
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
    """Returns the subject, as a link where it is a single file."""
    text = f"<bdi>{escape(card.subject)}</bdi>"
    return place_link(card, card.places[0], text, "plain") if _is_about_one_file(card) else text


def body_html(card: Card, *, view: View = "split") -> str:
    """Returns the blocks."""
    return "".join(element("div", "block", block_html(card, block, view)) for block in card.blocks)


def foot_html(card: Card, name: str = "div") -> str:
    """Returns the foot: record, note, undo commands and links; empty without any of them.

    As a ``summary`` it also names what it unfolds.  A finished call gets no foot for its note alone.
    """
    opens = element("span", "link", escape(card.unfold or "show")) if name == "summary" else ""
    links = [link for link in (_file_link(card), opens) if link]
    live = card.state in ("awaiting_approval", "executing", "scheduled")
    undo = "".join(element("code", "record", escape(action.magic)) for action in card.deeds)
    if not (card.record or opens or undo or (card.note and live)):
        return ""
    note = element("span", "record", escape(card.note)) if card.note else ""
    record = element("span", "record", escape(card.record)) if card.record else ""
    separated = ' <span class="nbt-dim" style="opacity:.5">·</span> '.join(links)
    right = f"<span>{separated}</span>" if links else ""
    return element(name, "foot", " ".join(filter(None, [record, element("span", "space", ""), note, undo, right])))


def _file_link(card: Card) -> str:
    """Returns a link to the only file of the call, unless the body links its files itself."""
    linked = place_link(card, card.places[0], "open file") if _is_about_one_file(card) else ""
    return linked if linked != "open file" else ""


def _is_about_one_file(card: Card) -> bool:
    return len(card.places) == 1 and not any(block.type in ("matches", "listing", "command") for block in card.blocks)


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
