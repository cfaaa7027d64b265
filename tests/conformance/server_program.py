"""The server that the conformance suite is run against:
nbtools over HTTP, with the tools that its scenarios call.

The token is left out, for the suite knows none; everything else is what ``nbtools mcp --http`` is made of.
Prints its address.
"""

from __future__ import annotations

import asyncio
import base64
import sys
import tempfile
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import uvicorn

from nbtools import Policy, Session, ToolFailure, ToolResult, tool
from nbtools.core.errors import ErrorCode
from nbtools.dialects import NBTOOLS
from nbtools.mcp.server.http import HOST, bind_loopback, url_of
from nbtools.mcp.server.server import ToolServer
from nbtools.mcp.server.tool_provider import SessionToolProvider

PIXEL = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8DwHwAFBQIAX8jx0gAAAABJRU5ErkJggg=="
SILENCE = base64.b64encode(
    b"RIFF$\0\0\0WAVEfmt \x10\0\0\0\1\0\1\0@\x1f\0\0@\x1f\0\0\1\0\x08\0data\0\0\0\0"
).decode()


def part(mime_type: str, data: str) -> dict[str, Any]:
    return {"inline_data": {"mime_type": mime_type, "data": data}}


@tool(kind="read")
def test_simple_text() -> str:
    """Says something."""
    return "This is a simple text response for testing."


@tool(kind="read")
def test_image_content() -> ToolResult:
    """Shows a picture."""
    return ToolResult((part("image/png", PIXEL),), "a picture")


@tool(kind="read")
def test_audio_content() -> ToolResult:
    """Makes a sound."""
    return ToolResult((part("audio/wav", SILENCE),), "a sound")


@tool(kind="read")
def test_embedded_resource() -> ToolResult:
    """Gives a file."""
    return ToolResult((part("application/zip", PIXEL),), "a file")


@tool(kind="read")
def test_multiple_content_types() -> ToolResult:
    """Gives one of each."""
    return ToolResult(
        ({"text": "Multiple content types test:"}, part("image/png", PIXEL), part("application/zip", PIXEL)),
        "all of it",
    )


@tool(kind="read")
def test_error_handling() -> str:
    """Fails."""
    raise ToolFailure(ErrorCode.EXECUTION_FAILED, "This tool intentionally returns an error for testing")


@tool(kind="read")
async def test_tool_with_progress() -> AsyncIterator[str]:
    """Takes its time."""
    for part in ("0 of 100", "50 of 100", "100 of 100"):
        yield f"{part}\n"
        await asyncio.sleep(0.15)  # progress that takes time is the object


class WithSchema:
    """A tool whose schema is its own, word for word."""

    parameters = {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "type": "object",
        "$defs": {
            "address": {
                "type": "object",
                "properties": {"street": {"type": "string"}, "city": {"type": "string"}},
            }
        },
        "properties": {"name": {"type": "string"}, "address": {"$ref": "#/$defs/address"}},
        "additionalProperties": False,
    }

    def __init__(self, like: Any) -> None:
        self._like = like
        self.name = self.display_name = "json_schema_2020_12_tool"
        self.schema = {"name": self.name, "description": like.description, "parameters": self.parameters}

    def __getattr__(self, attribute: str) -> Any:
        return getattr(self._like, attribute)


TOOLS = (
    test_simple_text,
    test_image_content,
    test_audio_content,
    test_embedded_resource,
    test_multiple_content_types,
    test_error_handling,
    test_tool_with_progress,
    WithSchema(test_simple_text),
)


async def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        async with Session(Path(folder), policy=Policy(mode="yolo")) as session:
            for one in TOOLS:
                session.tools.register(one)
            server = ToolServer(SessionToolProvider(session, NBTOOLS, "Nobody is asked."), folder)
            listening = bind_loopback(0)
            sys.stdout.write(f"{url_of(listening)}\n")
            sys.stdout.flush()
            app = server.streamable_http_app(host=HOST)
            await uvicorn.Server(uvicorn.Config(app, log_config=None, timeout_graceful_shutdown=1)).serve(
                sockets=[listening]
            )


if __name__ == "__main__":
    asyncio.run(main())
