"""Each kind of block as script-free HTML."""

from __future__ import annotations

from html import escape

from nbtools.notebook.command_acts import STARTED
from nbtools.notebook.diff_html import View, diff_html
from nbtools.notebook.markdown import markdown_html
from nbtools.notebook.markup import element, lines_html, numbered, numbered_line, place_link, spans_html, styled_element, with_links
from nbtools.notebook.phrases import TODO_MARKS, counted, size
from nbtools.notebook.style import STYLES
from nbtools.notebook.wire import (
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
    MatchGroup,
    MatchLine,
    OutputBlock,
    Place,
    QuestionBlock,
    TextBlock,
    TodoBlock,
    TodoEntry,
)

OPEN_OUTPUT = 24
"""Last lines of an output that stand open; those before are one click away."""


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
            return _aside(block)
        case MatchesBlock() | ListingBlock() | CodeBlock():
            return _page(card, block) + _more(block.more)


def _page(card: Card, block: MatchesBlock | ListingBlock | CodeBlock) -> str:
    match block:
        case MatchesBlock():
            return "".join(_group(card, group) for group in block.groups)
        case ListingBlock():
            return _pre("code", "\n".join(_entry(card, entry) for entry in block.entries))
        case CodeBlock():
            return _code(block)


def _aside(block: ImageBlock | AudioBlock | TodoBlock | QuestionBlock) -> str:
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
    folded, shown = block.lines[:-OPEN_OUTPUT], block.lines[-OPEN_OUTPUT:]
    everything = f" · {place_link(card, Place(path=block.full_output), 'open all')}" if block.full_output else ""
    earlier = element("span", "dim", f"⋯ {counted(block.earlier, 'earlier line')}") if block.earlier else "⋯"
    gone = styled_element("div", "fold", "cursor:default", earlier + everything) if block.earlier or everything else ""
    if not folded:
        return gone + _pre("pre", lines_html(shown))
    summary = element("summary", "fold", element("span", "dim", f"⋯ {counted(len(folded), 'line')} before"))
    return f"{gone}<details>{summary}{_pre('pre', lines_html(folded))}</details>{_pre('pre', lines_html(shown))}"


def _group(card: Card, group: MatchGroup) -> str:
    first = next((line.number for line in group.lines if not line.context), 1)
    path = element("div", "path", place_link(card, Place(path=group.path, line=first), escape(group.path)))
    width = max((len(str(line.number)) for line in group.lines), default=1)
    return path + _pre("code", "\n".join(_found(line, max(5, width)) for line in group.lines))


def _found(line: MatchLine, width: int) -> str:
    text = spans_html(line.spans)
    return numbered_line(line.number, element("span", "dim", text) if line.context else text, width)


def _entry(card: Card, entry: ListingEntry) -> str:
    name = entry.path.rstrip("/") + "/" if entry.folder else entry.path
    amount = "" if entry.size is None else size(entry.size)
    target = escape(name) if entry.folder else place_link(card, Place(path=entry.path), escape(name))
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
    return element("div", "path", place_link(card, Place(path=block.path), escape(block.path))) if block.titled else ""


def _image(block: ImageBlock) -> str:
    """``data`` is base64 and the type one of four: neither can carry markup."""
    picture = f'<img src="data:{block.mime_type};base64,{block.data}" alt="{escape(block.path)}" style="{STYLES["picture"]}">'
    return element("div", "text", f"{picture}<br>{element('span', 'quiet', escape(block.note))}")


def _audio(block: AudioBlock) -> str:
    """As a picture; it plays where the reader keeps the element, and else says what it is."""
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
    asked = element("div", "asked", (f"<b>{escape(block.header)}</b> · " if block.header else "") + with_links(block.text))
    answer = element("div", "asked", f"→ <b>{escape(block.answer)}</b>") if block.answer else ""
    return element("div", "text", asked + "".join(_choice(*choice) for choice in block.choices) + answer)


def _choice(label: str, description: str) -> str:
    about = f" {element('span', 'quiet', escape(description))}" if description else ""
    return element("div", "choice", f"○ {escape(label)}{about}")
