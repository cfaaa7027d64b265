"""Lists that a server gives in pages."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any, TypeAlias

Page: TypeAlias = Callable[..., Awaitable[Any]]
"""One page, given the ``cursor`` of it."""
_MOST_PAGES = 200
_MOST = 20_000
_METHOD_NOT_FOUND = -32601


async def listed(page_at: Page, field: str) -> tuple[Any, ...]:
    """All of ``field``, page by page, at most 20,000.  A server that does not know the list has none."""
    found: list[Any] = []
    cursor: str | None = None
    for _ in range(_MOST_PAGES):
        try:
            page = await page_at(cursor=cursor)
        except Exception as error:
            if getattr(error, "code", None) == _METHOD_NOT_FOUND and not found:
                return ()
            raise
        found += getattr(page, field)
        before, cursor = cursor, page.next_cursor
        if not cursor or cursor == before or len(found) >= _MOST:
            break
    return tuple(found[:_MOST])
