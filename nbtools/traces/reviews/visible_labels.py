"""The labels that a reader sees: from a blind one, those of others are hidden until the own verdict."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, TypeAlias

from nbtools.traces.reviews.records import Label
from nbtools.traces.reviews.review import review
from nbtools.traces.reviews.review_settings import review_settings

if TYPE_CHECKING:
    from nbtools.traces.trace_rows import TraceRows

_Key: TypeAlias = tuple[str, str]
"""A session, by the path of its log and its id."""


def visible_labels(trace: TraceRows, reviewer: str = "") -> tuple[Sequence[Label], bool]:
    """Returns the records that ``reviewer`` sees, by default the one of the settings, and whether others are
    hidden: a blind reader sees what others have written about a session and its sub-agents after the own
    verdict on the session.
    """
    labels, settings = review(trace).labels, review_settings()
    if not settings.blind:
        return labels, False
    name, roots = reviewer or settings.name, _roots(trace)
    judged = {
        (label.source, label.session)
        for label in labels
        if label.reviewer == name and label.whole_session and label.kind == "verdict"
    }

    def is_judged(key: _Key) -> bool:
        return key in judged or roots.get(key, key) in judged

    visible = [
        label for label in labels if label.reviewer == name or is_judged((label.source, label.session))
    ]
    return visible, not judged.issuperset(roots.values())


def _roots(trace: TraceRows) -> Mapping[_Key, _Key]:
    """Returns for each session the one that started it, directly or not, or itself."""
    anchors = review(trace).anchors
    parents: dict[_Key, _Key] = {}
    for session in trace.sessions:
        path = anchors.path_of(session)
        parents[path, session.id] = path, session.parent
    roots: dict[_Key, _Key] = {}
    for key in parents:
        line = {key: None}
        last = key
        while (parent := parents[last]) in parents and parent not in roots and parent not in line:
            last = parent
            line[last] = None
        roots.update(dict.fromkeys(line, roots.get(parent, last)))
    return roots
