"""A session's MCP servers are connected when a model is to know their tools."""

from __future__ import annotations

import asyncio

from nbtools.session import Session

_PATIENCE = 10.0
"""Seconds; the tools of a server that takes longer are there from the step on at which it is connected."""


async def connected(session: Session, ending: asyncio.Event) -> None:
    """Returns when those that have not been tried are connected or have failed, when ``ending`` is set, or when it takes too long."""
    servers = session.mcp
    names = [name for name, one in servers.connections.items() if one.state == "disconnected" and not one.server.disabled]
    if not names:
        return
    connecting = asyncio.ensure_future(servers.connect(*names))
    over = asyncio.ensure_future(ending.wait())
    try:
        await asyncio.wait({connecting, over}, timeout=_PATIENCE, return_when=asyncio.FIRST_COMPLETED)
    finally:
        over.cancel()
