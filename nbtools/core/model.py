"""A language model as the tools see one: asked for a text, it writes one.  Whose it is and how it is reached is not known here."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, Protocol, runtime_checkable

from nbtools.core.result import LlmContent


@dataclass(frozen=True, slots=True)
class Turn:
    """What one side said."""

    role: Literal["user", "assistant"]
    content: LlmContent


@dataclass(frozen=True, slots=True)
class Wanted:
    """What a model is asked for.  ``longest`` is in tokens; what is None is left to the model."""

    turns: tuple[Turn, ...]
    instructions: str = ""
    longest: int | None = None
    temperature: float | None = None
    stop: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Written:
    """``model`` is the name by which its provider knows it; ``cut``: it was stopped by ``longest``."""

    text: str
    model: str
    cut: bool = False


HOW_TO_SET = 'Set one: agent.model = "openai:gpt-5" in a notebook, session.model = nbtools.model_named("openai:gpt-5") in code.'
"""For whoever needs a model where none is set."""


@runtime_checkable
class LanguageModel(Protocol):
    """``name`` is what a person calls it (``openai:gpt-5``)."""

    @property
    def name(self) -> str: ...

    async def write(self, wanted: Wanted) -> Written:
        """Raises ``ToolFailure`` in a clear line where the model cannot be reached or refuses."""
