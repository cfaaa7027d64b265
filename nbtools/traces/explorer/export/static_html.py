"""The explorer as script-free HTML and as plain text, for saved notebooks, exported pages and terminals."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from pathlib import Path

from nbtools.cards.hidden_characters import seen
from nbtools.cards.markup import templates
from nbtools.cards.style import AMBER, BLUE, GREEN, GREY, RED
from nbtools.core.message import counted
from nbtools.traces.explorer.explorer_view import Tone, TraceBar
from nbtools.traces.explorer.line_style import StepLine
from nbtools.traces.explorer.summary import Summary

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
    "check": "✓",
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
render = templates(Path(__file__).parents[1] / "templates").render
"""Renders a template of the explorer, the comparison or the shared page: ``render("trace", summary=…)``."""


def trace_html(
    summary: Summary, first: Sequence[StepLine], numbers: Sequence[str], drawn: Sequence[TraceBar] = ()
) -> str:
    """Returns the head, a strip of the bars ``drawn`` and the ``first`` lines, in a frame.
    ``numbers`` are the step numbers of all lines.
    """
    return render(
        "trace",
        summary=summary,
        lines=first[:MAX_LINES],
        numbers=numbers,
        bars=drawn,
        unfolded=UNFOLDED_LINES,
        long=_PATH,
        colours=_COLOURS,
        speakers=_WHO,
        shortened=_shortened,
    )


def trace_text(summary: Summary, first: Sequence[StepLine], total: int) -> str:
    """Returns the same as plain text; ``total`` is the number of all lines."""
    texts = [*text_lines(summary, first[:MAX_LINES])]
    if total > MAX_LINES:
        texts.append(f"  ⋯ {counted(total - MAX_LINES, 'more step')} in the log")
    return "\n".join(texts)


def text_lines(summary: Summary, lines: Sequence[StepLine]) -> Iterator[str]:
    """Yields title, facts, doubts and ``lines`` for a terminal: hidden characters are spelled out."""
    width = max((len(line.number) for line in lines), default=1)
    yield seen(summary.title)
    yield seen("  " + " · ".join(f"{fact.text} (?)" if fact.doubt else fact.text for fact in summary.facts))
    yield from (f"  ? {fact.doubt}" for fact in summary.facts if fact.doubt)
    yield from (line_text(line, width) for line in lines)


def line_text(line: StepLine, width: int) -> str:
    """Returns a line as plain text; ``width`` is that of the column with the step numbers."""
    words = [
        f"{_WHO[line.tone]}:" if line.tone in _WHO else line.name,
        line.subject,
        f"+{line.added:,}" if line.added else "",
        f"−{line.removed:,}" if line.removed else "",
    ]
    right = f"  [{line.right}]" if line.right else ""
    icon = ICON_CHARACTERS.get(line.icon, "⚒")
    return seen(f"  {line.number:>{width}}  {icon} {' '.join(filter(None, words))}{right}")


def _shortened(subject: str) -> str:
    """Drops the beginning of a long path, because the end distinguishes it.  The tooltip has it all."""
    if len(subject) <= _PATH or not _ABSOLUTE.fullmatch(subject):
        return subject
    end = subject[-_PATH:]
    return "…/" + end.partition("/")[2] if "/" in end else f"…{end}"
