"""Records a session's calls in a session log while recording is on."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from nbtools.core.call import CallEvent, Observer

if TYPE_CHECKING:
    from nbtools.traces.recording.session_logs import SessionLogRecorder

Observe = Callable[[Observer], Callable[[], None]]


class SessionLog:
    """Writes a session's log from the first call after ``start``; each ``start`` begins a new file."""

    def __init__(self, root: Path, session: str, observe: Observe) -> None:
        self._root = root
        self._session = session
        self._observe = observe
        self._log: _Log | None = None
        self._unobserve: Callable[[], None] = _do_nothing

    @property
    def path(self) -> Path | None:
        """The log's file; None while recording is off."""
        return None if self._log is None else self._log.recorder.path

    def start(self, dialect: str, limit: int) -> None:
        """Starts recording.  ``limit``: the bytes that all logs of this workspace may have together."""
        if self._log is None:
            self._log = _Log(self._root, self._session, dialect, limit)
            self._unobserve = self._observe(self._log)

    def stop(self) -> None:
        self.close()
        self._log = None

    def close(self) -> None:
        """Ends the current file; ``path`` stays."""
        if self._log is not None:
            self._unobserve()
            self._log.close()


class _Log:
    # The recorder is imported with the first event: it is slow to load, and many sessions make no call.

    def __init__(self, root: Path, session: str, dialect: str, limit: int) -> None:
        self._recorder_arguments = root, session, dialect, limit

    def notice(self, event: CallEvent) -> None:
        self.recorder.notice(event)

    def close(self) -> None:
        if "recorder" in self.__dict__:
            self.recorder.close()

    @cached_property
    def recorder(self) -> SessionLogRecorder:
        from nbtools.traces.recording.session_logs import (  # noqa: PLC0415 - see the comment above
            SessionLogRecorder,
        )

        return SessionLogRecorder(*self._recorder_arguments)


def _do_nothing() -> None:
    return None
