"""The representations of a run's parts: for the JupyterLab extension, as script-free HTML, and as text."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from nbtools.notebook.agent.model import AGENT_MIME, RunAction, RunFoot, RunHead, RunMessage, RunView
from nbtools.notebook.cards.markup import render
from nbtools.notebook.cards.style import ACCENTS, GREY

Part = RunHead | RunMessage | RunFoot
_MARKS = {"success": "✓", "error": "✕", "cancelled": "■"}
_ACTIONS: Mapping[RunAction, tuple[str, str]] = {"continue": ("Continue", "%%agent"), "open-trace": ("Open trace", "%agent trace")}
"""Label of an action, and what a person types for it."""


def bundle(part: Part) -> dict[str, object]:
    return {AGENT_MIME: RunView(part=part).model_dump(mode="json"), "text/html": html_of(part), "text/plain": text_of(part)}


def html_of(part: Part) -> str:
    match part:
        case RunMessage():
            return render("agent/message", part=part)
        case RunHead():
            return render("agent/head", part=part, colour=ACCENTS.get(part.state, GREY))
        case RunFoot():
            colour, mark = ACCENTS.get(part.state, GREY), _MARKS.get(part.state, "·")
            return render("agent/foot", part=part, colour=colour, mark=mark, actions=_actions(part))


def text_of(part: Part) -> str:
    match part:
        case RunHead():
            line = " · ".join(filter(None, [part.status, *part.figures]))
            return f"▌ agent {part.model}" + (f"  {line}" if line else "")
        case RunMessage(block=block, thought=thought):
            return f"({thought})" if thought else block.text
        case RunFoot():
            line = " · ".join(filter(None, [part.status, *part.figures]))
            actions = [f"  {label}: {cell}" for label, cell in _actions(part)]
            return "\n".join([f"▌ {_MARKS.get(part.state, '·')} {line}", *([f"  {part.problem}"] if part.problem else []), *actions])


def _actions(part: RunFoot) -> Iterator[tuple[str, str]]:
    return (_ACTIONS[action] for action in part.actions)
