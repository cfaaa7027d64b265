"""Cells that make recorded calls in nbtools' own tools."""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import cached_property
from typing import Any

from nbtools.core.browser import IN_BROWSER, NO_TOOLS
from nbtools.core.errors import TraceError
from nbtools.core.tool import AnyToolBuilder
from nbtools.dialects import dialect, dialect_names
from nbtools.notebook.magics.cell_source import call_source
from nbtools.notebook.magics.flags import Grammar, grammar_of
from nbtools.replay import CanonicalCall, WorkingDirectory, canonical_call, working_directory_of
from nbtools.replay.working_directory import folder_to_copy
from nbtools.tools import tool_factories
from nbtools.traces.explorer.notebook_services import RunnableCall
from nbtools.traces.model import Call, Detail, Session
from nbtools.workspace.workspace import Workspace


def cell_source(meaning: CanonicalCall) -> str:
    """Returns the source of a cell that runs ``meaning`` (see ``call_source``).
    Raises ``TraceError`` if there is no such tool.
    """
    tool = _TOOLS.get(meaning.tool)
    if tool is None:
        raise TraceError(f"nbtools has no tool named {meaning.tool}.")
    grammar = grammar_of(tool)
    arguments = _spelled(grammar, meaning.arguments)
    arguments = _as_edits(arguments) if meaning.tool == "edit" else arguments
    return call_source(grammar, arguments)


def _spelled(grammar: Grammar, arguments: Mapping[str, Any]) -> dict[str, Any]:
    """Returns the arguments as JSON values, without those that equal the default."""
    values = json.loads(json.dumps(dict(arguments), default=str))
    numbers = {
        name: int(value) if isinstance(value, float) and value.is_integer() else value
        for name, value in values.items()
    }
    return {
        name: value
        for name, value in numbers.items()
        if grammar.named(name).required or value != grammar.named(name).default
    }


def _as_edits(arguments: Mapping[str, Any]) -> dict[str, Any]:
    """Turns an ``old`` text of several lines into an ``edits`` list of one replacement,
    which fits on one line as JSON.
    """
    if "\n" not in arguments.get("old", ""):
        return dict(arguments)
    step = {name: arguments[name] for name in ("old", "new", "count") if name in arguments}
    return {**{name: value for name, value in arguments.items() if name not in step}, "edits": [step]}


class _Tools:
    """Builds each tool once, on demand, for its grammar only.  No tool is run."""

    def __init__(self) -> None:
        self._tools: dict[str, AnyToolBuilder] = {}

    @cached_property
    def _factories(self) -> Mapping[str, Any]:
        return tool_factories(Workspace("."))

    def get(self, name: str) -> AnyToolBuilder | None:
        if name not in self._tools and name in self._factories:
            self._tools[name] = self._factories[name]()
        return self._tools.get(name)


_TOOLS = _Tools()


def load_dialects() -> None:
    """Loads all dialects with the tools that they name,
    which ``runnable_call`` would do with the first call of a log.
    """
    for name in dialect_names():
        dialect(name)


def runnable_call(call: Call, detail: Detail, sessions: Mapping[str, Session] | None) -> RunnableCall:
    """Returns the cell that makes a recorded call, and what is in the way of running it again in a copy."""
    ground = working_directory_of(call, sessions=sessions)
    try:
        source = cell_source(canonical_call(call, ground, detail=detail))
    except TraceError as error:
        return RunnableCall(obstacle=str(error))
    return RunnableCall(source, _missing_folder(ground))


def _missing_folder(ground: WorkingDirectory) -> str:
    """Returns why there is no folder to copy on this machine, and how to name one; empty if there is."""
    if IN_BROWSER:
        return NO_TOOLS
    try:
        folder_to_copy(ground, None)
    except TraceError as error:
        return (
            f"{str(error)[:1].upper()}{str(error)[1:]} %trace LOG --replay STEP --in FOLDER runs the step in"
            " a copy of that folder."
        )
    return ""
