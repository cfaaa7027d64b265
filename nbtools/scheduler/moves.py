"""The allowed transitions between the states of a call."""

from __future__ import annotations

from nbtools.core.call import (
    AwaitingApprovalCall,
    CancelledCall,
    ErroredCall,
    EvaluatedCall,
    ExecutingCall,
    FinishedCall,
    ScheduledCall,
    SuccessfulCall,
    ToolCall,
    ValidatingCall,
)

_ENDS: tuple[type[FinishedCall], ...] = (ErroredCall, CancelledCall)

FOLLOWS: dict[type[ToolCall], tuple[type[ToolCall], ...]] = {
    ValidatingCall: (AwaitingApprovalCall, ScheduledCall, *_ENDS),
    EvaluatedCall: (AwaitingApprovalCall, *_ENDS),
    AwaitingApprovalCall: (AwaitingApprovalCall, ScheduledCall, *_ENDS),
    ScheduledCall: (ExecutingCall, *_ENDS),
    ExecutingCall: (AwaitingApprovalCall, SuccessfulCall, *_ENDS),
    SuccessfulCall: (),
    ErroredCall: (),
    CancelledCall: (),
}


def may_follow(before: ToolCall, after: ToolCall) -> bool:
    """Whether ``after`` is an allowed next state of the same call.

    Approval may be requested again after a person modified the call, and after execution has begun when it met a conflict and changed
    nothing.
    """
    return before.request.id == after.request.id and type(after) in FOLLOWS[type(before)]
