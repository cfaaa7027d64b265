"""Reads the session logs of coding agents and presents them in one data model."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from nbtools.core.errors import TraceError
from nbtools.traces.comparison.comparison import compare
from nbtools.traces.corpus import Corpus
from nbtools.traces.following.follow import follow
from nbtools.traces.model import Call, ContextPart, Detail, Event, FileChange, Problem, Ref, RequestUsage, Session, Tokens
from nbtools.traces.trace import Trace, load, load_many, stream

if TYPE_CHECKING:
    from nbtools.traces.recording.recorder import Recorder
    from nbtools.traces.recording.session_logs import kept_logs
    from nbtools.traces.session_index.listing import LoggedSession, sessions
    from nbtools.traces.session_index.places import add_log_folder

_LAZY = {
    "LoggedSession": "nbtools.traces.session_index.listing",
    "Recorder": "nbtools.traces.recording.recorder",
    "add_log_folder": "nbtools.traces.session_index.places",
    "kept_logs": "nbtools.traces.recording.session_logs",
    "sessions": "nbtools.traces.session_index.listing",
}
"""Names imported on first use: reading a log does not load the code that writes logs, or finds them."""

__all__ = [
    "Call",
    "ContextPart",
    "Corpus",
    "Detail",
    "Event",
    "FileChange",
    "LoggedSession",
    "Problem",
    "Recorder",
    "Ref",
    "RequestUsage",
    "Session",
    "Tokens",
    "Trace",
    "TraceError",
    "add_log_folder",
    "compare",
    "follow",
    "kept_logs",
    "load",
    "load_many",
    "sessions",
    "stream",
]


def __getattr__(name: str) -> Any:
    if name not in _LAZY:
        raise AttributeError(f"module 'nbtools.traces' has no attribute {name!r}")
    return getattr(import_module(_LAZY[name]), name)
