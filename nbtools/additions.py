"""Tools that a session gets from elsewhere: of installed packages, and of a command of the project's."""

from __future__ import annotations

import warnings

from nbtools.core.toolset import ToolRegistry
from nbtools.core.vocabulary import VOCABULARY
from nbtools.sources.command import Command
from nbtools.sources.discovery import Discovered, discover
from nbtools.sources.plugins import plugin_tools
from nbtools.workspace.workspace import Workspace


class Additions:
    """To one registry."""

    def __init__(self, registry: ToolRegistry, workspace: Workspace) -> None:
        self._registry = registry
        self._workspace = workspace
        self._discovered: tuple[str, ...] = ()

    def add_plugins(self) -> None:
        """What is wrong with one is told in a warning."""
        found = plugin_tools(self._workspace, {*VOCABULARY, *self._registry.names()})
        for tool in found.tools:
            self._registry.register(tool)
        for problem in found.problems:
            warnings.warn(problem, stacklevel=3)

    async def discover(self, discovery_command: Command, call_command: Command, seconds: float) -> Discovered:
        """In place of those that were discovered before.  Raises ``ToolFailure``; the tools are then what they were."""
        taken = set(self._registry.names()) - set(self._discovered)
        found = await discover(discovery_command, call_command, self._workspace, taken=taken, seconds=seconds)
        for name in self._discovered:
            if name in self._registry:
                self._registry.unregister(name)
        for tool in found.tools:
            self._registry.register(tool)
        self._discovered = tuple(tool.name for tool in found.tools)
        return found
