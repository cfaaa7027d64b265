"""An offer as an MCP server, for clients of both eras: those that shake hands first and those that say it all in each request."""

from __future__ import annotations

import asyncio
from importlib.metadata import version
from typing import Any

from mcp.server import NotificationOptions, Server
from mcp.server.context import ServerRequestContext
from mcp.server.models import InitializationOptions
from mcp.server.session import ServerSession
from mcp.server.subscriptions import InMemorySubscriptionBus, ListenHandler, ToolsListChanged
from mcp.types import CallToolRequestParams, CallToolResult, ListToolsResult, PaginatedRequestParams, Tool
from mcp.types.version import MODERN_PROTOCOL_VERSIONS

from nbtools.serving.offer import Offer, Wanted
from nbtools.serving.progress import Progress

_MOST = 256
"""Clients of the older era that are told of other tools; where there are more, the one that asked first is forgotten."""


class OfferServer(Server[Any]):
    """Says at each handshake who answers what must be asked at that time."""

    def __init__(self, offer: Offer, root: str) -> None:
        self._offer = offer
        self._root = root
        self._bus = InMemorySubscriptionBus()
        self._told: dict[int, ServerSession] = {}
        self._telling: set[asyncio.Task[None]] = set()
        super().__init__(
            "nbtools",
            version=version("nbtools-agent"),
            on_list_tools=self._list_tools,
            on_call_tool=self._call_tool,
            on_subscriptions_listen=ListenHandler(self._bus),
        )
        offer.watch(self._changed)

    @property
    def instructions(self) -> str:
        return f"Tools on {self._root}. {self._offer.about} A refusal says why."

    @instructions.setter
    def instructions(self, _: str | None) -> None:
        """They follow the offer."""

    def create_initialization_options(
        self,
        notification_options: NotificationOptions | None = None,
        experimental_capabilities: dict[str, dict[str, Any]] | None = None,
        extensions: dict[str, dict[str, Any]] | None = None,
    ) -> InitializationOptions:
        options = notification_options or NotificationOptions(tools_changed=True)
        return super().create_initialization_options(options, experimental_capabilities, extensions)

    async def _list_tools(self, context: ServerRequestContext[Any], _: PaginatedRequestParams | None) -> ListToolsResult:
        tools = await self._offer.tools()
        self._remember(context)
        return ListToolsResult(tools=[Tool.model_validate(tool) for tool in tools])

    async def _call_tool(self, context: ServerRequestContext[Any], params: CallToolRequestParams) -> CallToolResult:
        wanted = Wanted(params.name, params.arguments or {}, _name_of(context.session))
        async with Progress(context.session.report_progress) as progress:
            result = await self._offer.call(wanted, progress.hear)
        return CallToolResult.model_validate(result)

    def _remember(self, context: ServerRequestContext[Any]) -> None:
        """A client of the newer era listens if it wants to be told; the others are told, each once, for they have one handshake."""
        if context.protocol_version in MODERN_PROTOCOL_VERSIONS:
            return
        self._told[id(context.session.client_params)] = context.session
        if len(self._told) > _MOST:
            self._told.pop(next(iter(self._told)))

    def _changed(self) -> None:
        task = asyncio.ensure_future(self._tell())
        self._telling.add(task)
        task.add_done_callback(self._telling.discard)

    async def _tell(self) -> None:
        await self._bus.publish(ToolsListChanged())
        for key, session in tuple(self._told.items()):
            try:
                await session.send_tool_list_changed()
            except Exception:  # noqa: BLE001 - whatever the SDK raises, this client is gone
                self._told.pop(key, None)


def _name_of(session: ServerSession) -> str:
    """What the client calls itself; it may say nothing, and it may say anything."""
    params = session.client_params
    return params.client_info.name if params is not None and params.client_info.name else "an MCP client"
