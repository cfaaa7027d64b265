"""What ``%agent`` shows: the model, what it is told, what it has used, the conversation in short."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from nbtools.notebook.agent.figures import price
from nbtools.notebook.phrases import counted
from nbtools.notebook.sheets import Sheet
from nbtools.notebook.visible import one_line

if TYPE_CHECKING:
    from nbtools.notebook.agent.handle import NotebookAgent

_LAST = 6
_WHO = {"user-prompt": "You", "text": "Agent"}


def overview(agent: NotebookAgent) -> Sheet:
    said = list(_said(agent.messages))
    earlier = [("", f"⋯ {counted(len(said) - _LAST, 'earlier message')}")] if len(said) > _LAST else []
    return Sheet(
        title="agent\nA model that works with this notebook's tools.",
        rows=(
            ("model", agent.model_name or 'none yet: agent.model = "openai:gpt-5"'),
            *((("instructions", one_line(agent.instructions, 200)),) if agent.instructions else ()),
            ("stops after", _limits(agent)),
            *((("used", _used(agent)),) if agent.usage.requests else ()),
            *earlier,
            *said[-_LAST:],
        ),
        code=frozenset(),
        lines=("%%agent with a task below it runs · %agent new forgets · %agent trace shows it · %agent --model M --steps N sets",),
    )


def _limits(agent: NotebookAgent) -> str:
    limits = agent.limits
    parts = [counted(limits.steps, "step")]
    parts += [counted(limits.tokens, "token")] if limits.tokens is not None else []
    parts += [price(limits.cost)] if limits.cost is not None else []
    return " or ".join(parts)


def _used(agent: NotebookAgent) -> str:
    usage = agent.usage
    parts = [counted(usage.requests, "step"), counted(usage.calls, "call"), counted(usage.tokens, "token")]
    return " · ".join([*parts, *([price(usage.cost)] if usage.cost is not None else [])])


def _said(messages: Any) -> Iterator[tuple[str, str]]:
    for message in messages:
        for part in message.parts:
            who = _WHO.get(part.part_kind)
            if who is not None:
                text = part.content if isinstance(part.content, str) else "…"
                if text.strip():
                    yield who, one_line(text.strip(), 160)
