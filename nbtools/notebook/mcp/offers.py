"""What one MCP server has: its tools with what it says of them, its resources."""

from __future__ import annotations

from typing import TYPE_CHECKING

from nbtools.notebook.sheets import Sheet
from nbtools.sources.mcp.offers.claims import in_words
from nbtools.sources.mcp.offers.tool import McpTool

if TYPE_CHECKING:
    from nbtools.session import Session

_LONG = 200


async def tools_sheet(session: Session, name: str) -> Sheet:
    """Raises ``ToolFailure`` where it cannot be connected to."""
    connection = session.mcp.named(name)
    await connection.connect()
    registered = [tool for tool in session.tools if isinstance(tool, McpTool) and tool.connection is connection]
    if not registered:
        return Sheet(f"{name} has no tools.")
    rows = tuple((tool.name, _short(tool.description), _claim(name, tool)) for tool in registered)
    columns = ("tool", "what it does", "what it says of itself")
    return Sheet(_short(connection.greeting.instructions), rows, ("What tools say of themselves nobody has checked.",), columns)


async def resources_sheet(session: Session, name: str) -> Sheet:
    """Raises ``ToolFailure``, as above."""
    connection = session.mcp.named(name)
    await connection.connect()
    found = [(str(one.uri), one.title or one.name, one.mime_type or "", one.description or "") for one in await connection.resources()]
    found += [
        (one.uri_template, one.title or one.name, one.mime_type or "", one.description or "")
        for one in await connection.resource_templates()
    ]
    rows = tuple((uri, called, kind, _short(about)) for uri, called, kind, about in found)
    if not rows:
        return Sheet(f"{name} has nothing to read.")
    return Sheet(
        "", rows, (f"%tools mcp read {name} URI reads one; what stands in braces is to be filled in.",), ("URI", "name", "type", "")
    )


def _claim(server: str, tool: McpTool) -> str:
    """Without the words that all of them would share."""
    said = in_words(server, tool.declared).partition(". ")[0]
    start = f"{server} says that it "
    return said.removeprefix(start) if said.startswith(start) else "says nothing"


def _short(text: str) -> str:
    line = text.strip().split("\n", 1)[0]
    return line if len(line) <= _LONG else f"{line[: _LONG - 1]}…"
