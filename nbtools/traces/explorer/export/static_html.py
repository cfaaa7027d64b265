"""The explorer as script-free HTML and as plain text, for saved notebooks, exported pages and terminals."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from nbtools.cards.hidden_characters import seen
from nbtools.cards.style import AMBER, BLUE, GREEN, GREY, RED
from nbtools.core.message import counted
from nbtools.traces.explorer.html import render
from nbtools.traces.explorer.recorded_card import Tone
from nbtools.traces.explorer.summary import Fact, Summary
from nbtools.traces.explorer.timeline import Bar, Line

MAX_LINES = 200
"""Lines included in a saved notebook."""
UNFOLDED_LINES = 40
"""Lines shown unfolded; the rest is behind one click, so that the notebook stays readable."""
ICON_CHARACTERS = {
    "fileSearch": "≡",
    "folder": "▸",
    "globe": "◎",
    "hammer": "⚒",
    "lightBulb": "✦",
    "pencil": "✎",
    "regex": "⌕",
    "terminal": "❯",
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
_WHO: dict[Tone, str] = {"person": "You", "agent": "Agent"}
_PATH = 60
"""Characters of an absolute path, or of a subject, that are shown without shortening."""
_ABSOLUTE = re.compile(r"(?:~|[A-Za-z]:)?/\S+")


def trace_html(summary: Summary, lines: Sequence[Line], drawn: Sequence[Bar] = ()) -> str:
    """Returns the head, a strip of the bars ``drawn`` and the first lines, in a frame."""
    return render(
        "trace",
        summary=summary,
        lines=lines,
        bars=drawn,
        unfolded=UNFOLDED_LINES,
        most=MAX_LINES,
        long=_PATH,
        colours=_COLOURS,
        speakers=_WHO,
        shortened=_shortened,
    )


def trace_text(summary: Summary, lines: Sequence[Line]) -> str:
    """Returns the same as plain text."""
    more = (
        [f"  ⋯ {counted(len(lines) - MAX_LINES, 'more step')} in the log"] if len(lines) > MAX_LINES else []
    )
    return "\n".join([*text_lines(summary, lines[:MAX_LINES]), *more])


def text_lines(summary: Summary, lines: Sequence[Line]) -> Iterator[str]:
    """Yields the title, the facts, the doubts about them, and ``lines``, safe for a terminal:
    hidden characters are spelled out.
    """
    width = max((len(line.number) for line in lines), default=1)
    yield seen(summary.title)
    yield seen("  " + " · ".join(_fact_text(fact) for fact in summary.facts))
    yield from (f"  ? {fact.doubt}" for fact in summary.facts if fact.doubt)
    yield from (line_text(line, width) for line in lines)


def line_text(line: Line, width: int) -> str:
    """Returns a line as plain text; ``width`` is that of the column with the step numbers."""
    return seen(_text(line, width))


def _fact_text(fact: Fact) -> str:
    return f"{fact.text} (?)" if fact.doubt else fact.text


def _text(line: Line, width: int) -> str:
    changes = " ".join(_changes(line))
    name = f"{_WHO[line.tone]}:" if line.tone in _WHO else line.name
    words = " ".join(filter(None, [name, line.subject, changes]))
    return f"  {line.number:>{width}}  {ICON_CHARACTERS.get(line.icon, '⚒')} {words}" + (
        f"  [{line.right}]" if line.right else ""
    )


def _changes(line: Line) -> list[str]:
    return [
        text
        for count, text in ((line.added, f"+{line.added:,}"), (line.removed, f"−{line.removed:,}"))
        if count
    ]


def _shortened(subject: str) -> str:
    """Drops the beginning of a long path, because the end distinguishes it.  The tooltip has it all."""
    if len(subject) <= _PATH or not _ABSOLUTE.fullmatch(subject):
        return subject
    return "…/" + subject[-_PATH:].partition("/")[2] if "/" in subject[-_PATH:] else f"…{subject[-_PATH:]}"
