"""Runs a session's tool calls: translates from a dialect, schedules, and words the results in it."""

from __future__ import annotations

import itertools
import os
import secrets
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any, TypeAlias

from msgspec import structs

from nbtools.core.call import Plan, ToolCallRequest, ValidatingCall
from nbtools.core.decision import Action, Decision
from nbtools.core.errors import ErrorCode, SessionError, ToolError, ToolFailure
from nbtools.core.message import did_you_mean
from nbtools.core.redaction import Redactor
from nbtools.core.result import CancelledOutput, ToolResult, complete, failed, map_text, with_output
from nbtools.core.secret_variables import secret_variables
from nbtools.core.tool import AnyToolBuilder, is_mcp_tool
from nbtools.core.toolset import ToolRegistry
from nbtools.dialects import Dialect, DialectTools
from nbtools.scheduler.approval import BatchEnded
from nbtools.scheduler.scheduler import Planner, ToolScheduler
from nbtools.session.tool_sources import LazyMcpServers
from nbtools.tools import build_tool
from nbtools.workspace.workspace import Workspace

if TYPE_CHECKING:
    from nbtools.mcp.client.server_requests import Ask
    from nbtools.workspace.history.undo import UndoMerge

Arguments: TypeAlias = Mapping[str, Any]
_MAX_DESCRIPTION = 200
"""Characters."""


@dataclass
class CallBatch:
    """The calls that a model made in one message.  ``ended``: those that have not begun are cancelled."""

    ended: bool = False

    def note(self, result: ToolResult, dialect: Dialect) -> None:
        """Ends the batch after a denial, where the dialect's agent does so, and when a hook stops it."""
        code = None if result.error is None else result.error.code
        self.ended |= code is ErrorCode.STOP_EXECUTION or (
            code is ErrorCode.CONFIRMATION_DENIED and dialect.refusal_ends_batch
        )


def _refuse_to_begin(_: ToolCallRequest) -> Plan:
    raise BatchEnded


class CallPipeline:
    """Runs the calls of one session.

    ``servers`` are its MCP servers; the server that offers a tool is connected before the call.
    Every id starts with ``prefix``.
    """

    def __init__(
        self, registry: ToolRegistry, scheduler: ToolScheduler, workspace: Workspace, ask: Ask
    ) -> None:
        self.prefix = secrets.token_hex(3)
        self._numbers = itertools.count(1)
        self._registry = registry
        self._scheduler = scheduler
        self._workspace = workspace
        self.servers = LazyMcpServers(registry, workspace, ask, self.call_tool)
        self._closed = False
        self._tools: dict[int, DialectTools] = {}

    def new_id(self) -> str:
        """Returns an unused call id.  Safe from any thread."""
        return f"{self.prefix}-{next(self._numbers)}"

    def close(self) -> None:
        self._closed = True

    def command_folder(self) -> str:
        """Returns the folder in which commands start in dialects that carry it over, relative to the root.

        It looks at the file system, which costs more than all else of a short call,
        so only the commands that need it ask for it.
        """
        return self._workspace.relative(self._workspace.command_folder)

    def ensure_open(self) -> None:
        """Raises ``SessionError`` when the session is closed."""
        if self._closed:
            raise SessionError("This session is closed; open a new one.")

    async def run(
        self,
        dialect: Dialect,
        name: str,
        arguments: Arguments,
        call_id: str | None,
        *,
        approved: bool,
        batch: CallBatch | None = None,
    ) -> ToolResult:
        """Runs one call; see ``Session.call``."""
        self.ensure_open()
        if call_id is not None and self._scheduler.is_live(call_id):
            message = f"A call with the id {call_id!r} is already running; give each call its own id."
            return failed(ToolError(ErrorCode.INVALID_TOOL_PARAMS, message))
        try:
            if name.startswith("mcp_"):
                await self.servers.connect_for(name, self._tools_in(dialect))
            translated = self._tools_in(dialect).read(
                name, arguments, str(self._workspace.root), self.command_folder
            )
        except ToolFailure as failure:
            return dialect.refuse(name, failure.error)
        tool = translated.tool
        if tool not in self._registry:
            tool = self._tools_in(dialect).canonical_name(tool)
        request = ToolCallRequest(call_id or self.new_id(), tool, translated.arguments, name)
        planner: Planner | None = partial(self._approved_plan, translated.arguments) if approved else None
        if batch is not None and batch.ended:
            planner = _refuse_to_begin
        result = (await self._scheduler.run(request, planner)).result
        if batch is not None:
            batch.note(result, dialect)
        if result.error is not None and result.error.code is ErrorCode.TOOL_NOT_REGISTERED:
            suggestion = did_you_mean(name, self._tools_in(dialect).names())
            return dialect.refuse(
                name, ToolError(ErrorCode.TOOL_NOT_REGISTERED, f"There is no tool {name!r}.{suggestion}")
            )
        return self._completed(
            result, translated.convert_result(_marked(result, self._registry.find(tool), dialect)), dialect
        )

    def _tools_in(self, dialect: Dialect) -> DialectTools:
        tools = self._tools.get(id(dialect))
        if tools is None or tools.dialect is not dialect:
            tools = self._tools[id(dialect)] = DialectTools(self._registry, dialect)
        return tools

    def _completed(self, result: ToolResult, reply: ToolResult, dialect: Dialect) -> ToolResult:
        """Adds ``result``'s notes to ``reply``, unless that has its own, and redacts again: its wording may
        show secrets.
        """
        if isinstance(result.data, CancelledOutput) and result.error is not None:
            worded = reply if reply.llm_content != result.llm_content else failed(result.error, result.data)
            reply = with_output(
                worded, CancelledOutput(dialect.untrusted(result.data.text)), result.return_display
            )
        if result.notes:
            reply = complete(replace(reply, notes=reply.notes or result.notes))
        redactor = self._scheduler.redactor
        return reply if redactor is None or reply is result else redactor.result(reply)

    def _approved_plan(self, approved: Arguments, request: ToolCallRequest) -> Plan:
        """Plans a call approved before; asks again if the tool always does or a hook changed arguments."""
        plan = self._scheduler.plan(request)
        if (
            plan.decision.action is not Action.ASK
            or plan.tool.asks == "always"
            or request.arguments != approved
        ):
            return plan
        return structs.replace(
            plan, decision=Decision(Action.ALLOW, "the caller had already approved it", "approved before")
        )

    async def undo(self, target: str | None, call_id: str | None, *, merge: UndoMerge) -> ToolResult:
        """Restores what a call replaced; see ``Session.undo``."""
        self.ensure_open()
        request = ToolCallRequest(
            call_id or self.new_id(), "undo", {"call": target or "", "merge": merge}, "undo"
        )
        return (await self._scheduler.run(request, self._undo_plan)).result

    def _undo_plan(self, request: ToolCallRequest) -> Plan:
        tool = build_tool("undo", self._workspace)
        invocation = tool.build(request.arguments)
        allowed = Decision(Action.ALLOW, "a person requested the undo", "undo needs no approval")
        decision = self._scheduler.judge.deny_for_person(tool, invocation) or allowed
        return Plan(tool, invocation, decision, request.arguments)

    async def call_tool(self, tool: AnyToolBuilder, arguments: Arguments) -> ToolResult:
        """Runs a tool of no registry; policy, approval and recording apply as to other calls."""

        def plan(request: ToolCallRequest) -> Plan:
            invocation = tool.build(request.arguments)
            return Plan(
                tool,
                invocation,
                self._scheduler.judge.decide(tool, invocation, request.arguments),
                request.arguments,
            )

        return (
            await self._scheduler.run(ToolCallRequest(self.new_id(), tool.name, arguments, tool.name), plan)
        ).result

    def describe(self, call_id: str) -> str:
        """Describes a running call without secrets: a grant may be saved with this text."""
        call = next((live for live in self._scheduler.live if live.request.id == call_id), None)
        if call is None:
            return call_id
        description = "" if isinstance(call, ValidatingCall) else call.plan.invocation.get_description()
        return Redactor.of(secret_variables(os.environ)).text(f"{call.request.spoken} {description}".strip())[
            :_MAX_DESCRIPTION
        ]


def _marked(result: ToolResult, tool: AnyToolBuilder | None, dialect: Dialect) -> ToolResult:
    """Returns the result with what an MCP server returned marked as untrusted; the display stays."""
    if (
        tool is None
        or not is_mcp_tool(tool)
        or (result.error is not None and result.error.code is not ErrorCode.MCP_TOOL_ERROR)
    ):
        return result
    content = map_text(result.llm_content, dialect.untrusted)
    return result if content == result.llm_content else replace(result, llm_content=content)
