"""Who decided what, when, by which rule: the line that stays in the notebook."""

from __future__ import annotations

from nbtools.core.call import (
    Approval,
    AwaitingApprovalCall,
    CancelledCall,
    ExecutingCall,
    FinishedCall,
    LiveCall,
    ScheduledCall,
    ToolCall,
    ValidatingCall,
)
from nbtools.core.confirmation import (
    Answer,
    Confirmation,
    ToolAskConfirmationDetails,
    ToolConfirmationOutcome,
    ToolEditConfirmationDetails,
)
from nbtools.core.decision import Action, Decision
from nbtools.notebook.phrases import clock
from nbtools.notebook.visible import one_line

_APPROVED = {
    ToolConfirmationOutcome.PROCEED_ONCE: "Approved once",
    ToolConfirmationOutcome.PROCEED_ALWAYS: "Approved always",
    ToolConfirmationOutcome.PROCEED_ALWAYS_TOOL: "Approved always for this tool",
    ToolConfirmationOutcome.PROCEED_ALWAYS_SERVER: "Approved always for this server",
    ToolConfirmationOutcome.MODIFY_WITH_EDITOR: "Modified",
    ToolConfirmationOutcome.CANCEL: "Declined",
}


def asked_by(confirmation: Confirmation) -> str:
    """Why it asks, for the question's foot: ``asked because edits ask (mode default)``."""
    return one_line(f"asked because {confirmation.decision.reason}")


def last_of(call: ToolCall) -> LiveCall:
    """The state that a finished call ended from; a live call itself."""
    return call.last if isinstance(call, FinishedCall) else call


def record_of(call: ToolCall) -> str:
    """The record of a call, empty while nobody decided anything and where a decision only stands in the note."""
    if isinstance(call, CancelledCall) and call.answer is not None:
        return _declined(call, call.answer)
    if isinstance(call, CancelledCall) and isinstance(call.last, AwaitingApprovalCall):
        return _withdrawn(call, call.last)
    last = last_of(call)
    if isinstance(last, ScheduledCall | ExecutingCall) and last.approval is not None:
        return _approved(last.approval)
    return "" if isinstance(last, ValidatingCall) else _decided(last.plan.decision, harmless=last.plan.kind.changes_nothing)


def decided_by(call: FinishedCall) -> str:
    """The person who answered and what had asked, else the rule or the mode: for the history."""
    last = call.last
    if isinstance(call, CancelledCall) and call.answer is not None:
        asked = f", asked by {_why(last.confirmation.decision)}" if isinstance(last, AwaitingApprovalCall) else ""
        return one_line(f"{call.answer.by}{asked}")
    if isinstance(last, ScheduledCall | ExecutingCall) and last.approval is not None:
        return one_line(f"{last.approval.answer.by}, asked by {_why(last.approval.confirmation.decision)}")
    return "" if isinstance(last, ValidatingCall) else one_line(f"{_why(last.plan.decision)}{_known(last.plan.decision)}")


def _known(decision: Decision) -> str:
    """Which entries of the table of programs an allowed command has gone by."""
    return f" (in the table of programs: {decision.entry})" if decision.action is Action.ALLOW and decision.entry else ""


def note_of(call: ToolCall) -> str:
    """Why nobody was asked, where that is of little weight: reading changes nothing."""
    last = last_of(call)
    if isinstance(last, ValidatingCall) or record_of(call) or last.plan.decision.action is not Action.ALLOW:
        return ""
    return one_line(f"allowed: {_why(last.plan.decision)}")


def _approved(approval: Approval) -> str:
    question, answer = approval.confirmation, approval.answer
    if isinstance(question.details, ToolAskConfirmationDetails):
        return one_line(f"✓ Answered by {answer.by}, {clock(approval.at)}")
    changed = isinstance(question.details, ToolEditConfirmationDetails) and question.details.is_modifying
    parts = [f"✓ {_APPROVED[answer.outcome]} by {answer.by}, {clock(approval.at)}", f"asked by {_why(question.decision)}"]
    if changed:
        parts.insert(1, "as changed by hand")
    if answer.outcome is ToolConfirmationOutcome.PROCEED_ALWAYS and (rules := _given(question, answer)):
        parts.append(f"{'from now on, in later sessions too' if answer.save else 'from now on'}: {', '.join(rules)}")
    return one_line(" · ".join(parts))


def _given(question: Confirmation, answer: Answer) -> tuple[str, ...]:
    """The rules that an *always* has added: those that were chosen, else those that were offered."""
    chosen = answer.payload.rules if answer.payload else ()
    return tuple(rule for rule in chosen if rule in question.narrower) or question.offers


def _declined(call: CancelledCall, answer: Answer) -> str:
    parts = [f"✕ Declined by {answer.by}, {clock(call.at)}"]
    if isinstance(call.last, AwaitingApprovalCall):
        parts.append(f"asked by {_why(call.last.confirmation.decision)}")
    if answer.reason:
        parts.append(f"“{answer.reason}”")
    return one_line(" · ".join(parts))


def _withdrawn(call: CancelledCall, last: AwaitingApprovalCall) -> str:
    return one_line(f"✕ Cancelled before anybody answered, {clock(call.at)} · asked by {_why(last.confirmation.decision)}")


def _decided(decision: Decision, *, harmless: bool) -> str:
    by_rule = is_rule(decision.rule)
    match decision.action:
        case Action.ALLOW if by_rule or not harmless:
            return one_line(f"Allowed by {_why(decision)}" if by_rule else f"Allowed: {_why(decision)}")
        case Action.DENY:
            return one_line(f"✕ Denied by {_why(decision)}" if by_rule else f"✕ Denied: {decision.reason}{_where(decision)}")
        case _:
            return ""


def _why(decision: Decision) -> str:
    """``rule shell(git *) of the project, for git push``; what stands for a default has no place: ``edits ask``."""
    part = f", for {one_line(decision.part, _PART)}" if decision.part else ""
    if decision.source in _GRANTS:
        return f"{_GRANTS[decision.source]} {decision.rule}{part}"
    rule = f"rule {decision.rule}" if is_rule(decision.rule) else decision.rule or decision.reason
    return f"{rule}{_where(decision)}{part}"


def _where(decision: Decision) -> str:
    """Where the rule stands: `` of the session``.  Several places are named as they are."""
    places = [_PLACES.get(place, place) for place in decision.source.split(", ") if place]
    return f" of {' and '.join(places)}" if places else ""


_PART = 60
"""Characters of the part of a call that a rule speaks of."""
_GRANTS = {"grant": "grant", "saved": "saved grant"}
_PLACES = {
    "user": "the user",
    "project": "the project",
    "session": "this session",
    "grant": "a grant",
    "saved": "a saved grant",
}


def is_rule(text: str) -> bool:
    """Whether ``text`` is a rule that somebody wrote, ``shell(git *)``, and no sentence that stands for a default, ``edits ask``."""
    return bool(text) and " " not in text.split("(", 1)[0]
