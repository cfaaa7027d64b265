"""What agents did: their logs read, in one vocabulary."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from nbtools.core.errors import TraceError
from nbtools.traces.compare import compare
from nbtools.traces.corpus import Corpus
from nbtools.traces.model import Call, Detail, Event, FileChange, Problem, Ref, Session, Tokens
from nbtools.traces.trace import Trace, load, load_many, stream

if TYPE_CHECKING:
    from nbtools.traces.kept import kept_logs
    from nbtools.traces.recorder import Recorder

_LATER = {"Recorder": "nbtools.traces.recorder", "kept_logs": "nbtools.traces.kept"}
"""What writes logs is not loaded by who reads them."""

__all__ = [
    "Call",
    "Corpus",
    "Detail",
    "Event",
    "FileChange",
    "Problem",
    "Recorder",
    "Ref",
    "Session",
    "Tokens",
    "Trace",
    "TraceError",
    "compare",
    "kept_logs",
    "load",
    "load_many",
    "stream",
]


def __getattr__(name: str) -> Any:
    if name not in _LATER:
        raise AttributeError(f"module 'nbtools.traces' has no attribute {name!r}")
    return getattr(import_module(_LATER[name]), name)
