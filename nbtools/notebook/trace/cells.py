"""Sources of the cells that go on from an explorer.  All are empty where it was made of something that is in no file."""

from __future__ import annotations

from pathlib import Path

from nbtools.notebook.command_line import magic_line, quoted
from nbtools.notebook.trace.wire import TraceAction


class Cells:
    """``log`` is the path as the person gave it."""

    def __init__(self, log: str) -> None:
        self._log = log
        self._file = Path(log).expanduser().absolute()

    @property
    def actions(self) -> tuple[TraceAction, ...]:
        """What can be done with the whole log."""
        return ("compare", "notebook", "sql") if self._log else ()

    def link(self, step: str) -> str:
        """Opens the log at this step."""
        return self._trace(f"--step {step}")

    def replay(self, step: str) -> str:
        """Runs the call of this step in a copy."""
        return self._trace(f"--replay {step}")

    def compare(self) -> str:
        """The path of another log is to be written behind it."""
        return self._trace("")

    def story(self) -> Path:
        """Where a notebook beside the log would be written, unless there is a file of that name."""
        path = self._file
        return path.with_suffix(".ipynb") if path.suffix and path.suffix != ".ipynb" else path.with_name(f"{path.name}.ipynb")

    def sql(self) -> str:
        return _SQL.format(log=self._log) if self._log else ""

    def _trace(self, rest: str) -> str:
        return trace_line(self._log, rest) if self._log else ""


def trace_line(log: str, rest: str) -> str:
    """The source of a cell that runs ``%trace`` on a log; ``rest`` is what follows the path."""
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
