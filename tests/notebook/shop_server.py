"""An MCP server on stdio with something of everything that a notebook shows:
tools, progress, a form, a picture, prompts, a resource.
"""

from __future__ import annotations

import asyncio
import struct
import zlib
from typing import Annotated, Any, Literal

from mcp.server.mcpserver import Context, Elicit, MCPServer, Resolve
from mcp.server.mcpserver.exceptions import ToolError
from mcp.server.mcpserver.utilities.types import Image
from mcp.types import ToolAnnotations
from pydantic import BaseModel

server = MCPServer("shop", instructions="A shop that sells fruit.")


class Item(BaseModel):
    name: str
    count: int = 1


class Order(BaseModel):
    items: list[Item]
    note: str = ""


class Delivery(BaseModel):
    name: str
    when: Literal["today", "tomorrow"]
    gift: bool


@server.tool(annotations=ToolAnnotations(read_only_hint=True))
async def price(fruit: str, count: int = 1) -> str:
    """Returns the price of a fruit."""
    return f"{count} {fruit}: {count * 0.4:.2f} €"


@server.tool()
async def order(order: Order, express: bool = False, tags: list[str] | None = None) -> str:
    """Orders several things at once."""
    what = ", ".join(f"{item.count} {item.name}" for item in order.items)
    return f"{what}{' express' if express else ''} {tags}"


@server.tool()
async def pack(boxes: int, ctx: Context[Any], seconds: float = 0.0) -> str:
    """Packs one box after the other and tells how far it is."""
    for box in range(boxes):
        await ctx.report_progress(box + 1, boxes, f"box {box + 1} is packed")
        await asyncio.sleep(seconds)
    return f"{boxes} boxes are packed"


def where() -> Elicit[Delivery]:
    return Elicit("Where does the parcel go?", Delivery)


@server.tool()
async def deliver(to: Annotated[Delivery, Resolve(where)]) -> str:
    """Asks where it goes."""
    return f"It goes to {to.name} {to.when}{', as a gift' if to.gift else ''}."


@server.tool()
async def label() -> Image:
    """A picture of the label."""
    return Image(data=_png(160, 60), format="png")


@server.tool()
async def refuse() -> str:
    """Never works."""
    raise ToolError("The shop is closed until Monday.")


@server.prompt()
def review(topic: str, tone: str = "kind") -> str:
    """Asks for a review."""
    return f"Please write a {tone} review of {topic}."


@server.resource("shop://opening", mime_type="text/plain")
def opening() -> str:
    """When the shop is open."""
    return "From nine to five."


def _png(width: int, height: int) -> bytes:
    """Two colours, one beside the other."""

    def chunk(kind: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    row = b"\0" + b"\x2a\x7a\xd4" * (width // 2) + b"\xf2\xb1\x34" * (width - width // 2)
    head = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    return (
        b"\x89PNG\r\n\x1a\n"
        + chunk(b"IHDR", head)
        + chunk(b"IDAT", zlib.compress(row * height))
        + chunk(b"IEND", b"")
    )


if __name__ == "__main__":
    server.run()
