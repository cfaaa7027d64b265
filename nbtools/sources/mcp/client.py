"""The SDK's client on any of the three transports."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from importlib.metadata import version
from pathlib import Path
from typing import Any

import httpx2
from mcp import Client
from mcp.client.sse import sse_client
from mcp.client.streamable_http import streamable_http_client
from mcp.types import Implementation

from nbtools.sources.mcp.settings import Address, Program, ServerSettings
from nbtools.sources.mcp.stdio import program_streams

_SILENCE = 300.0


@asynccontextmanager
async def opened(
    server: ServerSettings, folder: Path, ended: Callable[[str], None], callbacks: dict[str, Any], auth: httpx2.Auth | None = None
) -> AsyncIterator[Client]:
    """Connected, its handshake done.  ``callbacks`` are those of ``mcp.Client``.  To be entered and left in one task."""
    match server.transport:
        case Program() as program:
            async with _client(program_streams(program, folder, ended), callbacks) as client:
                yield client
        case Address(sse=True) as address:
            async with _client(sse_client(address.url, address.headers, auth=auth), callbacks) as client:
                yield client
        case Address() as address:
            limits = httpx2.Timeout(server.connect_seconds, read=_SILENCE)
            async with (
                httpx2.AsyncClient(headers=address.headers, timeout=limits, auth=auth) as http,
                _client(streamable_http_client(address.url, http_client=http), callbacks) as client,
            ):
                yield client


def _client(transport: AbstractAsyncContextManager[Any], callbacks: dict[str, Any]) -> Client:
    return Client(transport, client_info=Implementation(name="nbtools", version=version("nbtools-agent")), **callbacks)
