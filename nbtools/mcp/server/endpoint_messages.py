"""Messages between a notebook endpoint and ``nbtools mcp``:
a big-endian 4-byte length, then that many bytes of JSON.
"""

from __future__ import annotations

import asyncio
from typing import Any, TypeAlias

import msgspec

VERSION = 1
_LONGEST = 256 * 1024 * 1024
"""Maximum size of a frame in bytes."""


class ConnectRequest(msgspec.Struct, frozen=True, tag="hello"):
    """The first message of a client: requests access to the notebook's tools."""

    version: int
    dialect: str


class CallRequest(msgspec.Struct, frozen=True, tag="call"):
    """A tool call; ``id`` is chosen by the client."""

    id: int
    name: str
    arguments: dict[str, Any]
    client: str


class ListToolsRequest(msgspec.Struct, frozen=True, tag="ask"):
    """Requests the current tools; answered with ``ToolList``."""


class CancelRequest(msgspec.Struct, frozen=True, tag="cancel"):
    id: int


class ConnectAccepted(msgspec.Struct, frozen=True, tag="welcome"):
    """The notebook's first message: it accepts calls."""


class ToolList(msgspec.Struct, frozen=True, tag="tools"):
    """The notebook's current tools: a reply, or with ``others`` a notification that they changed."""

    others: bool
    tools: list[dict[str, Any]]


class CallProgress(msgspec.Struct, frozen=True, tag="shows"):
    """A running call's progress: its last line of output, or what it waits for."""

    id: int
    text: str


class CallResult(msgspec.Struct, frozen=True, tag="done"):
    id: int
    result: dict[str, Any]


class ConnectRefused(msgspec.Struct, frozen=True, tag="refused"):
    """The notebook rejects the client; ``why`` is the reason."""

    why: str


ClientMessage: TypeAlias = ConnectRequest | ListToolsRequest | CallRequest | CancelRequest
NotebookMessage: TypeAlias = ConnectAccepted | ToolList | CallProgress | CallResult | ConnectRefused

_encoder = msgspec.json.Encoder()
client_message_decoder: msgspec.json.Decoder[ClientMessage] = msgspec.json.Decoder(ClientMessage)
notebook_message_decoder: msgspec.json.Decoder[NotebookMessage] = msgspec.json.Decoder(NotebookMessage)


def encode_frame(message: ClientMessage | NotebookMessage) -> bytes:
    body = _encoder.encode(message)
    return len(body).to_bytes(4, "big") + body


async def read_frame(reader: asyncio.StreamReader) -> bytes:
    """Returns the next frame's JSON.  Raises ``EOFError`` at the end, ``OSError``,
    and ``ValueError`` for a frame that is too long.
    """
    length = int.from_bytes(await reader.readexactly(4), "big")
    if length > _LONGEST:
        raise ValueError(f"a message of {length:,} bytes is longer than the limit of {_LONGEST:,}")
    return await reader.readexactly(length)
