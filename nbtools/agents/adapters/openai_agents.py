"""A session's tools for OpenAI's Agents SDK."""

from __future__ import annotations

from functools import partial
from typing import Any

from nbtools.agents.adapters.calling import (
    AnySession,
    call_json,
    data_url,
    is_pdf,
    is_picture,
    missing_package,
    parts_of,
    placeholder_text,
)
from nbtools.core.result import Part

try:
    from agents import FunctionTool, ToolOutputFileContent, ToolOutputImage, ToolOutputText
    from agents.tool_context import ToolContext
except ImportError as error:
    raise missing_package("openai-agents", error) from error


def openai_agents_tools(session: AnySession) -> list[FunctionTool]:
    """Returns the session's tools, in its dialect, for ``Agent(tools=…)``.

    The session requests approvals itself, so ``needs_approval`` is not set.
    A failed or denied call returns its reason as text.
    """
    return [_tool(session, **one["function"]) for one in session.declarations("openai")]


def _tool(session: AnySession, *, name: str, description: str, parameters: dict[str, Any]) -> FunctionTool:
    return FunctionTool(
        name, description, parameters, partial(_invoke, session, name), strict_json_schema=False
    )


async def _invoke(session: AnySession, name: str, _: ToolContext[Any], arguments: str) -> Any:
    result = await call_json(session, name, arguments)
    return (
        result.llm_content
        if isinstance(result.llm_content, str)
        else [_output(part) for part in parts_of(result)]
    )


def _output(part: Part) -> ToolOutputText | ToolOutputImage | ToolOutputFileContent:
    if "text" in part:
        return ToolOutputText(text=part["text"])
    if is_picture(part):
        return ToolOutputImage(image_url=data_url(part))
    if is_pdf(part):
        return ToolOutputFileContent(file_data=data_url(part), filename="document.pdf")
    return ToolOutputText(text=placeholder_text(part))
