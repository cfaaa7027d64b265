"""Unix-socket endpoint through which ``nbtools mcp`` processes of the same user call this session's tools."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from pathlib import Path
from typing import TypeAlias

from mcp_types import (
    INVALID_PARAMS,
    ErrorData,
    InitializeRequestParams,
    JSONRPCError,
    JSONRPCRequest,
    jsonrpc_message_adapter,
)
from msgspec.structs import replace

from nbtools.core.errors import SessionError
from nbtools.mcp.server.endpoint_registry import new_entry, publish_entry, remove_entry
from nbtools.mcp.server.server import ToolServer
from nbtools.mcp.server.socket_transport import (
    DIALECT_EXTENSION,
    LONGEST_LINE,
    close_connection,
    encode_message,
    is_same_user,
    socket_streams,
)
from nbtools.mcp.server.tool_provider import ToolProvider

ProviderFactory: TypeAlias = Callable[[str], ToolProvider]
"""Returns the tools in the named dialect.  Raises ``SessionError`` if there is no such dialect."""


class NotebookEndpoint:
    """A socket that every ``nbtools mcp`` process on the workspace finds once it is started.
    Each connection is an MCP session with a ``ToolServer`` of its own.  Runs in the session's event loop.
    """

    def __init__(
        self, root: Path, notebook: str, offer: ProviderFactory, changed: Callable[[int], None]
    ) -> None:
        """``changed`` is called with the number of connected clients, each time that it changes."""
        self._root = root
        self._notebook = notebook
        self._offer = offer
        self._changed = changed
        self._connections: set[asyncio.Task[None]] = set()

    async def start(self) -> None:
        """Listens and registers the endpoint.  Raises ``OSError`` if the socket cannot be created."""
        self._entry = new_entry(self._root, self._notebook)
        self._server = await asyncio.start_unix_server(self._receive, self._entry.socket, limit=LONGEST_LINE)
        publish_entry(self._root, self._entry)

    async def prefer(self) -> None:
        """Makes this endpoint the latest, which clients prefer.  Raises ``OSError``."""
        self._entry = replace(self._entry, since=time.time_ns())
        publish_entry(self._root, self._entry)

    async def stop(self) -> None:
        """Unregisters the endpoint and cancels the clients' running calls."""
        remove_entry(self._root, self._entry)
        self._server.close()
        connections = tuple(self._connections)
        for connection in connections:
            connection.cancel()
        await asyncio.gather(*connections, return_exceptions=True)

    async def _receive(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        if task is None or not is_same_user(writer):
            await close_connection(writer)
            return
        self._connections.add(task)
        self._changed(len(self._connections))
        try:
            await self._serve(reader, writer)
        except (OSError, ValueError, asyncio.CancelledError):
            pass  # disconnected, or does not speak this protocol, or the endpoint is being stopped
        finally:
            self._connections.discard(task)
            self._changed(len(self._connections))
            await close_connection(writer)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        # The handshake is read here, because the dialect in it decides which tools the server has.
        line = await reader.readline()
        request = jsonrpc_message_adapter.validate_json(line, by_name=False)
        if not isinstance(request, JSONRPCRequest) or request.method != "initialize":
            return
        client = InitializeRequestParams.model_validate(request.params, by_name=False)
        extensions = client.capabilities.extensions or {}
        dialect = extensions.get(DIALECT_EXTENSION, {}).get("name", "nbtools")
        try:
            offer = self._offer(str(dialect))
        except SessionError as error:
            refusal = JSONRPCError(
                jsonrpc="2.0", id=request.id, error=ErrorData(code=INVALID_PARAMS, message=str(error))
            )
            writer.write(encode_message(refusal))
            return
        server = ToolServer(offer, str(self._root))
        try:
            async with socket_streams(reader, writer, first=line) as streams:
                await server.run(*streams, server.create_initialization_options())
        finally:
            server.stop_watching()
