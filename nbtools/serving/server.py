"""A session as an MCP server: its tools in its dialect, each call on the way that every call takes."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from importlib.metadata import version
from typing import Any

from mcp.server import Server
from mcp.server.context import ServerRequestContext
from mcp.types import CallToolRequestParams, CallToolResult, ListToolsResult, PaginatedRequestParams, Tool

from nbtools.core.call import CallEvent, OutputEvent
from nbtools.core.schema import convert_to_function_response
from nbtools.session import Session

_ABOUT = "Tools on {root}. A person may be asked before a call runs: that takes as long as it takes, and a refusal says why."


def server_of(session: Session) -> Server[Any]:
    """What is asked is asked by the session's confirmer; without one such a call is refused at once, with how to allow it."""

    async def list_tools(_: ServerRequestContext[Any], __: PaginatedRequestParams | None) -> ListToolsResult:
        return ListToolsResult(tools=[Tool.model_validate(tool) for tool in session.declarations("mcp")])

    async def call_tool(context: ServerRequestContext[Any], params: CallToolRequestParams) -> CallToolResult:
        call_id = session.new_id()
        with _Progress(session, call_id, context):
            result = await session.call(params.name, params.arguments or {}, id=call_id)
        return CallToolResult.model_validate(convert_to_function_response(call_id, params.name, result, "mcp"))

    return Server(
        "nbtools",
        version=version("nbtools-agent"),
        instructions=_ABOUT.format(root=session.workspace.root),
        on_list_tools=list_tools,
        on_call_tool=call_tool,
    )


class _Progress:
    """Tells the client each time that a call has more to show; it needs no more than to know that the call lives."""

    def __init__(self, session: Session, call_id: str, context: ServerRequestContext[Any]) -> None:
        self._call_id = call_id
        self._context = context
        self._session = session
        self._steps = 0
        self._sent: set[asyncio.Task[None]] = set()

    def __enter__(self) -> None:
        self._forget: Callable[[], None] = self._session.observe(self)

    def __exit__(self, *_: object) -> None:
        self._forget()

    def notice(self, event: CallEvent) -> None:
        if isinstance(event, OutputEvent) and event.call.request.id == self._call_id:
            self._steps += 1
            task = asyncio.ensure_future(self._context.session.report_progress(self._steps))
            self._sent.add(task)
            task.add_done_callback(self._sent.discard)
