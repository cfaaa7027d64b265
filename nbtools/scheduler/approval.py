"""Obtains approval: asks the confirmer, adds grants for "always allow", plans modified calls again."""

from __future__ import annotations

import asyncio
import warnings
from collections.abc import Awaitable, Callable, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias, cast

from msgspec import structs

from nbtools.core.call import Approval, AwaitingApprovalCall, Clock, Plan, ToolCallRequest
from nbtools.core.confirmation import (
    Answer,
    Confirmation,
    Confirmer,
    FileChoice,
    ToolCallConfirmationDetails,
    ToolConfirmationOutcome,
    ToolConfirmationPayload,
    ToolEditConfirmationDetails,
    ToolInfoConfirmationDetails,
    answer_unavailable_message,
    approval_unavailable_message,
    confirmation_unavailable_message,
    rules_added,
    takes_nothing,
)
from nbtools.core.decision import Action, Decision
from nbtools.core.errors import ErrorCode, ToolError, ToolFailure, exception_text
from nbtools.core.message import Advice, Message, SameCall, changed_arguments
from nbtools.core.result import BATCH_ENDED, ToolResult, failed
from nbtools.core.tool import ModifiableTool, SelectableInvocation
from nbtools.policy.grants import GrantOffers, can_be_allowed, offered_grants

if TYPE_CHECKING:
    from nbtools.shell import ProgramTable

Replan: TypeAlias = Callable[[ToolCallRequest], Awaitable[Plan]]
"""Plans a call again, hooks included."""
WatchGrants: TypeAlias = Callable[[Plan, Callable[[Decision], None]], AbstractContextManager[None]]
"""While entered, calls the function with the decision that allows the plan, as soon as a grant does."""


class ApprovalContext(Protocol):
    """Supplies the confirmer and stores the grants of "always allow"."""

    @property
    def confirmer(self) -> Confirmer | None: ...

    @property
    def programs(self) -> ProgramTable | None:
        """The table of programs for command analysis; None for the built-in one."""

    @property
    def saves_grants(self) -> bool:
        """Whether grants can be saved for later sessions."""

    def allow(self, rule: str, *, save: bool = False, by: str = "") -> None: ...


class CallDenied(Exception):  # noqa: N818 - an answer, not an error
    """The person denied the call."""

    def __init__(self, answer: Answer) -> None:
        super().__init__(answer.reason)
        self.answer = answer

    @property
    def result(self) -> ToolResult:
        reason = f" Reason: {self.answer.reason}" if self.answer.reason else ""
        return failed(
            ToolError(ErrorCode.CONFIRMATION_DENIED, f"The call was denied; nothing was changed.{reason}"),
            self.answer,
        )


class BatchEnded(Exception):  # noqa: N818 - an answer, not an error
    """An earlier call of the message was denied or stopped the batch, so this one is cancelled."""

    answer = None
    result = failed(
        ToolError(
            ErrorCode.CANCELLED,
            "The call was cancelled, because an earlier call of the same message was denied or stopped.",
        ),
        BATCH_ENDED,
    )


@dataclass(frozen=True, slots=True)
class ApprovalState:
    """A plan that awaits approval; ``proposal`` is the model's original text once the person has changed it.

    ``conflict`` explains why an approved call needs approval again; an answer to it never adds a grant.
    """

    plan: Plan
    proposal: str | None = None
    modified: bool = False
    conflict: str = ""


async def approve(
    request: ToolCallRequest,
    plan: Plan,
    context: ApprovalContext,
    enter: Callable[[AwaitingApprovalCall], None],
    replan: Replan,
    watch_grants: WatchGrants,
    clock: Clock,
    conflict: str = "",
) -> tuple[Plan, Approval | None]:
    """Returns the plan to run, which differs from ``plan`` if the person modified it, and the approval.

    There is no approval where nothing would change, and where a grant that was added meanwhile, such as by
    "always allow" in answer to another call, covers the call; the confirmation is then withdrawn.

    A changed call is built, checked by hooks and decided again.  With ``MODIFY_WITH_EDITOR`` it is then put
    to the person again; with any other approval it runs once, unless a hook has changed it further, and adds
    no grant.  Raises ``ToolFailure`` when the policy denies the call or there is no confirmer, ``CallDenied``
    when the person denies it.
    """
    draft = ApprovalState(plan, conflict=conflict)
    while True:
        confirmer = _confirmer(request, draft, context)
        waiting = await _approval_request(request, draft, context, clock)
        if _changes_nothing(waiting.confirmation) and not draft.modified:
            return structs.replace(draft.plan, decision=_NO_CHANGE), None
        enter(waiting)
        answer = await _answer(confirmer, waiting.confirmation, draft.plan, watch_grants)
        if isinstance(answer, Decision):
            return structs.replace(draft.plan, decision=answer), None
        # Passes the answer to the invocation. A denial stays one, whatever the invocation raises.
        try:
            await draft.plan.invocation.on_confirm(answer.outcome, answer.payload)
        except Exception as error:
            if answer.outcome is ToolConfirmationOutcome.CANCEL:
                raise CallDenied(answer) from error
            raise
        if answer.outcome is ToolConfirmationOutcome.CANCEL:
            raise CallDenied(answer)
        approves = answer.outcome is not ToolConfirmationOutcome.MODIFY_WITH_EDITOR
        if approves and not _is_change(draft, waiting.confirmation.details, answer.payload):
            answer = _add_grants(answer, waiting.confirmation, context)
            return draft.plan, Approval(waiting.confirmation, answer, clock())
        draft, entered = await _modified(request, draft, waiting.confirmation.details, answer.payload, replan)
        answer = replace(answer, outcome=ToolConfirmationOutcome.PROCEED_ONCE) if approves else answer
        action = draft.plan.decision.action
        if action is Action.ALLOW or (action is Action.ASK and approves and draft.plan.arguments == entered):
            return draft.plan, Approval(waiting.confirmation, answer, clock())


async def _answer(
    confirmer: Confirmer, confirmation: Confirmation, plan: Plan, watch_grants: WatchGrants
) -> Answer | Decision:
    """Returns the person's answer, or a grant's decision if it comes first and ends the question."""
    if not confirmation.offers:
        return await _ask(confirmer, confirmation)
    decisions: list[Decision] = []
    try:
        async with asyncio.timeout(None) as waiting:

            def end(decision: Decision) -> None:
                decisions.append(decision)
                waiting.reschedule(0)  # the loop's clock is past this

            with watch_grants(plan, end):
                return await _ask(confirmer, confirmation)
    except TimeoutError:
        if not decisions or not waiting.expired():
            raise
        return decisions[0]


async def _ask(confirmer: Confirmer, confirmation: Confirmation) -> Answer:
    """Returns the confirmer's answer to this request. Raises ``ToolFailure`` if it has none."""
    try:
        answer: object = await confirmer.ask(confirmation)
    except ToolFailure:
        raise
    except Exception as error:
        message = (
            f"The confirmer failed when it was asked about {confirmation.tool}: {exception_text(error)}. The"
            " call was not run."
        )
        raise ToolFailure(ErrorCode.CONFIRMATION_REQUIRED, message) from error
    if not isinstance(answer, Answer) or not isinstance(answer.payload, ToolConfirmationPayload | None):
        message = (
            f"The confirmer answered {answer!r:.100} to the request about {confirmation.tool}, which is no"
            " Answer. The call was not run."
        )
        raise ToolFailure(ErrorCode.CONFIRMATION_REQUIRED, message)
    offered = (*confirmation.offers, *confirmation.narrower)
    unknown = [
        rule for rule in (answer.payload.rules if answer.payload is not None else ()) if rule not in offered
    ]
    if unknown and answer.outcome is not ToolConfirmationOutcome.CANCEL:
        message = (
            f"The answer to the request about {confirmation.tool} adds {', '.join(unknown)}, which was not"
            f" offered (offered: {', '.join(offered) or 'nothing'}). The call was not run and nothing was"
            " granted."
        )
        raise ToolFailure(ErrorCode.CONFIRMATION_REQUIRED, message)
    if _takes_nothing(answer, confirmation.details):
        return replace(
            answer,
            outcome=ToolConfirmationOutcome.CANCEL,
            reason=answer.reason or "No part of the change was chosen.",
        )
    return answer


def _takes_nothing(answer: Answer, details: ToolCallConfirmationDetails) -> bool:
    files = answer.payload.files if answer.payload is not None else None
    if not files or not isinstance(details, ToolEditConfirmationDetails) or len(files) != len(details.parts):
        return False
    return all(map(takes_nothing, files, details.parts))


_NO_CHANGE = Decision(Action.ALLOW, "the file already has this content", "nothing changes")


def _changes_nothing(confirmation: Confirmation) -> bool:
    """Whether only the mode asks about an edit that leaves the file as it is.

    A rule's, a hook's and a protected file's question is put all the same:
    whether a file has a certain content may be a secret.
    """
    details = confirmation.details
    if (
        not isinstance(details, ToolEditConfirmationDetails)
        or details.others
        or details.note
        or not can_be_allowed(confirmation.decision)
    ):
        return False
    return details.original_content is not None and details.original_content == details.new_content


def _is_change(
    draft: ApprovalState, details: ToolCallConfirmationDetails, payload: ToolConfirmationPayload | None
) -> bool:
    """Whether the payload differs from the call that was put to the person."""
    if payload is None or details.type == "ask":
        return False
    if payload.arguments is not None:
        return payload.arguments != draft.plan.arguments
    if payload.files is not None:
        is_whole = (
            details.type == "edit"
            and len(payload.files) == len(details.parts)
            and all(one is True for one in payload.files)
        )
        return not is_whole
    return payload.new_content is not None and not (
        details.type == "edit" and payload.new_content == details.new_content
    )


def _confirmer(request: ToolCallRequest, draft: ApprovalState, context: ApprovalContext) -> Confirmer:
    decision = draft.plan.decision
    if decision.action is Action.DENY:
        raise ToolFailure(
            ErrorCode.POLICY_VIOLATION, f"The policy denies {request.spoken}: {decision.reason}."
        )
    if context.confirmer is None:
        raise ToolFailure(
            ErrorCode.CONFIRMATION_REQUIRED, _how_to_allow(request, draft.plan, context.programs)
        )
    return context.confirmer


def _how_to_allow(request: ToolCallRequest, plan: Plan, programs: ProgramTable | None) -> str:
    if plan.tool.asks == "always":
        return answer_unavailable_message(request.spoken)
    if not can_be_allowed(plan.decision):
        return confirmation_unavailable_message(request.spoken, plan.decision)
    offers = offered_grants(plan.tool, plan.invocation, programs)
    return approval_unavailable_message(request.spoken, plan.decision, offers.rules or (plan.tool.name,))


async def _approval_request(
    request: ToolCallRequest, draft: ApprovalState, context: ApprovalContext, clock: Clock
) -> AwaitingApprovalCall:
    plan = draft.plan
    details = await plan.invocation.should_confirm_execute() or _default_question(request, plan)
    if isinstance(details, ToolEditConfirmationDetails):
        note = f"{draft.conflict} {details.note}".strip()
        details = replace(details, is_modifying=draft.modified or details.is_modifying, note=note)
    offers = GrantOffers()
    if not draft.conflict and can_be_allowed(plan.decision):
        offers = offered_grants(plan.tool, plan.invocation, context.programs)
    confirmation = Confirmation(
        request.id,
        plan.tool.name,
        details,
        plan.decision,
        offers.rules,
        offers.folders,
        offers.covered,
        context.saves_grants,
    )
    return AwaitingApprovalCall(request, plan, confirmation, clock())


def _default_question(request: ToolCallRequest, plan: Plan) -> ToolInfoConfirmationDetails:
    description = plan.invocation.get_description()
    return ToolInfoConfirmationDetails(f"Run {request.spoken}?", description or plan.tool.description)


def _add_grants(answer: Answer, confirmation: Confirmation, context: ApprovalContext) -> Answer:
    """Adds the answer's grants and returns the answer in force.

    A grant that cannot be saved holds for this session only, with a warning;
    ``save`` of the returned answer is then False.
    """
    answer = replace(answer, save=answer.save and confirmation.can_save)
    for rule in rules_added(answer, confirmation):
        try:
            context.allow(rule, save=answer.save, by=confirmation.call_id)
        except (ToolFailure, OSError) as error:
            if not answer.save:
                raise
            warnings.warn(
                f"{rule} is allowed for this session only, because the grant could not be saved: {error}",
                stacklevel=2,
            )
            answer = replace(answer, save=False)
            context.allow(rule, by=confirmation.call_id)
    return answer


async def _modified(
    request: ToolCallRequest,
    draft: ApprovalState,
    details: ToolCallConfirmationDetails,
    payload: ToolConfirmationPayload | None,
    replan: Replan,
) -> tuple[ApprovalState, Mapping[str, Any]]:
    """Plans the call again with the person's changes; returns also its arguments before hooks."""
    if details.type == "ask":
        message = (
            f"{request.spoken} only asks questions and cannot be modified; answer them or deny the call."
        )
        raise ToolFailure(ErrorCode.INVALID_TOOL_PARAMS, message)
    if payload is not None and payload.arguments is not None:
        plan = await replan(structs.replace(request, arguments=payload.arguments))
        return (
            ApprovalState(_with_change_note(request, plan), draft.proposal, modified=True),
            payload.arguments,
        )
    if payload is not None and payload.files is not None:
        return _selected(request, draft, details, payload.files), draft.plan.arguments
    tool = draft.plan.tool
    if (
        payload is None
        or payload.new_content is None
        or not isinstance(tool, ModifiableTool)
        or details.type != "edit"
    ):
        raise ToolFailure(
            ErrorCode.INVALID_TOOL_PARAMS,
            f"{request.spoken} cannot be modified by editing its text; give new arguments instead.",
        )
    context = tool.get_modify_context()
    proposal = details.new_content if draft.proposal is None else draft.proposal
    arguments = context.create_updated_params(
        details.original_content, payload.new_content, draft.plan.invocation.params
    )
    plan = await replan(structs.replace(request, arguments=arguments))
    plan = structs.replace(plan, invocation=context.remember_proposal(plan.invocation, proposal))
    return ApprovalState(plan, proposal, modified=True), arguments


def _selected(
    request: ToolCallRequest,
    draft: ApprovalState,
    details: ToolCallConfirmationDetails,
    files: tuple[FileChoice, ...],
) -> ApprovalState:
    """Leaves out what was not chosen.  The arguments stay: the tool itself reports what it did not apply."""
    if not isinstance(details, ToolEditConfirmationDetails) or not details.parts:
        message = f"{request.spoken} has no parts to choose from. Approve or deny it as a whole."
        raise ToolFailure(ErrorCode.INVALID_TOOL_PARAMS, message)
    selected = cast("SelectableInvocation", draft.plan.invocation).select(files)
    return replace(draft, plan=structs.replace(draft.plan, invocation=selected), modified=True)


def _with_change_note(request: ToolCallRequest, plan: Plan) -> Plan:
    """Notes changed arguments for the model; a tool itself reports a changed proposal."""
    before, after = request.arguments, plan.arguments
    changed = changed_arguments(before, after)
    if not changed:
        return plan
    note = Message.of(
        "[The person changed the call before it ran", Advice("; it ran ", SameCall(changed)), "]"
    )
    return structs.replace(plan, notes=(*plan.notes, note))
