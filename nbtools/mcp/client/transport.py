"""Opens the SDK's client on any of the three transports: stdio, streamable HTTP, HTTP+SSE."""

from __future__ import annotations

import logging
from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from pathlib import Path
from typing import Any

from mcp import Client
from mcp.client.sse import sse_client
from mcp.client.streamable_http import streamable_http_client
from mcp.types import Implementation

from nbtools import __version__
from nbtools.core.schema.validation import JsonSchemaValidator
from nbtools.mcp.auth.bearer_token import BearerAuth
from nbtools.mcp.client.http import http_client
from nbtools.mcp.client.stdio import MOST_MESSAGE_BYTES, TransportListener, program_streams
from nbtools.mcp.client.unknown_content import with_known_content
from nbtools.mcp.config.entries import Address, Program, ServerSettings

logging.getLogger("mcp").addHandler(
    logging.NullHandler()
)  # failures are reported by nbtools; without a handler they would also be printed into cells


@asynccontextmanager
async def open_client(
    server: ServerSettings, folder: Path, listener: TransportListener, callbacks: dict[str, Any]
) -> AsyncIterator[Client]:
    """Yields a client with ``callbacks`` of ``mcp.Client``. Enter and leave it in the same task."""
    match server.transport:
        case Program() as program:
            async with _client(program_streams(program, folder, listener), callbacks) as client:
                yield client
        case Address(sse=True) as address:
            client_with_limits = http_client(
                server, address, listener, BearerAuth(server.name, address, listener.on_end)
            )
            factory: Any = lambda **_: client_with_limits  # noqa: E731 - the client has its headers and limits already
            async with _client(sse_client(address.url, httpx_client_factory=factory), callbacks) as client:
                yield client
        case Address() as address:
            async with (
                http_client(
                    server, address, listener, BearerAuth(server.name, address, listener.on_end)
                ) as http,
                _client(
                    streamable_http_client(
                        address.url, http_client=http, max_sse_event_size=MOST_MESSAGE_BYTES
                    ),
                    callbacks,
                ) as client,
            ):
                yield client


@asynccontextmanager
async def _client(
    transport: AbstractAsyncContextManager[Any], callbacks: dict[str, Any]
) -> AsyncIterator[Client]:
    about = Implementation(name="nbtools", version=__version__)
    async with Client(with_known_content(transport), client_info=about, **callbacks) as client:
        bound_output_validation(client)
        yield client


def bound_output_validation(client: Client) -> None:
    """Bounds the SDK's output validation: a server controls value and schema, and could block it."""
    session: Any = client.session
    compiled = session._output_schema_validator  # noqa: SLF001 - the SDK has no public hook for this
    checkers = dict[str, tuple[Any, JsonSchemaValidator]]()

    def checker(name: str, schema: dict[str, Any]) -> JsonSchemaValidator:
        validator = compiled(
            name, schema
        )  # raises for an invalid schema, and returns the same object while the schema is unchanged
        if name not in checkers or checkers[name][0] is not validator:
            checkers[name] = (validator, JsonSchemaValidator(schema))
        return checkers[name][1]

    session._output_schema_validator = checker  # noqa: SLF001 - as above
