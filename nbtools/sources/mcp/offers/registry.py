"""Servers' tools among a session's."""

from __future__ import annotations

from typing import TYPE_CHECKING

from nbtools.core.server_names import names_of
from nbtools.core.toolset import ToolRegistry
from nbtools.sources.mcp.offers.tool import McpTool
from nbtools.sources.mcp.wire.connection import Connection

if TYPE_CHECKING:
    from mcp.types import Tool


class Offered:
    """Keeps ``registry`` as the servers are: what has not changed stays where it is."""

    def __init__(self, registry: ToolRegistry) -> None:
        self._registry = registry
        self._there: dict[Connection, dict[str, McpTool]] = {}
        self._called: dict[Connection, dict[str, Tool]] = {}

    def keep(self, connection: Connection) -> None:
        """The tools of that server as they are now; none where it is not connected."""
        declared = {tool.name: tool for tool in connection.tools} if connection.state == "connected" else {}
        there = self._there.pop(connection, {})
        for name, tool in tuple(there.items()):
            if declared.get(name) != tool.declared:
                self._remember(tool)
                self._unregister(there.pop(name))
        taken = set(self._registry.names())
        named = names_of(connection.server.name, (name for name in declared if name not in there), taken)
        for name, called in named.items():
            before = self._called.get(connection, {}).get(name)
            there[name] = McpTool(called, declared[name], connection, before if before != declared[name] else None)
            there[name].was_called = before == declared[name]
            self._registry.register(there[name])
        if there:
            self._there[connection] = there

    def _remember(self, tool: McpTool) -> None:
        """As it was when it was last called: also if it goes for a while, and comes back as another."""
        if tool.was_called:
            self._called.setdefault(tool.connection, {})[tool.declared.name] = tool.declared

    def _unregister(self, tool: McpTool) -> None:
        if self._registry.find(tool.name) is tool:
            self._registry.unregister(tool.name)
