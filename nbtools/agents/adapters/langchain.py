"""A session's tools for LangChain and LangGraph."""

from __future__ import annotations

from typing import Any, Literal

from nbtools.agents.adapters.calling import (
    AnySession,
    call_one,
    is_picture,
    missing_package,
    parts_of,
    placeholder_text,
    text_of,
)
from nbtools.core.result import Part, ToolResult
from nbtools.session.sync import BlockingSession

try:
    from langchain_core.tools import BaseTool, ToolException
    from pydantic import PrivateAttr
except ImportError as error:
    raise missing_package("langchain-core", error) from error


def langchain_tools(session: AnySession) -> list[BaseTool]:
    """Returns the session's tools, in its dialect, for ``model.bind_tools(…)`` and agents; use ``ainvoke``.

    With ``session.sync()`` they support ``invoke``, too.

    A failed or denied call is a ``ToolMessage`` with status ``error`` and the reason;
    ``artifact`` is the ``ToolResult``.
    """
    return [
        SessionTool(
            session,
            name=one["function"]["name"],
            description=one["function"]["description"],
            schema=one["function"]["parameters"],
        )
        for one in session.declarations("openai")
    ]


class SessionTool(BaseTool):
    """A session's tool for LangChain."""

    # not a StructuredTool, which would drop parameters named config or run_manager

    response_format: Literal["content", "content_and_artifact"] = "content_and_artifact"
    handle_tool_error: Any = True

    _session: AnySession = PrivateAttr()

    def __init__(self, session: AnySession, *, name: str, description: str, schema: dict[str, Any]) -> None:
        super().__init__(name=name, description=description, args_schema=schema)
        self._session = session

    def _run(self, /, **arguments: Any) -> Any:
        if not isinstance(self._session, BlockingSession):
            raise NotImplementedError(
                f"{self.name} is asynchronous. Use ainvoke, or pass session.sync() to langchain_tools."
            )
        return _answer(self._session.call(self.name, arguments))

    async def _arun(self, /, **arguments: Any) -> Any:
        return _answer(await call_one(self._session, self.name, arguments))


def _answer(result: ToolResult) -> tuple[str | list[dict[str, Any]], ToolResult]:
    if not result.ok:
        raise ToolException(text_of(result))
    return _content(result), result


def _content(result: ToolResult) -> str | list[dict[str, Any]]:
    return (
        result.llm_content
        if isinstance(result.llm_content, str)
        else [_block(part) for part in parts_of(result)]
    )


def _block(part: Part) -> dict[str, Any]:
    if "text" in part:
        return {"type": "text", "text": part["text"]}
    data = part["inline_data"]
    if is_picture(part) or data["mime_type"] == "application/pdf":
        return {
            "type": "image" if is_picture(part) else "file",
            "base64": data["data"],
            "mime_type": data["mime_type"],
        }
    return {"type": "text", "text": placeholder_text(part)}
