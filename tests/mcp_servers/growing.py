"""A server of the newest protocol whose tools grow in number."""

from __future__ import annotations

from typing import Any

from mcp.server.mcpserver import Context, MCPServer

server = MCPServer("growing")


def ripe() -> str:
    return "ripe"


@server.tool()
async def grow(name: str, ctx: Context[Any]) -> str:
    """Adds a tool of that name, and says so."""
    server.add_tool(ripe, name=name)
    await ctx.notify_tools_changed()
    return "grown"


if __name__ == "__main__":
    server.run()
