"""Names of files in an agent's listings, on one line each, as in nbtools' own."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from nbtools.core.result import Listing, ToolResult
from nbtools.tools.glob import GlobData
from nbtools.tools.grep import GrepData
from nbtools.workspace.paths import one_line


def with_printable_names(result: ToolResult) -> ToolResult:
    """Returns the result of a search or listing with hidden characters in names escaped.

    A name may contain a line break: what follows it would be read as a line of the result.
    """
    data, display = _data(result.data), result.return_display
    if isinstance(display, Listing):
        display = replace(display, entries=tuple(replace(entry, path=one_line(entry.path)) for entry in display.entries))
    return replace(result, data=data, return_display=display) if data is not result.data or display is not result.return_display else result


def _data(data: Any) -> Any:
    match data:
        case GlobData():
            return replace(data, paths=tuple(map(one_line, data.paths)))
        case GrepData():
            matches = tuple(replace(match, path=one_line(match.path)) for match in data.matches)
            return replace(data, matches=matches, counts={one_line(path): count for path, count in data.counts.items()})
        case _:
            return data
