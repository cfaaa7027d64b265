"""``%tools mcp read``: a resource of a server, shown as what it is."""

from __future__ import annotations

from typing import TYPE_CHECKING

from nbtools.core.errors import ToolFailure
from nbtools.core.tool import Icon
from nbtools.notebook.displays import blocks_of
from nbtools.notebook.mcp.states import starts_unasked
from nbtools.notebook.sub_commands import refused
from nbtools.notebook.visible import one_line
from nbtools.notebook.wire import Card
from nbtools.sources.mcp.offers.showing import shown_resource, together

if TYPE_CHECKING:
    from nbtools.notebook.places import Place
    from nbtools.session import Session
    from nbtools.sources.mcp.wire.connection import Connection


async def show_resource(session: Session, server: str, uri: str, place: Place) -> None:
    """An empty ``server``: whichever has it.  Raises ``ToolFailure``."""
    connection = session.mcp.named(server) if server else await _owner(session, uri)
    answer = await connection.read_resource(uri)
    shown = together([one for content in answer.contents for one in shown_resource(content)])
    name = connection.server.name
    card = Card(
        id="", state="success", tool=name, icon=Icon.FILE_SEARCH.value, subject=one_line(uri, 200), status="Read", blocks=blocks_of(shown)
    )
    place.screen.show(place.screen.draw(card), place.display_id, update=False)


async def _owner(session: Session, uri: str) -> Connection:
    """The server that lists it, or the only one that has resources at all."""
    able = []
    for connection in session.mcp.connections.values():
        if connection.state != "connected" and not starts_unasked(session, connection):
            continue
        try:
            found = await connection.resources()
            able += [connection] if found or await connection.resource_templates() else []
        except ToolFailure:
            continue
        if any(str(one.uri) == uri for one in found):
            return connection
    if len(able) == 1:
        return able[0]
    names = ", ".join(one.server.name for one in able)
    raise refused(f"Which server has {uri}? %tools mcp read NAME {uri} with one of: {names}." if able else "No MCP server has resources.")
