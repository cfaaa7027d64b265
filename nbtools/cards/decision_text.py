"""Texts about a call's decision and its undo state, as cards and the history show them.

The record names who decided, when and by which rule.
The undo texts say whether the call's changes can be undone or were undone.
"""

from __future__ import annotations

from dataclasses import dataclass

from nbtools.cards.card_model import Card, CardAction
from nbtools.cards.hidden_characters import one_line
from nbtools.cards.phrases import OUTCOMES, SKIPPED_BY, SUPERSEDED, UNDONE, clock
from nbtools.core.call import (
    Approval,
    AwaitingApprovalCall,
    CancelledCall,
    ErroredCall,
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
    ToolConfirmationPayload,
    ToolEditConfirmationDetails,
    rules_added,
)
from nbtools.core.decision import Action, Decision
from nbtools.core.errors import ErrorCode
from nbtools.core.result_data import UndoData


def approval_reason(confirmation: Confirmation) -> str:
    """Returns why approval is required, for the foot of the question:
    ``Approval required: edits ask (mode default)``.
    """
    return one_line(f"Approval required: {confirmation.decision.reason}")


def last_of(call: ToolCall) -> LiveCall:
    """Returns the state that a finished call ended from; a live call is returned unchanged."""
    return call.last if isinstance(call, FinishedCall) else call


def record_of(call: ToolCall) -> str:
    """Returns the record of a call; empty before the decision,
    and where only the note (``note_of``) mentions it.
    """
    if isinstance(call, CancelledCall) and call.answer is not None:
        return _denied_by_person(call, call.answer)
    last = last_of(call)
    if isinstance(call, CancelledCall) and isinstance(last, AwaitingApprovalCall):
        required = _required(last.confirmation.decision)
        return one_line(f"✕ Cancelled before anybody answered, {clock(call.at)} · {required}")
    if isinstance(last, ScheduledCall | ExecutingCall) and last.approval is not None:
        return _approved(last.approval)
    if isinstance(last, ValidatingCall):
        return ""
    return one_line(_decided(last.plan.decision, harmless=last.plan.kind.changes_nothing))


def _decided(decision: Decision, *, harmless: bool) -> str:
    by_rule = is_rule(decision.rule)
    match decision.action:
        case Action.ALLOW if by_rule or not harmless:
            return f"Allowed by {_why(decision)}" if by_rule else f"Allowed: {_why(decision)}"
        case Action.DENY if by_rule:
            return f"✕ Denied by {_why(decision)}"
        case Action.DENY:
            return f"✕ Denied: {decision.reason}{_source(decision)}"
        case _:
            return ""


def decided_by(call: FinishedCall) -> str:
    """Returns who answered and why approval was required, else the rule or mode that decided;
    for the history.
    """
    last = call.last
    if isinstance(call, CancelledCall) and call.answer is not None:
        required = (
            f"; {_required(last.confirmation.decision)}" if isinstance(last, AwaitingApprovalCall) else ""
        )
        return one_line(f"{call.answer.by}{required}")
    if isinstance(last, ScheduledCall | ExecutingCall) and last.approval is not None:
        return one_line(f"{last.approval.answer.by}; {_required(last.approval.confirmation.decision)}")
    if isinstance(last, ValidatingCall):
        return ""
    decision = last.plan.decision
    known = decision.action is Action.ALLOW and decision.entry
    entry = f" (in the table of programs: {decision.entry})" if known else ""
    return one_line(f"{_why(decision)}{entry}")


def note_of(call: ToolCall) -> str:
    """Returns why no approval was required, for calls whose record is empty because they change nothing."""
    last = last_of(call)
    if isinstance(last, ValidatingCall) or record_of(call) or last.plan.decision.action is not Action.ALLOW:
        return ""
    return one_line(f"allowed: {_why(last.plan.decision)}")


def _approved(approval: Approval) -> str:
    question, answer = approval.confirmation, approval.answer
    if isinstance(question.details, ToolAskConfirmationDetails):
        return one_line(f"✓ Answered by {answer.by}, {clock(approval.at)}")
    details, payload = question.details, answer.payload or ToolConfirmationPayload()
    changed = isinstance(details, ToolEditConfirmationDetails) and (
        details.is_modifying or payload.new_content not in (None, details.new_content)
    )
    parts = [
        f"✓ {OUTCOMES[answer.outcome].format(answer.by)}, {clock(approval.at)}",
        _required(question.decision),
    ]
    if changed:
        parts.insert(1, "with your changes")
    elif payload.files is not None:
        parts.insert(1, "in part")
    if answer.outcome is ToolConfirmationOutcome.PROCEED_ALWAYS and (rules := rules_added(answer, question)):
        parts.append(f"granted for {'this project' if answer.save else 'this session'}: {', '.join(rules)}")
    return one_line(" · ".join(parts))


def _denied_by_person(call: CancelledCall, answer: Answer) -> str:
    outcome = SKIPPED_BY if is_skipped(call) else OUTCOMES[answer.outcome]
    parts = [f"✕ {outcome.format(answer.by)}, {clock(call.at)}"]
    if isinstance(call.last, AwaitingApprovalCall):
        parts.append(_required(call.last.confirmation.decision))
    if answer.reason:
        parts.append(f"“{answer.reason}”")
    return one_line(" · ".join(parts))


def is_skipped(call: CancelledCall) -> bool:
    """Whether the call was a question to the person, who gave no answer."""
    return isinstance(call.last, AwaitingApprovalCall) and isinstance(
        call.last.confirmation.details, ToolAskConfirmationDetails
    )


def _required(decision: Decision) -> str:
    """Returns what required the approval: ``approval required by rule shell(git *) of the project``."""
    return f"approval required{' by ' if is_rule(decision.rule) else ': '}{_why(decision)}"


def _why(decision: Decision) -> str:
    """Returns what decided: ``rule shell(git *) of the project, for git push``,
    or the reason of a built-in decision.
    """
    part = f", for {one_line(decision.part, _MAX_PART)}" if decision.part else ""
    if decision.source in _GRANTS:
        return f"{_GRANTS[decision.source]} {decision.rule}{part}"
    if not is_rule(decision.rule):
        return f"{decision.reason}{part if decision.part not in decision.reason else ''}"
    return f"rule {decision.rule}{_source(decision)}{part}"


def _source(decision: Decision) -> str:
    """Returns the policy layers that have the rule, such as `` of this session``;
    unknown layers are named as they are.
    """
    layers = [_LAYERS.get(layer, layer) for layer in decision.source.split(", ") if layer]
    return f" of {' and '.join(layers)}" if layers else ""


_MAX_PART = 60
"""Characters shown of the part of a call that a rule matched."""
_GRANTS = {"grant": "grant", "saved": "saved grant"}
_LAYERS = {
    "user": "the user",
    "project": "the project",
    "session": "this session",
    "grant": "a grant",
    "saved": "a saved grant",
}


def is_rule(text: str) -> bool:
    """Whether ``text`` is a rule as written, such as ``shell(git *)``,
    and not the name of a built-in decision, such as ``edits ask``.
    """
    return bool(text) and " " not in text.split("(", 1)[0]


@dataclass(frozen=True, slots=True)
class Undoing:
    """States that the call with the id ``by`` undid this one, at the time ``at``.

    ``unsaved`` says why this one, a command, may have changed more than was undone.
    """

    by: str
    at: float
    unsaved: str = ""


def undoable(card: Card) -> Card:
    """Returns the card with an undo action."""
    return card.model_copy(update={"deeds": (*card.deeds, _card_action("undo", card.id))})


def undone(card: Card, undoing: Undoing) -> Card:
    """Returns the card of a call that was undone: greyed, folded, and with a redo action."""
    record = " · ".join(
        filter(None, [card.record, f"undone, {clock(undoing.at)}", not_undone(undoing.unsaved)])
    )
    return _settled(card, UNDONE, record, _card_action("undo", undoing.by, "redo"))


def _settled(card: Card, status: str, record: str, *actions: CardAction) -> Card:
    """Returns the card greyed and folded."""
    folded = {"folded": True, "unfold": card.unfold or "show"} if card.blocks else {}
    changes = {"state": "cancelled", "failed": False, "status": status, "record": record, "deeds": actions}
    return card.model_copy(update={**changes, **folded})


def not_undone(unsaved: str) -> str:
    """Returns that a command may have changed more than was undone, if so."""
    return (
        f"the command may have changed more, which is not undone: {one_line(unsaved, 300)}" if unsaved else ""
    )


def superseded(card: Card, undoing: Undoing) -> Card:
    """Returns the card of a refused undo after its call was undone: without a way to try again."""
    return _settled(card, SUPERSEDED, f"The call was undone since, {clock(undoing.at)}.")


def mergeable(call: FinishedCall, card: Card) -> Card:
    """Returns the card of a refused undo with the actions that resolve it,
    where the undo and the changes made since can be combined.
    """
    data, error = call.result.data, call.result.error
    is_conflict = isinstance(call, ErroredCall) and error is not None and error.code is ErrorCode.CONFLICT
    if not is_conflict or not isinstance(data, UndoData):
        return card
    changed_since = data.hindered
    if data.has_same_lines:
        actions = (
            _card_action("keep", data.call, "Keep mine"),
            _card_action("take_back", data.call, "Take back"),
        )
        record = (
            "The same lines have changed since, as shown. Keep mine leaves them as they are now, Take back"
            " restores them as they were before the call; both undo the call elsewhere and keep other"
            " changes. Or open the file and edit it."
        )
        return card.model_copy(update={"record": record, "deeds": actions})
    if not changed_since or any(file.outcome == "conflict" for file in changed_since):
        return card
    action = _card_action("merge", data.call, "Merge")
    record = (
        "The file has changed since. Merge undoes the call's own changes, as shown, and keeps the later ones."
    )
    return card.model_copy(update={"record": record, "deeds": (action,)})


def _card_action(verb: str, call: str, label: str = "") -> CardAction:
    flag = "" if verb == "undo" else f" --{verb.replace('_', '-')}"
    magic = f"%tools undo {call}{flag}"
    return CardAction.model_validate({"verb": verb, "id": call, "label": label or verb, "magic": magic})
