"""An MCP server on stdio whose tools' names run into those of others.  Its argument is its name."""

from __future__ import annotations

import sys

from mcp.server.mcpserver import MCPServer

NAME = sys.argv[1]
LONG = "a_very_long_name_of_a_tool_that_nobody_could_ever_remember"
server = MCPServer(NAME)


def add(tool: str) -> None:
    def run(what: str) -> str:
        return f"{NAME} {tool} {what}"

    server.add_tool(run, name=tool)


for one in ("find", "other", "c", "b_c", LONG):
    add(one)

if __name__ == "__main__":
    server.run()
