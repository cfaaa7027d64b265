"""Reads the session logs of coding agents and presents them in one data model.

Importing this package loads nothing else; a name is imported when it is first used.  Recording a session,
which every kernel does, needs a few small modules of it, and not those that read, compare and review logs.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from nbtools.core.errors import TraceError
    from nbtools.traces.comparison.comparison import compare
    from nbtools.traces.corpus import Corpus
    from nbtools.traces.explorer.explorer import filter  # noqa: A004
    from nbtools.traces.explorer.facets import Facet
    from nbtools.traces.following.follow import follow
    from nbtools.traces.model import (
        Call,
        ContextPart,
        Detail,
        Event,
        FileChange,
        Problem,
        Ref,
        RequestUsage,
        Session,
        Tokens,
    )
    from nbtools.traces.recording.recorder import Recorder
    from nbtools.traces.recording.session_logs import kept_logs
    from nbtools.traces.reviews.review import review
    from nbtools.traces.reviews.review_set import ReviewSet, review_set
    from nbtools.traces.session_index.content_search import search_sessions
    from nbtools.traces.session_index.left_out import LeftOut, left_out
    from nbtools.traces.session_index.listing import sessions
    from nbtools.traces.session_index.logged_session import LoggedSession
    from nbtools.traces.session_index.places import add_log_folder
    from nbtools.traces.session_index.session_totals import totals
    from nbtools.traces.sharing.page import find_secrets, share
    from nbtools.traces.submissions.learner_set import LearnerSet, learners
    from nbtools.traces.trace import Trace, load, load_many, stream

_MODULES = {
    "nbtools.core.errors": "TraceError",
    "nbtools.traces.comparison.comparison": "compare",
    "nbtools.traces.corpus": "Corpus",
    "nbtools.traces.explorer.facets": "Facet",
    "nbtools.traces.explorer.explorer": "filter",
    "nbtools.traces.following.follow": "follow",
    "nbtools.traces.model": (
        "Call ContextPart Detail Event FileChange Problem Ref RequestUsage Session Tokens"
    ),
    "nbtools.traces.recording.recorder": "Recorder",
    "nbtools.traces.recording.session_logs": "kept_logs",
    "nbtools.traces.reviews.review": "review",
    "nbtools.traces.reviews.review_set": "ReviewSet review_set",
    "nbtools.traces.session_index.content_search": "search_sessions",
    "nbtools.traces.session_index.left_out": "LeftOut left_out",
    "nbtools.traces.session_index.listing": "sessions",
    "nbtools.traces.session_index.logged_session": "LoggedSession",
    "nbtools.traces.session_index.places": "add_log_folder",
    "nbtools.traces.session_index.session_totals": "totals",
    "nbtools.traces.sharing.page": "find_secrets share",
    "nbtools.traces.submissions.learner_set": "LearnerSet learners",
    "nbtools.traces.trace": "Trace load load_many stream",
}
_MODULE_OF = {name: module for module, names in _MODULES.items() for name in names.split()}

__all__ = [
    "Call",
    "ContextPart",
    "Corpus",
    "Detail",
    "Event",
    "Facet",
    "FileChange",
    "LearnerSet",
    "LeftOut",
    "LoggedSession",
    "Problem",
    "Recorder",
    "Ref",
    "RequestUsage",
    "ReviewSet",
    "Session",
    "Tokens",
    "Trace",
    "TraceError",
    "add_log_folder",
    "compare",
    "filter",
    "find_secrets",
    "follow",
    "kept_logs",
    "learners",
    "left_out",
    "load",
    "load_many",
    "review",
    "review_set",
    "search_sessions",
    "sessions",
    "share",
    "stream",
    "totals",
]


def __getattr__(name: str) -> Any:
    module = _MODULE_OF.get(name)
    if module is None:
        raise AttributeError(f"module 'nbtools.traces' has no attribute {name!r}")
    value = globals()[name] = getattr(import_module(module), name)
    return value


def __dir__() -> list[str]:
    return [*__all__, *(name for name in globals() if name.startswith("__"))]
