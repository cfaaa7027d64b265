"""An MCP server on stdio to test with: what it does depends on the tool."""

from __future__ import annotations

import asyncio
import os
import sys
from typing import Any

from mcp.server.mcpserver import Context, MCPServer
from mcp.server.mcpserver.utilities.types import Image
from pydantic import BaseModel

server = MCPServer("echo")


class Sum(BaseModel):
    total: int


@server.tool()
async def echo(text: str) -> str:
    """Says it back."""
    return text


@server.tool()
async def add(a: int, b: int) -> Sum:
    """Adds two numbers."""
    return Sum(total=a + b)


@server.tool()
async def steps(count: int, ctx: Context[Any]) -> str:
    """Tells how far it is."""
    for step in range(count):
        await ctx.report_progress(step + 1, count, f"step {step + 1}")
    return "there"


@server.tool()
async def dot() -> Image:
    """A picture of one pixel."""
    return Image(data=bytes.fromhex(PIXEL), format="png")


@server.tool()
async def sleep(seconds: float) -> str:
    """Takes its time."""
    await asyncio.sleep(seconds)
    return "rested"


@server.tool()
async def die() -> str:
    """Ends the server in the middle of a call."""
    print("I am dying", file=sys.stderr, flush=True)
    os._exit(3)


@server.tool()
async def huge(megabytes: int) -> str:
    """So much text."""
    return "x" * megabytes * 1_000_000


PIXEL = (
    "89504e470d0a1a0a0000000d49484452000000010000000108060000001f15c4890000000d49444154789c6360f8cfc0000000030001"
    "5c0c0d1e0000000049454e44ae426082"
)

if __name__ == "__main__":
    server.run()
