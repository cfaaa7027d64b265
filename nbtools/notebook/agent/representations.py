"""The representations of a run's parts: for the JupyterLab extension, as script-free HTML, and as text."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from html import escape

from nbtools.notebook.agent.model import AGENT_MIME, RunAction, RunFoot, RunHead, RunMessage, RunView
from nbtools.notebook.cards.markup import NO_MATH, element, markdown_html, styled_element
from nbtools.notebook.cards.style import ACCENTS, GREY, STYLES, tint

Part = RunHead | RunMessage | RunFoot
_MARKS = {"success": "✓", "error": "✕", "cancelled": "■"}
_ACTIONS: Mapping[RunAction, tuple[str, str]] = {"continue": ("Continue", "%%agent"), "open-trace": ("Open trace", "%agent trace")}
"""Label of an action, and what a person types for it."""


def bundle(part: Part) -> dict[str, object]:
    return {AGENT_MIME: RunView(part=part).model_dump(mode="json"), "text/html": html_of(part), "text/plain": text_of(part)}


def html_of(part: Part) -> str:
    match part:
        case RunHead():
            return _framed(part.state, _head(part))
        case RunMessage():
            return f'<div class="nbt-said {NO_MATH}" style="{STYLES["said"]}" dir="auto">{_message(part)}</div>'
        case RunFoot():
            return _framed(part.state, _foot(part))


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


def _framed(state: str, inner: str) -> str:
    style = f"{STYLES['card']};border-left-color:{ACCENTS.get(state, GREY)}"
    return f'<div class="nbt-card {NO_MATH}" style="{style}" dir="ltr">{inner}</div>'


def _head(part: RunHead) -> str:
    colour = tint(ACCENTS.get(part.state, GREY))
    parts = [
        f'<span style="{colour}" aria-hidden="true">✦</span>',
        element("b", "tool", "agent"),
        element("span", "subject", f"<bdi>{escape(part.model)}</bdi>", f' title="{escape(part.model)}"'),
        element("span", "space", "·"),
        styled_element("span", "status", colour, escape(part.status)) if part.status else "",
        element("span", "quiet", escape(" · ".join(part.figures))) if part.figures else "",
    ]
    return element("div", "head", " ".join(filter(None, parts)))


def _message(part: RunMessage) -> str:
    inner = element("div", "text", markdown_html(part.block.text))
    if not part.thought:
        return inner
    return f"<details>{element('summary', 'fold', element('span', 'dim', escape(part.thought)))}{inner}</details>"


def _foot(part: RunFoot) -> str:
    colour = tint(ACCENTS.get(part.state, GREY))
    problem = element("pre", "pre", escape(part.problem)) if part.problem else ""
    status = f'<span style="{colour}">{_MARKS.get(part.state, "·")} {escape(part.status)}</span>'
    figures = element("span", "record", escape(" · ".join(part.figures))) if part.figures else ""
    actions = " ".join(f"<span>{element('span', 'record', label)} <code>{cell}</code></span>" for label, cell in _actions(part))
    line = " ".join(filter(None, [status, figures, element("span", "space", "·"), actions]))
    return problem + styled_element("div", "foot", "border-top:0" if not problem else "", line)
