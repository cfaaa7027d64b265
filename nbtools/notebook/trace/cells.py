"""Sources of the cells that go on from an explorer.  All are empty where it was made of something that is in no file."""

from __future__ import annotations

from pathlib import Path

from nbtools.notebook.command_line import quoted


class Cells:
    """``log`` is the path as the person gave it."""

    def __init__(self, log: str) -> None:
        self._log = log

    def link(self, step: str) -> str:
        """Opens the log at this step."""
        return self._trace(f"--step {step}")

    def replay(self, step: str) -> str:
        """Runs the call of this step in a copy."""
        return self._trace(f"--replay {step}")

    def compare(self) -> str:
        """The path of another log is to be written behind it."""
        return self._trace("")

    def notebook(self) -> str:
        """Writes a notebook beside the log."""
        if not self._log:
            return ""
        path = Path(self._log)
        beside = path.with_suffix(".ipynb") if path.suffix and path.suffix != ".ipynb" else path.with_name(f"{path.name}.ipynb")
        return f"from nbtools import traces\n\ntraces.load({self._log!r}).to_notebook({str(beside)!r})"

    def sql(self) -> str:
        return _SQL.format(log=self._log) if self._log else ""

    def _trace(self, rest: str) -> str:
        return f"%trace {quoted(self._log)} {rest}" if self._log else ""


_SQL = '''\
from nbtools import traces

trace = traces.load({log!r})
trace.sql("""
    select name, status, count(*) as calls, round(sum(duration), 1) as seconds
    from calls
    group by name, status
    order by calls desc
""")'''
