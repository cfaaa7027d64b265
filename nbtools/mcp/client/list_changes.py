"""Detects changes of a server's lists, and reads paginated lists."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Any, TypeAlias

if TYPE_CHECKING:
    from mcp import Client

_QUIET_SECONDS = 0.05
"""Seconds without a further change after which the lists are read again."""
_MOST_WAITS = 20
_LONGEST_PAUSE = 60.0
_CHANGED = (
    "notifications/tools/list_changed",
    "notifications/prompts/list_changed",
    "notifications/resources/list_changed",
)
_FIRST_MODERN = "2026"


class ListChanges:
    """Collects notifications of changed lists; several in a short time count as one."""

    def __init__(self) -> None:
        self._changed = asyncio.Event()

    async def handle_message(self, message: Any) -> None:
        """Handles notifications up to protocol 2025-11-25; the ``message_handler`` of ``mcp.Client``."""
        if getattr(message, "method", "") in _CHANGED:
            self._changed.set()

    async def wait(self) -> None:
        """Waits for a change, then until no further one arrives, for at most a second."""
        await self._changed.wait()
        for _ in range(_MOST_WAITS):
            self._changed.clear()
            await asyncio.sleep(_QUIET_SECONDS)
            if not self._changed.is_set():
                return
        self._changed.clear()

    async def listen(self, client: Client) -> None:
        """Subscribes to changes, as needed from protocol version 2026-07-28 on.

        Runs until it is cancelled or the server answers that it does not support subscriptions.
        """
        from mcp.client.subscriptions import (  # noqa: PLC0415 - imported already with the connection
            SubscriptionLost,
        )
        from mcp.shared.exceptions import MCPError  # noqa: PLC0415 - as above

        subscriptions = _subscriptions(client)
        pause = 1.0
        while subscriptions:
            try:
                async with client.listen(**subscriptions) as notifications:
                    pause = 1.0
                    async for _ in notifications:
                        self._changed.set()
            except SubscriptionLost:
                pass
            except MCPError:
                return
            await asyncio.sleep(pause)
            pause = min(pause * 2, _LONGEST_PAUSE)
            self._changed.set()  # changes between two subscriptions are not reported


def _subscriptions(client: Client) -> dict[str, Any]:
    """Returns the arguments of ``listen`` for the lists whose changes the server reports to subscribers."""
    capabilities = client.server_capabilities
    lists = {
        "tools": capabilities.tools,
        "prompts": capabilities.prompts,
        "resources": capabilities.resources,
    }
    return {
        f"{name}_list_changed": True
        for name, capability in lists.items()
        if client.protocol_version >= _FIRST_MODERN and capability is not None and capability.list_changed
    }


Page: TypeAlias = Callable[..., Awaitable[Any]]
"""Returns the page at ``cursor``."""
_MOST_PAGES = 200
_MOST_ITEMS = 20_000
_METHOD_NOT_FOUND = -32601


async def list_all(read_page: Page, field: str) -> tuple[Any, ...]:
    """Returns the items of ``field`` of all pages, at most 20,000; none if not supported."""
    found: list[Any] = []
    cursor: str | None = None
    for _ in range(_MOST_PAGES):
        try:
            page = await read_page(cursor=cursor)
        except Exception as error:
            if getattr(error, "code", None) == _METHOD_NOT_FOUND and not found:
                return ()
            raise
        found += getattr(page, field)
        previous, cursor = cursor, page.next_cursor
        if not cursor or cursor == previous or len(found) >= _MOST_ITEMS:
            break
    return tuple(found[:_MOST_ITEMS])
