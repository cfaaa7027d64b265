"""A question to the person, as data, and the answer.

Four kinds of question, told apart by ``type``.  A ``Confirmer`` shows one and returns the answer; widget, terminal prompt and test script
are interchangeable.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Literal, Protocol, TypeAlias

from nbtools.core.decision import Decision
from nbtools.core.result import DiffStat


class ToolConfirmationOutcome(StrEnum):
    PROCEED_ONCE = "proceed_once"
    PROCEED_ALWAYS = "proceed_always"
    PROCEED_ALWAYS_SERVER = "proceed_always_server"
    PROCEED_ALWAYS_TOOL = "proceed_always_tool"
    MODIFY_WITH_EDITOR = "modify_with_editor"
    CANCEL = "cancel"


@dataclass(frozen=True, slots=True)
class ToolConfirmationPayload:
    """What the person changed: the proposed text of an edit, or arguments by name."""

    new_content: str | None = None
    arguments: Mapping[str, Any] | None = None


@dataclass(frozen=True, slots=True)
class ToolEditConfirmationDetails:
    """A change to one file.  ``is_modifying`` says that the person has already changed the proposal once."""

    title: str
    file_name: str
    file_path: str
    file_diff: str
    original_content: str | None
    new_content: str
    diff_stat: DiffStat
    is_modifying: bool = False
    type: Literal["edit"] = "edit"


@dataclass(frozen=True, slots=True)
class ToolExecuteConfirmationDetails:
    """A command.  ``root_commands`` are the programs it starts, each once; ``directory`` is where, relative to the workspace."""

    title: str
    command: str
    root_command: str
    root_commands: tuple[str, ...]
    directory: str = "."
    type: Literal["exec"] = "exec"


@dataclass(frozen=True, slots=True)
class ToolMcpConfirmationDetails:
    title: str
    server_name: str
    tool_name: str
    tool_display_name: str
    tool_args: Mapping[str, Any]
    type: Literal["mcp"] = "mcp"


@dataclass(frozen=True, slots=True)
class ToolInfoConfirmationDetails:
    title: str
    prompt: str
    urls: tuple[str, ...] = ()
    type: Literal["info"] = "info"


ToolCallConfirmationDetails: TypeAlias = (
    ToolEditConfirmationDetails | ToolExecuteConfirmationDetails | ToolMcpConfirmationDetails | ToolInfoConfirmationDetails
)


@dataclass(frozen=True, slots=True)
class Confirmation:
    """One question about one call: what would happen, why it is asked, and the rules that an *always* would add."""

    call_id: str
    tool: str
    details: ToolCallConfirmationDetails
    decision: Decision
    offers: tuple[str, ...] = ()

    @property
    def type(self) -> Literal["edit", "exec", "mcp", "info"]:
        return self.details.type


@dataclass(frozen=True, slots=True)
class Answer:
    """What was decided.  ``by`` says who answered; ``reason`` goes to the model with a denial."""

    outcome: ToolConfirmationOutcome
    payload: ToolConfirmationPayload | None = None
    reason: str = ""
    by: str = "you"


class Confirmer(Protocol):
    """Puts a question to somebody.  Cancelled while it waits, it takes the question back."""

    async def ask(self, confirmation: Confirmation) -> Answer: ...


def how_to_allow(spoken: str, decision: Decision, rules: tuple[str, ...]) -> str:
    """The message for a call that would have to be asked where nobody can answer; ``rules`` would allow it."""
    magic = " ".join(f'"{rule}"' for rule in rules or (spoken,))
    policy = ", ".join(repr(rule) for rule in rules or (spoken,))
    return (
        f"{spoken} needs a yes and there is nobody to ask ({decision.reason}). Nothing has happened. "
        f"Allow it beforehand with %tools allow {magic} or Policy(allow=[{policy}])."
    )
