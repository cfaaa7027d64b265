"""Adds a session's external tools: from plugins, from a discovery command and from MCP servers."""

from __future__ import annotations

import threading
import warnings
from typing import TYPE_CHECKING

from nbtools import plugins
from nbtools.core.tool_names import CANONICAL_NAMES
from nbtools.core.toolset import ToolRegistry
from nbtools.dialects import DialectTools
from nbtools.plugins.entry_points import plugin_tools
from nbtools.workspace.workspace import Workspace

if TYPE_CHECKING:
    from nbtools.mcp.client.sampling import Run
    from nbtools.mcp.client.server_requests import Ask
    from nbtools.mcp.client.servers import McpServers
    from nbtools.plugins.discovered_tools import Command, DiscoveryResult


class ToolSources:
    """Adds the tools of plugins and of a discovery command to one registry."""

    def __init__(self, registry: ToolRegistry, workspace: Workspace) -> None:
        self._registry = registry
        self._workspace = workspace
        self._discovered: tuple[str, ...] = ()

    def add_plugins(self) -> None:
        """Registers the tools of installed plugins; warns about each that cannot be used."""
        found = plugin_tools(self._workspace, {*CANONICAL_NAMES, *self._registry.names()})
        for tool in found.tools:
            self._registry.register(tool)
        for problem in found.problems:
            warnings.warn(problem, stacklevel=3)

    async def discover(
        self, discovery_command: Command, call_command: Command, seconds: float
    ) -> DiscoveryResult:
        """Registers the tools that a command lists, in place of those before; all or, on failure, none."""
        taken = set(self._registry.names()) - set(self._discovered)
        discovered = await plugins.discover(
            discovery_command, call_command, self._workspace, taken=taken, seconds=seconds
        )
        for name in self._discovered:
            if name in self._registry:
                self._registry.unregister(name)
        for tool in discovered.tools:
            self._registry.register(tool)
        self._discovered = tuple(tool.name for tool in discovered.tools)
        return discovered


class LazyMcpServers:
    """The MCP servers of one session, created when they are first needed.

    ``ask`` calls the tool ``ask``; ``run`` calls a tool that is in no registry.
    """

    def __init__(self, registry: ToolRegistry, workspace: Workspace, ask: Ask, run: Run) -> None:
        self._registry = registry
        self._workspace = workspace
        self._ask = ask
        self._run = run
        self._servers: McpServers | None = None
        self._lock = threading.Lock()

    @property
    def servers(self) -> McpServers:
        """The servers, created if need be, with those of configuration files where settings say so."""
        with self._lock:  # another thread may ask, too
            if self._servers is None:
                # A session without servers need not load them.
                from nbtools.mcp.client.sampling import Sampling  # noqa: PLC0415
                from nbtools.mcp.client.servers import McpServers  # noqa: PLC0415

                servers = McpServers(
                    self._registry,
                    self._workspace.root,
                    self._ask,
                    Sampling(lambda: self._workspace.model, self._run),
                )
                if self._workspace.settings.servers:
                    servers.load()
                self._servers = servers
            return self._servers

    @property
    def are_loaded(self) -> bool:
        return self._servers is not None

    async def connect_for(self, tool: str, tools: DialectTools) -> None:
        """Connects the server that offers the MCP tool ``tool``. Raises ``ToolFailure``."""
        if tool not in tools and (self._servers is not None or self._workspace.settings.servers):
            await self.servers.ensure_connected(tool)

    async def close(self) -> None:
        if self._servers is not None:
            await self._servers.close()
