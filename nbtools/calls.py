"""The calls of a session as callers make them: read in a dialect's words, run by the scheduler, answered in the same words."""

from __future__ import annotations

import itertools
import os
import secrets
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import replace
from functools import partial
from typing import Any, TypeAlias

from nbtools.core.call import Plan, ToolCallRequest, ValidatingCall
from nbtools.core.decision import Action, Decision
from nbtools.core.errors import ErrorCode, SessionError, ToolError, ToolFailure
from nbtools.core.parameters import did_you_mean
from nbtools.core.redact import Redactor
from nbtools.core.result import CancelledOutput, ToolResult, failed, with_notes, with_output
from nbtools.core.tool import AnyToolBuilder
from nbtools.core.toolset import ToolRegistry
from nbtools.dialects import Dialect, SpokenTools
from nbtools.scheduler.scheduler import ToolScheduler
from nbtools.tools.undo import UndoTool
from nbtools.workspace.commands.environment import secret_variables
from nbtools.workspace.workspace import Workspace

Arguments: TypeAlias = Mapping[str, Any]
_LONGEST_WORDS = 200


class Calls:
    """``have`` is told the name of each tool before it is called, and sees to it that it is there.  ``prefix`` begins every id."""

    def __init__(
        self, registry: ToolRegistry, scheduler: ToolScheduler, workspace: Workspace, have: Callable[[str], Awaitable[None]]
    ) -> None:
        self.prefix = secrets.token_hex(3)
        self._numbers = itertools.count(1)
        self._registry = registry
        self._scheduler = scheduler
        self._workspace = workspace
        self._have = have
        self._closed = False

    def new_id(self) -> str:
        """Safe from any thread."""
        return f"{self.prefix}-{next(self._numbers)}"

    def close(self) -> None:
        self._closed = True

    def must_be_open(self) -> None:
        """Raises ``SessionError``."""
        if self._closed:
            raise SessionError("This session is closed; open a new one.")

    async def make(self, dialect: Dialect, name: str, arguments: Arguments, call_id: str | None, *, approved: bool) -> ToolResult:
        """See ``Session.call``."""
        self.must_be_open()
        if call_id is not None and self._scheduler.is_live(call_id):
            why = f"A call with the id {call_id!r} is under way; give each call its own id."
            return failed(ToolError(ErrorCode.INVALID_TOOL_PARAMS, why))
        try:
            await self._have(name)
            said = dialect.read(name, arguments, str(self._workspace.root))
        except ToolFailure as failure:
            return dialect.refuse(name, failure.error)
        tool = said.tool if said.tool in self._registry else SpokenTools(self._registry, dialect).canonical(said.tool)
        request = ToolCallRequest(call_id or self.new_id(), tool, said.arguments, name)
        planned = partial(self._approved_plan, said.arguments) if approved else None
        result = (await self._scheduler.run(request, planned)).result
        if result.error is not None and result.error.code is ErrorCode.TOOL_NOT_REGISTERED:
            return dialect.refuse(name, self._unknown(name, dialect))
        return self._worded(result, said.say(result))

    def _unknown(self, name: str, dialect: Dialect) -> ToolError:
        near = did_you_mean(name, SpokenTools(self._registry, dialect).names())
        return ToolError(ErrorCode.TOOL_NOT_REGISTERED, f"There is no tool {name!r}.{near}")

    def _worded(self, result: ToolResult, worded: ToolResult) -> ToolResult:
        """With the notes, and without secrets that are only seen in other words."""
        if isinstance(result.data, CancelledOutput) and worded is not result:
            worded = with_output(worded, result.data, result.return_display)
        if result.notes:
            worded = with_notes(worded, result.notes)
        redactor = self._scheduler.redactor
        return worded if redactor is None or worded is result else redactor.result(worded)

    def _approved_plan(self, approved: Arguments, request: ToolCallRequest) -> Plan:
        """A question that is there to be answered is put all the same, and so is one about other arguments, made by a hook since."""
        plan = self._scheduler.plan(request)
        if plan.decision.action is not Action.ASK or plan.tool.asks == "always" or request.arguments != approved:
            return plan
        return replace(plan, decision=Decision(Action.ALLOW, "it was approved by whoever made the call", "approved before"))

    async def undo(self, of: str | None, call_id: str | None, *, merge: bool) -> ToolResult:
        """See ``Session.undo``."""
        self.must_be_open()
        request = ToolCallRequest(call_id or self.new_id(), "undo", {"call": of or "", "merge": merge}, "undo")
        return (await self._scheduler.run(request, self._undo_plan)).result

    def _undo_plan(self, request: ToolCallRequest) -> Plan:
        tool = UndoTool(self._workspace)
        invocation = tool.build(request.arguments)
        decision = self._scheduler.judge.denial(tool, invocation) or Decision(Action.ALLOW, "the person undoes it", "undoing asks nobody")
        return Plan(tool, invocation, decision, request.arguments)

    async def of_tool(self, tool: AnyToolBuilder, arguments: Arguments) -> ToolResult:
        """A call of a tool that nobody can name: judged, asked, run and recorded like every other."""

        def planned(request: ToolCallRequest) -> Plan:
            invocation = tool.build(request.arguments)
            return Plan(tool, invocation, self._scheduler.judge.decide(tool, invocation, request.arguments), request.arguments)

        return (await self._scheduler.run(ToolCallRequest(self.new_id(), tool.name, arguments, tool.name), planned)).result

    def in_words(self, call_id: str) -> str:
        """A call under way as the person knows it, without secrets: a grant that answers it may be kept."""
        call = next((live for live in self._scheduler.live if live.request.id == call_id), None)
        if call is None:
            return call_id
        what = "" if isinstance(call, ValidatingCall) else call.plan.invocation.get_description()
        return Redactor.of(secret_variables(os.environ)).text(f"{call.request.spoken} {what}".strip())[:_LONGEST_WORDS]
