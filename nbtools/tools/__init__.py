"""The built-in tools, one file for each capability: parameters, result data, tool.

A tool's module is imported when the tool is first requested.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from importlib import import_module
from typing import cast

from nbtools.core.tool import AnyToolBuilder
from nbtools.core.tool_names import CANONICAL_NAMES
from nbtools.workspace.workspace import Workspace

_MODULES = {
    "ls": "list",
    "tree": "list",
    "move": "move_delete",
    "delete": "move_delete",
    "shell": "commands.shell",
    "shell_output": "commands.background",
    "shell_kill": "commands.background",
    "terminal_open": "commands.terminal",
    "terminal_run": "commands.terminal_run",
    "terminal_output": "commands.terminal",
    "terminal_kill": "commands.terminal",
}
"""Module names of the tools that share a module; every other module has its tool's name."""


def builtin_tools(workspace: Workspace) -> tuple[AnyToolBuilder, ...]:
    """Returns one instance of every built-in tool on ``workspace``, with default limits."""
    return tuple(build() for build in tool_factories(workspace).values())


def tool_factories(workspace: Workspace) -> Mapping[str, Callable[[], AnyToolBuilder]]:
    """Returns a factory for each tool, by tool name. Calling a factory imports the tool's module."""
    return {name: partial(build_tool, name, workspace) for name in CANONICAL_NAMES}


def build_tool(name: str, workspace: Workspace) -> AnyToolBuilder:
    """Returns a built-in tool on ``workspace``; ``undo``, which is not among the canonical tools, too."""
    class_name = "".join(word.capitalize() for word in name.split("_")) + "Tool"
    return cast(
        "AnyToolBuilder",
        getattr(import_module(f"nbtools.tools.{_MODULES.get(name, name)}"), class_name)(workspace),
    )
