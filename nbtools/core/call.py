"""The states of a tool call, each a frozen type, and the protocol of observers.

::

    ValidatingCall ─▶ AwaitingApprovalCall ─▶ ScheduledCall ─▶ ExecutingCall ─▶ SuccessfulCall
          │   ╰───────────── allowed ──────────────╯  │              │
          ╰──────────── ErroredCall or CancelledCall, from any of them ╯

A finished call keeps the state it ended from in ``last``, so no field is optional.
Times are seconds since the epoch.

The records are msgspec structs: every call makes six, and a frozen dataclass takes three times as long to
make, and to define. ``msgspec.structs.replace`` makes changed copies.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextvars import ContextVar
from typing import Any, ClassVar, Protocol, TypeAlias

from msgspec import Struct

from nbtools.core.confirmation import Answer, Confirmation
from nbtools.core.decision import Decision
from nbtools.core.result import ToolResult, ToolResultDisplay
from nbtools.core.tool import AnyToolBuilder, AnyToolInvocation, Kind


class ToolCallRequest(Struct, frozen=True):
    """A request to run a tool.  ``name`` and ``arguments`` are canonical;
    ``spoken`` is the tool's name as the caller wrote it.
    """

    id: str
    name: str
    arguments: Mapping[str, Any]
    spoken: str


class Plan(Struct, frozen=True):
    """The invocation that would run, with the decision of policy and hooks.

    ``arguments`` are the canonical arguments, as requested or as changed since.
    ``notes`` are added for the model after the result.
    """

    tool: AnyToolBuilder
    invocation: AnyToolInvocation
    decision: Decision
    arguments: Mapping[str, Any]
    notes: tuple[str, ...] = ()

    @property
    def kind(self) -> Kind:
        """The kind of this call: the invocation's own, else the tool's."""
        return self.invocation.kind or self.tool.kind


class Approval(Struct, frozen=True):
    """An approval request that was approved, with the answer."""

    confirmation: Confirmation
    answer: Answer
    at: float


class ValidatingCall(Struct, frozen=True):
    state: ClassVar[str] = "validating"
    request: ToolCallRequest
    at: float


class EvaluatedCall(Struct, frozen=True):
    """A call whose decision is not allow.
    It causes no event; it is the last state of a call that is denied without a question.
    """

    state: ClassVar[str] = "validating"
    request: ToolCallRequest
    plan: Plan
    at: float


class AwaitingApprovalCall(Struct, frozen=True):
    state: ClassVar[str] = "awaiting_approval"
    request: ToolCallRequest
    plan: Plan
    confirmation: Confirmation
    at: float


class ScheduledCall(Struct, frozen=True):
    """A call that runs as soon as concurrency permits. ``approval`` is None where none was needed."""

    state: ClassVar[str] = "scheduled"
    request: ToolCallRequest
    plan: Plan
    approval: Approval | None
    at: float


class ExecutingCall(Struct, frozen=True):
    state: ClassVar[str] = "executing"
    request: ToolCallRequest
    plan: Plan
    approval: Approval | None
    at: float


LiveCall: TypeAlias = ValidatingCall | EvaluatedCall | AwaitingApprovalCall | ScheduledCall | ExecutingCall


class SuccessfulCall(Struct, frozen=True):
    state: ClassVar[str] = "success"
    request: ToolCallRequest
    last: ExecutingCall
    result: ToolResult
    at: float


class ErroredCall(Struct, frozen=True):
    state: ClassVar[str] = "error"
    request: ToolCallRequest
    last: LiveCall
    result: ToolResult
    at: float


class CancelledCall(Struct, frozen=True):
    """A call denied by the person or cancelled by the caller; ``result.error`` says which.
    ``answer`` is the person's denial, if any.
    """

    state: ClassVar[str] = "cancelled"
    request: ToolCallRequest
    last: LiveCall
    result: ToolResult
    answer: Answer | None
    at: float


FinishedCall: TypeAlias = SuccessfulCall | ErroredCall | CancelledCall
FINISHED = (SuccessfulCall, ErroredCall, CancelledCall)
"""The types of ``FinishedCall`` as a tuple, which ``isinstance`` checks faster than a union."""
ToolCall: TypeAlias = LiveCall | FinishedCall


class OutputEvent(Struct, frozen=True):
    """Progress of a running call; ``display`` replaces the one before."""

    call: ExecutingCall
    display: ToolResultDisplay


CallEvent: TypeAlias = ToolCall | OutputEvent


class Observer(Protocol):
    """Observes calls.  It is called in the session's event loop, in order, once per state;
    it must return quickly and must not raise.
    """

    def notice(self, event: CallEvent) -> None: ...


class Clock(Protocol):
    """Returns the current time in seconds since the epoch."""

    def __call__(self) -> float: ...


CURRENT_CALL: ContextVar[ToolCallRequest | None] = ContextVar("nbtools_current_call", default=None)
"""The tool call being executed in this context, its tasks and threads included; None outside of calls."""
