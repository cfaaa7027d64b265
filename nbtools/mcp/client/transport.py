"""Opens the SDK's client on any of the three transports: stdio, streamable HTTP, HTTP+SSE."""

from __future__ import annotations

import json
import logging
from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from mcp import Client
from mcp.client.sse import sse_client
from mcp.client.streamable_http import streamable_http_client
from mcp.shared.message import SessionMessage
from mcp.types import Implementation
from mcp_types import JSONRPCResponse, Prompt, Resource, ResourceTemplate, Tool
from pydantic import BaseModel, ValidationError

from nbtools import __version__
from nbtools.core.schema.drafts import DECLARED, schema_problem
from nbtools.core.schema.validation import JsonSchemaValidator
from nbtools.mcp.auth.bearer_token import BearerAuth
from nbtools.mcp.client.http import http_client
from nbtools.mcp.client.stdio import MOST_MESSAGE_BYTES, TransportListener, program_streams
from nbtools.mcp.config.entries import Address, Program, ServerSettings

# Failures are reported by nbtools; without a handler they would also be printed into cells.
logging.getLogger("mcp").addHandler(logging.NullHandler())


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
        # Raises for an invalid schema, and returns the same object while the schema is unchanged.
        validator = compiled(name, schema)
        if name not in checkers or checkers[name][0] is not validator:
            checkers[name] = (validator, JsonSchemaValidator(schema))
        return checkers[name][1]

    session._output_schema_validator = checker  # noqa: SLF001 - as above


_KNOWN = ("text", "image", "audio", "resource", "resource_link")
"""The SDK refuses other kinds of blocks; one of these that lacks something is malformed."""


@asynccontextmanager
async def with_known_content(
    transport: AbstractAsyncContextManager[Any],
) -> AsyncIterator[tuple[_KnownContent, Any]]:
    """Yields the transport's streams; messages read have only blocks of kinds that the SDK knows."""
    async with transport as (reading, writing):
        yield _KnownContent(reading), writing


class _KnownContent:
    """A stream of messages in which unknown content blocks of results are text blocks with their JSON."""

    def __init__(self, stream: Any) -> None:
        self._stream = stream

    @property
    def last_context(self) -> Any:
        return getattr(self._stream, "last_context", None)

    async def receive(self) -> SessionMessage | Exception:
        return _known(await self._stream.receive())

    async def aclose(self) -> None:
        await self._stream.aclose()

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> SessionMessage | Exception:
        return _known(await self._stream.__anext__())

    async def __aenter__(self) -> Self:
        await self._stream.__aenter__()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self._stream.__aexit__(kind, error, trace)


def _known(item: SessionMessage | Exception) -> SessionMessage | Exception:
    result = (
        item.message.result
        if isinstance(item, SessionMessage) and isinstance(item.message, JSONRPCResponse)
        else None
    )
    if isinstance(result, dict):
        if isinstance(result.get("content"), list):  # of a tool call
            result["content"] = [_known_block(block) for block in result["content"]]
        for message in result["messages"] if isinstance(result.get("messages"), list) else ():  # of a prompt
            if isinstance(message, dict) and "content" in message:
                message["content"] = _known_block(message["content"])
        for name, kind in _LISTED.items():
            if isinstance(result.get(name), list):
                result[name] = [usable for one in result[name] if (usable := _usable(one, kind)) is not None]
    return item


_LISTED: dict[str, type[BaseModel]] = {
    "tools": Tool,
    "prompts": Prompt,
    "resources": Resource,
    "resourceTemplates": ResourceTemplate,
}


def _usable(declared: object, kind: type[BaseModel]) -> object | None:
    """Returns a declaration without malformed parts; None where it then lacks, say, its name."""
    if not isinstance(declared, dict):
        return None
    if kind is Tool:
        declared = _with_schemas(declared)
    try:
        kind.model_validate(declared)
    except ValidationError as error:
        broken = {item["loc"][0] for item in error.errors() if item["loc"]}
        rest = {name: value for name, value in declared.items() if name not in broken}
        return _usable(rest, kind) if len(rest) < len(declared) else None
    return declared


def _with_schemas(tool: dict[str, Any]) -> dict[str, Any]:
    """Returns the declaration of a tool with schemas that the SDK accepts: of an object."""
    schema, output = tool.get("inputSchema"), tool.get("outputSchema")
    if schema_problem(schema):
        schema = {"type": "object", DECLARED: schema}
    elif isinstance(schema, dict) and "type" not in schema:
        schema = {"type": "object", **schema}
    rest = dict(tool)
    if not isinstance(output, dict) or output.get("type") != "object":
        rest.pop("outputSchema", None)
    return {**rest, "inputSchema": schema}


def _known_block(block: object) -> object:
    kind = block.get("type") if isinstance(block, dict) else None
    if not isinstance(kind, str) or kind in _KNOWN:
        return block
    return {"type": "text", "text": json.dumps(block, ensure_ascii=False)}
