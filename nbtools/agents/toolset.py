"""A session's tools as a pydantic-ai toolset."""

from __future__ import annotations

import base64
from collections.abc import Callable
from typing import Any

from pydantic_ai import ApprovalRequired, BinaryContent, RunContext, ToolDefinition, ToolFailed
from pydantic_ai.toolsets import AbstractToolset, ToolsetTool
from pydantic_core import SchemaValidator, core_schema

from nbtools.core.decision import Action
from nbtools.core.errors import ErrorCode
from nbtools.core.result import Part, ToolResult
from nbtools.core.schema.json_schema import describe_media, is_recording
from nbtools.session import Session
from nbtools.session.pipeline import CallBatch

_ANYTHING = SchemaValidator(core_schema.any_schema())
"""Accepts any arguments: the tool validates them."""


class SessionToolset(AbstractToolset[Any]):
    """A session's tools for pydantic-ai agents.
    The session validates, decides, approves and records each call.

    Denials, with the person's reason, and failures are returned to the model as failed calls.  With
    ``defer``, calls that need approval end the run with pydantic-ai's deferred requests; once approved there,
    they run without another question.  ``told`` is called with the id and name of each call before its first
    event.
    """

    def __init__(
        self,
        session: Session,
        *,
        id: str | None = None,  # noqa: A002 - pydantic-ai's name for it
        defer: bool = False,
        on_call: Callable[[str, str], None] = lambda _id, _name: None,
    ) -> None:
        self._session = session
        self._id = id
        self._defer = defer
        self._on_call = on_call
        self.stopped = ""
        """Why a hook stopped the agent; empty if none did."""
        self._batches: dict[str, tuple[int, CallBatch]] = {}
        """The batch of the latest step, by run."""

    @property
    def id(self) -> str | None:
        return self._id

    async def get_tools(self, ctx: RunContext[Any]) -> dict[str, ToolsetTool[Any]]:
        return {
            tool.name: ToolsetTool(
                toolset=self,
                tool_def=ToolDefinition(
                    name=tool.name,
                    description=tool.description,
                    parameters_json_schema=tool.schema["parameters"],
                    sequential=not tool.kind.changes_nothing,
                ),
                max_retries=ctx.max_retries,
                args_validator=_ANYTHING,
            )
            for tool in self._session.tools.values()
        }

    async def call_tool(
        self, name: str, tool_args: dict[str, Any], ctx: RunContext[Any], tool: ToolsetTool[Any]
    ) -> Any:
        if self._defer and not ctx.tool_call_approved and self._session.tools.require(name).asks != "always":
            decision = self._session.decide(name, tool_args)
            if decision.action is Action.ASK:
                raise ApprovalRequired({"reason": decision.reason, "rule": decision.rule})
        call_id = self._session.new_id()
        self._on_call(call_id, name)
        approved = self._defer and ctx.tool_call_approved
        result = await self._session.call(
            name, tool_args, id=call_id, approved=approved, batch=self._batch_of(ctx)
        )
        if result.error is not None and result.error.code is ErrorCode.STOP_EXECUTION:
            self.stopped = self.stopped or result.error.message
        return content_of(result, recordings=ctx.model.system.startswith("google"))

    def _batch_of(self, ctx: RunContext[Any]) -> CallBatch:
        """Returns the batch of the run's current step."""
        run, step = ctx.run_id or "", ctx.run_step
        if run not in self._batches or self._batches[run][0] != step:
            self._batches[run] = (step, CallBatch())
        return self._batches[run][1]


def content_of(result: ToolResult, *, recordings: bool = False) -> Any:
    """Returns the result's content for the model.  Raises ``ToolFailed`` for a failed call.

    ``recordings``: whether the model takes audio and video in a result; otherwise they are described.
    """
    content = result.llm_content
    if result.error is not None:
        raise ToolFailed(content if isinstance(content, str) else result.error.message)
    if isinstance(content, str):
        return content
    return [_content(part, recordings=recordings) for part in content]


def _content(part: Part, *, recordings: bool) -> str | BinaryContent:
    if "text" in part:
        return str(part["text"])
    return (
        _binary(part["inline_data"])
        if recordings or not is_recording(part)
        else describe_media(part["inline_data"])
    )


def _binary(data: dict[str, str]) -> BinaryContent:
    return BinaryContent(base64.b64decode(data["data"]), media_type=data["mime_type"])
