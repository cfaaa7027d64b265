"""What a call showed, as JSON and back: the very same types."""

from __future__ import annotations

from typing import Any

import msgspec

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
    shown.__name__: shown for shown in (CommandOutput, FileDiff, FileDiffs, FileText, Listing, Matches, Media, TodoList, Markdown)
}


def as_json(display: ToolResultDisplay) -> Any:
    """A text as it is, all else as an object whose ``type`` names it; bytes are base64.  A type of somebody else's becomes its text."""
    name = type(display).__name__
    if isinstance(display, Several):
        return {"type": name, "shown": [as_json(one) for one in display.shown]}
    if isinstance(display, str) or name not in _TYPES:
        return str(display)
    return {"type": name, **msgspec.to_builtins(display)}


def from_json(recorded: Any, otherwise: str = "") -> ToolResultDisplay:
    """What ``as_json`` wrote; ``otherwise`` for what it cannot have written."""
    if isinstance(recorded, str):
        return recorded
    try:
        if recorded["type"] == "Several":
            return Several(tuple(from_json(one, otherwise) for one in recorded["shown"]))
        shown: ToolResultDisplay = msgspec.convert(recorded, _TYPES[recorded["type"]])
    except (msgspec.ValidationError, KeyError, TypeError):
        return otherwise
    return shown


def diffs_of(display: ToolResultDisplay) -> tuple[FileDiff, ...]:
    """The files before and after that it shows."""
    return display.files if isinstance(display, FileDiffs) else (display,) if isinstance(display, FileDiff) else ()
