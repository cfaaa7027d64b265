"""Source code of notebook cells made from a session log: a recorded call, a replay, a comparison, an SQL query."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from functools import cached_property
from pathlib import Path
from typing import Any

from nbtools.core.errors import TraceError
from nbtools.core.tool import AnyToolBuilder
from nbtools.notebook.explorer.model import TraceAction
from nbtools.notebook.magics.cell_source import call_source
from nbtools.notebook.magics.command_line import magic_line, quoted
from nbtools.notebook.magics.flags import Grammar, grammar_of
from nbtools.replay import CanonicalCall
from nbtools.tools import tool_factories
from nbtools.workspace.workspace import Workspace


def cell_source(meaning: CanonicalCall) -> str:
    """Returns the source of a cell that runs ``meaning`` (see ``call_source``).  Raises ``TraceError`` if there is no such tool."""
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
    numbers = {name: int(value) if isinstance(value, float) and value.is_integer() else value for name, value in values.items()}
    return {name: value for name, value in numbers.items() if grammar.named(name).required or value != grammar.named(name).default}


def _as_edits(arguments: Mapping[str, Any]) -> dict[str, Any]:
    """Turns an ``old`` text of several lines into an ``edits`` list of one replacement, which fits on one line as JSON."""
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


class CellSources:
    """Sources of the cells that an explorer offers.  ``log`` is the path as the person typed it; without it every source is empty."""

    def __init__(self, log: str) -> None:
        self._log = log
        self._file = Path(log).expanduser().absolute()

    def beside(self, name: str) -> CellSources:
        """Returns the sources for another log in the same folder."""
        return CellSources(str(Path(self._log).with_name(name))) if self._log else self

    @property
    def actions(self) -> tuple[TraceAction, ...]:
        """The actions offered for the whole log."""
        return ("compare", "notebook", "share", "sql") if self._log else ()

    def link(self, step: str) -> str:
        """Returns a cell that opens the log at this step."""
        return self._trace(f"--step {step}")

    @property
    def place(self) -> str:
        """The log's path relative to the folder of this kernel's notebook; empty if there is none."""
        return relative_to_notebook(self._file) if self._log else ""

    def replay(self, step: str) -> str:
        """Returns a cell that runs the call of this step in a copy."""
        return self._trace(f"--replay {step}")

    def export_path(self) -> Path:
        """Returns the path for an exported notebook: the log's own path with the suffix ``.ipynb``."""
        path = self._file
        return path.with_suffix(".ipynb") if path.suffix and path.suffix != ".ipynb" else path.with_name(f"{path.name}.ipynb")

    def share_path(self) -> Path:
        """Returns the path for a file to share: the log's name in the working directory, where a person finds it."""
        return Path.cwd() / f"{self._file.stem}.html"

    def sql(self) -> str:
        return _SQL.format(log=self._log) if self._log else ""

    def _trace(self, rest: str) -> str:
        return trace_line(self._log, rest) if self._log else ""


def relative_to_notebook(path: Path) -> str:
    """Returns ``path`` relative to the folder of this kernel's notebook; empty if there is no relative path."""
    session = Path(os.environ.get("JPY_SESSION_NAME", ""))
    folder = session.parent if session.is_absolute() else Path.cwd()
    try:
        return Path(os.path.relpath(path, folder)).as_posix()
    except ValueError:  # another drive
        return ""


def trace_line(log: str, rest: str) -> str:
    """Returns the source of a cell that runs ``%trace`` on ``log``; ``rest`` follows the path."""
    return magic_line("trace", f"{quoted(log)} {rest}")


_SQL = '''\
from nbtools import traces

trace = traces.load({log!r})
trace.sql("""
    select name, status, count(*) as calls, round(sum(duration), 1) as seconds
    from calls
    group by name, status
    order by calls desc
""")'''
