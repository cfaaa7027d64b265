"""From *ask* to an answer: the question, the grants of an *always*, and the loop that a *modify* goes round."""

from __future__ import annotations

import warnings
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Protocol, TypeAlias

from nbtools.core.call import Approval, AwaitingApprovalCall, Clock, Plan, ToolCallRequest
from nbtools.core.confirmation import (
    Answer,
    Confirmation,
    Confirmer,
    ToolCallConfirmationDetails,
    ToolConfirmationOutcome,
    ToolConfirmationPayload,
    ToolEditConfirmationDetails,
    ToolInfoConfirmationDetails,
    how_to_allow,
    nobody_to_answer,
    nobody_to_confirm,
)
from nbtools.core.decision import Action
from nbtools.core.errors import ErrorCode, ToolError, ToolFailure
from nbtools.core.result import ToolResult, failed
from nbtools.core.tool import ModifiableTool
from nbtools.policy.grants import can_be_allowed, covered_by, narrower, offers
from nbtools.scheduler.drafts import as_json

if TYPE_CHECKING:
    from nbtools.shell import Table

Replan: TypeAlias = Callable[[ToolCallRequest], Awaitable[Plan]]
"""Builds and judges a call anew, hooks included."""

_ALWAYS = (
    ToolConfirmationOutcome.PROCEED_ALWAYS,
    ToolConfirmationOutcome.PROCEED_ALWAYS_TOOL,
    ToolConfirmationOutcome.PROCEED_ALWAYS_SERVER,
)


class Desk(Protocol):
    """Where questions go: who answers them, and where the grants of an *always* are kept."""

    @property
    def confirmer(self) -> Confirmer | None: ...

    @property
    def programs(self) -> Table | None:
        """The programs that are known; None for those that nbtools brings."""

    def allow(self, rule: str, *, save: bool = False, by: str = "") -> None: ...


class Declined(Exception):  # noqa: N818 - an answer, not an error
    """The person said no."""

    def __init__(self, answer: Answer) -> None:
        super().__init__(answer.reason)
        self.answer = answer

    @property
    def result(self) -> ToolResult:
        why = f" The reason given: {self.answer.reason}" if self.answer.reason else ""
        return failed(ToolError(ErrorCode.CONFIRMATION_DENIED, f"The call was declined; nothing was changed.{why}"), self.answer)


@dataclass(frozen=True, slots=True)
class Draft:
    """A plan on its way to approval; ``proposal`` is the model's text once the person has changed it.

    ``conflict`` says what came between, where a call is asked once more because of it: nothing that is answered then holds for others.
    """

    plan: Plan
    proposal: str | None = None
    modified: bool = False
    conflict: str = ""


async def approve(
    request: ToolCallRequest,
    plan: Plan,
    desk: Desk,
    enter: Callable[[AwaitingApprovalCall], None],
    replan: Replan,
    clock: Clock,
    conflict: str = "",
) -> tuple[Plan, Approval | None]:
    """The plan to run, which is another one than ``plan`` if the person modified it, and the yes that covers it.

    Raises ``ToolFailure`` when policy denies or nobody can be asked, ``Declined`` when the answer is no.
    """
    draft = Draft(plan, conflict=conflict)
    while True:
        confirmer = _someone_to_ask(request, draft, desk)
        waiting = await _question(request, draft, desk.programs, clock)
        enter(waiting)
        answer = await confirmer.ask(waiting.confirmation)
        await draft.plan.invocation.on_confirm(answer.outcome, answer.payload)
        if answer.outcome is ToolConfirmationOutcome.CANCEL:
            raise Declined(answer)
        if answer.outcome is not ToolConfirmationOutcome.MODIFY_WITH_EDITOR:
            answer = _grant(answer, waiting.confirmation, desk)
            return draft.plan, Approval(waiting.confirmation, answer, clock())
        draft = await _modified(request, draft, waiting.confirmation.details, answer.payload, replan)
        if draft.plan.decision.action is Action.ALLOW:
            return draft.plan, Approval(waiting.confirmation, answer, clock())


def _someone_to_ask(request: ToolCallRequest, draft: Draft, desk: Desk) -> Confirmer:
    decision = draft.plan.decision
    if decision.action is Action.DENY:
        raise ToolFailure(ErrorCode.POLICY_VIOLATION, f"Policy does not let {request.spoken} run: {decision.reason}.")
    if desk.confirmer is None:
        raise ToolFailure(ErrorCode.CONFIRMATION_REQUIRED, _how_to_allow(request, draft.plan, desk.programs))
    return desk.confirmer


def _how_to_allow(request: ToolCallRequest, plan: Plan, programs: Table | None) -> str:
    if plan.tool.asks == "always":
        return nobody_to_answer(request.spoken)
    if not can_be_allowed(plan.decision):
        return nobody_to_confirm(request.spoken, plan.decision)
    return how_to_allow(request.spoken, plan.decision, offers(plan.tool, plan.invocation, programs) or (plan.tool.name,))


async def _question(request: ToolCallRequest, draft: Draft, programs: Table | None, clock: Clock) -> AwaitingApprovalCall:
    plan = draft.plan
    details = await plan.invocation.should_confirm_execute() or _plain_question(request, plan)
    if isinstance(details, ToolEditConfirmationDetails):
        note = f"{draft.conflict} {details.note}".strip()
        details = replace(details, is_modifying=draft.modified or details.is_modifying, note=note)
    confirmation = Confirmation(request.id, plan.tool.name, details, plan.decision)
    if not draft.conflict and can_be_allowed(plan.decision):
        offered = offers(plan.tool, plan.invocation, programs)
        covered = covered_by(plan.tool, plan.invocation, offered, programs)
        confirmation = replace(confirmation, offers=offered, narrower=narrower(plan.tool, plan.invocation), covered=covered)
    return AwaitingApprovalCall(request, plan, confirmation, clock())


def _plain_question(request: ToolCallRequest, plan: Plan) -> ToolInfoConfirmationDetails:
    what = plan.invocation.get_description()
    return ToolInfoConfirmationDetails(f"Run {request.spoken}?", what or plan.tool.description)


def _grant(answer: Answer, confirmation: Confirmation, desk: Desk) -> Answer:
    """The answer as it holds: what cannot be kept for later sessions is granted for this one, and the person is told."""
    for rule in _granted(answer, confirmation):
        try:
            desk.allow(rule, save=answer.save, by=confirmation.call_id)
        except (ToolFailure, OSError) as error:
            if not answer.save:
                raise
            warnings.warn(f"{rule} is allowed for this session only, for it could not be kept: {error}", stacklevel=2)
            answer = replace(answer, save=False)
            desk.allow(rule, by=confirmation.call_id)
    return answer


def _granted(answer: Answer, confirmation: Confirmation) -> tuple[str, ...]:
    """The rules that the answer adds, never more than were offered: nobody says yes to every command by answering one."""
    match answer.outcome:
        case _ if confirmation.type == "ask" or not confirmation.offers:
            return ()
        case ToolConfirmationOutcome.PROCEED_ALWAYS:
            chosen = answer.payload.rules if answer.payload is not None else ()
            return tuple(rule for rule in chosen if rule in confirmation.narrower) or confirmation.offers
        case ToolConfirmationOutcome.PROCEED_ALWAYS_TOOL:
            return confirmation.offers
        case ToolConfirmationOutcome.PROCEED_ALWAYS_SERVER if confirmation.details.type == "mcp":
            return (confirmation.details.rule,) if confirmation.details.rule else ()
        case _:
            return ()


async def _modified(
    request: ToolCallRequest,
    draft: Draft,
    details: ToolCallConfirmationDetails,
    payload: ToolConfirmationPayload | None,
    replan: Replan,
) -> Draft:
    """What the person made of the call: built and judged again like any other."""
    if details.type == "ask":
        what = f"{request.spoken} only asks: answer the questions or cancel, there is nothing to modify."
        raise ToolFailure(ErrorCode.INVALID_TOOL_PARAMS, what)
    if payload is not None and payload.arguments is not None:
        plan = await replan(replace(request, arguments=payload.arguments))
        return Draft(_telling(request, plan), draft.proposal, modified=True)
    tool = draft.plan.tool
    if payload is None or payload.new_content is None or not isinstance(tool, ModifiableTool) or details.type != "edit":
        raise ToolFailure(ErrorCode.INVALID_TOOL_PARAMS, f"{request.spoken} cannot be modified that way: give new arguments instead.")
    context = tool.get_modify_context()
    proposal = details.new_content if draft.proposal is None else draft.proposal
    arguments = context.create_updated_params(details.original_content, payload.new_content, draft.plan.invocation.params)
    plan = await replan(replace(request, arguments=arguments))
    return Draft(replace(plan, invocation=context.remember_proposal(plan.invocation, proposal)), proposal, modified=True)


def _telling(request: ToolCallRequest, plan: Plan) -> Plan:
    """Whoever made the call reads what ran in its place.  Of a text that the person changed the tool itself tells."""
    before, after = request.arguments, plan.arguments
    changed = {name: value for name, value in after.items() if name not in before or before[name] != value}
    gone = [name for name in before if name not in after]
    if not changed and not gone:
        return plan
    without = f", without {', '.join(gone)}" if gone else ""
    note = f"[The call was changed before it ran. What ran instead: {as_json(changed)}{without}]"
    return replace(plan, notes=(*plan.notes, note))
