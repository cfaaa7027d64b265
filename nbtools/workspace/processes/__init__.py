"""Runs commands: processes, background commands, terminals and the sandbox.

The names below are imported when they are first used: a session that runs no command need not load them.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from nbtools.workspace.processes.background import BackgroundCommands as BackgroundCommands
    from nbtools.workspace.processes.sandbox import Sandbox as Sandbox
    from nbtools.workspace.processes.terminal import Terminals as Terminals

_MODULES = {"BackgroundCommands": "background", "Sandbox": "sandbox", "Terminals": "terminal"}


def __getattr__(name: str) -> Any:
    if name not in _MODULES:
        raise AttributeError(f"module 'nbtools.workspace.processes' has no attribute {name!r}")
    return getattr(import_module(f"nbtools.workspace.processes.{_MODULES[name]}"), name)
