"""Approval requests and their answers, as data.

``type`` distinguishes five kinds of request.
A ``Confirmer`` shows one and returns the answer; widget, terminal prompt and test script are interchangeable.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Literal, Protocol, TypeAlias

from nbtools.core.decision import Decision
from nbtools.core.message import Advice, Message, Rule
from nbtools.core.result import DiffStat, FileDiff


class ToolConfirmationOutcome(StrEnum):
    """The choice of the person.  *Always* grants exactly ``Confirmation.offers``;
    for a command these are rules for its programs.
    """

    PROCEED_ONCE = "proceed_once"
    PROCEED_ALWAYS = "proceed_always"
    PROCEED_ALWAYS_SERVER = "proceed_always_server"
    PROCEED_ALWAYS_TOOL = "proceed_always_tool"
    MODIFY_WITH_EDITOR = "modify_with_editor"
    CANCEL = "cancel"


FileChoice: TypeAlias = bool | tuple[bool, ...] | str
"""What of a file's change is applied: all or nothing, the hunks for which it is true (one value for each),
or this text instead.
"""


@dataclass(frozen=True, slots=True)
class ToolConfirmationPayload:
    """The changes or answers that a person entered.

    ``new_content`` is the modified text of an edit, ``arguments`` are changed arguments by name, ``answers``
    has one per question, and ``rules`` are the offered rules that *always* adds instead of
    ``Confirmation.offers``.  ``files`` has one choice for each of the ``parts`` of the request, in their
    order; an answer that takes nothing denies the call.
    """

    new_content: str | None = None
    arguments: Mapping[str, Any] | None = None
    answers: tuple[str, ...] = ()
    rules: tuple[str, ...] = ()
    files: tuple[FileChoice, ...] | None = None


@dataclass(frozen=True, slots=True)
class FileParts:
    """The parts of a file's change that a person can choose:
    the whole, each of its ``hunks``, and where it ``is_text`` another text.

    ``former`` is the name of a file before it is moved.
    Without ``hunks`` the content is taken or left as a whole.
    """

    action: Literal["create", "delete", "edit", "move"]
    former: str = ""
    hunks: int = 0
    is_text: bool = False


def takes_nothing(choice: FileChoice, parts: FileParts) -> bool:
    """Whether a choice leaves out all of a file's change.  A file can be moved without any of its hunks."""
    if isinstance(choice, tuple):
        return parts.action != "move" and not any(choice)
    return choice is False


@dataclass(frozen=True, slots=True)
class ToolEditConfirmationDetails:
    """A change to a file.  ``is_modifying`` says that the person has already modified the proposal.

    ``others`` are further files of the same change: all that are chosen are changed or none.  ``parts`` says
    for each file what can be chosen; empty: the change is approved or denied as a whole, or modified with
    ``new_content``.  ``note`` is a remark for the person who decides; ``language`` is that of a part of a
    file, as in ``FileDiff``.
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
    parts: tuple[FileParts, ...] = ()
    type: Literal["edit"] = "edit"

    @property
    def diffs(self) -> tuple[FileDiff, ...]:
        """The changes of all files, in the order of ``parts``."""
        first = FileDiff(
            self.file_diff,
            self.file_name,
            self.original_content,
            self.new_content,
            self.diff_stat,
            self.language,
        )
        return (first, *self.others)


@dataclass(frozen=True, slots=True)
class ToolExecuteConfirmationDetails:
    """A command.  ``root_commands`` are the programs it starts, each once;
    ``directory`` is relative to the workspace.

    ``sandbox`` says in one line how the command is confined, or why it is not; empty where the sandbox is
    off.  ``note`` is a remark for the person who decides, such as that changes cannot be undone.  ``shell``
    is the name of the program that interprets the command line.
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
    """A call of an MCP server's tool.  ``rule`` covers all tools of the server;
    ``claims`` are the unverified annotations of this one.
    """

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
    """One of several answers; ``description`` explains it."""

    label: str
    description: str = ""


@dataclass(frozen=True, slots=True)
class Question:
    """A question to the person: a choice (``several``: of any number), a text, or yes or no.
    ``header`` has two or three words.

    A choice can also be answered with free text.  The answer is the chosen label, several joined by ``", "``,
    the text, or yes or no.  ``default`` is the prefilled answer; an ``optional`` question may be left
    unanswered.
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
    """Questions that are the call's purpose. The payload has one answer per question, in their order."""

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
    """An approval request for one call: what would happen, why approval is needed,
    and the rules that *always* would add.

    ``narrower`` are alternatives to ``offers`` for only the folders concerned.  ``covered`` describes what
    each offered rule about commands covers and does not cover.  ``can_save`` is False in a temporary copy:
    *always* then holds for its session only.
    """

    call_id: str
    tool: str
    details: ToolCallConfirmationDetails
    decision: Decision
    offers: tuple[str, ...] = ()
    narrower: tuple[str, ...] = ()
    covered: tuple[str, ...] = ()
    can_save: bool = True

    @property
    def type(self) -> Literal["edit", "exec", "mcp", "info", "ask"]:
        return self.details.type


@dataclass(frozen=True, slots=True)
class Answer:
    """The answer to an approval request.
    ``by`` says who answered; ``reason`` is passed to the model with a denial.

    ``save``: the rules that *always* adds also apply to later sessions.
    """

    outcome: ToolConfirmationOutcome
    payload: ToolConfirmationPayload | None = None
    reason: str = ""
    by: str = "you"
    save: bool = False

    def __post_init__(self) -> None:
        """Raises ``ValueError`` for an unknown outcome.
        A plain text such as ``"cancel"`` becomes the outcome that it names.
        """
        object.__setattr__(self, "outcome", ToolConfirmationOutcome(self.outcome))


def rules_added(answer: Answer, confirmation: Confirmation) -> tuple[str, ...]:
    """Returns the rules that the answer adds:
    of those that it chooses the offered ones, or all that are offered if it chooses none.
    """
    match answer.outcome:
        case _ if confirmation.details.type == "ask" or not confirmation.offers:
            return ()
        case ToolConfirmationOutcome.PROCEED_ALWAYS:
            chosen = answer.payload.rules if answer.payload is not None else ()
            offered = (*confirmation.offers, *confirmation.narrower)
            return tuple(rule for rule in chosen if rule in offered) if chosen else confirmation.offers
        case ToolConfirmationOutcome.PROCEED_ALWAYS_TOOL:
            return confirmation.offers
        case ToolConfirmationOutcome.PROCEED_ALWAYS_SERVER if confirmation.details.type == "mcp":
            return (confirmation.details.rule,) if confirmation.details.rule else ()
        case _:
            return ()


class Confirmer(Protocol):
    """Puts an approval request to someone, returns the answer. When cancelled, it withdraws the request."""

    async def ask(self, confirmation: Confirmation) -> Answer: ...


def approval_unavailable_message(spoken: str, decision: Decision, rules: tuple[str, ...]) -> str:
    """Returns the message for a call that needs approval and nobody can answer; ``rules`` would allow it."""
    magic = " ".join(f'"{rule}"' for rule in rules or (spoken,))
    policy = ", ".join(repr(rule) for rule in rules or (spoken,))
    return Message.of(
        f"{spoken} needs approval and there is nobody to ask ({decision.reason}). The call was not run.",
        Advice(" Allow it beforehand with ", Rule(f"%tools allow {magic} or Policy(allow=[{policy}])"), "."),
    )


def confirmation_unavailable_message(spoken: str, decision: Decision) -> str:
    """Returns the message for a call that needs approval every time, where nobody can answer."""
    why = f"needs approval every time and there is nobody to ask ({decision.reason})"
    return f"{spoken} {why}. The call was not run."


def answer_unavailable_message(spoken: str) -> str:
    """Returns the message for a call whose purpose is to ask, where nobody can answer."""
    return (
        f"{spoken} has nobody to ask: no person is there to answer. Continue with your best judgement and"
        " state your assumptions."
    )
