"""Opens logs for tabs of JupyterLab, in a kernel without a notebook that the tabs have started for
themselves.

The front end runs ``register()`` in that kernel and calls ``logs.open`` for each log.
A path is data in a message, never code.
"""

from __future__ import annotations

from pathlib import Path, PurePosixPath

from nbtools.core.errors import TraceError
from nbtools.core.methods import method
from nbtools.notebook.channel import serve
from nbtools.notebook.traces.comm import register_in_kernel
from nbtools.traces.explorer.explorer_messages import LogParams, OpenedLogs

SESSION_PREFIX = "session:"
"""Marks the id of a listed session, where a request could name a path."""


def register() -> None:
    """Serves log tabs in this kernel, with the files below its working directory."""
    tabs = LogTabs(Path.cwd())
    register_in_kernel()
    serve("logs", lambda _page, _params: tabs, takes_long=True)


class LogTabs:
    """Opens and compares the logs below a folder."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    @method("logs.open")
    def open(self, params: LogParams) -> OpenedLogs:
        logs = [_path(self._folder, log) for log in params.logs]
        if len(logs) > 1:
            return _compare(logs)
        return _open(logs[0], params.step) if logs else _list()


def _path(folder: Path, log: str) -> Path:
    """Returns the absolute path of a file that the server serves, or of a session that this kernel lists.

    Raises ``TraceError`` for a path that leaves the server's folder, and for an id that is not listed.
    """
    if log.startswith(SESSION_PREFIX):
        from nbtools.traces.session_list.view import listed_log  # noqa: PLC0415 - as below

        return listed_log(log.removeprefix(SESSION_PREFIX))
    path = PurePosixPath(log)
    if path.is_absolute() or ".." in path.parts or "\0" in log:
        raise TraceError(f"{log!r} is outside the folder that Jupyter serves.")
    return folder / path


def _open(log: Path, step: str) -> OpenedLogs:
    from nbtools.traces.session_list.view import open_log  # noqa: PLC0415 - as below

    return open_log(log, step)


def _list() -> OpenedLogs:
    from nbtools.traces.explorer.registry import EXPLORERS  # noqa: PLC0415 - as above
    from nbtools.traces.session_list.view import SessionList  # noqa: PLC0415 - as above

    sessions = SessionList()
    EXPLORERS.add(sessions)
    return OpenedLogs(sessions=sessions.view())


def _compare(logs: list[Path]) -> OpenedLogs:
    from nbtools.traces.comparison.comparison import compare  # noqa: PLC0415 - as above
    from nbtools.traces.comparison.view import ComparisonDisplay  # noqa: PLC0415 - as above

    return OpenedLogs(comparison=ComparisonDisplay(compare(*logs)).opened())
