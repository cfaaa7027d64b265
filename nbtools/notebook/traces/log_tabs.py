"""Opens logs for tabs of JupyterLab, in a kernel without a notebook that the tabs have started for
themselves.

The front end runs ``register()`` in that kernel and opens a comm for each log.
A path is data in a message, never code.
"""

from __future__ import annotations

from pathlib import Path, PurePosixPath
from typing import Any

from pydantic import ValidationError

from nbtools.core.browser import received
from nbtools.core.errors import TraceError
from nbtools.notebook.traces.comm import register_in_kernel
from nbtools.traces.explorer.explorer_messages import LogAnswer, LogRequest

LOG_TARGET = "nbtools_logs"
"""Name of the comm target.  The comm's first message is a ``LogRequest``; the answer is a ``LogAnswer``."""


SESSION_PREFIX = "session:"
"""Marks the id of a listed session, where a request could name a path."""


def register() -> None:
    """Registers the comm targets in this kernel, for the files below its working directory."""
    import comm  # noqa: PLC0415 - part of a kernel; this module is also imported without one

    folder = Path.cwd()
    register_in_kernel()
    comm.get_comm_manager().register_target(
        LOG_TARGET, lambda opened, message: _on_open(folder, opened, message)
    )


def _on_open(folder: Path, comm: Any, message: Any) -> None:
    data = message["content"].get("data") or {}
    comm.send({"answer": answer(folder, received(data.get("request"))).model_dump(mode="json")})


def answer(folder: Path, request: Any) -> LogAnswer:
    """Opens or compares the logs that ``request`` names, below ``folder``.  Never raises."""
    try:
        wanted = LogRequest.model_validate(request)
        logs = [_path(folder, log) for log in wanted.logs]
        if len(logs) > 1:
            return _compare(logs)
        return _open(logs[0], wanted.step) if logs else _list()
    except ValidationError:
        return LogAnswer(
            problem="The page sent a request that this kernel does not support. Reload the page."
        )
    except TraceError as error:
        return LogAnswer(problem=str(error))
    except Exception as error:  # noqa: BLE001 - the page waits for an answer, so a bug is reported there
        return LogAnswer(
            problem=f"Internal error in nbtools, please report it: {type(error).__name__}: {error}"
        )


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


def _open(log: Path, step: str) -> LogAnswer:
    from nbtools.traces.explorer.explorer import (  # noqa: PLC0415 - log readers are loaded on first use
        open_trace,
    )
    from nbtools.traces.explorer.registry import EXPLORERS  # noqa: PLC0415 - as above

    explorer = open_trace(log, step or None)
    EXPLORERS.add(explorer)
    return LogAnswer(view=explorer.view())


def _list() -> LogAnswer:
    from nbtools.traces.explorer.registry import EXPLORERS  # noqa: PLC0415 - as above
    from nbtools.traces.session_list.view import SessionList  # noqa: PLC0415 - as above

    sessions = SessionList()
    EXPLORERS.add(sessions)
    return LogAnswer(sessions=sessions.view())


def _compare(logs: list[Path]) -> LogAnswer:
    from nbtools.traces.comparison.comparison import compare  # noqa: PLC0415 - as above
    from nbtools.traces.comparison.view import ComparisonDisplay  # noqa: PLC0415 - as above

    return LogAnswer(comparison=ComparisonDisplay(compare(*logs)).opened())
