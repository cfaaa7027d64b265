"""Logins of a session's servers, begun by a person and ended by what the person does in a browser."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

from nbtools.core.errors import ErrorCode, ToolFailure
from nbtools.sources.mcp.login.landing import Landing
from nbtools.sources.mcp.login.tokens import Tokens
from nbtools.sources.mcp.settings.entries import Address
from nbtools.sources.mcp.wire.connection import Connection
from nbtools.sources.mcp.wire.failures import in_words

SECONDS = 300.0
"""That a person has for a login."""


class Logins:
    def __init__(self) -> None:
        self._waiting: dict[str, Landing] = {}

    async def log_in(self, connection: Connection, open_page: Callable[[str], None], seconds: float) -> str:
        """Where it is kept, in words.  Raises ``ToolFailure``."""
        name, address = connection.server.name, _address(connection)
        if name in self._waiting:
            raise ToolFailure(ErrorCode.INVALID_TOOL_PARAMS, f"A login to {name} is under way: finish it in the browser, or stop it.")

        def waiting(landing: Landing) -> None:
            self._waiting[name] = landing

        try:
            sdk = await asyncio.to_thread(_oauth)
        except ImportError as error:
            raise ToolFailure(ErrorCode.MCP_TOOL_ERROR, f"{in_words(error)}.") from None
        try:
            where: str = await sdk.log_in(name, address, open_page, waiting, seconds)
            return where
        finally:
            self._waiting.pop(name, None)

    def landed(self, name: str, address: str) -> None:
        """Raises ``ToolFailure`` where no login is under way, or this belongs to another one."""
        if name not in self._waiting:
            raise ToolFailure(ErrorCode.INVALID_TOOL_PARAMS, f"No login to {name} is under way: %tools mcp login {name}.")
        self._waiting[name].take(address)


async def forget(connection: Connection) -> None:
    """Also where nothing of it is kept."""
    await asyncio.to_thread(Tokens(connection.server.name, _address(connection).url).forget)


def _address(connection: Connection) -> Address:
    if isinstance(connection.server.transport, Address):
        return connection.server.transport
    raise ToolFailure(ErrorCode.INVALID_TOOL_PARAMS, f"{connection.server.name} is a program on this machine: it has no login.")


def _oauth() -> Any:
    """Loaded in a thread, as the SDK is."""
    from nbtools.sources.mcp.login import oauth  # noqa: PLC0415 - as said above

    return oauth
