"""What hooks make of a call before it runs: their opinions weighed, their changes built and judged again."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

from nbtools.core.call import Plan, ToolCallRequest
from nbtools.core.decision import Action, Decision
from nbtools.core.errors import ToolFailure
from nbtools.core.hook import Allow, Ask, Before, Block, Change, Fault, Hook, Note
from nbtools.core.tool import asks_of, is_of_server
from nbtools.policy.modes import Mode, default_decision, without_asking

Replan: TypeAlias = Callable[[ToolCallRequest], Plan]

_ACTIONS: dict[type[Before], Action] = {Block: Action.DENY, Ask: Action.ASK, Allow: Action.ALLOW}
_STRENGTH = {Action.ALLOW: 0, Action.ASK: 1, Action.DENY: 2}
_MOST_SHOWN = 2_000


@dataclass(frozen=True, slots=True)
class Opinion:
    """What the hooks want done with the call, and which of them said so."""

    action: Action
    hook: str
    reason: str


@dataclass(frozen=True, slots=True)
class Draft:
    """A plan on its way through the hooks; ``remarks`` go to the reason of the decision, ``notes`` to the model."""

    request: ToolCallRequest
    plan: Plan
    mode: Mode
    opinion: Opinion | None = None
    remarks: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()

    @property
    def is_blocked(self) -> bool:
        return self.opinion is not None and self.opinion.action is Action.DENY

    def heard(self, hook: Hook, verdict: Before, replan: Replan) -> Draft:
        match verdict:
            case Block() | Ask() | Allow():
                return self._with(Opinion(_ACTIONS[type(verdict)], hook.name, verdict.reason))
            case Change(arguments):
                return self._changed(hook, dict(arguments), replan)
            case Note(text):
                return replace(self, notes=(*self.notes, f"[hook {hook.name}] {text}"))
            case Fault(problem) if hook.closed:
                return self._with(Opinion(Action.DENY, hook.name, f"it {problem}, and nothing runs past it"))
            case Fault(problem):
                told = f"the hook {hook.name} was passed over: it {problem}"
                return replace(self, notes=(*self.notes, f"[{told}]"), remarks=(*self.remarks, told))

    def _with(self, opinion: Opinion) -> Draft:
        held = self.opinion
        return self if held is not None and _STRENGTH[held.action] >= _STRENGTH[opinion.action] else replace(self, opinion=opinion)

    def _changed(self, hook: Hook, arguments: dict[str, Any], replan: Replan) -> Draft:
        """An earlier hook that allowed the call has not seen these arguments: its word no longer counts."""
        request = replace(self.request, arguments=arguments)
        try:
            plan = replan(request)
        except ToolFailure as failure:
            raise ToolFailure(failure.code, f"The hook {hook.name} changed the arguments to ones that will not do: {failure}") from None
        told = f"the hook {hook.name} changed the arguments"
        kept = None if self.opinion is not None and self.opinion.action is Action.ALLOW else self.opinion
        note = f"[{told} to {as_json(arguments)}]"
        return replace(self, request=request, plan=plan, opinion=kept, notes=(*self.notes, note), remarks=(*self.remarks, told))

    @property
    def decision(self) -> Decision:
        decided = self._by_hook() or self.plan.decision
        reason = "; ".join((decided.reason, *self.remarks))
        return replace(decided, reason=reason) if self.remarks else decided

    def _by_hook(self) -> Decision | None:
        if self.opinion is None or (self.plan.decision.action is Action.DENY and not self.is_blocked):
            return None
        hook, why = self.opinion.hook, f": {self.opinion.reason.strip().removesuffix('.')}" if self.opinion.reason.strip() else ""
        match self.opinion.action:
            case Action.DENY:
                return Decision(Action.DENY, f"the hook {hook} blocks it{why}", f"hook {hook}")
            case Action.ASK:
                return without_asking(self.mode, Decision(Action.ASK, f"the hook {hook} asks{why}", f"hook {hook}"))
            case Action.ALLOW:
                return Decision(Action.ALLOW, f"the hook {hook} allows it{why}", f"hook {hook}") if self._asks_by_default else None

    @property
    def _asks_by_default(self) -> bool:
        """Whether nothing but the mode has the call asked; a rule's word and a tool made for asking stand above a hook's yes."""
        decision, asks = self.plan.decision, asks_of(self.plan.tool, self.plan.invocation)
        if decision.action is not Action.ASK or asks == "always":
            return False
        default = default_decision(self.mode, asks, self.plan.kind, of_server=is_of_server(self.plan.tool))
        return decision.rule == default.rule

    def settled(self) -> Plan:
        return replace(self.plan, decision=self.decision, notes=self.notes)


def as_json(value: object) -> str:
    """A value for a message, cut where it is very long."""
    try:
        text = json.dumps(value, ensure_ascii=False)
    except (TypeError, ValueError):
        text = repr(value)
    return text if len(text) <= _MOST_SHOWN else f"{text[:_MOST_SHOWN]}…"
