"""Follows the log of an open explorer: its pages move on to what was written since, when they ask for it."""

from __future__ import annotations

import time
from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from threading import RLock
from typing import TYPE_CHECKING

from nbtools.core.errors import TraceError
from nbtools.traces.explorer.line_changes import line_moves, new_lines, redrawn_lines
from nbtools.traces.explorer.row_messages import TraceMove
from nbtools.traces.explorer.timeline import DrawnLines
from nbtools.traces.following.continuation import ContinuationSearch, open_continuation

if TYPE_CHECKING:
    from nbtools.traces.explorer.explorer import Explorer

_VERSIONS = 4
"""Versions from which a page can move on with its selection; a page behind these begins again."""
_REST = 1.0
"""After an update, the next one waits for this many times as long as it took: following a long log takes at
most half of a processor, however often its pages ask.
"""


@dataclass(frozen=True, slots=True)
class LineUpdate:
    """The difference between the lines of a page's version and those of ``version``.

    ``moves`` say where they are now, ``changed`` are lines whose record says something else.  ``rows`` are
    the new lines and all that look different, as numbered now, in order; None where the page's version is
    not known any more.
    """

    version: int
    moves: tuple[TraceMove, ...] = ()
    changed: tuple[int, ...] = ()
    rows: Sequence[int] | None = ()


class Following:
    """Updates the lines of an explorer. They keep their numbers between two updates,
    so that a page's requests mean the lines that it shows.
    """

    def __init__(self, explorer: Explorer) -> None:
        self._explorer = explorer
        self._version = 0
        self._drawn: OrderedDict[int, DrawnLines] = OrderedDict()
        self._not_before = 0.0
        self._search: ContinuationSearch | None = None
        self._sessions: dict[str, str] | None = None
        """Sessions that went on under another id, with their first id;
        None as long as the explorer has its first log.
        """
        self.lock = RLock()
        """Held while lines change, and by those who need several things of the same lines."""

    @property
    def version(self) -> int:
        return self._version

    def update(self, version: int, log: str = "") -> LineUpdate:
        """Reads what was written, or goes on to ``log``, and returns what has changed since a version.
        Raises ``TraceError`` if it cannot go on to that log.
        """
        # Two pages may show one explorer: each moves on from its own version to the same rows.
        with self.lock:
            if log:
                self._continue_in(log)
            else:
                self._read_on()
            if version == self._version:
                return LineUpdate(version)
            before, after = self._drawn.get(version), self._explorer.lines.drawn
            if before is None:
                return LineUpdate(self._version, rows=None)
            moves, changed = line_moves(before.tree.rows, after.tree.rows, self._sessions)
            new = new_lines(moves, len(after.tree.rows))
            rows = sorted({*new, *changed, *redrawn_lines(before, after, moves)})
            return LineUpdate(self._version, moves, changed, rows)

    def lines_now(self, version: int, lines: Sequence[int]) -> list[int]:
        """Returns where these lines of a version are now.  Raises ``TraceError`` for a line that is gone."""
        with self.lock:
            if version == self._version:
                return list(lines)
            before = self._drawn[version].tree.rows if version in self._drawn else ()
            moves, _ = line_moves(before, self._explorer.lines.rows, self._sessions)
        found = [
            move.to + line - move.first
            for line in lines
            for move in moves
            if move.first <= line < move.first + move.count
        ]
        if len(found) < len(lines):
            raise TraceError("The log has grown, and this step is no longer where it was. Select it again.")
        return found

    def continuation(self) -> Path | None:
        """Returns the log in which the session goes on, if the explorer shows a single one."""
        readings = self._explorer.trace.readings
        if self._search is None and len(readings) == 1:
            self._search = ContinuationSearch(readings[0])
        return self._search.look() if self._search else None

    def _read_on(self) -> None:
        started, drawn = time.monotonic(), self._explorer.lines.drawn
        if started >= self._not_before and self._explorer.update():
            self._advance(drawn)
            self._not_before = time.monotonic() + _REST * (time.monotonic() - started)

    def _advance(self, before: DrawnLines) -> None:
        self._drawn[self._version] = before
        while len(self._drawn) > _VERSIONS:
            self._drawn.popitem(last=False)
        self._version += 1
        # Mostly the numbers are those before, and the versions share them.
        count, now = len(before.tree.numbers), self._explorer.lines.drawn.tree.numbers
        if now[:count] == before.tree.numbers:
            now[:count] = before.tree.numbers

    def _continue_in(self, name: str) -> None:
        """Goes on to the log that was found, and to no other: a page must not be able to open any file."""
        found, explorer = self.continuation(), self._explorer
        if found is None or found.name != name:
            raise TraceError(
                f"This session does not go on in {name!r}. It may have gone on in another file; look again."
            )
        drawn, before = explorer.lines.drawn, explorer.trace.sessions
        explorer.continue_in(open_continuation(explorer.trace.readings[0], found))
        after = explorer.trace.sessions
        # A fork copies the rows of its origin under another session id: they are the same lines.
        self._sessions = self._sessions or {}
        if before and after and before[0].id not in {session.id for session in after}:
            self._sessions[after[0].id] = self._sessions.get(before[0].id, before[0].id)
        self._search, self._not_before = None, 0.0
        self._advance(drawn)
