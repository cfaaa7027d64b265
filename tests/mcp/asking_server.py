"""An MCP server on stdio that asks: for answers, for texts, for roots.
``legacy``: it speaks no protocol newer than the handshake's.
"""

from __future__ import annotations

import sys
from typing import Annotated, Any, Literal

import anyio
from mcp.server.mcpserver import Context, Elicit, ListRoots, MCPServer, Resolve, Sample
from mcp.server.stdio import stdio_server
from mcp.shared.message import SessionMessage
from mcp.types import (
    CreateMessageResult,
    ErrorData,
    ImageContent,
    JSONRPCError,
    ListRootsResult,
    ModelHint,
    ModelPreferences,
    SamplingMessage,
    TextContent,
)
from pydantic import BaseModel, Field

server = MCPServer("asking")
PIXEL = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
SIZES = {
    "type": "string",
    "oneOf": [{"const": "s", "title": "Small"}, {"const": "l", "title": "Large, with cream"}],
    "default": "l",
}
TOPPINGS = {
    "type": "array",
    "items": {"anyOf": [{"const": "n", "title": "Nuts, chopped"}, {"const": "c", "title": "Cherry"}]},
    "maxItems": 2,
}
ORDER: dict[str, Any] = {
    "type": "object",
    "required": ["name", "count"],
    "properties": {
        "name": {"type": "string", "minLength": 2, "description": "Who is it for?"},
        "count": {"type": "integer", "minimum": 1, "maximum": 9},
        "size": SIZES,
        "toppings": TOPPINGS,
        "mail": {"type": "string", "format": "email"},
        "wrapped": {"type": "boolean", "default": True},
    },
}


class Colour(BaseModel):
    colour: Literal["red", "blue"] = Field(description="Which colour?")


def which_colour() -> Elicit[Colour]:
    return Elicit("The cake has one colour", Colour)


def poem() -> Sample:
    said = [TextContent(text="A poem on this, please"), ImageContent(data=PIXEL, mime_type="image/png")]
    return Sample(
        [SamplingMessage(role="user", content=said)],
        max_tokens=50,
        system_prompt="You are a poet.",
        include_context="thisServer",
        model_preferences=ModelPreferences(hints=[ModelHint(name="claude")], speed_priority=0.5),
    )


def where() -> ListRoots:
    return ListRoots()


@server.tool()
async def paint(colour: Annotated[Colour, Resolve(which_colour)]) -> str:
    """Asks in the way of its protocol."""
    return f"painted {colour.colour}"


@server.tool()
async def rhyme(text: Annotated[CreateMessageResult, Resolve(poem)]) -> str:
    content = text.content
    return f"{text.model} ({text.stop_reason}): {content.text if isinstance(content, TextContent) else content.type}"


@server.tool()
async def roots(found: Annotated[ListRootsResult, Resolve(where)]) -> str:
    return " ".join(str(root.uri) for root in found.roots)


@server.tool()
async def order(ctx: Context[Any]) -> str:
    """Asks with a request of its own, which only the handshake's protocols have."""
    answer = await ctx.session.elicit_form("A cake", ORDER, related_request_id=ctx.request_id)
    return answer.model_dump_json(include={"action", "content"})


@server.tool()
async def agree(ctx: Context[Any]) -> str:
    answer = await ctx.session.elicit_form(
        "Really?", {"type": "object", "properties": {}}, related_request_id=ctx.request_id
    )
    return answer.model_dump_json(include={"action", "content"})


@server.tool()
async def visit(ctx: Context[Any]) -> str:
    answer = await ctx.elicit_url("Log in", "https://login.example.org/x?y=1", "1")
    return answer.action


@server.resource("memo://first", name="first", description="The first memo", mime_type="text/markdown")
def first() -> str:
    return "# First"


@server.resource("row://{table}/{number}", name="row", mime_type="text/csv")
def row(table: str, number: str) -> str:
    return f"table,number\n{table},{number}\n"


@server.prompt()
def review(path: str, tone: str = "kind") -> str:
    """Reviews a file."""
    return f"Review {path} in a {tone} way."


async def legacy() -> None:
    """Newer requests are answered as servers of that time did: there is no such method."""
    async with stdio_server() as (reading, writing):
        sending, receiving = anyio.create_memory_object_stream[SessionMessage | Exception](10)

        async def filtered() -> None:
            async with sending:
                async for message in reading:
                    said = (
                        message.message.model_dump(by_alias=True, exclude_none=True)
                        if isinstance(message, SessionMessage)
                        else {}
                    )
                    if said.get("method") == "server/discover":
                        await writing.send(SessionMessage(_no_method(said["id"])))
                    else:
                        await sending.send(message)

        lowlevel = server._lowlevel_server
        async with anyio.create_task_group() as group:
            group.start_soon(filtered)
            await lowlevel.run(receiving, writing, lowlevel.create_initialization_options())


def _no_method(number: Any) -> JSONRPCError:
    return JSONRPCError(jsonrpc="2.0", id=number, error=ErrorData(code=-32601, message="Method not found"))


if __name__ == "__main__":
    anyio.run(legacy) if "legacy" in sys.argv else server.run()
