"""MCP server for a tool provider.

Supports clients of both protocol generations:
with an initial handshake, and with all metadata in each request.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable
from contextlib import suppress
from types import TracebackType
from typing import Any, Self, TypeAlias

from mcp.server import NotificationOptions, Server
from mcp.server.context import ServerRequestContext
from mcp.server.models import InitializationOptions
from mcp.server.session import ServerSession
from mcp.server.subscriptions import InMemorySubscriptionBus, ListenHandler, ToolsListChanged
from mcp.types import CallToolRequestParams, CallToolResult, ListToolsResult, PaginatedRequestParams, Tool
from mcp.types.version import MODERN_PROTOCOL_VERSIONS

from nbtools import __version__
from nbtools.mcp.server.socket_transport import CLIENT_KEY
from nbtools.mcp.server.tool_provider import ClientCall, ToolProvider, failure_result

Report: TypeAlias = Callable[[float, float | None, str | None], Awaitable[None]]

_REPEAT_SECONDS = 5.0
"""Seconds after which the last progress is repeated,
because clients time out while a person thinks about an approval.
"""
_MOST_PROGRESS = 32
"""Progress messages that may be queued; the oldest is dropped."""


class ProgressReporter:
    """Sends a running call's progress to the client, and repeats the last message while the call is silent.

    The progress value counts messages, because no call knows its total.
    Nothing is sent after the context is left.
    """

    def __init__(self, report: Report) -> None:
        self._report = report
        self._queue: deque[str] = deque(maxlen=_MOST_PROGRESS)
        self._added = asyncio.Event()
        self._last = "running"
        self._step = 0

    def report(self, text: str) -> None:
        self._queue.append(text)
        self._added.set()

    async def __aenter__(self) -> Self:
        self._sender = asyncio.ensure_future(self._send())
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._sender.cancel()
        with suppress(asyncio.CancelledError):
            await self._sender
        if kind is None:
            await self._flush()

    async def _send(self) -> None:
        while True:
            with suppress(TimeoutError):
                async with asyncio.timeout(_REPEAT_SECONDS):
                    await self._added.wait()
            self._added.clear()
            if not self._queue:
                self._queue.append(self._last)
            await self._flush()

    async def _flush(self) -> None:
        while self._queue:
            self._last = self._queue.popleft()
            self._step += 1
            await self._report(self._step, None, self._last)


MOST_CALLS = 64
"""Calls that may run at once: each may be a card that waits for the person."""
_TOO_MANY_CALLS = (
    f"{MOST_CALLS} calls are running already, so this one was not started. Wait for their results."
)
_MOST_CLIENTS = 256
"""Clients with a handshake that are notified of changed tools; beyond it, the earliest is forgotten."""


class ToolServer(Server[Any]):
    """MCP server whose instructions state who approves calls at the time of each handshake."""

    def __init__(self, offer: ToolProvider, root: str) -> None:
        self._offer = offer
        self._root = root
        self._bus = InMemorySubscriptionBus()
        self._subscribers: dict[int, ServerSession] = {}
        self._notifications: set[asyncio.Task[None]] = set()
        self._running = 0
        super().__init__(
            "nbtools",
            version=__version__,
            on_list_tools=self._list_tools,
            on_call_tool=self._call_tool,
            on_subscriptions_listen=ListenHandler(self._bus),
        )
        self.stop_watching = offer.watch(self._changed)

    @property
    def instructions(self) -> str:
        return f"Tools on {self._root}. {self._offer.about} A denial states its reason."

    @instructions.setter
    def instructions(self, _: str | None) -> None:
        """Ignores the value: the instructions are computed from the provider."""

    def create_initialization_options(
        self,
        notification_options: NotificationOptions | None = None,
        experimental_capabilities: dict[str, dict[str, Any]] | None = None,
        extensions: dict[str, dict[str, Any]] | None = None,
    ) -> InitializationOptions:
        options = notification_options or NotificationOptions(tools_changed=True)
        return super().create_initialization_options(options, experimental_capabilities, extensions)

    async def _list_tools(
        self, context: ServerRequestContext[Any], _: PaginatedRequestParams | None
    ) -> ListToolsResult:
        tools = await self._offer.tools()
        self._subscribe(context)
        return ListToolsResult(tools=[Tool.model_validate(tool) for tool in tools])

    async def _call_tool(
        self, context: ServerRequestContext[Any], params: CallToolRequestParams
    ) -> CallToolResult:
        if self._running >= MOST_CALLS:
            return CallToolResult.model_validate(failure_result(_TOO_MANY_CALLS))
        request = ClientCall(params.name, params.arguments or {}, _client_name(context))
        self._running += 1
        try:
            async with ProgressReporter(context.session.report_progress) as progress:
                result = await self._offer.call(request, progress.report)
        finally:
            self._running -= 1
        return CallToolResult.model_validate(result)

    def _subscribe(self, context: ServerRequestContext[Any]) -> None:
        """Registers a client with a handshake for change notifications;
        newer clients subscribe by themselves.
        """
        if context.protocol_version in MODERN_PROTOCOL_VERSIONS:
            return
        self._subscribers[id(context.session.client_params)] = context.session
        if len(self._subscribers) > _MOST_CLIENTS:
            self._subscribers.pop(next(iter(self._subscribers)))

    def _changed(self) -> None:
        task = asyncio.ensure_future(self._notify())
        self._notifications.add(task)
        task.add_done_callback(self._notifications.discard)

    async def _notify(self) -> None:
        await self._bus.publish(ToolsListChanged())
        for key, session in tuple(self._subscribers.items()):
            try:
                await session.send_tool_list_changed()
            except Exception:  # noqa: BLE001 - whatever the SDK raises, this client has disconnected
                self._subscribers.pop(key, None)


def _client_name(context: ServerRequestContext[Any]) -> str:
    """Returns the name that the client reports, which is optional and not verified;
    ``nbtools mcp`` reports that of its own client with each call.
    """
    if name := (context.meta or {}).get(CLIENT_KEY):
        return str(name)
    params = context.session.client_params
    return params.client_info.name if params is not None and params.client_info.name else "an MCP client"
