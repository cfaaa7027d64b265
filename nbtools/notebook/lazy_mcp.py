"""Connects an MCP server when one of its tools is first used."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from nbtools.notebook.display_target import Bundle, DisplayTarget
    from nbtools.notebook.runtime import NotebookRuntime
    from nbtools.session import Session

_QUIET_SECONDS = 0.7
"""Seconds of connecting before the cell shows its progress."""


def is_unconnected_tool(session: Session, name: str) -> bool:
    """Whether a tool with that name may exist once its server is connected."""
    if not name.startswith("mcp_") or name in session.tools:
        return False
    connection = session.mcp.of_tool(name)
    return connection is not None and connection.state != "connected"


def connect_server_of(runtime: NotebookRuntime, name: str) -> None:
    """Connects the server of the tool ``name`` if necessary.  Raises ``ToolFailure`` when that fails."""
    if not name.startswith("mcp_") or name in runtime.session.tools:
        return
    from nbtools.notebook.live_display import LiveDisplay  # noqa: PLC0415 - not needed to load the extension
    from nbtools.notebook.mcp.status import servers_table  # noqa: PLC0415 - as above

    session = runtime.session
    connection = session.mcp.of_tool(name)

    async def connect(target: DisplayTarget) -> None:
        if connection is None:
            await session.mcp.ensure_connected(name)
            return

        def table() -> Bundle:
            return servers_table(session, only=[connection.server.name]).bundle()

        display = LiveDisplay(target, first=_QUIET_SECONDS)
        display.update(table)
        stop_watching = session.mcp.watch(lambda _: display.update(table))
        try:
            await session.mcp.ensure_connected(name)
        finally:
            stop_watching()
            display.update(table)
            display.finish()

    runtime.bridge.run_work(connect)
