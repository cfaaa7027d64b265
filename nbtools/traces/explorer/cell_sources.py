"""Sources of the cells that an explorer offers for its log: to open it, to run a step again, to query it."""

from __future__ import annotations

import os
from functools import cached_property
from pathlib import Path

from nbtools.cards.magic_source import magic_line, quoted
from nbtools.traces.explorer.explorer_view import TraceAction
from nbtools.traces.session_index.index import number_of, session_id
from nbtools.traces.session_index.places import places
from nbtools.traces.session_index.scan import is_log_path


class CellSources:
    """Sources of the cells that an explorer offers.
    ``log`` is the path as the person typed it; without it every source is empty.
    """

    def __init__(self, log: str) -> None:
        self._log = log
        self._file = Path(log).expanduser().absolute()

    def beside(self, name: str) -> CellSources:
        """Returns the sources for another log in the same folder."""
        return CellSources(str(Path(self._log).with_name(name))) if self._log else self

    @property
    def actions(self) -> tuple[TraceAction, ...]:
        """The actions offered for the whole log."""
        return ("compare", "notebook", "share", "export", "sql") if self._log else ()

    def link(self, step: str) -> str:
        """Returns a cell that opens the log at this step."""
        return self._trace(f"--step {step}")

    @property
    def place(self) -> str:
        """The log's path relative to the folder of this kernel's notebook; empty if there is none."""
        return relative_to_notebook(self._file) if self._log else ""

    @cached_property
    def session(self) -> str:
        """The log's id in the list of sessions; empty where the list does not look for it."""
        path = self._file
        return session_id(number_of(str(path))) if self._log and is_log_path(path, places()) else ""

    def replay(self, step: str) -> str:
        """Returns a cell that runs the call of this step in a copy."""
        return self._trace(f"--replay {step}")

    def export_path(self) -> Path:
        """Returns the path for an exported notebook: the log's own path with the suffix ``.ipynb``; in the
        working directory for a session in a database.
        """
        path = self._file if self._file.parent.is_dir() else Path.cwd() / self._file.name
        if path.suffix and path.suffix != ".ipynb":
            return path.with_suffix(".ipynb")
        return path.with_name(f"{path.name}.ipynb")

    def share_path(self) -> Path:
        """Returns the path for a file to share: in the working directory, where a person finds it."""
        return Path.cwd() / f"{self._file.stem}.html"

    def sql(self) -> str:
        return _SQL.format(log=self._log) if self._log else ""

    def _trace(self, rest: str) -> str:
        return trace_line(self._log, rest) if self._log else ""


def relative_to_notebook(path: Path) -> str:
    """Returns ``path`` relative to this kernel's notebook; empty if there is no relative path."""
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
    select name, status, count(*) as calls,
           round(sum(coalesce(duration, epoch(ended) - epoch(time))), 1) as seconds
    from calls
    group by name, status
    order by calls desc
""")'''
