"""Takes a call from its request to its end; an event a state."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable
from dataclasses import replace
from typing import TypeAlias, cast

from nbtools.core.call import (
    Approval,
    CancelledCall,
    Clock,
    ErroredCall,
    ExecutingCall,
    FinishedCall,
    JudgedCall,
    LiveCall,
    Observer,
    OutputEvent,
    Plan,
    ScheduledCall,
    SuccessfulCall,
    ToolCallRequest,
    ValidatingCall,
)
from nbtools.core.current import CURRENT_CALL
from nbtools.core.decision import Action, Decision
from nbtools.core.errors import ErrorCode, ToolFailure
from nbtools.core.redact import Redactor
from nbtools.core.result import CancelledOutput, ToolResult, ToolResultDisplay, failed, with_output
from nbtools.core.tool import Kind, UpdateOutput, runs_beside
from nbtools.core.toolset import ToolRegistry
from nbtools.policy.decide import Judge
from nbtools.scheduler.approve import Declined, Desk, approve
from nbtools.scheduler.execute import CANCELLED, as_result, text_of
from nbtools.scheduler.hooks import Hooks
from nbtools.scheduler.room import Room

MOST_KEPT = 10_000

Planned: TypeAlias = Callable[[ToolCallRequest], Plan]
"""Builds and judges a call."""
Shorten: TypeAlias = Callable[[ToolResult, int], ToolResult]
"""Cuts a result to so many characters of ``llm_content``."""


class ToolScheduler:
    """Runs calls in one event loop: reads side by side, changes one at a time, at most ``limit`` at once, each cancellable at any state.

    ``judge``, ``hooks`` and ``redactor`` (it takes secrets out of results and of output under way) may be replaced between calls; ``desk``
    says who is asked and what an *always* adds; ``shorten`` cuts a result to what a model reads of its tool.  The last ``MOST_KEPT``
    finished calls stay in ``history``.
    """

    def __init__(
        self, registry: ToolRegistry, judge: Judge, desk: Desk, clock: Clock, limit: int = 5, *, shorten: Shorten = lambda result, _: result
    ) -> None:
        self.judge = judge
        self.hooks: Hooks | None = None
        self.redactor: Redactor | None = None
        self._registry = registry
        self._desk = desk
        self._clock = clock
        self._shorten = shorten
        self._room = Room(limit)
        self._observers: tuple[Observer, ...] = ()
        self.history: deque[FinishedCall] = deque(maxlen=MOST_KEPT)
        self._live: dict[str, LiveCall] = {}
        self._output: dict[str, ToolResultDisplay] = {}
        """What calls that run have streamed so far."""
        self._tasks: dict[str, asyncio.Task[object]] = {}
        self._stopped: set[str] = set()
        self._ended: asyncio.Future[None] | None = None

    @property
    def live(self) -> tuple[LiveCall, ...]:
        """The calls that are under way, oldest first."""
        return tuple(self._live.values())

    def is_live(self, call_id: str) -> bool:
        return call_id in self._live

    def observe(self, observer: Observer) -> Callable[[], None]:
        """Tells ``observer`` of every event from now on, until the returned function is called."""
        self._observers = (*self._observers, observer)
        return lambda: setattr(self, "_observers", tuple(one for one in self._observers if one is not observer))

    def cancel(self, call_id: str) -> bool:
        """Stops a call in whatever state it is; its result then says so.  False when there is no such call under way."""
        task = self._tasks.get(call_id)
        if task is None or call_id in self._stopped:
            return False
        self._stopped.add(call_id)
        task.cancel()
        return True

    async def close(self) -> None:
        """Cancels every call and returns when the last has ended."""
        for call_id in tuple(self._live):
            self.cancel(call_id)
        while self._live:
            self._ended = asyncio.get_running_loop().create_future()
            await self._ended

    def name_of(self, call_id: str) -> str:
        """The tool of a call that is under way; empty for no such call."""
        live = self._live.get(call_id)
        return live.request.name if live is not None else ""

    async def run(self, request: ToolCallRequest, planned: Planned | None = None) -> FinishedCall:
        """Takes the call through all its states.  Cancelling the awaiting task cancels the call, records it and propagates.

        The request's id must not be that of a call under way.  ``planned`` builds and judges a call that is of no registered tool.
        """
        task = cast("asyncio.Task[object]", asyncio.current_task())
        before = task.cancelling()
        self._tasks[request.id] = task
        self._enter(ValidatingCall(request, self._clock()))
        try:
            return await self._through(request, planned or self.plan)
        except Declined as no:
            return self._end(CancelledCall(request, self._live[request.id], no.result, no.answer, self._clock()))
        except (Exception, SystemExit) as error:  # noqa: BLE001 - the one door through which a tool's exceptions become results
            result = self._cleaned(as_result(request.spoken, error))
            return self._end(ErroredCall(request, self._live[request.id], result, self._clock()))
        except BaseException:
            stopped = self._end(CancelledCall(request, self._live[request.id], self._cancelled(request.id), None, self._clock()))
            if request.id not in self._stopped or task.cancelling() > before + 1:  # the caller's task was cancelled, too
                raise
            return stopped
        finally:
            self._forget(request.id, task)

    async def _through(self, request: ToolCallRequest, planned: Planned) -> FinishedCall:
        plan, approval = planned(request), None
        if self.hooks is not None:
            plan = await self._seen_by_hooks(request, plan, planned)
        alone = not plan.kind.changes_nothing
        if alone:
            self._room.check(alone)
        if plan.decision.action is not Action.ALLOW:
            self._live[request.id] = JudgedCall(request, plan, self._clock())
            plan, approval = await self._approved(request, plan, planned)
        for _ in range(_MOST_CONFLICTS):
            try:
                return await self._run(request, plan, approval)
            except ToolFailure as failure:
                if not self._may_ask_again(plan, failure):
                    raise
                plan, approval = await self._asked_again(request, plan, failure)
        return await self._run(request, plan, approval)

    async def _run(self, request: ToolCallRequest, plan: Plan, approval: Approval | None) -> FinishedCall:
        alone = not plan.kind.changes_nothing
        self._enter(ScheduledCall(request, plan, approval, self._clock()))
        place = None if runs_beside(plan.tool) else await self._room.enter(alone)
        token = CURRENT_CALL.set(request.id)
        try:
            executing = ExecutingCall(request, plan, approval, self._clock())
            self._enter(executing)
            if self.hooks is None and not plan.notes:
                result = await plan.invocation.execute(self._updater(executing))
            else:
                result = await self._executed_with_notes(executing)
            result = self._cleaned(self._shorten(result, plan.tool.output_limit))
        finally:
            CURRENT_CALL.reset(token)
            if place is not None:
                place.leave()
        return self._end(self._outcome(executing, result))

    def plan(self, request: ToolCallRequest) -> Plan:
        """Builds the call and judges it; runs nothing.  Raises ``ToolFailure``."""
        tool = self._registry.get(request.name)
        invocation = tool.build(request.arguments)
        return Plan(tool, invocation, self.judge.decide(tool, invocation, request.arguments), request.arguments)

    async def _approved(self, request: ToolCallRequest, plan: Plan, planned: Planned, conflict: str = "") -> tuple[Plan, Approval | None]:
        async def replan(changed: ToolCallRequest) -> Plan:
            """What the person made of a call goes the whole way again."""
            return await self._seen_by_hooks(changed, planned(changed), planned)

        approved = await approve(request, plan, self._desk, self._enter, replan, self._clock, conflict)
        if request.id in self._stopped:
            await asyncio.sleep(0)  # cancelled in the same moment as approved: nothing starts any more
        return approved

    def _may_ask_again(self, plan: Plan, failure: ToolFailure) -> bool:
        """Whether somebody can say what is to become of an edit that found another content than it was made for."""
        return failure.code is ErrorCode.CONFLICT and plan.kind is Kind.EDIT and self._desk.confirmer is not None

    async def _asked_again(self, request: ToolCallRequest, plan: Plan, failure: ToolFailure) -> tuple[Plan, Approval | None]:
        """The edit worked out anew and shown, whatever had allowed it.  Raises ``failure`` where it does not fit any more."""
        again, told = replace(request, arguments=plan.arguments), plan.notes
        plan = await self._seen_by_hooks(again, self.plan(again), self.plan)
        plan = replace(plan, notes=tuple(dict.fromkeys((*told, *plan.notes))))
        if plan.decision.action is not Action.DENY:
            plan = replace(plan, decision=_CONFLICT)
        try:
            return await self._approved(request, plan, self.plan, _CHANGED)
        except ToolFailure as unfit:
            raise unfit if unfit.code is ErrorCode.POLICY_VIOLATION else failure from None

    async def _seen_by_hooks(self, request: ToolCallRequest, plan: Plan, planned: Planned) -> Plan:
        return plan if self.hooks is None else await self.hooks.look_at(request, plan, planned, self.judge.mode)

    async def _executed_with_notes(self, executing: ExecutingCall) -> ToolResult:
        """With the plan's notes, and as hooks want it; a failure is a result then, for a note and for hooks to see."""
        request, plan, began = executing.request, executing.plan, self._clock()
        try:
            result = await plan.invocation.execute(self._updater(executing))
        except (Exception, SystemExit) as error:
            if isinstance(error, ToolFailure) and self._may_ask_again(plan, error):
                raise
            result = as_result(request.spoken, error)
        result = replace(result, notes=(*result.notes, *plan.notes))
        if self.hooks is None:
            return result
        return await self.hooks.look_back(request, plan, result, self._clock() - began, self.judge.mode)

    def _cancelled(self, call_id: str) -> ToolResult:
        """The result of a cancelled call, with the output that it had streamed."""
        live, display = self._live[call_id], self._output.get(call_id)
        text = text_of(display) if isinstance(live, ExecutingCall) and display is not None else ""
        if not isinstance(live, ExecutingCall) or display is None or not text.strip():
            return failed(CANCELLED)
        output = self._cleaned(self._shorten(ToolResult(text, display), live.plan.tool.output_limit))
        streamed = CancelledOutput(str(output.llm_content))
        return with_output(failed(CANCELLED, streamed), streamed, output.return_display)

    def _cleaned(self, result: ToolResult) -> ToolResult:
        return result if self.redactor is None else self.redactor.result(result)

    def _outcome(self, executing: ExecutingCall, result: ToolResult) -> FinishedCall:
        kind = SuccessfulCall if result.error is None else ErroredCall
        return kind(executing.request, executing, result, self._clock())

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

    def _forget(self, call_id: str, task: asyncio.Task[object]) -> None:
        self._tasks.pop(call_id, None)
        if call_id in self._stopped:
            self._stopped.discard(call_id)
            task.uncancel()


_MOST_CONFLICTS = 3
"""So often somebody is asked what is to become of an edit; one who says yes every time does not wait for ever."""
_CONFLICT = Decision(Action.ASK, "somebody else changed it meanwhile", "a conflict asks")
_CHANGED = "It was changed by somebody else meanwhile: this is the change to what it holds now."
