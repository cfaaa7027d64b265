"""The representations of a run's parts: for the JupyterLab extension, as script-free HTML, and as text."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from nbtools.cards.card import bundle as card_bundle
from nbtools.cards.hidden_characters import seen
from nbtools.cards.style import ACCENTS, GREY
from nbtools.cards.tables import Sheet
from nbtools.notebook.agent.run_messages import (
    AGENT_MIME,
    RunAction,
    RunFile,
    RunFoot,
    RunHead,
    RunMessage,
    RunView,
)
from nbtools.notebook.html import render

Part = RunHead | RunMessage | RunFoot
_MAX_LINES = 12
_MAX_LINE = 400
_MARKS = {"success": "✓", "error": "✕", "cancelled": "■"}
_ACTIONS: Mapping[RunAction, tuple[str, str]] = {
    "continue": ("Continue", "%%agent"),
    "play-on": ("Continue", "%agent continue"),
    "open-trace": ("Open trace", "%agent trace"),
}
"""Label of an action, and what a person types for it."""


def bundle(part: Part) -> dict[str, object]:
    return {
        AGENT_MIME: RunView(part=part).model_dump(mode="json"),
        "text/html": html_of(part),
        "text/plain": text_of(part),
    }


def remark_bundle(text: str, about: object) -> dict[str, Any]:
    """Returns a remark: the card of a call that was run again, if it is about one,
    or the beginning of its text.
    """
    if about is not None:
        from nbtools.replay.replayed import Replayed, replayed_card  # noqa: PLC0415 - only for recorded models

        if isinstance(about, Replayed):
            return card_bundle(replayed_card(about))
    lines = seen(text, keep="\t\n").splitlines()
    more = [f"⋯ {len(lines) - _MAX_LINES} more lines"] if len(lines) > _MAX_LINES else []
    return Sheet(lines=(*(line[:_MAX_LINE] for line in lines[:_MAX_LINES]), *more)).bundle()


def html_of(part: Part) -> str:
    match part:
        case RunMessage():
            return render("agent/message", part=part)
        case RunHead():
            return render("agent/head", part=part, colour=ACCENTS.get(part.state, GREY))
        case RunFoot():
            colour, mark = ACCENTS.get(part.state, GREY), _MARKS.get(part.state, "·")
            return render(
                "agent/foot",
                part=part,
                colour=colour,
                mark=mark,
                actions=_actions(part),
                files=[_file_line(file) for file in part.files],
            )


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
            changed = (
                [f"  Changed: {', '.join(_file_line(file) for file in part.files)}"] if part.files else []
            )
            problem = [f"  {part.problem}"] if part.problem else []
            return "\n".join([f"▌ {_MARKS.get(part.state, '·')} {line}", *problem, *changed, *actions])


def _file_line(file: RunFile) -> str:
    return (
        file.path
        if file.added is None or file.removed is None
        else f"{file.path} +{file.added} −{file.removed}"
    )


def _actions(part: RunFoot) -> Iterator[tuple[str, str]]:
    if part.undo is not None:
        yield "Undo all", part.undo.magic
    yield from (_ACTIONS[action] for action in part.actions)
