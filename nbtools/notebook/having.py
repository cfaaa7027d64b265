"""Tools of MCP servers that are connected when one of them is first wanted."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from nbtools.notebook.places import Place
    from nbtools.notebook.workbench import Workbench
    from nbtools.session import Session

_QUIET = 0.7
"""Seconds that connecting may take before the cell says what it waits for."""


def is_waited_for(session: Session, name: str) -> bool:
    """Whether a tool of that name may be there once its server is connected."""
    if not name.startswith("mcp_") or name in session.tools:
        return False
    connection = session.mcp.of_tool(name)
    return connection is not None and connection.state != "connected"


def have(bench: Workbench, name: str) -> None:
    """Connects the server of that tool, where it is not.  Raises ``ToolFailure`` where it cannot."""
    if not name.startswith("mcp_") or name in bench.session.tools:
        return
    from nbtools.notebook.attending import SheetInPlace, attended  # noqa: PLC0415 - loading does not need servers
    from nbtools.notebook.mcp.states import sheet_of  # noqa: PLC0415 - as above

    session = bench.session
    connection = session.mcp.of_tool(name)

    async def there(place: Place) -> None:
        if connection is None:
            await session.mcp.need(name)
            return
        sheet = SheetInPlace(place, lambda: sheet_of(session, only=[connection.server.name]))
        loop = asyncio.get_running_loop()
        loud = loop.time() + _QUIET

        def turn() -> None:
            if sheet.stands or (connection.state == "connecting" and loop.time() >= loud):
                sheet.turn()

        later, end = loop.call_at(loud, turn), session.mcp.watch(lambda _: turn())
        try:
            await session.mcp.need(name)
        finally:
            later.cancel()
            end()

    attended(bench, there)
