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

from nbtools.core.checking import Checker
from nbtools.sources.mcp.login.bearer import Bearer
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


@asynccontextmanager
async def _client(transport: AbstractAsyncContextManager[Any], callbacks: dict[str, Any]) -> AsyncIterator[Client]:
    about = Implementation(name="nbtools", version=version("nbtools-agent"))
    async with Client(transport, client_info=about, **callbacks) as client:
        _check_with_care(client)
        yield client


def _check_with_care(client: Client) -> None:
    """The server wrote both the answer and the schema: the SDK would hold one against the other for as long as it takes."""
    session: Any = client.session
    compiled = session._output_schema_validator  # noqa: SLF001 - the SDK has no other place for a checker of ours
    made = dict[str, tuple[Any, Checker]]()

    def checker(name: str, schema: dict[str, Any]) -> Checker:
        known = compiled(name, schema)  # says so where that is no schema, and is the same as long as the schema is
        if name not in made or made[name][0] is not known:
            made[name] = (known, Checker(schema))
        return made[name][1]

    session._output_schema_validator = checker  # noqa: SLF001 - as above
