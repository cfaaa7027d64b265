"""Lets the page of an open explorer choose sessions to compare its log with."""

from __future__ import annotations

from nbtools.traces.comparison.model import CompareWithTask
from nbtools.traces.explorer.model import OpenedLogs
from nbtools.traces.session_list.model import SessionsPage, SessionsTask
from nbtools.traces.session_list.view import SessionList, open_sessions
from nbtools.traces.trace import Trace


def choose(trace: Trace, task: SessionsTask | CompareWithTask) -> SessionsPage | OpenedLogs:
    """Returns listed sessions, or the comparison of ``trace`` with some of them. Raises ``TraceError``."""
    if isinstance(task, CompareWithTask):
        return open_sessions(task.ids, trace)
    return SessionList().looked_up(task)
