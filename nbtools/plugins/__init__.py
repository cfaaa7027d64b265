"""Tools and hooks from outside nbtools: decorated functions, entry points, discovered commands,
hook commands.

``discover`` is imported when it is first used: a session that discovers no tools need not load it.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from nbtools.plugins.discovered_tools import discover as discover


def __getattr__(name: str) -> Any:
    if name != "discover":
        raise AttributeError(f"module 'nbtools.plugins' has no attribute {name!r}")
    return import_module("nbtools.plugins.discovered_tools").discover
