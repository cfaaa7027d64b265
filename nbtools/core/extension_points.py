"""Extension points: functions that a lower package calls and a higher package supplies.

The package ``nbtools`` registers them by name; a function is imported when it is first called.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import Any

_TARGETS: dict[str, str] = {}


def register(name: str, target: str) -> None:
    """Registers the function ``target`` (``module:function``) for the extension point ``name``."""
    _TARGETS[name] = target


def extension(name: str) -> Callable[..., Any]:
    """Returns the function registered for ``name``.  Raises ``LookupError`` where none is."""
    if name not in _TARGETS:
        raise LookupError(f"Nothing is registered for the extension point {name!r}.")
    module, _, function = _TARGETS[name].partition(":")
    found: Callable[..., Any] = getattr(import_module(module), function)
    return found
