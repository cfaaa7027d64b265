"""Converts displays of tool results to JSON and back."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import msgspec

from nbtools.core.decoders import converted
from nbtools.core.result import (
    CommandOutput,
    FileDiff,
    FileDiffs,
    FileText,
    Listing,
    Markdown,
    Matches,
    Media,
    Several,
    TodoList,
    ToolResultDisplay,
)

_TYPES: dict[str, type[Any]] = {
    display.__name__: display
    for display in (CommandOutput, FileDiff, FileDiffs, FileText, Listing, Matches, Media, TodoList, Markdown)
}


def display_to_json(display: ToolResultDisplay) -> Any:
    """Returns a text as it is, and any other display as an object whose ``type`` names its class.

    Bytes are base64; pictures of a document's pages are left out.
    A display of a foreign type becomes its text.
    """
    name = type(display).__name__
    if isinstance(display, Several):
        return {"type": name, "shown": [display_to_json(one) for one in display.shown]}
    if isinstance(display, str) or name not in _TYPES:
        return str(display)
    if isinstance(display, Media):
        display = replace(display, pages=())
    return {"type": name, **msgspec.to_builtins(display)}


def display_from_json(recorded: Any, fallback: str = "") -> ToolResultDisplay:
    """Returns the display that ``display_to_json`` wrote,
    or ``fallback`` where ``recorded`` cannot be its output.
    """
    if isinstance(recorded, str):
        return recorded
    try:
        if recorded["type"] == "Several":
            return Several(tuple(display_from_json(one, fallback) for one in recorded["shown"]))
        display: ToolResultDisplay = converted(recorded, _TYPES[recorded["type"]])
    except (msgspec.ValidationError, KeyError, TypeError):
        return fallback
    return display


def diffs_of(display: ToolResultDisplay) -> tuple[FileDiff, ...]:
    """Returns the file diffs that a display contains."""
    if isinstance(display, FileDiffs):
        return display.files
    return (display,) if isinstance(display, FileDiff) else ()
