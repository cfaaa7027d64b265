"""Runs tool calls through their states and emits an event for each state.

A ``ToolFailure`` becomes a failed result, an ``OSError`` is translated, and every other exception is reported
as a bug of the tool.  A cancelled call keeps the output that it had streamed.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace
from typing import TYPE_CHECKING, TypeAlias, cast

from msgspec import structs

from nbtools.core.call import (
    CURRENT_CALL,
    Approval,
    CancelledCall,
    Clock,
    ErroredCall,
    EvaluatedCall,
    ExecutingCall,
    FinishedCall,
    LiveCall,
    Observer,
    OutputEvent,
    Plan,
    ScheduledCall,
    SuccessfulCall,
    ToolCallRequest,
    ValidatingCall,
)
from nbtools.core.decision import Action, Decision
from nbtools.core.errors import (
    ErrorCode,
    Raised,
    ToolError,
    ToolFailure,
    exception_text,
    from_os_error,
    traceback_text,
)
from nbtools.core.redaction import Redactor
from nbtools.core.result import (
    CancelledOutput,
    CommandOutput,
    Markdown,
    Matches,
    Several,
    ToolResult,
    ToolResultDisplay,
    checked_result,
    failed,
    with_output,
)
from nbtools.core.terminal_text import plain_text
from nbtools.core.tool import Kind, UpdateOutput, runs_beside
from nbtools.core.toolset import ToolRegistry
from nbtools.policy.decide import PolicyEngine
from nbtools.scheduler.approval import ApprovalContext, BatchEnded, CallDenied, approve
from nbtools.scheduler.concurrency import ConcurrencyLimiter, Slot

if TYPE_CHECKING:
    from nbtools.scheduler.hooks import Hooks

CANCELLED = ToolError(ErrorCode.CANCELLED, "The call was cancelled.")


def error_result(name: str, error: Exception | SystemExit) -> ToolResult:
    """Returns the result of a call that raised ``error``."""
    if isinstance(error, ToolFailure):
        return failed(error.error, error.data)
    if isinstance(error, OSError) and error.errno is not None:
        return failed(from_os_error(error, error.filename if isinstance(error.filename, str) else name).error)
    # A wrong argument that only the tool's own code notices, or a bug.
    message = (
        f"{name} failed with {exception_text(error)}. If the arguments caused this, correct them; otherwise"
        " tell the tool's author."
    )
    return failed(ToolError(ErrorCode.UNHANDLED_EXCEPTION, message), Raised(traceback_text(error)))


def display_text(display: ToolResultDisplay) -> str:
    """Returns the streamed output as text for a model; empty for a display without text."""
    match display:
        case CommandOutput():
            header = (
                f"[… only the last of {display.lines:,} lines; the full output is in {display.full_output}]\n"
            )
            footer = f"\n({display.note})" if display.note else ""
            return f"{header if display.full_output else ''}{plain_text(display.text)}{footer}"
        case Matches():
            return "\n".join(f"{match.place}: {match.text}" for match in display.matches)
        case Several():
            return "\n".join(filter(None, map(display_text, display.shown)))
        case Markdown():
            return display.text
        case str():
            return display
        case _:
            return ""


MAX_HISTORY = 10_000

Planner: TypeAlias = Callable[[ToolCallRequest], Plan]
"""Builds a call and decides about it."""
Shorten: TypeAlias = Callable[[ToolResult, int], ToolResult]
"""Truncates ``llm_content`` of a result to a number of characters."""


class ToolScheduler:
    """Runs calls in one event loop: read-only ones in parallel, changes singly, at most ``limit`` at once.

    A call can be cancelled in any state.  ``judge``, ``hooks`` and ``redactor`` (removes secrets from results
    and streamed output) may be replaced between calls.  ``approval_context`` supplies the confirmer and
    stores grants; ``shorten`` truncates a result for the model.  The last ``MAX_HISTORY`` finished calls stay
    in ``history``.
    """

    def __init__(
        self,
        registry: ToolRegistry,
        judge: PolicyEngine,
        approval_context: ApprovalContext,
        clock: Clock,
        limit: int = 5,
        *,
        shorten: Shorten = lambda result, _: result,
    ) -> None:
        self.judge = judge
        self.hooks: Hooks | None = None
        self.redactor: Redactor | None = None
        self._registry = registry
        self._approval_context = approval_context
        self._clock = clock
        self._shorten = shorten
        self._concurrency = ConcurrencyLimiter(limit)
        self._observers: tuple[Observer, ...] = ()
        self.history: deque[FinishedCall] = deque(maxlen=MAX_HISTORY)
        self._live: dict[str, LiveCall] = {}
        self._output: dict[str, ToolResultDisplay] = {}
        """The latest streamed output of running calls."""
        self._tasks: dict[str, asyncio.Task[object]] = {}
        self._stopped: set[str] = set()
        self._grant_watches: set[Callable[[], None]] = set()
        self._ended: asyncio.Future[None] | None = None

    @property
    def live(self) -> tuple[LiveCall, ...]:
        """The running calls, oldest first."""
        return tuple(self._live.values())

    def is_live(self, call_id: str) -> bool:
        return call_id in self._live

    def observe(self, observer: Observer) -> Callable[[], None]:
        """Notifies ``observer`` of every event until the returned function is called."""
        self._observers = (*self._observers, observer)
        return lambda: setattr(
            self, "_observers", tuple(other for other in self._observers if other is not observer)
        )

    def cancel(self, call_id: str) -> bool:
        """Cancels a call in any state.  Returns False when no call with that id is running."""
        task = self._tasks.get(call_id)
        if task is None or call_id in self._stopped:
            return False
        self._stopped.add(call_id)
        task.cancel()
        return True

    async def close(self) -> None:
        """Cancels every call and waits until the last has ended."""
        for call_id in tuple(self._live):
            self.cancel(call_id)
        while self._live:
            self._ended = asyncio.get_running_loop().create_future()
            await self._ended

    async def run(self, request: ToolCallRequest, planner: Planner | None = None) -> FinishedCall:
        """Runs the call through all its states; cancelling the awaiting task cancels and records it.

        The request's id must not be that of a running call.
        ``planner`` plans a call of a tool that is not registered.
        """
        task = cast("asyncio.Task[object]", asyncio.current_task())
        before = task.cancelling()
        self._tasks[request.id] = task
        self._enter(ValidatingCall(request, self._clock()))
        try:
            return await self._run_states(request, planner or self.plan)
        except (CallDenied, BatchEnded) as ended:
            return self._end(
                CancelledCall(request, self._live[request.id], ended.result, ended.answer, self._clock())
            )
        except (
            Exception,  # noqa: BLE001 - a tool's exceptions become results here and nowhere else
            SystemExit,
        ) as error:
            result = self._redacted(error_result(request.spoken, error))
            return self._end(ErroredCall(request, self._live[request.id], result, self._clock()))
        except BaseException:
            cancelled = self._end(
                CancelledCall(
                    request, self._live[request.id], self._cancelled(request.id), None, self._clock()
                )
            )
            if request.id not in self._stopped or task.cancelling() > before + 1:
                raise  # the caller's task was cancelled, too
            return cancelled
        finally:
            self._tasks.pop(request.id, None)
            if request.id in self._stopped:
                self._stopped.discard(request.id)
                task.uncancel()

    async def _run_states(self, request: ToolCallRequest, planner: Planner) -> FinishedCall:
        judge = self.judge
        plan, approval = planner(request), None
        if self.hooks is not None:
            plan = await self._run_before_hooks(request, plan, planner)
        if not plan.kind.changes_nothing:
            self._concurrency.ensure_allowed(exclusive=True)
        if plan.decision.action is not Action.ALLOW:
            self._live[request.id] = EvaluatedCall(request, plan, self._clock())
            plan, approval = await self._approve(request, plan, planner, judge)
        for _ in range(_MAX_CONFLICTS):
            try:
                return await self._run(request, plan, approval)
            except ToolFailure as failure:
                if not self._can_ask_again(plan, failure):
                    raise
                plan, approval = await self._ask_again(request, plan, failure)
        return await self._run(request, plan, approval)

    async def _run(self, request: ToolCallRequest, plan: Plan, approval: Approval | None) -> FinishedCall:
        self._enter(ScheduledCall(request, plan, approval, self._clock()))
        slot: Slot | None = None
        if not runs_beside(plan.tool):
            exclusive = not plan.kind.changes_nothing
            slot = self._concurrency.enter_at_once(exclusive) or await self._concurrency.enter(exclusive)
        token = CURRENT_CALL.set(request)
        try:
            executing = ExecutingCall(request, plan, approval, self._clock())
            self._enter(executing)
            if self.hooks is None and not plan.notes:
                result = checked_result(
                    plan.tool.name, await plan.invocation.execute(self._updater(executing))
                )
            else:
                result = await self._execute_with_notes(executing)
            result = self._redacted(self._shorten(result, plan.tool.output_limit))
        finally:
            CURRENT_CALL.reset(token)
            if slot is not None:
                slot.leave()
        kind = SuccessfulCall if result.error is None else ErroredCall
        return self._end(kind(executing.request, executing, result, self._clock()))

    def plan(self, request: ToolCallRequest) -> Plan:
        """Builds the call and decides about it; runs nothing.  Raises ``ToolFailure``."""
        tool = self._registry.get(request.name)
        invocation = tool.build(request.arguments)
        return Plan(
            tool, invocation, self.judge.decide(tool, invocation, request.arguments), request.arguments
        )

    async def _approve(
        self,
        request: ToolCallRequest,
        plan: Plan,
        planner: Planner,
        judge: PolicyEngine,
        conflict: str = "",
    ) -> tuple[Plan, Approval | None]:
        """Obtains approval for a plan that ``judge`` has decided on."""

        async def replan(changed: ToolCallRequest) -> Plan:
            # A call that the person modified passes hooks and policy again.
            nonlocal judge
            judge = self.judge
            return await self._run_before_hooks(changed, planner(changed), planner)

        approval = await approve(
            request,
            plan,
            self._approval_context,
            self._enter,
            replan,
            lambda plan, allowed: self._watch_grants(plan, allowed, judge),
            self._clock,
            conflict,
        )
        if request.id in self._stopped:
            await asyncio.sleep(0)  # cancelled while it was approved: it must not start
        return approval

    def reconsider(self) -> None:
        """Decides again about calls that await approval, after a new grant, in any thread."""
        for watch in tuple(self._grant_watches):
            watch()

    @contextmanager
    def _watch_grants(
        self, plan: Plan, allowed: Callable[[Decision], None], judge: PolicyEngine
    ) -> Iterator[None]:
        loop = asyncio.get_running_loop()

        def decide() -> None:
            decision = self.judge.decide(plan.tool, plan.invocation, plan.arguments)
            if watch in self._grant_watches and decision.action is Action.ALLOW:
                self._grant_watches.discard(watch)
                allowed(decision)

        def watch() -> None:
            with suppress(RuntimeError):  # the loop is closed
                loop.call_soon_threadsafe(decide)

        self._grant_watches.add(watch)
        try:
            if self.judge is not judge:  # a grant, and with it another judge, came after the plan was made
                decide()
            yield
        finally:
            self._grant_watches.discard(watch)

    def _can_ask_again(self, plan: Plan, failure: ToolFailure) -> bool:
        """Whether an edit that met changed content can be put to a person again."""
        return (
            failure.code is ErrorCode.CONFLICT
            and plan.kind is Kind.EDIT
            and self._approval_context.confirmer is not None
        )

    async def _ask_again(
        self, request: ToolCallRequest, plan: Plan, failure: ToolFailure
    ) -> tuple[Plan, Approval | None]:
        """Plans the edit again and asks, whatever allowed it. Raises ``failure`` if it does not apply."""
        again, notes, judge = structs.replace(request, arguments=plan.arguments), plan.notes, self.judge
        plan = await self._run_before_hooks(again, self.plan(again), self.plan)
        plan = structs.replace(plan, notes=tuple(dict.fromkeys((*notes, *plan.notes))))
        if plan.decision.action is not Action.DENY:
            plan = structs.replace(plan, decision=_CONFLICT)
        try:
            return await self._approve(request, plan, self.plan, judge, _CHANGED)
        except ToolFailure as second:
            raise second if second.code is ErrorCode.POLICY_VIOLATION else failure from None

    async def _run_before_hooks(self, request: ToolCallRequest, plan: Plan, planner: Planner) -> Plan:
        if self.hooks is None:
            return plan
        return await self.hooks.run_before(request, plan, planner, self.judge.mode)

    async def _execute_with_notes(self, executing: ExecutingCall) -> ToolResult:
        """Executes the call, adds notes and runs hooks, which see a failure as a result, too."""
        request, plan, began = executing.request, executing.plan, self._clock()
        try:
            result = checked_result(plan.tool.name, await plan.invocation.execute(self._updater(executing)))
        except (Exception, SystemExit) as error:
            if isinstance(error, ToolFailure) and self._can_ask_again(plan, error):
                raise
            result = error_result(request.spoken, error)
        result = replace(result, notes=(*result.notes, *plan.notes))
        if self.hooks is None:
            return result
        return await self.hooks.run_after(request, plan, result, self._clock() - began, self.judge.mode)

    def _cancelled(self, call_id: str) -> ToolResult:
        """Returns the result of a cancelled call, with the output that it had streamed."""
        live, display = self._live[call_id], self._output.get(call_id)
        text = display_text(display) if isinstance(live, ExecutingCall) and display is not None else ""
        if not isinstance(live, ExecutingCall) or display is None or not text.strip():
            return failed(CANCELLED)
        output = self._redacted(self._shorten(ToolResult(text, display), live.plan.tool.output_limit))
        streamed = CancelledOutput(str(output.llm_content))
        return with_output(failed(CANCELLED, streamed), streamed, output.return_display)

    def _redacted(self, result: ToolResult) -> ToolResult:
        return result if self.redactor is None else self.redactor.result(result)

    def _updater(self, executing: ExecutingCall) -> UpdateOutput | None:
        if not executing.plan.tool.can_update_output:
            return None

        def update(display: ToolResultDisplay) -> None:
            if self._live.get(executing.request.id) is executing:
                if self.redactor is not None:
                    display = self.redactor.display(display)
                self._output[executing.request.id] = display
                for observer in self._observers:
                    observer.notice(OutputEvent(executing, display))

        return update

    def _enter(self, call: LiveCall) -> None:
        self._live[call.request.id] = call
        for observer in self._observers:
            observer.notice(call)

    def _end(self, call: FinishedCall) -> FinishedCall:
        del self._live[call.request.id]
        self._output.pop(call.request.id, None)
        self.history.append(call)
        if self._ended is not None and not self._ended.done():
            self._ended.set_result(None)
        for observer in self._observers:
            observer.notice(call)
        return call


_MAX_CONFLICTS = 3
"""How often approval of an edit is requested again because its file changed."""
_CONFLICT = Decision(Action.ASK, "the file was changed by another program", "a conflict needs approval")
_CHANGED = "Another program changed the file: this is the edit applied to its current content."
