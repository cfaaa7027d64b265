"""The SDK's client on any of the three transports."""

from __future__ import annotations

import logging
from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from importlib.metadata import version
from pathlib import Path
from typing import Any

from mcp import Client
from mcp.client.sse import sse_client
from mcp.client.streamable_http import streamable_http_client
from mcp.types import Implementation

from nbtools.sources.mcp.login.oauth import Bearer
from nbtools.sources.mcp.settings.entries import Address, Program, ServerSettings
from nbtools.sources.mcp.wire.http import http_client
from nbtools.sources.mcp.wire.stdio import LONGEST, Listener, program_streams

logging.getLogger("mcp").addHandler(logging.NullHandler())  # what fails is told by us; without one it is printed into cells, too


@asynccontextmanager
async def opened(server: ServerSettings, folder: Path, listener: Listener, callbacks: dict[str, Any]) -> AsyncIterator[Client]:
    """Connected, its handshake done.  ``callbacks`` are those of ``mcp.Client``.  To be entered and left in one task."""
    match server.transport:
        case Program() as program:
            async with _client(program_streams(program, folder, listener), callbacks) as client:
                yield client
        case Address(sse=True) as address:
            made = http_client(server, address, listener, Bearer(server.name, address, listener.ended))
            factory: Any = lambda **_: made  # noqa: E731 - it has its headers and limits already
            async with _client(sse_client(address.url, httpx_client_factory=factory), callbacks) as client:
                yield client
        case Address() as address:
            async with (
                http_client(server, address, listener, Bearer(server.name, address, listener.ended)) as http,
                _client(streamable_http_client(address.url, http_client=http, max_sse_event_size=LONGEST), callbacks) as client,
            ):
                yield client


def _client(transport: AbstractAsyncContextManager[Any], callbacks: dict[str, Any]) -> Client:
    return Client(transport, client_info=Implementation(name="nbtools", version=version("nbtools-agent")), **callbacks)
