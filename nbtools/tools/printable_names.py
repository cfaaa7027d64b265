"""Names of files in an agent's listings, on one line each, as in nbtools' own."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from nbtools.core.result import Listing, ToolResult
from nbtools.tools.glob import GlobData
from nbtools.tools.grep import GrepData
from nbtools.workspace.paths import one_line


def with_printable_names(result: ToolResult, convert: Callable[[ToolResult], ToolResult]) -> ToolResult:
    """Returns what ``convert`` makes of a search's or listing's result with hidden characters in names
    escaped.

    A name may contain a line break: what follows it would be read as a line of the result.  The display keeps
    its names; it escapes them by itself, and opens the files.
    """
    display = result.return_display
    if isinstance(display, Listing):
        display = replace(
            display, entries=tuple(replace(entry, path=one_line(entry.path)) for entry in display.entries)
        )
    converted = convert(replace(result, data=_data(result.data), return_display=display))
    if converted.return_display is display:
        return replace(converted, return_display=result.return_display)
    return converted


def _data(data: Any) -> Any:
    match data:
        case GlobData():
            return replace(data, paths=tuple(map(one_line, data.paths)))
        case GrepData():
            matches = tuple(replace(match, path=one_line(match.path)) for match in data.matches)
            return replace(
                data, matches=matches, counts={one_line(path): count for path, count in data.counts.items()}
            )
        case _:
            return data
