"""Recognises rows of a log that was read again."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterable, Mapping
from typing import Any, TypeAlias

from msgspec.structs import replace

from nbtools.traces.model import NOWHERE, Call, Event, FileChange, Problem, RequestUsage, Row, Session

RowKey: TypeAlias = tuple[Hashable, int]


def row_keys(rows: Iterable[Row], sessions: Mapping[str, str] | None = None) -> list[RowKey]:
    """Returns a key for each row that is the same when the log is read again:
    its ids, or what it says and when, numbered if repeated.

    With ``sessions``, it is also the same in a copy of the log, which may have other times:
    it maps ids of sessions to others for which they are the same.
    """
    seen: Counter[Hashable] = Counter()
    anchor = ""  # the id before a message without one, which tells it from others with the same text
    keys: list[RowKey] = []
    for row in rows:
        name = _name(row)
        if sessions is not None:
            kind, session, *rest = name
            if isinstance(row, Event) and not row.key:
                rest[-1] = (anchor, row.text)
            elif isinstance(row, Event | Call):
                anchor = rest[-1]
            name = (kind, sessions.get(session, session), *rest)
        keys.append((name, seen[name]))
        seen[name] += 1
    return keys


def _name(row: Row) -> tuple[Any, ...]:
    match row:
        case Call():
            return "call", row.session, row.id
        case Event():
            return "event", row.session, row.kind, row.key or (row.at, row.text)
        case FileChange():
            return "change", row.session, row.call, row.path
        case Session():
            return "session", row.id
        case RequestUsage():
            return "usage", row.session, row.scope, row.id or (row.at, row.turn, row.model)
        case Problem():
            return "problem", row.ref.file, row.ref.offset, row.why


def is_same(one: Row, other: Row) -> bool:
    """Returns whether two readings of a row say the same, wherever its bytes are now."""
    return one == other or (type(one) is type(other) and _content(one) == _content(other))


def _content(row: Row) -> Row:
    match row:
        case Call():
            return replace(row, origin=None, seq=0, ref=NOWHERE, result_ref=NOWHERE)
        case Event():
            return replace(row, seq=0, ref=NOWHERE)
        case RequestUsage():
            return replace(row, seq=0, last=0, ref=NOWHERE)
        case Session():
            return replace(row, ref=NOWHERE)
        case _:
            return row
