"""Combines the verdicts of hooks about one call: applies their changes and decides by the strictest."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

from msgspec import structs

from nbtools.core.call import Plan, ToolCallRequest
from nbtools.core.decision import Action, Decision
from nbtools.core.errors import ErrorCode, ToolError, ToolFailure
from nbtools.core.hooks import Allow, Ask, Before, Block, Change, Fault, Hook, Note, Stop
from nbtools.core.message import Advice, Message, SameCall, changed_arguments
from nbtools.core.tool import approval_preference, is_mcp_tool
from nbtools.policy.modes import Mode, default_decision, deny_instead_of_asking

Replan: TypeAlias = Callable[[ToolCallRequest], Plan]

_ACTIONS: dict[type[Before], Action] = {Block: Action.DENY, Ask: Action.ASK, Allow: Action.ALLOW}
_STRENGTH = {Action.ALLOW: 0, Action.ASK: 1, Action.DENY: 2}
_HOOK = "hook"
"""The source of a hook's decision to ask: no grant answers it, because the hook asks again at the next call."""
_MAX_JSON = 2_000
"""Characters."""


def stop_error(reason: str) -> ToolError:
    """Returns the error of a call at which a hook ended the message."""
    return ToolError(ErrorCode.STOP_EXECUTION, f"Agent execution stopped by hook: {reason.strip()}")


@dataclass(frozen=True, slots=True)
class HookDecision:
    """The strictest action that a hook requested, with that hook's name and reason."""

    action: Action
    hook: str
    reason: str


@dataclass(frozen=True, slots=True)
class HookState:
    """A plan while the hooks run; ``remarks`` are added to the decision's reason, ``notes`` are for the model."""

    request: ToolCallRequest
    plan: Plan
    mode: Mode
    opinion: HookDecision | None = None
    remarks: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()

    @property
    def is_blocked(self) -> bool:
        return self.opinion is not None and self.opinion.action is Action.DENY

    def apply(self, hook: Hook, verdict: Before, replan: Replan) -> HookState:
        match verdict:
            case Block() | Ask() | Allow():
                return self._with(HookDecision(_ACTIONS[type(verdict)], hook.name, verdict.reason))
            case Change(arguments):
                return self._changed(hook, dict(arguments), replan)
            case Note(text):
                return replace(self, notes=(*self.notes, f"[hook {hook.name}] {text}"))
            case Stop(reason):
                error = stop_error(reason)
                raise ToolFailure(error.code, error.message)
            case Fault(problem) if hook.closed:
                return self._with(HookDecision(Action.DENY, hook.name, f"it {problem}, and a closed hook that fails blocks the call"))
            case Fault(problem):
                remark = f"the hook {hook.name} was skipped: it {problem}"
                return replace(self, notes=(*self.notes, f"[{remark}]"), remarks=(*self.remarks, remark))

    def _with(self, opinion: HookDecision) -> HookState:
        current = self.opinion
        is_stricter = current is None or _STRENGTH[opinion.action] > _STRENGTH[current.action]
        return replace(self, opinion=opinion) if is_stricter else self

    def _changed(self, hook: Hook, arguments: dict[str, Any], replan: Replan) -> HookState:
        # An earlier hook that allowed the call has not seen these arguments, so its allow no longer counts.
        request = structs.replace(self.request, arguments=arguments)
        try:
            plan = replan(request)
        except ToolFailure as failure:
            message = Message.of(f"The hook {hook.name} changed the arguments to invalid ones: ", failure.message)
            raise ToolFailure(failure.code, message) from None
        remark = f"the hook {hook.name} changed the arguments"
        opinion = None if self.opinion is not None and self.opinion.action is Action.ALLOW else self.opinion
        changed = changed_arguments(self.request.arguments, arguments)
        note = Message.of("[", remark, Advice("; it ran ", SameCall(changed)), "]")
        return replace(self, request=request, plan=plan, opinion=opinion, notes=(*self.notes, note), remarks=(*self.remarks, remark))

    @property
    def decision(self) -> Decision:
        decided = self._by_hook() or self.plan.decision
        reason = "; ".join((decided.reason, *self.remarks))
        return replace(decided, reason=reason) if self.remarks else decided

    def _by_hook(self) -> Decision | None:
        if self.opinion is None or (self.plan.decision.action is Action.DENY and not self.is_blocked):
            return None
        hook, text = self.opinion.hook, self.opinion.reason.strip().removesuffix(".")
        reason = f": {text}" if self.opinion.reason.strip() else ""
        match self.opinion.action:
            case Action.DENY:
                return Decision(Action.DENY, f"the hook {hook} blocks it{reason}", f"hook {hook}")
            case Action.ASK:
                asks = Decision(Action.ASK, f"the hook {hook} requires approval{reason}", f"hook {hook}", source=_HOOK)
                return deny_instead_of_asking(self.mode, asks)
            case Action.ALLOW:
                return (
                    Decision(Action.ALLOW, f"the hook {hook} allows it{reason}", f"hook {hook}") if self._needs_approval_by_mode else None
                )

    @property
    def _needs_approval_by_mode(self) -> bool:
        """Whether only the mode requires approval; a hook's allow does not override a rule or a tool that always asks."""
        decision, asks = self.plan.decision, approval_preference(self.plan.tool, self.plan.invocation)
        if decision.action is not Action.ASK or asks == "always":
            return False
        default = default_decision(self.mode, asks, self.plan.kind, of_server=is_mcp_tool(self.plan.tool))
        return decision.rule == default.rule

    def final_plan(self) -> Plan:
        return structs.replace(self.plan, decision=self.decision, notes=self.notes)


def as_json(value: object) -> str:
    """Returns a value as JSON for a message, truncated where it is very long."""
    try:
        text = json.dumps(value, ensure_ascii=False)
    except (TypeError, ValueError):
        text = repr(value)
    return text if len(text) <= _MAX_JSON else f"{text[:_MAX_JSON]}…"
