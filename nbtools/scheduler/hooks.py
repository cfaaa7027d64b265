"""Runs hooks before and after a call, in order; each gets the call as the earlier ones changed it."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import Any, cast

from nbtools.core.call import Plan, ToolCallRequest
from nbtools.core.errors import ErrorCode, ToolError, exception_text
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
from nbtools.core.result import LlmContent, ToolResult, failed
from nbtools.policy.modes import Mode
from nbtools.scheduler.hook_decisions import HookState, Replan, as_json, stop_error

_BEFORE = (Block, Ask, Allow, Change, Note, Stop, Fault)
_AFTER = (Block, Note, Replace, Withhold, Stop, Fault)


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

        Deny is stronger than ask, ask than allow, in any order; the first hook that blocks ends the loop.  Raises ``ToolFailure`` where a
        hook's arguments are invalid.
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

    async def run_after(self, request: ToolCallRequest, plan: Plan, result: ToolResult, seconds: float, mode: Mode) -> ToolResult:
        """Runs the hooks after a call; returns the result with their changes.  When a closed hook fails, the result is withheld."""
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
                    return _withheld(request, hook, verdict)
                result = _after(hook, verdict, result)
        return result

    def _setting(self, mode: Mode) -> CallContext:
        return CallContext(self._root, self._session, mode)


async def _verdicts(hook: Hook, event: BeforeCall | AfterCall, allowed: tuple[type, ...]) -> tuple[object, ...]:
    """Runs a hook and returns its verdicts; an exception, a timeout or an unknown verdict becomes a ``Fault``."""
    try:
        async with asyncio.timeout(hook.timeout) as limit:
            answer = await _run(hook.run, event)
    except (Exception, SystemExit) as bug:  # noqa: BLE001 - a hook's exceptions become verdicts here and nowhere else
        late = isinstance(bug, TimeoutError) and limit.expired()
        return (Fault(f"took longer than {hook.timeout:g} seconds" if late else f"crashed with {exception_text(bug)}"),)
    verdicts = () if answer is None else (answer,) if isinstance(answer, allowed) or not isinstance(answer, Iterable) else tuple(answer)
    invalid = next((verdict for verdict in verdicts if not isinstance(verdict, allowed)), None)
    return verdicts if invalid is None else (Fault(f"returned {as_json(answer)}, which is not a verdict for this event"),)


async def _run(run: Callable[[Any], Any], event: Any) -> Any:
    # A plain function runs in a thread, so that a slow one does not block the event loop.
    answer = run(event) if inspect.iscoroutinefunction(run) else await asyncio.to_thread(run, event)
    return await answer if inspect.isawaitable(answer) else answer


def _after(hook: Hook, verdict: After, result: ToolResult) -> ToolResult:
    match verdict:
        case Block(reason):
            return _with_note(result, f"[the hook {hook.name} objects: {reason.strip()}]")
        case Note(text):
            return _with_note(result, f"[hook {hook.name}] {text}")
        case Replace(content):
            return _replaced(result, content)
        case Withhold(reason):
            return replace(failed(ToolError(ErrorCode.EXECUTION_FAILED, f"Tool result blocked: {reason.strip()}")), notes=result.notes)
        case Stop(reason):
            return replace(failed(stop_error(reason)), notes=result.notes)
        case Fault(problem):
            summary = " · ".join(filter(None, (result.summary, f"the hook {hook.name} failed")))
            return _with_note(replace(result, summary=summary), f"[the hook {hook.name} was skipped: it {problem}]")


def _with_note(result: ToolResult, note: str) -> ToolResult:
    return replace(result, notes=(*result.notes, note))


def _replaced(result: ToolResult, content: LlmContent) -> ToolResult:
    # Data and summary go, too: a dialect words its reply from them.
    text = content if isinstance(content, str) else "\n".join(str(part["text"]) for part in content if "text" in part)
    error = None if result.error is None else ToolError(result.error.code, text)
    return replace(result, llm_content=content, return_display=text, error=error, summary=None, data=None)


def _withheld(request: ToolCallRequest, hook: Hook, fault: Fault) -> ToolResult:
    message = (
        f"{request.spoken} ran, but its result is withheld: the hook {hook.name} {fault.problem}. Fix the hook, then check the effect."
    )
    return failed(ToolError(ErrorCode.POLICY_VIOLATION, message))
