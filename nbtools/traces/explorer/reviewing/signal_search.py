"""Looks for the signals of a log in a thread, again when the log has grown."""

from __future__ import annotations

import time
from collections.abc import Sequence
from concurrent.futures import Future
from threading import Lock

from nbtools.core.background import run_in_background, wait_briefly
from nbtools.core.errors import TraceError
from nbtools.traces.review.model import Signal
from nbtools.traces.trace import Trace

_WAIT = 0.05
"""Seconds that the first answer waits, enough for most logs."""
_REST = 9.0
"""Signals of a log that grows are looked for again after this many times as long as it took."""


class SignalSearch:
    """The signals of ``trace``.  While it looks again, ``signals`` are those of the shorter log."""

    def __init__(self, trace: Trace) -> None:
        self._trace = trace
        self.signals: Sequence[Signal] = ()
        self._searched: object = None
        self._work: Future[None] | None = None
        self._not_before = 0.0
        self._lock = Lock()

    @property
    def is_complete(self) -> bool:
        """Whether these are the signals of the log as it is now."""
        return self._searched is self._trace.calls

    def start(self) -> None:
        """Begins to look for signals, if that is not under way or was done just now.
        Raises what looking for them raised.
        """
        with self._lock:
            if self.is_complete:
                return
            if (self._work is None or self._work.done()) and time.monotonic() >= self._not_before:
                self._work = run_in_background(self._run, "nbtools-signals")
            work = self._work
        if work is not None:
            wait_briefly(work, _WAIT if self._searched is None else 0)

    def finish(self) -> None:
        """Looks for the signals now, if they are not known."""
        if not self.is_complete:
            self._run()

    def _run(self) -> None:
        """Reads arguments and messages from the log, and prepares for the first verdict."""
        started, calls = time.monotonic(), self._trace.calls
        try:
            self._trace.review.prepare()
            signals: Sequence[Signal] = self._trace.signals
        except TraceError:  # the log has changed; every other request says so
            signals = ()
        finally:
            self._not_before = time.monotonic() + _REST * (time.monotonic() - started)
        self.signals, self._searched = signals, calls
