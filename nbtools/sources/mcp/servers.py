"""All servers of a session: connected side by side, none waiting for another, their tools among the session's."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path

from nbtools.core.errors import ErrorCode, ToolFailure
from nbtools.core.parameters import did_you_mean
from nbtools.core.toolset import ToolRegistry
from nbtools.sources.mcp.callbacks import Ask, Callbacks
from nbtools.sources.mcp.connection import Connection
from nbtools.sources.mcp.naming import name_of
from nbtools.sources.mcp.settings import ServerSettings
from nbtools.sources.mcp.tool import McpTool


class McpServers:
    """Keeps ``registry`` as the servers are: tools come when a server is connected and go when it has gone.

    ``changed`` is told of each connection whose state or tools are others than before.  ``ask`` puts a server's questions to the person.
    """

    def __init__(self, registry: ToolRegistry, folder: Path, ask: Ask, changed: Callable[[Connection], None] = lambda _: None) -> None:
        self._registry = registry
        self._folder = folder
        self._ask = ask
        self._changed = changed
        self._connections: dict[str, Connection] = {}

    @property
    def connections(self) -> Mapping[str, Connection]:
        """By the servers' names, in the order they came."""
        return self._connections

    def add(self, servers: Iterable[ServerSettings]) -> None:
        """Makes them known; nothing is started.  One of the same name must have been removed before."""
        for server in servers:
            if server.name in self._connections:
                raise ToolFailure(ErrorCode.INVALID_TOOL_PARAMS, f"There is an MCP server {server.name!r} already; remove it first.")
            self._connections[server.name] = Connection(
                server, self._folder, self._noticed, Callbacks(server.name, self._folder, self._ask).as_arguments()
            )

    async def connect(self, *names: str) -> None:
        """Connects those (all that are not disabled), side by side; what fails says so in its state and holds up nobody."""
        wanted = [self.named(name) for name in names] or [one for one in self._connections.values() if not one.server.disabled]
        await asyncio.gather(*(one.client() for one in wanted), return_exceptions=True)

    async def remove(self, name: str) -> None:
        await self.named(name).close()
        del self._connections[name]

    async def restart(self, name: str) -> None:
        """Raises ``ToolFailure`` where it does not come back."""
        connection = self.named(name)
        await connection.close()
        await connection.client()

    async def close(self) -> None:
        await asyncio.gather(*(one.close() for one in self._connections.values()))

    def named(self, name: str) -> Connection:
        """Raises ``ToolFailure`` that names the nearest."""
        connection = self._connections.get(name)
        if connection is None:
            known = did_you_mean(name, self._connections)
            raise ToolFailure(ErrorCode.INVALID_TOOL_PARAMS, f"There is no MCP server {name!r}.{known}")
        return connection

    def _noticed(self, connection: Connection) -> None:
        for tool in tuple(self._registry.names()):
            found = self._registry.find(tool) if tool.startswith("mcp__") else None
            if isinstance(found, McpTool) and found.connection is connection:
                self._registry.unregister(tool)
        if connection.state == "connected":
            for declared in connection.tools:
                name = name_of(connection.server.name, declared.name, self._registry.names())
                self._registry.register(McpTool(name, declared, connection))
        self._changed(connection)
