"""Data model of a kernel's state in a front end, and of the requests that a page may send about it.

``labextension/src/panel/model.ts`` is generated from this file.
"""

from __future__ import annotations

from typing import Annotated, Literal, TypeAlias

from pydantic import StrictBool, StrictInt, StringConstraints

from nbtools.cards.card_model import Card, Wire
from nbtools.notebook.approval.question_messages import QuestionData

MAX_CHANGES = 200
"""Number of changes in a state, the latest ones."""
MAX_ENDED = 20
"""Number of background calls and agent runs in a state that have ended, the latest ones."""

STATE_EVENT = "state"
"""The event with a ``KernelState``, for pages that follow."""

ShortText: TypeAlias = Annotated[str, StringConstraints(strict=True, max_length=4_000)]
Name: TypeAlias = Annotated[str, StringConstraints(strict=True, max_length=200)]


class WaitingQuestion(Wire):
    """A question that waits for an answer, and the id of the cell that asks; empty where no cell does."""

    data: QuestionData
    cell: str


class RunningCall(Wire):
    """A call or an agent run in progress.  ``started`` is in seconds since the epoch,
    by the kernel's clock.
    """

    id: str
    type: Literal["call", "background", "run"]
    tool: str
    icon: str
    subject: str
    started: float
    cell: str


class EndedCall(Wire):
    """A background call or an agent run that has ended."""

    id: str
    type: Literal["background", "run"]
    tool: str
    subject: str
    status: str
    failed: bool


class ChangedFile(Wire):
    """A file that a call changed, relative to the workspace.
    The numbers of lines are null where they are not known.
    """

    path: str
    added: int | None
    removed: int | None


class FileChange(Wire):
    """The changes of one call.  ``undone_by`` is the call that undoing it would redo;
    empty unless it is undone.

    ``unsaved`` says why the call, a command, may have changed more than undo restores; empty if it did not.
    """

    id: str
    tool: str
    files: tuple[ChangedFile, ...]
    more: int
    """Number of further files."""
    at: float
    undone_by: str
    partly: bool
    unsaved: str = ""


class ModeChoice(Wire):
    """A permission mode.  ``looser``: it allows what the current mode does not."""

    name: str
    meaning: str
    looser: bool


class GrantRow(Wire):
    """A rule that the person has granted, and in words what it covers."""

    rule: str
    covers: str
    saved: bool
    since: float
    granted_for: str


class RuleRow(Wire):
    """A rule with its source: a file, or empty for the rules of this session.
    ``off``: the project is not trusted.
    """

    action: Literal["allow", "ask", "deny"]
    rule: str
    covers: str
    source: str
    off: bool


class RulesState(Wire):
    mode: str
    modes: tuple[ModeChoice, ...]
    grants: tuple[GrantRow, ...]
    rules: tuple[RuleRow, ...]


ServerVerb: TypeAlias = Literal["connect", "disconnect", "trust", "distrust", "enable", "disable"]


class ServerRow(Wire):
    """An MCP server, and what can be done with it now."""

    name: str
    state: str
    failed: bool
    tools: tuple[str, ...]
    target: str
    """The command line or the URL."""
    source: str
    """Where it is configured."""
    trust: str
    problem: str
    verbs: tuple[ServerVerb, ...]


class KernelState(Wire):
    """The state of a kernel; a part that has not changed since the snapshot before is null.

    ``number`` counts the snapshots for one page.  ``now`` is the kernel's clock.
    """

    number: int
    now: float
    folder: str
    """The workspace, with ``~`` for the home folder."""
    root: str
    """The workspace relative to the notebook's folder."""
    questions: tuple[WaitingQuestion, ...] | None = None
    running: tuple[RunningCall, ...] | None = None
    ended: tuple[EndedCall, ...] | None = None
    changes: tuple[FileChange, ...] | None = None
    rules: RulesState | None = None
    servers: tuple[ServerRow, ...] | None = None


class Consequence(Wire):
    """The effect of a request, for the person to confirm.
    The request is only carried out with its ``token``, once.
    """

    token: str
    title: str
    lines: tuple[str, ...]
    accept: str
    """Label of the button that confirms."""


class StateOutcome(Wire):
    """The outcome of a request: done unless there is a consequence to confirm first.
    ``diff`` is the result of ``panel.diff``.
    """

    confirm: Consequence | None = None
    diff: Card | None = None


class SeenParams(Wire):
    """The page has drawn the snapshot with this number, and is ready for the next one."""

    number: StrictInt


class CallParams(Wire):
    """A call or an agent run."""

    call: Name


class UndoParams(Wire):
    """Undoes a call; of an undo's id, redoes the call.  ``later``: also all later changes of this session."""

    call: Name
    later: StrictBool = False


class ModeParams(Wire):
    mode: Name


class GrantParams(Wire):
    rule: ShortText


class ServerParams(Wire):
    name: Name
    verb: ServerVerb


class ConfirmParams(Wire):
    """The person has confirmed a consequence."""

    token: Name
