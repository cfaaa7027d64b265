"""The line of ``%agent`` and ``%%agent``: what is set, and the word that says what to do."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from nbtools.core.errors import ErrorCode, ToolFailure
from nbtools.notebook.command_line import parse
from nbtools.notebook.flags import grammar_from

if TYPE_CHECKING:
    from nbtools.notebook.agent.handle import NotebookAgent

FLAGS = {
    "model": "whose model: openai:gpt-5, anthropic:claude-sonnet-4-5, openai-chat:NAME with OPENAI_BASE_URL, test",
    "steps": "requests to the model after which a run stops",
    "instructions": "what it is told beside the tools",
}
VERBS = {"new": "forgets the conversation", "trace": "shows what it did", "stop": "ends the run under way"}
_MODELS = ("openai:", "openai-chat:", "anthropic:", "google:", "ollama:", "test")
_GRAMMAR = grammar_from(
    "%agent",
    {
        "properties": {
            "words": {"type": "array", "items": {"type": "string"}},
            "model": {"type": "string"},
            "steps": {"type": "integer"},
            "instructions": {"type": "string"},
        }
    },
)


@dataclass(frozen=True, slots=True)
class Asked:
    """``verb`` is empty where only something is set or shown."""

    settings: dict[str, Any]
    verb: str = ""

    def set_on(self, agent: NotebookAgent) -> None:
        """What is set stays set."""
        if "instructions" in self.settings:
            agent.instructions = self.settings["instructions"]
        if "steps" in self.settings:
            agent.limits = replace(agent.limits, steps=self.settings["steps"])
        if "model" in self.settings:
            agent.model = self.settings["model"]


def asked(line: str, *, in_cell: bool) -> Asked:
    """Raises ``ToolFailure`` in one line that says how it is meant."""
    given = parse(_GRAMMAR, line)
    words = given.pop("words", [])
    if in_cell and words:
        raise _refused(f"what it is to do stands below the line, not on it ({' '.join(words)}).")
    if not in_cell and (len(words) > 1 or (words and words[0] not in VERBS)):
        raise _refused(f"a task stands in a cell of its own, below %%agent; %agent knows {', '.join(VERBS)}.")
    if given.get("steps", 1) < 1:
        raise _refused("--steps is at least 1.")
    return Asked(given, words[0] if words else "")


def _refused(message: str) -> ToolFailure:
    return ToolFailure(ErrorCode.INVALID_TOOL_PARAMS, f"%agent: {message}")


def offered(given: list[str], fragment: str) -> Iterator[tuple[str, str]]:
    """What may continue ``fragment`` behind the words ``given``, and of what kind it is."""
    if given and given[-1] == "--model":
        yield from ((model, "enum") for model in _MODELS)
    elif fragment.startswith("-"):
        yield from ((f"--{name}", "param") for name in FLAGS if f"--{name}" not in given)
    elif not given:
        yield from ((verb, "keyword") for verb in VERBS)
