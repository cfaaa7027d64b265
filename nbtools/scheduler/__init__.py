"""Runs tool calls through their states; knows no concrete tool.

``Hooks`` is imported when it is first used: a session without hooks need not load it.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from nbtools.scheduler.hooks import Hooks as Hooks


def __getattr__(name: str) -> Any:
    if name != "Hooks":
        raise AttributeError(f"module 'nbtools.scheduler' has no attribute {name!r}")
    return import_module("nbtools.scheduler.hooks").Hooks
