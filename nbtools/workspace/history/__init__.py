"""The journal of changes: pre-images, snapshots and undo.

``CommandSnapshots`` is imported when it is first used: a session that runs no command need not load it.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from nbtools.workspace.history.snapshots import CommandSnapshots as CommandSnapshots


def __getattr__(name: str) -> Any:
    if name != "CommandSnapshots":
        raise AttributeError(f"module 'nbtools.workspace.history' has no attribute {name!r}")
    return import_module("nbtools.workspace.history.snapshots").CommandSnapshots
