"""Interface of a language model that generates text, independent of its provider."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, Protocol, runtime_checkable

from nbtools.core.result import LlmContent


@dataclass(frozen=True, slots=True)
class Turn:
    """One message of a conversation."""

    role: Literal["user", "assistant"]
    content: LlmContent


@dataclass(frozen=True, slots=True)
class TextRequest:
    """A request for generated text.  ``max_tokens`` limits the text; None leaves a value to the model."""

    turns: tuple[Turn, ...]
    instructions: str = ""
    max_tokens: int | None = None
    temperature: float | None = None
    stop: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class GeneratedText:
    """Generated text.  ``model`` is the provider's name of the model;
    ``is_truncated``: it was ended by ``max_tokens``.
    """

    text: str
    model: str
    is_truncated: bool = False


HOW_TO_SET = (
    'Set one: agent.model = "openai:gpt-5" in a notebook, session.model = nbtools.model_named("openai:gpt-5")'
    " in code."
)
"""How to set a model, for messages where one is needed and none is set."""


@runtime_checkable
class LanguageModel(Protocol):
    """A language model.  ``name`` is the one that people use (``openai:gpt-5``)."""

    @property
    def name(self) -> str: ...

    async def write(self, wanted: TextRequest) -> GeneratedText:
        """Generates text.  Raises ``ToolFailure`` where the model cannot be reached or refuses."""
