"""Overview of the agent for ``%agent``, and the figures in the head and foot of a run."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from nbtools.agents.usage import Limits, Usage
from nbtools.cards.hidden_characters import one_line
from nbtools.cards.phrases import elapsed
from nbtools.cards.tables import Sheet
from nbtools.core.message import counted


def running_figures(step: int, limits: Limits, usage: Usage, seconds: float) -> tuple[str, ...]:
    """Returns the figures of a run in progress, the most important first."""
    return (f"step {max(step, 1)} of {limits.steps}", whole_seconds(seconds), *_used_text(usage))


def final_figures(usage: Usage, seconds: float) -> tuple[str, ...]:
    """Returns the figures of a finished run."""
    calls = (counted(usage.calls, "call"),) if usage.calls else ()
    return (counted(usage.requests, "step"), *calls, elapsed(seconds), *_used_text(usage))


def whole_seconds(seconds: float) -> str:
    """Returns the time in whole seconds, because it is updated once a second."""
    return elapsed(seconds) if seconds >= 59.5 else f"{int(seconds)} s"


def _used_text(usage: Usage) -> tuple[str, ...]:
    tokens = (counted(usage.tokens, "token"),) if usage.tokens else ()
    return (*tokens, price(usage.cost)) if usage.cost is not None else tokens


def price(dollars: float) -> str:
    """Formats a price: ``$0.0042``, ``$0.31``, ``$12.40``."""
    if not dollars:
        return "$0"
    if dollars < 0.0001:
        return "under $0.0001"
    return f"${dollars:,.2f}" if dollars >= 0.1 else f"${dollars:.2g}"


_RECORDED = "%agent continue goes on with the recorded session · %agent --project FOLDER --pace SECONDS|step"
_MAX_MESSAGES = 6
_SPEAKERS = {"user-prompt": "You", "text": "Agent"}


@dataclass(frozen=True, slots=True)
class RecordedSettings:
    """Settings of a recorded session; ``root`` is the copy in which its calls run, once there is one."""

    project: str | Path | None
    pace: float | str
    root: Path | None


@dataclass(frozen=True, slots=True)
class AgentSettings:
    """The settings and the usage of an agent; ``recorded`` only for a recorded session."""

    model: str
    instructions: str
    limits: Limits
    usage: Usage
    recorded: RecordedSettings | None


def overview(agent: AgentSettings, conversation: Sequence[Any]) -> Sheet:
    """Returns the model, the settings, the usage and the latest messages."""
    messages = list(_messages(conversation))
    hidden = len(messages) - _MAX_MESSAGES
    return Sheet(
        title="agent\nA model that works with this notebook's tools.",
        rows=(
            ("model", agent.model or 'not set: agent.model = "openai:gpt-5"'),
            *((("instructions", one_line(agent.instructions, 200)),) if agent.instructions else ()),
            *(_recorded(agent.recorded) if agent.recorded else ()),
            ("stops after", _limits(agent.limits)),
            *((("used", _used(agent.usage)),) if agent.usage.requests else ()),
            *((("", f"⋯ {counted(hidden, 'earlier message')}"),) if hidden > 0 else ()),
            *messages[-_MAX_MESSAGES:],
        ),
        code=frozenset(),
        lines=(
            *((_RECORDED,) if agent.recorded else ()),
            (
                "%%agent + task runs · %agent new starts over · %agent trace opens the log · %agent --model M"
                " --steps N changes settings"
            ),
        ),
    )


def _recorded(recorded: RecordedSettings) -> Iterator[tuple[str, str]]:
    yield "project", one_line(str(recorded.project or "the recorded folder"), 200)
    step = "one call at a time; Continue below a run makes the next"
    yield "pace", step if recorded.pace == "step" else f"{float(recorded.pace):g} s before each step"
    if recorded.root is not None:
        yield "runs in", str(recorded.root)


def _limits(limits: Limits) -> str:
    parts = [counted(limits.steps, "step")]
    parts += [counted(limits.tokens, "token")] if limits.tokens is not None else []
    parts += [price(limits.cost)] if limits.cost is not None else []
    return " or ".join(parts)


def _used(usage: Usage) -> str:
    parts = [counted(usage.requests, "step"), counted(usage.calls, "call"), counted(usage.tokens, "token")]
    return " · ".join([*parts, *([price(usage.cost)] if usage.cost is not None else [])])


def _messages(messages: Sequence[Any]) -> Iterator[tuple[str, str]]:
    for message in messages:
        for part in message.parts:
            speaker = _SPEAKERS.get(part.part_kind)
            if speaker is not None:
                text = part.content if isinstance(part.content, str) else "…"
                if text.strip():
                    yield speaker, one_line(text.strip(), 160)
