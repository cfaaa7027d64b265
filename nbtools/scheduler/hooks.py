"""Runs hooks before and after a call, in order; each gets the call as the earlier ones changed it."""

from __future__ import annotations

import asyncio
import inspect
import json
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from typing import Any, TypeAlias, cast

from msgspec import structs

from nbtools.core.call import Plan, ToolCallRequest
from nbtools.core.decision import Action, Decision
from nbtools.core.errors import ErrorCode, ToolError, ToolFailure, exception_text
from nbtools.core.hooks import (
    After,
    AfterCall,
    AfterHook,
    Allow,
    Ask,
    Before,
    BeforeCall,
    BeforeHook,
    Block,
    CallContext,
    Change,
    Fault,
    Hook,
    Note,
    Replace,
    Stop,
    Withhold,
)
from nbtools.core.message import Advice, Message, SameCall, changed_arguments
from nbtools.core.result import LlmContent, ToolResult, failed
from nbtools.core.tool import approval_preference, is_mcp_tool
from nbtools.policy.modes import Mode, default_decision, deny_instead_of_asking

_BEFORE = (Block, Ask, Allow, Change, Note, Stop, Fault)
_AFTER = (Block, Note, Replace, Withhold, Stop, Fault)


Replan: TypeAlias = Callable[[ToolCallRequest], Plan]

_ACTIONS: dict[type[Before], Action] = {Block: Action.DENY, Ask: Action.ASK, Allow: Action.ALLOW}
_STRENGTH = {Action.ALLOW: 0, Action.ASK: 1, Action.DENY: 2}
_HOOK = "hook"
"""The source of a hook's decision to ask; no grant answers it, because the hook asks each time."""
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
    """A plan while hooks run; ``remarks`` add to the decision's reason, ``notes`` are for the model."""

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
                return self._with(
                    HookDecision(
                        Action.DENY, hook.name, f"it {problem}, and a closed hook that fails blocks the call"
                    )
                )
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
            message = Message.of(
                f"The hook {hook.name} changed the arguments to invalid ones: ", failure.message
            )
            raise ToolFailure(failure.code, message) from None
        remark = f"the hook {hook.name} changed the arguments"
        opinion = None if self.opinion is not None and self.opinion.action is Action.ALLOW else self.opinion
        changed = changed_arguments(self.request.arguments, arguments)
        note = Message.of("[", remark, Advice("; it ran ", SameCall(changed)), "]")
        return replace(
            self,
            request=request,
            plan=plan,
            opinion=opinion,
            notes=(*self.notes, note),
            remarks=(*self.remarks, remark),
        )

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
                asks = Decision(
                    Action.ASK, f"the hook {hook} requires approval{reason}", f"hook {hook}", source=_HOOK
                )
                return deny_instead_of_asking(self.mode, asks)
            case Action.ALLOW:
                if self._needs_approval_by_mode:
                    return Decision(Action.ALLOW, f"the hook {hook} allows it{reason}", f"hook {hook}")
                return None

    @property
    def _needs_approval_by_mode(self) -> bool:
        """Whether only the mode asks; a hook's allow overrides no rule and no tool that always asks."""
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


class Hooks:
    """The hooks of one session.  ``root`` is the workspace, ``session`` an id for hooks that keep logs."""

    def __init__(self, hooks: Iterable[Hook], root: str, session: str) -> None:
        listed = tuple(hooks)
        self.before = tuple(hook for hook in listed if isinstance(hook, BeforeHook))
        self.after = tuple(hook for hook in listed if isinstance(hook, AfterHook))
        self._root = root
        self._session = session

    async def run_before(self, request: ToolCallRequest, plan: Plan, replan: Replan, mode: Mode) -> Plan:
        """Runs the hooks before a call; returns the plan with their decision, arguments and notes.

        Deny is stronger than ask, ask than allow, in any order; the first hook that blocks ends the loop.
        Raises ``ToolFailure`` where a hook's arguments are invalid.
        """
        draft = HookState(request, plan, mode)
        for hook in self.before:
            if draft.is_blocked or not hook.matches(request.name, draft.plan.kind, request.spoken):
                continue
            event = BeforeCall(
                id=request.id,
                tool=request.name,
                kind=draft.plan.kind,
                arguments=draft.request.arguments,
                spoken=request.spoken,
                decision=draft.decision,
                setting=self._setting(mode),
            )
            verdicts = cast("tuple[Before, ...]", await _verdicts(hook, event, _BEFORE))
            # Changes first: the hook's other verdicts are about the changed call.
            for verdict in sorted(verdicts, key=lambda verdict: not isinstance(verdict, Change)):
                draft = draft.apply(hook, verdict, replan)
        return draft.final_plan()

    async def run_after(
        self, request: ToolCallRequest, plan: Plan, result: ToolResult, seconds: float, mode: Mode
    ) -> ToolResult:
        """Runs hooks after a call; returns the changed result, withheld when a closed hook fails."""
        for hook in self.after:
            if not hook.matches(request.name, plan.kind, request.spoken):
                continue
            event = AfterCall(
                id=request.id,
                tool=request.name,
                kind=plan.kind,
                arguments=plan.arguments,
                spoken=request.spoken,
                result=result,
                seconds=seconds,
                setting=self._setting(mode),
            )
            for verdict in cast("tuple[After, ...]", await _verdicts(hook, event, _AFTER)):
                if isinstance(verdict, Fault) and hook.closed:
                    message = (
                        f"{request.spoken} ran, but its result is withheld: the hook {hook.name}"
                        f" {verdict.problem}. Fix the hook, then check the effect."
                    )
                    return failed(ToolError(ErrorCode.POLICY_VIOLATION, message))
                result = _after(hook, verdict, result)
        return result

    def _setting(self, mode: Mode) -> CallContext:
        return CallContext(self._root, self._session, mode)


async def _verdicts(
    hook: Hook, event: BeforeCall | AfterCall, allowed: tuple[type, ...]
) -> tuple[object, ...]:
    """Runs a hook; an exception, a timeout or an unknown verdict becomes a ``Fault``."""
    try:
        async with asyncio.timeout(hook.timeout) as limit:
            run: Any = hook.run
            is_async = inspect.iscoroutinefunction(run)
            answer = run(event) if is_async else await asyncio.to_thread(run, event)
            answer = await answer if inspect.isawaitable(answer) else answer
    except (
        Exception,  # noqa: BLE001 - a hook's exceptions become verdicts here and nowhere else
        SystemExit,
    ) as bug:
        late = isinstance(bug, TimeoutError) and limit.expired()
        return (
            Fault(
                f"took longer than {hook.timeout:g} seconds"
                if late
                else f"crashed with {exception_text(bug)}"
            ),
        )
    if answer is None:
        return ()
    is_one = isinstance(answer, allowed) or not isinstance(answer, Iterable)
    verdicts = (answer,) if is_one else tuple(answer)
    invalid = next((verdict for verdict in verdicts if not isinstance(verdict, allowed)), None)
    if invalid is None:
        return verdicts
    return (Fault(f"returned {as_json(answer)}, which is not a verdict for this event"),)


def _after(hook: Hook, verdict: After, result: ToolResult) -> ToolResult:
    match verdict:
        case Block(reason):
            return _with_note(result, f"[the hook {hook.name} objects: {reason.strip()}]")
        case Note(text):
            return _with_note(result, f"[hook {hook.name}] {text}")
        case Replace(content):
            return _replaced(result, content)
        case Withhold(reason):
            return replace(
                failed(ToolError(ErrorCode.EXECUTION_FAILED, f"Tool result blocked: {reason.strip()}")),
                notes=result.notes,
            )
        case Stop(reason):
            return replace(failed(stop_error(reason)), notes=result.notes)
        case Fault(problem):
            summary = " · ".join(filter(None, (result.summary, f"the hook {hook.name} failed")))
            return _with_note(
                replace(result, summary=summary), f"[the hook {hook.name} was skipped: it {problem}]"
            )


def _with_note(result: ToolResult, note: str) -> ToolResult:
    return replace(result, notes=(*result.notes, note))


def _replaced(result: ToolResult, content: LlmContent) -> ToolResult:
    # Data and summary go, too: a dialect words its reply from them.
    text = (
        content
        if isinstance(content, str)
        else "\n".join(str(part["text"]) for part in content if "text" in part)
    )
    error = None if result.error is None else ToolError(result.error.code, text)
    return replace(result, llm_content=content, return_display=text, error=error, summary=None, data=None)
