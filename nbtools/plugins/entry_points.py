"""Loads tools of installed packages from the entry point group ``nbtools.tools``.

::

    [project.entry-points."nbtools.tools"]
    example = "example_package:tools"

An entry point refers to a tool, to several tools, or to a callable that returns them;
it is called with the workspace if it takes one.
"""

from __future__ import annotations

import inspect
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from importlib.metadata import EntryPoint, entry_points
from typing import Any

from nbtools.core.tool import AnyToolBuilder, is_tool
from nbtools.core.toolset import Toolset
from nbtools.workspace.workspace import Workspace

GROUP = "nbtools.tools"


@dataclass(frozen=True, slots=True)
class Plugins:
    """The tools found, and one line for each problem."""

    tools: tuple[AnyToolBuilder, ...]
    problems: tuple[str, ...]


def plugin_tools(workspace: Workspace, taken: Collection[str] = ()) -> Plugins:
    """Loads the tools of every installed package;
    a package that cannot be loaded is reported in ``problems``.

    A tool whose name is in ``taken``, or belongs to another package,
    gets the name of its entry point as a prefix.
    """
    tools: dict[str, AnyToolBuilder] = {}
    problems: list[str] = []
    for point in sorted(entry_points(group=GROUP), key=lambda point: (point.name, point.value)):
        try:
            loaded = _tools(point.load(), workspace)
        except (Exception, SystemExit) as error:  # noqa: BLE001 - a faulty package must not break the session
            problems.append(
                f"The tools of {_origin(point)} are not available: loading them failed"
                f" ({type(error).__name__}: {error})."
            )
            continue
        for tool in loaded:
            problems += _add(tool, point, tools, {*taken, *tools})
    return Plugins(tuple(tools.values()), tuple(problems))


def _tools(value: Any, workspace: Workspace) -> tuple[AnyToolBuilder, ...]:
    if inspect.isclass(value) or (callable(value) and not is_tool(value)):
        takes_workspace = any(
            parameter.kind
            in (
                parameter.POSITIONAL_ONLY,
                parameter.POSITIONAL_OR_KEYWORD,
                parameter.VAR_POSITIONAL,
            )
            for parameter in inspect.signature(value).parameters.values()
        )
        return _tools(value(workspace) if takes_workspace else value(), workspace)
    if is_tool(value):
        return (value,)
    if not isinstance(value, Iterable):
        raise TypeError(f"{value!r} is neither a tool nor an iterable of tools")
    listed = tuple(value.values() if isinstance(value, Mapping) else value)
    invalid = next((item for item in listed if not is_tool(item)), None)
    if invalid is not None:
        raise TypeError(f"{invalid!r} is not a tool")
    return listed


def _add(
    tool: AnyToolBuilder, point: EntryPoint, tools: dict[str, AnyToolBuilder], taken: Collection[str]
) -> tuple[str, ...]:
    """Adds the tool under a free name; returns the problems."""
    if tool.name not in taken:
        tools[tool.name] = tool
        return ()
    other = f"{point.name}_{tool.name}"
    if other in taken:
        return (
            (
                f"The tool {tool.name} of {_origin(point)} is not available: its name is taken, and so is"
                f" {other}."
            ),
        )
    tools[other] = Toolset([tool]).renamed({tool.name: other})[other]
    return (f"The tool {tool.name} of {_origin(point)} is registered as {other}: its name is taken.",)


def _origin(point: EntryPoint) -> str:
    package = point.dist.name if point.dist is not None else "a package"
    return f"{package} (entry point {point.name} = {point.value})"
