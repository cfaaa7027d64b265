"""Extension points: functions that a lower package calls and a higher package supplies.

The package ``nbtools`` registers them by name; a function is imported when it is first called.
Listeners are added and removed while the program runs.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import Any

NEW_TOOL = "new tool"
"""The event of a function that became a tool."""
_TARGETS: dict[str, str] = {}
_LISTENERS: dict[str, list[Callable[[Any], object]]] = {}


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


def extension_or_none(name: str) -> Any:
    """Returns what is registered for ``name``: a function, or a module.
    None where its package is not installed.
    """
    target = _TARGETS.get(name, "")
    module, _, function = target.partition(":")
    try:
        found = import_module(module) if module else None
    except ModuleNotFoundError as error:
        if not f"{module}.".startswith(f"{error.name}."):  # something that it imports is missing
            raise
        return None
    return getattr(found, function) if function else found


def listen(event: str, listener: Callable[[Any], object]) -> Callable[[], None]:
    """Calls ``listener`` with every value of ``event`` until the returned function is called."""
    listeners = _LISTENERS.setdefault(event, [])
    listeners.append(listener)
    return lambda: listeners.remove(listener)


def notify(event: str, value: object) -> None:
    """Calls the listeners of ``event``."""
    for listener in tuple(_LISTENERS.get(event, ())):
        listener(value)
