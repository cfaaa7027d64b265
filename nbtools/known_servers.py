"""The MCP servers of a session, made when somebody asks for them: of no use, and no cost, to a session without."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING

from nbtools.core.toolset import ToolRegistry
from nbtools.dialects import SpokenTools
from nbtools.workspace.workspace import Workspace

if TYPE_CHECKING:
    from nbtools.sources.mcp.asks.callbacks import Ask
    from nbtools.sources.mcp.asks.sampling import Run
    from nbtools.sources.mcp.servers import McpServers


class KnownServers:
    """``ask`` makes calls of the tool ``ask``, ``run`` those of a tool that is in no registry."""

    def __init__(self, registry: ToolRegistry, workspace: Workspace, ask: Ask, run: Run) -> None:
        self._registry = registry
        self._workspace = workspace
        self._ask = ask
        self._run = run
        self._made: McpServers | None = None
        self._making = threading.Lock()

    @property
    def all(self) -> McpServers:
        """With those that files name, where the settings want them."""
        with self._making:  # another thread may look, too
            if self._made is None:
                self._made = self._make()
            return self._made

    def _make(self) -> McpServers:
        from nbtools.sources.mcp.asks.sampling import Sampling  # noqa: PLC0415 - as said above
        from nbtools.sources.mcp.servers import McpServers  # noqa: PLC0415 - as above

        servers = McpServers(self._registry, self._workspace.root, self._ask, Sampling(lambda: self._workspace.model, self._run))
        if self._workspace.settings.servers:
            servers.load()
        return servers

    async def have(self, tool: str, tools: SpokenTools) -> None:
        """Connects the server whose tool that is, where it is not yet.  Raises ``ToolFailure`` where it cannot."""
        if tool.startswith("mcp_") and tool not in tools and (self._made is not None or self._workspace.settings.servers):
            await self.all.need(tool)

    async def close(self) -> None:
        if self._made is not None:
            await self._made.close()
