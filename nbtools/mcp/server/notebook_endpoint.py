"""Unix-socket endpoint through which ``nbtools mcp`` processes of the same user call this session's tools."""

from __future__ import annotations

import asyncio
import os
import socket
import struct
import time
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import TypeAlias

from msgspec.structs import replace

from nbtools.core.errors import SessionError
from nbtools.mcp.server.endpoint_messages import (
    VERSION,
    CallProgress,
    CallRequest,
    CallResult,
    CancelRequest,
    ClientMessage,
    ConnectAccepted,
    ConnectRefused,
    ConnectRequest,
    ListToolsRequest,
    NotebookMessage,
    ToolList,
    client_message_decoder,
    encode_frame,
    read_frame,
)
from nbtools.mcp.server.endpoint_registry import new_entry, publish_entry, remove_entry
from nbtools.mcp.server.tool_provider import ClientCall, ToolProvider, failure_result

_LOCAL_PEERCRED = 1
"""The socket option of macOS and the BSDs (level 0), whose value begins with a version and the user id."""


def is_same_user(connection: socket.socket) -> bool:
    """Returns whether the peer is a process of this user, according to the kernel."""
    return _user_at(connection) == os.getuid()


def _user_at(connection: socket.socket) -> int:
    if hasattr(socket, "SO_PEERCRED"):
        raw = connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, struct.calcsize("3i"))
        return int(struct.unpack("3i", raw)[1])
    raw = connection.getsockopt(0, _LOCAL_PEERCRED, 76)
    return int(struct.unpack_from("=II", raw)[1])


_CLOSE_SECONDS = 1.0
"""Seconds for a client to receive the last messages when its connection is closed."""

MOST_CALLS = 64
"""Calls that one client may run at once: each may be a card that waits for the person."""
_TOO_MANY_CALLS = (
    f"{MOST_CALLS} calls are running already, so this one was not started. Wait for their results."
)

ProviderFactory: TypeAlias = Callable[[str], ToolProvider]
"""Returns the tools in the named dialect.  Raises ``SessionError`` if there is no such dialect."""


class NotebookEndpoint:
    """A socket that every ``nbtools mcp`` process on the workspace finds once it is started.
    Runs in the session's event loop.
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
        self._beacon = new_entry(self._root, self._notebook)
        self._server = await asyncio.start_unix_server(self._receive, self._beacon.socket)
        publish_entry(self._root, self._beacon)

    async def prefer(self) -> None:
        """Makes this endpoint the latest, which clients prefer.  Raises ``OSError``."""
        self._beacon = replace(self._beacon, since=time.time_ns())
        publish_entry(self._root, self._beacon)

    async def stop(self) -> None:
        """Unregisters the endpoint and cancels the clients' running calls."""
        remove_entry(self._root, self._beacon)
        self._server.close()
        connections = tuple(self._connections)
        for connection in connections:
            connection.cancel()
        await asyncio.gather(*connections, return_exceptions=True)

    async def _receive(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        if task is None or not is_same_user(writer.get_extra_info("socket")):
            await _close(writer)
            return
        self._connections.add(task)
        self._changed(len(self._connections))
        try:
            await self._serve(reader, writer)
        except (EOFError, OSError, ValueError, RecursionError, asyncio.CancelledError):
            pass  # disconnected, or does not speak this protocol, or the endpoint is being stopped
        finally:
            self._connections.discard(task)
            self._changed(len(self._connections))
            await _close(writer)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        request = client_message_decoder.decode(await read_frame(reader))
        if not isinstance(request, ConnectRequest) or request.version != VERSION:
            writer.write(
                encode_frame(
                    ConnectRefused("the notebook runs another version of nbtools. Restart its kernel")
                )
            )
            return
        try:
            offer = self._offer(request.dialect)
        except SessionError as error:
            writer.write(encode_frame(ConnectRefused(str(error))))
            return
        await _ClientConnection(offer, reader, writer).serve()


class _ClientConnection:
    """One connected ``nbtools mcp`` process and its running calls."""

    def __init__(
        self, offer: ToolProvider, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        self._offer = offer
        self._reader = reader
        self._writer = writer
        self._calls: dict[int, asyncio.Task[None]] = {}
        self._notifications: set[asyncio.Task[None]] = set()

    async def serve(self) -> None:
        """Handles messages until the client disconnects, which cancels its calls."""
        end = self._offer.watch(partial(self._send_tools_soon, others=True))
        try:
            self._send(ConnectAccepted())
            while True:
                self._handle(client_message_decoder.decode(await read_frame(self._reader)))
        finally:
            end()
            await self._cancel_all()

    def _handle(self, message: ClientMessage) -> None:
        match message:
            case ListToolsRequest():
                self._send_tools_soon(others=False)
            case CallRequest() if len(self._calls) >= MOST_CALLS or message.id in self._calls:
                self._send(CallResult(message.id, failure_result(_TOO_MANY_CALLS)))
            case CallRequest():
                self._calls[message.id] = asyncio.ensure_future(self._call(message))
            case CancelRequest() if message.id in self._calls:
                self._calls[message.id].cancel()
            case _:
                pass

    async def _call(self, call: CallRequest) -> None:
        try:
            request = ClientCall(call.name, call.arguments, call.client)
            self._send(
                CallResult(
                    call.id,
                    await self._offer.call(request, lambda text: self._send(CallProgress(call.id, text))),
                )
            )
        finally:
            self._calls.pop(call.id, None)

    def _send_tools_soon(self, *, others: bool) -> None:
        task = asyncio.ensure_future(self._send_tools(others=others))
        self._notifications.add(task)
        task.add_done_callback(self._notifications.discard)

    async def _send_tools(self, *, others: bool) -> None:
        self._send(ToolList(others, await self._offer.tools()))

    def _send(self, message: NotebookMessage) -> None:
        with suppress(OSError):
            self._writer.write(encode_frame(message))

    async def _cancel_all(self) -> None:
        tasks = (*self._calls.values(), *self._notifications)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


async def _close(writer: asyncio.StreamWriter) -> None:
    """Closes the connection after sending what is buffered, or aborts it after a timeout."""
    writer.close()
    try:
        async with asyncio.timeout(_CLOSE_SECONDS):
            await writer.wait_closed()
    except (OSError, TimeoutError):
        writer.transport.abort()
