"""The explorer as script-free HTML and as plain text, for saved notebooks, exported pages and terminals."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from html import escape

from nbtools.notebook.cards.html import ICONS
from nbtools.notebook.cards.markup import NO_MATH, element, styled_element
from nbtools.notebook.cards.phrases import counted
from nbtools.notebook.cards.style import AMBER, BLUE, GREEN, GREY, RED, RULE, tint
from nbtools.notebook.explorer.recorded_card import Tone
from nbtools.notebook.explorer.summary import Fact, Summary
from nbtools.notebook.explorer.timeline import Bar, Line
from nbtools.notebook.hidden_characters import seen

MAX_LINES = 200
"""Lines included in a saved notebook."""
UNFOLDED_LINES = 40
"""Lines shown unfolded; the rest is behind one click, so that the notebook stays readable."""
ICON_CHARACTERS = {
    **ICONS,
    "person": "☺",
    "assistant": "◆",
    "agent": "◇",
    "thought": "…",
    "fold": "⇊",
    "clip": "+",
    "alarm": "!",
    "session": "■",
}
_COLOURS: dict[Tone, str] = {
    "person": BLUE,
    "agent": BLUE,
    "quiet": GREY,
    "done": GREEN,
    "changed": GREEN,
    "failed": RED,
    "stopped": AMBER,
    "unknown": GREY,
}
_BARS: dict[Tone, str] = {"failed": RED, "stopped": AMBER, "changed": GREEN, "person": BLUE}
_WHO: dict[Tone, str] = {"person": "You", "agent": "Agent"}
_HEIGHT = 36
_PATH = 60
"""Characters of an absolute path, or of a subject, that are shown without shortening."""
_ABSOLUTE = re.compile(r"(?:~|[A-Za-z]:)?/\S+")
_DEEPEST = 8
"""Nesting levels that are indented."""


def trace_html(summary: Summary, lines: Sequence[Line], drawn: Sequence[Bar] = ()) -> str:
    """Returns the head, a strip of the bars ``drawn`` and the first lines, in a frame."""
    inner = (
        _head(summary)
        + _strip(lines, drawn)
        + "".join(map(_line, lines[:UNFOLDED_LINES]))
        + _folded(lines[UNFOLDED_LINES:MAX_LINES])
        + _more(len(lines))
    )
    return f'<div class="nbt-trace {NO_MATH}" style="{_FRAME}" dir="ltr">{inner}</div>'


def trace_text(summary: Summary, lines: Sequence[Line]) -> str:
    """Returns the same as plain text."""
    more = [f"  {_omitted(len(lines))}"] if len(lines) > MAX_LINES else []
    return "\n".join([*text_lines(summary, lines[:MAX_LINES]), *more])


def text_lines(summary: Summary, lines: Sequence[Line]) -> Iterator[str]:
    """Yields the title, the facts, the doubts about them, and ``lines``, safe for a terminal: hidden characters are spelled out."""
    width = max((len(line.number) for line in lines), default=1)
    yield seen(summary.title)
    yield seen("  " + " · ".join(_fact_text(fact) for fact in summary.facts))
    yield from (f"  ? {fact.doubt}" for fact in summary.facts if fact.doubt)
    yield from (seen(_text(line, width)) for line in lines)


def _omitted(count: int) -> str:
    return f"⋯ {counted(count - MAX_LINES, 'more step')} in the log"


def _fact_text(fact: Fact) -> str:
    return f"{fact.text} (?)" if fact.doubt else fact.text


def _text(line: Line, width: int) -> str:
    changes = " ".join(_changes(line))
    name = f"{_WHO[line.tone]}:" if line.tone in _WHO else line.name
    words = " ".join(filter(None, [name, line.subject, changes]))
    return f"  {line.number:>{width}}  {ICON_CHARACTERS.get(line.icon, '⚒')} {words}" + (f"  [{line.right}]" if line.right else "")


def _changes(line: Line) -> list[str]:
    return [text for count, text in ((line.added, f"+{line.added:,}"), (line.removed, f"−{line.removed:,}")) if count]


def _head(summary: Summary) -> str:
    whole = "opacity:1;font-weight:600;font-size:14px;max-width:100%;white-space:nowrap"
    title = styled_element("span", "subject", whole, escape(summary.title), _tip(summary.title))
    facts = ' <span style="opacity:.5">·</span> '.join(map(_fact, summary.facts))
    return styled_element("div", "head", "flex-wrap:wrap;gap:2px 12px;white-space:normal", f"{title} <span>{facts}</span>")


def _fact(fact: Fact) -> str:
    text = escape(fact.text)
    if fact.doubt:
        return f'<span class="nbt-doubt" style="font-size:12px;{tint(AMBER)}"{_tip(fact.doubt)}>{text} (?)</span>'
    return styled_element("span", "status", tint(RED), text) if fact.bad else element("span", "quiet", text)


def _tip(text: str) -> str:
    return f' title="{escape(text)}"'


def _strip(lines: Sequence[Line], bars: Sequence[Bar]) -> str:
    """Renders the bars; hidden from screen readers, because the lines contain everything."""
    drawn = "".join(_bar(bar, lines) for bar in bars)
    style = f"display:flex;align-items:flex-end;height:{_HEIGHT}px;padding:8px 10px;{_RULES}"
    return f'<div class="nbt-strip" aria-hidden="true" style="{style}">{drawn}</div>' if drawn else ""


def _bar(bar: Bar, lines: Sequence[Line]) -> str:
    first, last = lines[bar.first].number, lines[bar.last].number
    where = f"step {first}" if first == last else f"steps {first} to {last}"
    style = f"flex:1;max-width:14px;margin-right:1px;height:{bar.height * 100:.0f}%;background-color:{_BARS.get(bar.tone, _FAINT)}"
    return f'<span style="{style}"{_tip(where)}></span>'


def _line(line: Line) -> str:
    colour = tint(_COLOURS[line.tone])
    is_message = line.tone in _WHO
    name = "" if is_message else element("b", "tool", escape(line.name))
    hint = _tip(line.subject) if len(line.subject) > _PATH else ""
    strong = "opacity:1" if is_message else ""
    parts = [
        f'<span style="{_NUMBER}">{escape(line.number)}</span>',
        f'<span style="{_ICON};{colour}"{_label(line)}>{escape(ICON_CHARACTERS.get(line.icon, "⚒"))}</span>',
        name,
        styled_element("span", "subject", strong, f"<bdi>{escape(_shortened(line.subject))}</bdi>", hint) if line.subject else "",
        *(element("span", "plus" if text[0] == "+" else "minus", text) for text in _changes(line)),
        element("span", "space", "·"),
        _right(line),
    ]
    faint = "opacity:.6;" if line.tone == "quiet" or not line.live else ""
    indent = f"padding-left:{10 + 22 * min(line.depth, _DEEPEST)}px"
    return f'<div class="nbt-line" id="step-{escape(line.number)}" style="{_ROW};{faint}{indent}">{" ".join(filter(None, parts))}</div>'


def _shortened(subject: str) -> str:
    """Drops the beginning of a long path, because the end distinguishes it.  The tooltip has it all."""
    if len(subject) <= _PATH or not _ABSOLUTE.fullmatch(subject):
        return subject
    return "…/" + subject[-_PATH:].partition("/")[2] if "/" in subject[-_PATH:] else f"…{subject[-_PATH:]}"


def _label(line: Line) -> str:
    """Names the speaker for screen readers."""
    return f' role="img" aria-label="{_WHO[line.tone]}"' if line.tone in _WHO else ' aria-hidden="true"'


def _right(line: Line) -> str:
    """Renders the outcome at the end of a line, coloured if it is bad."""
    words = line.right if line.live else " · ".join(filter(None, ["rewound", line.right]))
    if not words:
        return ""
    bad = line.tone in ("failed", "stopped")
    return styled_element("span", "status", tint(_COLOURS[line.tone]), escape(words)) if bad else element("span", "quiet", escape(words))


def _folded(lines: Sequence[Line]) -> str:
    if not lines:
        return ""
    summary = element("summary", "fold", element("span", "dim", f"⋯ show {counted(len(lines), 'more step')}"))
    return f"<details>{summary}{''.join(map(_line, lines))}</details>"


def _more(count: int) -> str:
    return styled_element("div", "fold", "cursor:default", element("span", "dim", _omitted(count))) if count > MAX_LINES else ""


_FAINT = "rgba(128,140,160,.45)"
_FRAME = (
    f"border:1px solid {RULE};border-radius:4px;overflow:hidden;margin:2px 0;font-size:13px;line-height:1.45;text-align:left;"
    "font-family:system-ui,-apple-system,Segoe UI,Helvetica,Arial,sans-serif;"
    "font-family:var(--jp-ui-font-family,system-ui,-apple-system,Segoe UI,Helvetica,Arial,sans-serif)"
)
_ROW = "display:flex;align-items:baseline;gap:8px;padding:3px 10px;white-space:nowrap"
_RULES = f"border-top:1px solid {RULE};border-bottom:1px solid {RULE}"
_NUMBER = "min-width:2.6em;text-align:right;opacity:.6;font-size:12px"
_ICON = "min-width:1.1em;text-align:center"
