"""Selects what is exported into one file: a session with its sub-agents, and their rows in order."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TypeAlias

from nbtools.core.errors import TraceError
from nbtools.traces.model import Call, Event, FileChange, Session
from nbtools.traces.reader import LogFile
from nbtools.traces.row_texts import text_of_event
from nbtools.traces.trace import Trace

_SKIPPED = {"tool_call", "tool_result", "progress"}
"""Kinds of events that repeat what calls contain."""


@dataclass(frozen=True)
class EventText:
    """An event with its full text."""

    event: Event
    text: str


ExportRow: TypeAlias = EventText | Call


def session_with_subagents(trace: Trace, session: str = "") -> tuple[Session, ...]:
    """Returns the session with this id, or the only one that no other session started,
    followed by its sub-agents' sessions at any depth.

    Raises ``TraceError`` where there is no such session, or several to choose from.
    """
    sessions = {one.id: one for one in trace.sessions}
    roots = [
        one
        for one in sessions.values()
        if (one.id == session if session else one.parent not in sessions or one.parent == one.id)
    ]
    if len(roots) != 1:
        names = ", ".join(list(sessions)[:10]) or "none"
        raise TraceError(f"A file holds one session. Name it (session=…). There are: {names}.")
    found = {roots[0].id: roots[0]}
    growing = True
    while growing:
        more = [one for one in sessions.values() if one.parent in found and one.id not in found]
        found |= {one.id: one for one in more}
        growing = bool(more)
    return tuple(found.values())


def rows_of_session(trace: Trace, session: str) -> Iterator[ExportRow]:
    """Yields the events and calls of a session in reading order."""
    calls = [call for call in trace.calls if call.session == session]
    events = [
        event
        for event in zip(trace.events, trace.events.log_files, strict=True)
        if event[0].session == session
    ]
    messages = [pair for pair in events if is_exported(pair[0])]
    rows: list[tuple[int, int, Call | tuple[Event, LogFile]]] = [(call.seq, 1, call) for call in calls]
    rows += [(pair[0].seq, 0, pair) for pair in messages]
    for _, _, item in sorted(rows, key=lambda one: one[:2]):
        yield item if isinstance(item, Call) else EventText(item[0], text_of_event(*item))


def is_exported(row: Call | Event) -> bool:
    return isinstance(row, Call) or row.kind not in _SKIPPED


def changes_by_call(trace: Trace) -> dict[tuple[str, str], list[FileChange]]:
    """Returns the file changes by session and id of their call."""
    found: dict[tuple[str, str], list[FileChange]] = {}
    for change in trace.file_changes:
        found.setdefault((change.session, change.call), []).append(change)
    return found
