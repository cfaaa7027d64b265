"""Shows an MCP server's tools and resources, and reads a resource (``%tools mcp read``)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from nbtools.cards.blocks import blocks_of
from nbtools.cards.card_model import Card
from nbtools.cards.hidden_characters import one_line
from nbtools.cards.tables import Sheet
from nbtools.core.errors import ToolFailure
from nbtools.core.tool import Icon
from nbtools.mcp.client.content import combine_displays, resource_displays
from nbtools.mcp.client.tool import McpTool, annotations_text
from nbtools.notebook.live_display import LiveDisplay
from nbtools.notebook.magics.flags import refused
from nbtools.notebook.mcp.status import may_connect_automatically

if TYPE_CHECKING:
    from nbtools.mcp.client.connection import Connection
    from nbtools.notebook.display_target import DisplayTarget
    from nbtools.session.session import Session

_MAX_LENGTH = 200


async def tools_table(session: Session, name: str) -> Sheet:
    """Returns a table of the server's tools.  Raises ``ToolFailure`` if it cannot be connected."""
    connection = session.mcp.get(name)
    await connection.connect()
    registered = [
        tool for tool in session.tools.values() if isinstance(tool, McpTool) and tool.connection is connection
    ]
    if not registered:
        return Sheet(f"{name} has no tools.")
    rows = tuple((tool.name, _short(tool.description), _annotations(name, tool)) for tool in registered)
    columns = ("tool", "description", "annotations")
    return Sheet(
        _short(connection.server_info.instructions),
        rows,
        ("Tool annotations come from the server and are not verified.",),
        columns,
    )


async def resources_table(session: Session, name: str) -> Sheet:
    """Returns a table of the server's resources.  Raises ``ToolFailure``, as above."""
    connection = session.mcp.get(name)
    await connection.connect()
    found = [
        (str(one.uri), one.title or one.name, one.mime_type or "", one.description or "")
        for one in await connection.resources()
    ]
    found += [
        (one.uri_template, one.title or one.name, one.mime_type or "", one.description or "")
        for one in await connection.resource_templates()
    ]
    rows = tuple(
        (uri, name_of_resource, kind, _short(description))
        for uri, name_of_resource, kind, description in found
    )
    if not rows:
        return Sheet(f"{name} has no resources.")
    return Sheet(
        "",
        rows,
        (f"%tools mcp read {name} URI reads one. Replace the parts in braces.",),
        ("URI", "name", "type", ""),
    )


def _annotations(server: str, tool: McpTool) -> str:
    """Returns the tool's annotations in words, without the introduction that all of them share."""
    text = annotations_text(server, tool.declared)
    start = f"According to {server}, it "
    return text.removeprefix(start).removesuffix(" (not verified).") if text.startswith(start) else "none"


def _short(text: str) -> str:
    line = text.strip().split("\n", 1)[0]
    return line if len(line) <= _MAX_LENGTH else f"{line[: _MAX_LENGTH - 1]}…"


async def show_resource(session: Session, server: str, uri: str, target: DisplayTarget) -> None:
    """Shows a resource as a card.  An empty ``server`` means whichever server has it.
    Raises ``ToolFailure``.
    """
    connection = session.mcp.get(server) if server else await _owner(session, uri)
    answer = await connection.read_resource(uri)
    display = combine_displays([one for content in answer.contents for one in resource_displays(content)])
    name = connection.server.name
    card = Card(
        id="",
        state="success",
        tool=name,
        icon=Icon.FILE_SEARCH.value,
        subject=one_line(uri, 200),
        status="Read",
        blocks=blocks_of(display),
    )
    LiveDisplay(target).show_card(card)


async def _owner(session: Session, uri: str) -> Connection:
    """Returns the server that lists the resource, or the only one that has resources."""
    candidates = []
    for connection in session.mcp.connections.values():
        if connection.state != "connected" and not may_connect_automatically(session, connection):
            continue
        try:
            found = await connection.resources()
            candidates += [connection] if found or await connection.resource_templates() else []
        except ToolFailure:
            continue
        if any(str(one.uri) == uri for one in found):
            return connection
    if len(candidates) == 1:
        return candidates[0]
    names = ", ".join(one.server.name for one in candidates)
    raise refused(
        f"Several servers may have {uri} ({names}). Name one: %tools mcp read NAME {uri}"
        if candidates
        else "No MCP server has resources."
    )
