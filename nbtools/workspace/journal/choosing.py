"""Which change is meant to be undone, and what a person is told of all of them."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from nbtools.core.errors import ErrorCode, ToolFailure
from nbtools.workspace.journal.journal import Journal
from nbtools.workspace.journal.pruning import dropped
from nbtools.workspace.journal.records import Entry, JournalEntry

_MOST_LISTED = 1_000


def chosen(journal: Journal, call: str) -> tuple[Entry, ...]:
    """What a call has changed, in the order it did; without a call, the last change of this session that is not undone.

    A session that has changed nothing yet means the last change of the workspace.  Raises ``ToolFailure``.
    """
    if not call:
        call = _last(journal)
    entries = journal.entries(call=call)
    if not entries:
        raise _unknown(journal, call)
    own = tuple(entry for entry in entries if entry.session == journal.session)
    entries = own or tuple(entry for entry in entries if entry.session == entries[-1].session)
    standing = tuple(entry for entry in entries if not entry.undone_by)
    if not standing:
        by = entries[-1].undone_by
        raise ToolFailure(ErrorCode.EDIT_NO_CHANGE, f"{call} is undone already, by {by}. Undo {by} to bring its changes back.")
    return standing


def _last(journal: Journal) -> str:
    own = journal.last(journal.session)
    if own:
        return own
    if journal.entries(session=journal.session, last=1):
        why = "Nothing is left to undo in this session: all that it changed is undone. Name a call for one of an earlier session"
        raise ToolFailure(ErrorCode.EDIT_NO_CHANGE, f"{why}, or an undo to bring back what was undone.")
    last = journal.last()
    if not last:
        why = "no call has changed anything here" if journal.enabled else "the journal is off (%tools set journal on)"
        raise ToolFailure(ErrorCode.EDIT_NO_CHANGE, f"There is nothing to undo: {why}.")
    return last


def _unknown(journal: Journal, call: str) -> ToolFailure:
    gone = dropped(journal.store) if journal.exists else ""
    why = f"The journal knows no change by the call {call!r}: it changed nothing, or there is no such call."
    return ToolFailure(ErrorCode.INVALID_TOOL_PARAMS, f"{why} {gone or '%tools journal (session.changes) lists what can be undone.'}")


def listed(journal: Journal, name: Callable[[Path], str]) -> tuple[JournalEntry, ...]:
    """All calls that have changed something, the oldest first; of very many the last."""
    calls: dict[tuple[str, str], list[Entry]] = {}
    for entry in journal.entries(last=_MOST_LISTED):
        calls.setdefault((entry.session, entry.call), []).append(entry)
    return tuple(_listed(entries, journal, name) for entries in calls.values())


def _listed(entries: list[Entry], journal: Journal, name: Callable[[Path], str]) -> JournalEntry:
    records = [record for entry in entries for record in entry.records]
    return JournalEntry(
        id=entries[0].call,
        tool=entries[0].tool,
        at=entries[0].at,
        files=tuple(dict.fromkeys(name(record.path) for record in records if record.kind not in ("folder", "unfolder"))),
        bytes=sum(record.bytes for record in records),
        undone_by=entries[-1].undone_by,
        undoes=entries[-1].undoes,
        of_this_session=entries[0].session == journal.session,
        partly=any(entry.status == "partly" for entry in entries),
    )
