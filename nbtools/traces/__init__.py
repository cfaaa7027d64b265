"""Reads the session logs of coding agents and presents them in one data model."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from nbtools.core.errors import TraceError
from nbtools.traces.corpus import Corpus
from nbtools.traces.following.follow import follow
from nbtools.traces.model import Call, ContextPart, Detail, Event, FileChange, Problem, Ref, RequestUsage, Session, Tokens
from nbtools.traces.query.compare import compare
from nbtools.traces.trace import Trace, load, load_many, stream

if TYPE_CHECKING:
    from nbtools.traces.recording.recorder import Recorder
    from nbtools.traces.recording.session_logs import kept_logs

_LAZY = {"Recorder": "nbtools.traces.recording.recorder", "kept_logs": "nbtools.traces.recording.session_logs"}
"""Names imported on first use: reading logs does not load the code that writes them."""

__all__ = [
    "Call",
    "ContextPart",
    "Corpus",
    "Detail",
    "Event",
    "FileChange",
    "Problem",
    "Recorder",
    "Ref",
    "RequestUsage",
    "Session",
    "Tokens",
    "Trace",
    "TraceError",
    "compare",
    "follow",
    "kept_logs",
    "load",
    "load_many",
    "stream",
]


def __getattr__(name: str) -> Any:
    if name not in _LAZY:
        raise AttributeError(f"module 'nbtools.traces' has no attribute {name!r}")
    return getattr(import_module(_LAZY[name]), name)
