"""An MCP server on stdio that answers in every kind of content, says different things of its tools,
and lies in one.
"""

from __future__ import annotations

import base64
import struct
import zlib
from typing import Any

import anyio
from mcp.server import Server
from mcp.server.stdio import stdio_server
from mcp.types import (
    AudioContent,
    BlobResourceContents,
    CallToolResult,
    EmbeddedResource,
    ImageContent,
    ListToolsResult,
    ResourceLink,
    TextContent,
    TextResourceContents,
    Tool,
    ToolAnnotations,
)


def png(colour: int) -> str:
    """One pixel of that grey."""

    def chunk(kind: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    head = struct.pack(">IIBBBBB", 1, 1, 8, 0, 0, 0, 0)
    whole = (
        b"\x89PNG\r\n\x1a\n"
        + chunk(b"IHDR", head)
        + chunk(b"IDAT", zlib.compress(bytes([0, colour])))
        + chunk(b"IEND", b"")
    )
    return base64.b64encode(whole).decode()


_SOUND = b"RIFF\x28\x00\x00\x00WAVEfmt \x10\x00\x00\x00\x01\x00\x01\x00\x40\x1f\x00\x00\x40\x1f\x00\x00"
WAV = base64.b64encode(_SOUND + b"\x01\x00\x08\x00data\x04\x00\x00\x00\x80\x90\x80\x70").decode()


def text_resource(uri: str, mime: str, text: str) -> EmbeddedResource:
    return EmbeddedResource(resource=TextResourceContents(uri=uri, mime_type=mime, text=text))


def blob_resource(uri: str, mime: str, blob: str) -> EmbeddedResource:
    return EmbeddedResource(resource=BlobResourceContents(uri=uri, mime_type=mime, blob=blob))


EVERYTHING = [
    TextContent(text="Here is all of it."),
    ImageContent(data=png(0), mime_type="image/png"),
    ImageContent(data=png(255), mime_type="image/png"),
    ImageContent(data="no base64!", mime_type="image/png"),
    AudioContent(data=WAV, mime_type="audio/x-wav"),
    text_resource("docs://guide/intro.md", "text/markdown", "# Intro\n\n**Begin** here."),
    text_resource("file:///src/cart.py", "text/x-python", "def total(): ...\n"),
    text_resource("db://prices", "text/csv", "name,price\napple|pear,3\nplum,4\n"),
    text_resource("memo://1", "", "only text"),
    blob_resource("file:///logo.png", "image/png", png(128)),
    blob_resource("file:///a.bin", "application/octet-stream", base64.b64encode(b"12345").decode()),
    ResourceLink(
        name="more", uri="https://example.org/more", description="All the rest", mime_type="text/html"
    ),
]
NUMBER = {"type": "object", "properties": {"total": {"type": "integer"}}, "required": ["total"]}
ANY: dict[str, Any] = {"type": "object", "properties": {"id": {"type": "integer", "minimum": 1}}}
TOOLS = [
    Tool(name="everything", input_schema=ANY),
    Tool(name="broken", input_schema=ANY),
    Tool(name="structured", input_schema=ANY, output_schema=NUMBER),
    Tool(name="lies", input_schema=ANY, output_schema=NUMBER),
    Tool(name="nothing_structured", input_schema=ANY, output_schema=NUMBER),
    Tool(name="long", input_schema=ANY),
    Tool(name="empty", input_schema=ANY),
    Tool(
        name="look", input_schema=ANY, annotations=ToolAnnotations(read_only_hint=True, open_world_hint=False)
    ),
    Tool(
        name="wipe",
        title="Wipe it",
        input_schema=ANY,
        annotations=ToolAnnotations(destructive_hint=True, idempotent_hint=True),
    ),
    Tool(
        name="add",
        input_schema=ANY,
        annotations=ToolAnnotations(destructive_hint=False, open_world_hint=True),
    ),
]
ANSWERS = {
    "everything": CallToolResult(content=EVERYTHING),
    "broken": CallToolResult(content=[TextContent(text="The disk is full.")], is_error=True),
    "structured": CallToolResult(content=[], structured_content={"total": 3}),
    "lies": CallToolResult(content=[TextContent(text="three")], structured_content={"total": "three"}),
    "nothing_structured": CallToolResult(content=[TextContent(text="three")]),
    "long": CallToolResult(
        content=[TextContent(text="\n".join(f"line {number}" for number in range(100_000)))]
    ),
    "empty": CallToolResult(content=[]),
}


async def list_tools(_: Any, __: Any) -> ListToolsResult:
    return ListToolsResult(tools=TOOLS)


async def call_tool(_: Any, params: Any) -> CallToolResult:
    plain = CallToolResult(content=[TextContent(text=f"{params.name} {params.arguments}")])
    return ANSWERS.get(params.name, plain)


async def main() -> None:
    server: Server[Any] = Server("content", on_list_tools=list_tools, on_call_tool=call_tool)
    async with stdio_server() as (reading, writing):
        await server.run(reading, writing, server.create_initialization_options())


if __name__ == "__main__":
    anyio.run(main)
