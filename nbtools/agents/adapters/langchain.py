"""A session's tools for LangChain and LangGraph."""

from __future__ import annotations

from typing import Any, Literal

from nbtools.agents.adapters.calling import AnySession, call_one, is_picture, parts_of, text_of, unseen, without
from nbtools.blocking import BlockingSession
from nbtools.core.result import Part, ToolResult

try:
    from langchain_core.tools import BaseTool, ToolException
    from pydantic import PrivateAttr
except ImportError as error:
    raise without("langchain-core", error) from error


def langchain_tools(session: AnySession) -> list[BaseTool]:
    """One tool a tool, in the session's dialect, for ``model.bind_tools(…)`` and for agents; awaited (``ainvoke``), as the session is.

    With ``session.sync()`` they can be invoked without await, too.

    A call that fails or is refused is a ``ToolMessage`` with the status ``error`` and the reason; ``artifact`` is the ``ToolResult``.
    """
    return [
        SessionTool(session, name=one["function"]["name"], description=one["function"]["description"], schema=one["function"]["parameters"])
        for one in session.declarations("openai")
    ]


class SessionTool(BaseTool):
    """Not ``StructuredTool``: there a parameter named ``config`` or ``run_manager`` would be lost."""

    response_format: Literal["content", "content_and_artifact"] = "content_and_artifact"
    handle_tool_error: Any = True

    _session: AnySession = PrivateAttr()

    def __init__(self, session: AnySession, *, name: str, description: str, schema: dict[str, Any]) -> None:
        super().__init__(name=name, description=description, args_schema=schema)
        self._session = session

    def _run(self, /, **arguments: Any) -> Any:
        if not isinstance(self._session, BlockingSession):
            raise NotImplementedError(f"{self.name} is awaited: use ainvoke, or give langchain_tools a session.sync().")
        return _answer(self._session.call(self.name, arguments))

    async def _arun(self, /, **arguments: Any) -> Any:
        return _answer(await call_one(self._session, self.name, arguments))


def _answer(result: ToolResult) -> tuple[str | list[dict[str, Any]], ToolResult]:
    if not result.ok:
        raise ToolException(text_of(result))
    return _content(result), result


def _content(result: ToolResult) -> str | list[dict[str, Any]]:
    return result.llm_content if isinstance(result.llm_content, str) else [_block(part) for part in parts_of(result)]


def _block(part: Part) -> dict[str, Any]:
    if "text" in part:
        return {"type": "text", "text": part["text"]}
    data = part["inline_data"]
    if is_picture(part) or data["mime_type"] == "application/pdf":
        return {"type": "image" if is_picture(part) else "file", "base64": data["data"], "mime_type": data["mime_type"]}
    return {"type": "text", "text": unseen(part)}
