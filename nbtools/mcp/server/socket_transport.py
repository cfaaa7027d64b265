"""MCP between two processes of one user over a Unix socket: a JSON-RPC message a line, of limited length."""

from __future__ import annotations

import asyncio
import json
import os
import socket
import struct
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from typing import TypeAlias

import anyio
from anyio.streams.memory import MemoryObjectReceiveStream, MemoryObjectSendStream
from mcp.shared.message import SessionMessage
from mcp_types import JSONRPCMessage, jsonrpc_message_adapter

SessionStreams: TypeAlias = tuple[
    MemoryObjectReceiveStream[SessionMessage | Exception], MemoryObjectSendStream[SessionMessage]
]
LONGEST_LINE = 256 * 1024 * 1024
"""Maximum size of a message in bytes: the ``limit`` of the streams of both ends."""
DIALECT_EXTENSION = "nbtools/dialect"
"""The client's capability whose ``name`` is the dialect in which it wants the tools."""
CLIENT_KEY = "nbtools/client"
"""The key in a call's ``_meta`` with the name of the client on whose behalf it is made."""
_LOCAL_PEERCRED = 1
"""The socket option of macOS and the BSDs (level 0), whose value begins with a version and the user id."""
_CLOSE_SECONDS = 1.0
"""Seconds for the peer to receive the last messages when a connection is closed."""


def is_same_user(writer: asyncio.StreamWriter) -> bool:
    """Returns whether the peer is a process of this user, according to the kernel."""
    connection = writer.get_extra_info("socket")
    if hasattr(socket, "SO_PEERCRED"):
        raw = connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, struct.calcsize("3i"))
        user = struct.unpack("3i", raw)[1]
    else:
        user = struct.unpack_from("=II", connection.getsockopt(0, _LOCAL_PEERCRED, 76))[1]
    return int(user) == os.getuid()


def encode_message(message: JSONRPCMessage) -> bytes:
    """Returns the message as a line; a character that UTF-8 cannot encode becomes a question mark."""
    try:
        return message.model_dump_json(by_alias=True, exclude_unset=True).encode() + b"\n"
    except ValueError:
        # A path with bytes that are not UTF-8 has such characters. They must not end the connection.
        text = json.dumps(
            message.model_dump(mode="json", by_alias=True, exclude_unset=True), ensure_ascii=False
        )
        return text.encode("utf-8", "replace") + b"\n"


@asynccontextmanager
async def socket_streams(
    reader: asyncio.StreamReader,
    writer: asyncio.StreamWriter,
    *,
    first: bytes = b"",
    on_end: Callable[[], None] = lambda: None,
) -> AsyncIterator[SessionStreams]:
    """Yields the streams for a session of the SDK; ``first`` is a line that has been read already.

    The stream of received messages ends, and ``on_end`` is called, when the peer disconnects or sends
    what is no message.
    """
    # Without buffers: a peer that reads slowly holds up the sender here, not this process's memory.
    arriving, inbox = anyio.create_memory_object_stream[SessionMessage | Exception]()
    outbox, leaving = anyio.create_memory_object_stream[SessionMessage]()

    async def receive() -> None:
        with arriving, suppress(OSError, ValueError, anyio.BrokenResourceError):
            line = first or await reader.readline()
            while line:
                await arriving.send(
                    SessionMessage(jsonrpc_message_adapter.validate_json(line, by_name=False))
                )
                line = await reader.readline()
        on_end()

    async def send() -> None:
        with suppress(OSError):
            async for outgoing in leaving:
                writer.write(encode_message(outgoing.message))
                await writer.drain()

    with inbox, outbox, leaving:
        async with anyio.create_task_group() as group:
            group.start_soon(receive)
            group.start_soon(send)
            yield inbox, outbox
            group.cancel_scope.cancel()


async def close_connection(writer: asyncio.StreamWriter) -> None:
    """Closes the connection after sending what is buffered, or aborts it after a timeout."""
    writer.close()
    try:
        async with asyncio.timeout(_CLOSE_SECONDS):
            await writer.wait_closed()
    except (OSError, TimeoutError):
        writer.transport.abort()
