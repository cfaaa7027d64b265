"""What a notebook and ``nbtools mcp`` say to each other: frames of four bytes' length, big end first, and as many bytes of JSON."""

from __future__ import annotations

import asyncio
from typing import Any, TypeAlias

import msgspec

VERSION = 1
_LONGEST = 256 * 1024 * 1024
"""Bytes of a frame; a longer one is no message of ours."""


class Hello(msgspec.Struct, frozen=True, tag="hello"):
    """The first word of a server that wants a notebook's tools."""

    version: int
    dialect: str


class Call(msgspec.Struct, frozen=True, tag="call"):
    """``id`` is the server's own number for it."""

    id: int
    name: str
    arguments: dict[str, Any]
    client: str


class Ask(msgspec.Struct, frozen=True, tag="ask"):
    """Which tools there are now; answered with ``Tools``."""


class Cancel(msgspec.Struct, frozen=True, tag="cancel"):
    id: int


class Welcome(msgspec.Struct, frozen=True, tag="welcome"):
    """The notebook's first word: it takes calls."""


class Tools(msgspec.Struct, frozen=True, tag="tools"):
    """The notebook's tools as they are now, when it is asked, and unasked (``others``) when some came or went."""

    others: bool
    tools: list[dict[str, Any]]


class Shows(msgspec.Struct, frozen=True, tag="shows"):
    """What a running call has to show, or waits for."""

    id: int
    text: str


class Done(msgspec.Struct, frozen=True, tag="done"):
    id: int
    result: dict[str, Any]


class Refused(msgspec.Struct, frozen=True, tag="refused"):
    """The notebook takes no calls of this server."""

    why: str


ToNotebook: TypeAlias = Hello | Ask | Call | Cancel
FromNotebook: TypeAlias = Welcome | Tools | Shows | Done | Refused

_encoder = msgspec.json.Encoder()
at_notebook: msgspec.json.Decoder[ToNotebook] = msgspec.json.Decoder(ToNotebook)
at_server: msgspec.json.Decoder[FromNotebook] = msgspec.json.Decoder(FromNotebook)


def frame(message: ToNotebook | FromNotebook) -> bytes:
    body = _encoder.encode(message)
    return len(body).to_bytes(4, "big") + body


async def read_frame(reader: asyncio.StreamReader) -> bytes:
    """The next frame's JSON.  Raises ``EOFError`` at the end, ``OSError``, and ``ValueError`` for what is no frame."""
    length = int.from_bytes(await reader.readexactly(4), "big")
    if length > _LONGEST:
        raise ValueError(f"a message of {length:,} bytes")
    return await reader.readexactly(length)
