"""Client of a notebook endpoint: an MCP session that calls a notebook's tools over its Unix socket."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextlib import suppress

from mcp import ClientSession
from mcp.client.session import IncomingMessage
from mcp.shared.exceptions import MCPError
from mcp.types import (
    CallToolRequest,
    CallToolRequestParams,
    CallToolResult,
    Implementation,
    ListToolsRequest,
    ListToolsResult,
    ToolListChangedNotification,
)
from mcp_types import CONNECTION_CLOSED

from nbtools import __version__
from nbtools.core.errors import SessionError
from nbtools.core.schema.json_schema import Json
from nbtools.mcp.server.endpoint_registry import EndpointEntry
from nbtools.mcp.server.socket_transport import (
    CLIENT_KEY,
    DIALECT_EXTENSION,
    LONGEST_LINE,
    close_connection,
    is_same_user,
    socket_streams,
)
from nbtools.mcp.server.tool_provider import ClientCall, ProgressCallback, failure_result

_CONNECT_SECONDS = 10.0
"""Seconds in which a notebook must accept the connection; one whose kernel is stopped is skipped."""


class EndpointClient:
    """Tools of one notebook, until it closes the connection (``is_gone``);
    running calls then fail with an explanation.
    """

    def __init__(self, entry: EndpointEntry) -> None:
        self.entry = entry
        self._watchers: list[Callable[[], None]] = []
        self._tools: list[Json] = []
        self._session: ClientSession | None = None
        self._connection: asyncio.Task[None] | None = None

    @classmethod
    async def connect(cls, entry: EndpointEntry, dialect: str) -> EndpointClient:
        """Connects to an endpoint.  Raises ``OSError`` if nothing listens there,
        ``SessionError`` if the notebook refuses.
        """
        client = cls(entry)
        accepted: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        # The SDK's session must be entered and left in the same task, and the caller's may end before.
        client._connection = asyncio.ensure_future(client._hold_connection(dialect, accepted))
        try:
            async with asyncio.timeout(_CONNECT_SECONDS):
                await accepted
                await client.tools()  # the notebook announces changes to clients that have listed its tools
        except BaseException:
            await client.close()
            raise
        return client

    @property
    def about(self) -> str:
        return (
            f"Calls that need approval are shown in the notebook {self.entry.notebook}; they wait until a"
            " person answers there."
        )

    @property
    def is_gone(self) -> bool:
        return self._session is None

    async def tools(self) -> list[Json]:
        """Returns the current declarations,
        or the last known ones if the notebook disconnects while it is queried.
        """
        if self._session is not None:
            with suppress(MCPError):
                listed = await self._session.send_request(ListToolsRequest(), ListToolsResult)
                self._tools = [
                    tool.model_dump(mode="json", by_alias=True, exclude_unset=True) for tool in listed.tools
                ]
        return self._tools

    async def call(self, request: ClientCall, on_progress: ProgressCallback) -> Json:
        async def progressed(progress: float, total: float | None, message: str | None) -> None:  # noqa: ARG001
            on_progress(message or "running")

        if self._session is None:
            return self._lost_result()
        params = CallToolRequestParams(
            name=request.name, arguments=dict(request.arguments), _meta={CLIENT_KEY: request.client}
        )
        try:
            # Not ``call_tool``, which validates the result against the tool's schema: our own client does.
            result = await self._session.send_request(
                CallToolRequest(params=params), CallToolResult, progress_callback=progressed
            )
        except MCPError as error:
            return self._lost_result() if error.code == CONNECTION_CLOSED else failure_result(error.message)
        return result.model_dump(mode="json", by_alias=True, exclude_unset=True)

    def watch(self, watcher: Callable[[], None]) -> Callable[[], None]:
        """Calls ``watcher`` also when the notebook disconnects."""
        self._watchers.append(watcher)
        return lambda: self._watchers.remove(watcher)

    async def close(self) -> None:
        if self._connection is not None:
            self._connection.cancel()
            await asyncio.gather(self._connection, return_exceptions=True)

    async def _hold_connection(self, dialect: str, accepted: asyncio.Future[None]) -> None:
        """Keeps the session open until the notebook disconnects; ``accepted`` gets the outcome of the
        handshake.
        """
        try:
            await self._converse(dialect, accepted)
        except Exception as error:  # noqa: BLE001 - the caller of ``connect`` gets it
            if not accepted.done():
                accepted.set_exception(error)
        finally:
            self._session = None
            self._notify()

    async def _converse(self, dialect: str, accepted: asyncio.Future[None]) -> None:
        reader, writer = await asyncio.open_unix_connection(self.entry.socket, limit=LONGEST_LINE)
        ended = asyncio.Event()
        try:
            if not is_same_user(writer):  # its answers cannot be trusted
                raise PermissionError("another user's process listens on its socket")
            async with (
                socket_streams(reader, writer, on_end=ended.set) as streams,
                ClientSession(
                    *streams,
                    message_handler=self._on_message,
                    client_info=Implementation(name="nbtools mcp", version=__version__),
                    extensions={DIALECT_EXTENSION: {"name": dialect}},
                ) as session,
            ):
                try:
                    await session.initialize()
                except MCPError as error:
                    # Set, not raised: the SDK's task groups would wrap it in groups of exceptions.
                    accepted.set_exception(
                        ConnectionError(f"{self.entry.notebook} did not answer")
                        if error.code == CONNECTION_CLOSED
                        else SessionError(f"{self.entry.notebook}: {error.message}")
                    )
                    return
                self._session = session
                accepted.set_result(None)
                await ended.wait()
        finally:
            await close_connection(writer)

    async def _on_message(self, message: IncomingMessage) -> None:
        if isinstance(message, ToolListChangedNotification):
            self._notify()

    def _notify(self) -> None:
        for watcher in tuple(self._watchers):
            watcher()

    def _lost_result(self) -> Json:
        return failure_result(
            f"The notebook {self.entry.notebook} disconnected before it answered. The call may have taken"
            " effect, so check before you repeat it. Until a notebook serves again (%tools serve), calls"
            " that need approval are denied."
        )
