"""A question to the person, as data, and the answer.

Five kinds of question, told apart by ``type``.  A ``Confirmer`` shows one and returns the answer; widget, terminal prompt and test script
are interchangeable.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Literal, Protocol, TypeAlias

from nbtools.core.decision import Decision
from nbtools.core.result import DiffStat, FileDiff


class ToolConfirmationOutcome(StrEnum):
    """An *always* grants what ``Confirmation.offers`` says and never more: ``PROCEED_ALWAYS_TOOL`` on a command its parts, not the tool."""

    PROCEED_ONCE = "proceed_once"
    PROCEED_ALWAYS = "proceed_always"
    PROCEED_ALWAYS_SERVER = "proceed_always_server"
    PROCEED_ALWAYS_TOOL = "proceed_always_tool"
    MODIFY_WITH_EDITOR = "modify_with_editor"
    CANCEL = "cancel"


@dataclass(frozen=True, slots=True)
class ToolConfirmationPayload:
    """What the person changed or said: the proposed text of an edit, arguments by name, an answer a question, or which of the rules that
    were offered an *always* is to add, where not ``offers``.
    """

    new_content: str | None = None
    arguments: Mapping[str, Any] | None = None
    answers: tuple[str, ...] = ()
    rules: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class ToolEditConfirmationDetails:
    """A change to a file.  ``is_modifying`` says that the person has already changed the proposal once.

    ``others`` are more files of the same change: all are changed or none; such a change can only be taken as it is.  ``note`` is worth
    knowing before the yes; ``language`` is that of a part of a file, as in ``FileDiff``.
    """

    title: str
    file_name: str
    file_path: str
    file_diff: str
    original_content: str | None
    new_content: str
    diff_stat: DiffStat
    is_modifying: bool = False
    others: tuple[FileDiff, ...] = ()
    note: str = ""
    language: str = ""
    type: Literal["edit"] = "edit"


@dataclass(frozen=True, slots=True)
class ToolExecuteConfirmationDetails:
    """A command.  ``root_commands`` are the programs it starts, each once; ``directory`` is where, relative to the workspace.

    ``sandbox`` says in a line what confines it, or why nothing does; empty where no sandbox is wanted.  ``note`` says what is
    worth knowing before the yes: that what it changes cannot be undone.  ``shell`` is the program that reads the command line, by its name.
    """

    title: str
    command: str
    root_command: str
    root_commands: tuple[str, ...]
    directory: str = "."
    sandbox: str = ""
    note: str = ""
    shell: str = ""
    type: Literal["exec"] = "exec"


@dataclass(frozen=True, slots=True)
class ToolMcpConfirmationDetails:
    """A call of a server's tool.  ``rule`` speaks of all tools of the server; ``claims`` is what it says of this one, unchecked."""

    title: str
    server_name: str
    tool_name: str
    tool_display_name: str
    tool_args: Mapping[str, Any]
    rule: str = ""
    claims: str = ""
    type: Literal["mcp"] = "mcp"


@dataclass(frozen=True, slots=True)
class ToolInfoConfirmationDetails:
    title: str
    prompt: str
    urls: tuple[str, ...] = ()
    type: Literal["info"] = "info"


@dataclass(frozen=True, slots=True)
class Choice:
    """One of several answers; ``description`` says what choosing it means."""

    label: str
    description: str = ""


@dataclass(frozen=True, slots=True)
class Question:
    """Something to ask the person: to choose (``several``: any number), to write, or to say yes or no.  ``header`` is two or three words.

    A choice can always be answered in other words.  An answer is the chosen label, several joined by ``", "``, the text, or yes or no.
    ``default`` is an answer that stands there already; one that is ``optional`` may be left out.
    """

    text: str
    header: str = ""
    kind: Literal["choice", "text", "yesno"] = "choice"
    choices: tuple[Choice, ...] = ()
    several: bool = False
    placeholder: str = ""
    default: str = ""
    optional: bool = False


@dataclass(frozen=True, slots=True)
class ToolAskConfirmationDetails:
    """Questions whose answers are what the call is made for: they come back in the payload, one a question, in their order."""

    title: str
    questions: tuple[Question, ...]
    type: Literal["ask"] = "ask"


ToolCallConfirmationDetails: TypeAlias = (
    ToolEditConfirmationDetails
    | ToolExecuteConfirmationDetails
    | ToolMcpConfirmationDetails
    | ToolInfoConfirmationDetails
    | ToolAskConfirmationDetails
)


@dataclass(frozen=True, slots=True)
class Confirmation:
    """One question about one call: what would happen, why it is asked, and the rules that an *always* would add.

    ``narrower`` are others to choose instead: the same for just this folder.  ``covered`` says of each offered rule about commands what it
    covers, and what it does not.
    """

    call_id: str
    tool: str
    details: ToolCallConfirmationDetails
    decision: Decision
    offers: tuple[str, ...] = ()
    narrower: tuple[str, ...] = ()
    covered: tuple[str, ...] = ()

    @property
    def type(self) -> Literal["edit", "exec", "mcp", "info", "ask"]:
        return self.details.type


@dataclass(frozen=True, slots=True)
class Answer:
    """What was decided.  ``by`` says who answered; ``reason`` goes to the model with a denial.

    ``save``: what an *always* adds holds in later sessions, too.
    """

    outcome: ToolConfirmationOutcome
    payload: ToolConfirmationPayload | None = None
    reason: str = ""
    by: str = "you"
    save: bool = False


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


def nobody_to_confirm(spoken: str, decision: Decision) -> str:
    """The message for a call that is asked each time, where nobody can answer."""
    return f"{spoken} needs a yes each time and there is nobody to ask ({decision.reason}). Nothing has happened."


def nobody_to_answer(spoken: str) -> str:
    """The message for a call that is there to ask, where nobody can answer: whoever made it has to go on alone."""
    return f"{spoken} has nobody to ask: no person is there to answer. Go on by your best judgement, and say what you assumed."
