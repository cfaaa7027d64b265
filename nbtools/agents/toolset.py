"""A session's tools for pydantic-ai's agents."""

from __future__ import annotations

import base64
from collections.abc import Callable
from typing import Any

from pydantic_ai import ApprovalRequired, BinaryContent, RunContext, ToolDefinition, ToolFailed
from pydantic_ai.toolsets import AbstractToolset, ToolsetTool
from pydantic_core import SchemaValidator, core_schema

from nbtools.core.decision import Action
from nbtools.core.result import ToolResult
from nbtools.session import Session

_ANYTHING = SchemaValidator(core_schema.any_schema())
"""Arguments are checked where every call's are: by the tool."""


def _nobody(_id: str, _name: str) -> None:
    return None


class SessionToolset(AbstractToolset[Any]):
    """Calls go the session's way: validated, judged, asked with its cards, recorded.

    A refusal, with the person's reason, goes back to the model as a failed call, and so does a failure: the model goes on.  With ``defer``
    what must be asked ends the run with pydantic-ai's deferred requests; once approved there, it is not asked again.  ``told`` hears the id
    and the name of each call before its first event.
    """

    def __init__(
        self,
        session: Session,
        *,
        id: str | None = None,  # noqa: A002 - pydantic-ai's word
        defer: bool = False,
        told: Callable[[str, str], None] = _nobody,
    ) -> None:
        self._session = session
        self._id = id
        self._defer = defer
        self._told = told

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
            for tool in self._session.tools
        }

    async def call_tool(self, name: str, tool_args: dict[str, Any], ctx: RunContext[Any], tool: ToolsetTool[Any]) -> Any:
        if self._defer and not ctx.tool_call_approved and self._session.tools.get(name).asks != "always":
            decision = self._session.decide(name, tool_args)
            if decision.action is Action.ASK:
                raise ApprovalRequired({"reason": decision.reason, "rule": decision.rule})
        call_id = self._session.new_id()
        self._told(call_id, name)
        return content_of(await self._session.call(name, tool_args, id=call_id, approved=self._defer and ctx.tool_call_approved))


def content_of(result: ToolResult) -> Any:
    """What the model reads.  Raises ``ToolFailed`` for a call that failed."""
    content = result.llm_content
    if result.error is not None:
        raise ToolFailed(content if isinstance(content, str) else result.error.message)
    if isinstance(content, str):
        return content
    return [part["text"] if "text" in part else _binary(part["inline_data"]) for part in content]


def _binary(data: dict[str, str]) -> BinaryContent:
    return BinaryContent(base64.b64decode(data["data"]), media_type=data["mime_type"])
