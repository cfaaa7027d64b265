"""Follows the log of an open explorer: its pages move on to what was written since, when they ask for it."""

from __future__ import annotations

import time
from collections import OrderedDict
from collections.abc import Mapping, Sequence
from itertools import takewhile
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING

from nbtools.core.errors import TraceError
from nbtools.traces.explorer.explorer_messages import FollowTask, TraceFollow, TraceMove
from nbtools.traces.explorer.nesting import LineRow
from nbtools.traces.following.continuation import ContinuationSearch, open_continuation
from nbtools.traces.following.row_identity import is_same, row_keys

if TYPE_CHECKING:
    from nbtools.traces.explorer.explorer import Explorer

_VERSIONS = 4
"""Versions from which a page can move on with its selection; a page behind these begins again."""
_MAX_CHANGED = 500
"""Largest number of lines that are named as changed."""
_REST = 1.0
"""After an update, the next one waits for this many times as long as it took: following a long log takes at
most half of a processor, however often its pages ask.
"""


class Following:
    """Answers pages that follow. Lines keep their numbers between two answers,
    so that a page's requests mean the lines that it shows.
    """

    def __init__(self, explorer: Explorer) -> None:
        self._explorer = explorer
        self._version = 0
        self._rows: OrderedDict[int, Sequence[LineRow]] = OrderedDict()
        self._not_before = 0.0
        self._search: ContinuationSearch | None = None
        self._sessions: dict[str, str] | None = None
        """Sessions that went on under another id, with their first id;
        None as long as the explorer has its first log.
        """
        self._lock = Lock()

    @property
    def version(self) -> int:
        return self._version

    def answer(self, task: FollowTask) -> TraceFollow:
        """Returns what has changed since the version that the page shows.
        Raises ``TraceError`` if it cannot go on to ``task.log``.
        """
        # Two pages may show one explorer: each moves on from its own version to the same rows.
        with self._lock:
            if task.log:
                self._continue_in(task.log)
            else:
                self._update()
            found, fresh = self._continuation(), self._explorer.trace.fresh
            reply = TraceFollow(
                version=self._version, fresh=fresh, continuation="" if found is None else found.name
            )
            if task.version == self._version:
                return reply
            before = self._rows.get(task.version)
            moves, changed = line_moves(before or (), self._explorer.lines.rows, self._sessions)
            return reply.model_copy(
                update={
                    "view": self._explorer.view(0),
                    "moves": moves,
                    "changed": changed[:_MAX_CHANGED],
                    "restarted": before is None,
                }
            )

    def lines_now(self, version: int, lines: Sequence[int]) -> list[int]:
        """Returns where these lines of a version are now.  Raises ``TraceError`` for a line that is gone."""
        with self._lock:
            if version == self._version:
                return list(lines)
            moves, _ = line_moves(self._rows.get(version, ()), self._explorer.lines.rows, self._sessions)
        found = [
            move.to + line - move.first
            for line in lines
            for move in moves
            if move.first <= line < move.first + move.count
        ]
        if len(found) < len(lines):
            raise TraceError("The log has grown, and this step is no longer where it was. Select it again.")
        return found

    def _update(self) -> None:
        started, rows = time.monotonic(), self._explorer.lines.rows
        if started >= self._not_before and self._explorer.update():
            self._advance(rows)
            self._not_before = time.monotonic() + _REST * (time.monotonic() - started)

    def _advance(self, before: Sequence[LineRow]) -> None:
        self._rows[self._version] = before
        while len(self._rows) > _VERSIONS:
            self._rows.popitem(last=False)
        self._version += 1

    def _continuation(self) -> Path | None:
        """Returns the log in which the session goes on, if the explorer shows a single one."""
        readings = self._explorer.trace.readings
        if self._search is None and len(readings) == 1:
            self._search = ContinuationSearch(readings[0])
        return self._search.look() if self._search else None

    def _continue_in(self, name: str) -> None:
        """Goes on to the log that was found, and to no other: a page must not be able to open any file."""
        found, explorer = self._continuation(), self._explorer
        if found is None or found.name != name:
            raise TraceError(
                f"This session does not go on in {name!r}. It may have gone on in another file; look again."
            )
        rows, before = explorer.lines.rows, explorer.trace.sessions
        explorer.continue_in(open_continuation(explorer.trace.readings[0], found))
        after = explorer.trace.sessions
        # A fork copies the rows of its origin under another session id: they are the same lines.
        self._sessions = self._sessions or {}
        if before and after and before[0].id not in {session.id for session in after}:
            self._sessions[after[0].id] = self._sessions.get(before[0].id, before[0].id)
        self._search, self._not_before = None, 0.0
        self._advance(rows)


def line_moves(
    before: Sequence[LineRow], after: Sequence[LineRow], sessions: Mapping[str, str] | None = None
) -> tuple[tuple[TraceMove, ...], tuple[int, ...]]:
    """Returns where the lines of ``before`` are in ``after``, as stretches that moved together,
    and which lines say something else.

    ``sessions`` are as in ``row_keys``.
    """
    # Rows that were read already are the same objects, so mostly only the last ones need keys.
    start = sum(1 for _ in takewhile(lambda pair: pair[0] is pair[1], zip(before, after, strict=False)))
    places = {key: line for line, key in enumerate(row_keys(after[start:], sessions), start)}
    moves: list[list[int]] = [[0, 0, start]] if start else []
    changed: list[int] = []
    rest = before[start:]
    for line, (row, key) in enumerate(zip(rest, row_keys(rest, sessions), strict=True), start):
        to = places.get(key)
        if to is None:
            continue
        if moves and moves[-1][0] + moves[-1][2] == line and moves[-1][1] + moves[-1][2] == to:
            moves[-1][2] += 1
        else:
            moves.append([line, to, 1])
        if not is_same(row, after[to]):
            changed.append(to)
    return tuple(TraceMove(first=first, to=to, count=count) for first, to, count in moves), tuple(changed)
