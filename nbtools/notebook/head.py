"""The head of a card, which every state has: the tool, its object, the places it touches."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path, PurePath
from typing import Any

from nbtools.core.call import ToolCall, ValidatingCall
from nbtools.core.tool import Icon, Kind, ToolLocation
from nbtools.notebook.record import last_of
from nbtools.notebook.visible import one_line, seen
from nbtools.notebook.wire import Place

_ABOUT_FOLDERS = frozenset({Kind.EXECUTE, Kind.SEARCH})
"""Kinds whose locations are where they work, nothing that a click could open."""

_OBJECTS = ("command", "pattern", "path")
"""The parameters that name what a call is about, in our vocabulary."""


def head_of(call: ToolCall, root: str) -> dict[str, Any]:
    """What every state has: id, tool, object, places."""
    last = last_of(call)
    common = {"id": call.request.id, "state": call.state, "tool": one_line(call.request.spoken or call.request.name, 100), "root": root}
    if isinstance(last, ValidatingCall):
        return {**common, "icon": Icon.HAMMER.value, "subject": _first_argument(call)}
    return {
        **common,
        "icon": last.plan.tool.icon.value,
        "subject": one_line(last.plan.invocation.get_description()),
        "places": () if last.plan.tool.kind in _ABOUT_FOLDERS else _places(last.plan.invocation.tool_locations(), root),
    }


def _first_argument(call: ToolCall) -> str:
    """The nearest thing to an object while there is no invocation to ask."""
    texts = {name: value for name, value in call.request.arguments.items() if isinstance(value, str)}
    return one_line(next((texts[name] for name in (*_OBJECTS, *texts) if name in texts), ""), 200)


def _places(locations: Sequence[ToolLocation], root: str) -> tuple[Place, ...]:
    base = workspace_path(root)
    places = (Place(path=seen(_relative(location.path, base)), line=location.line) for location in locations)
    return tuple(place for place in places if place.path != ".")


@lru_cache(maxsize=32)
def workspace_path(root: str) -> str:
    """The absolute path of the workspace that lies at ``root`` from the kernel's folder."""
    return str(Path(root).resolve())


def _relative(path: str, base: str) -> str:
    """``path`` relative to the workspace, unchanged where it lies outside."""
    pure = PurePath(path)
    return pure.relative_to(base).as_posix() if pure.is_relative_to(base) else path


def file_of(call: ToolCall, root: str) -> str:
    """The path of the one file that the call is about, else nothing."""
    last = last_of(call)
    if isinstance(last, ValidatingCall):
        return ""
    locations = last.plan.invocation.tool_locations()
    return _relative(locations[0].path, workspace_path(root)) if len(locations) == 1 else ""
