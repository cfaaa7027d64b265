"""Lists that change while a server is connected."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from mcp import Client

_MOMENT = 0.05
"""Seconds without a further change after which the lists are asked for anew."""
_MOST_MOMENTS = 20
_LONGEST_PAUSE = 60.0
_CHANGED = ("notifications/tools/list_changed", "notifications/prompts/list_changed", "notifications/resources/list_changed")
_FIRST_MODERN = "2026"


class Changes:
    """That something has changed; many changes in a short time are one."""

    def __init__(self) -> None:
        self._some = asyncio.Event()

    async def heard(self, message: Any) -> None:
        """The ``message_handler`` of ``mcp.Client``: how servers tell it up to 2025-11-25."""
        if getattr(message, "method", "") in _CHANGED:
            self._some.set()

    async def next(self) -> None:
        """Waits for one, and until there is quiet, if that comes in a second."""
        await self._some.wait()
        for _ in range(_MOST_MOMENTS):
            self._some.clear()
            await asyncio.sleep(_MOMENT)
            if not self._some.is_set():
                return
        self._some.clear()

    async def listen(self, client: Client) -> None:
        """From 2026-07-28 on servers tell those who listen.  Goes on until it is cancelled, or the server says that it does not do this."""
        from mcp.client.subscriptions import SubscriptionLost  # noqa: PLC0415 - it is loaded by now, and not before
        from mcp.shared.exceptions import MCPError  # noqa: PLC0415 - as above

        wanted = _told_by(client)
        pause = 1.0
        while wanted:
            try:
                async with client.listen(**wanted) as told:
                    pause = 1.0
                    async for _ in told:
                        self._some.set()
            except SubscriptionLost:
                pass
            except MCPError:
                return
            await asyncio.sleep(pause)
            pause = min(pause * 2, _LONGEST_PAUSE)
            self._some.set()  # what changed meanwhile is told to nobody


def _told_by(client: Client) -> dict[str, Any]:
    """The lists whose changes are told to those who listen."""
    has = client.server_capabilities
    lists = {"tools": has.tools, "prompts": has.prompts, "resources": has.resources}
    return {
        f"{name}_list_changed": True
        for name, one in lists.items()
        if client.protocol_version >= _FIRST_MODERN and one is not None and one.list_changed
    }
