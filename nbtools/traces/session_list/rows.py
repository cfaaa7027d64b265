"""The rows of the list of sessions, as columns, and which of them have changed since a page got them."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import nan
from threading import Lock

from nbtools.cards.hidden_characters import one_line
from nbtools.traces.columns import ColumnBlock, Columns
from nbtools.traces.session_index.listing import SessionCatalog, SessionState
from nbtools.traces.session_index.logged_session import LoggedSession
from nbtools.traces.session_index.repositories import repository_of
from nbtools.traces.session_list.session_text import home_relative, session_row

_RUNNING, _UNREAD = 1, 2


@dataclass(frozen=True, slots=True)
class ListedRow:
    """``key`` is the session's number in this process; its ``state`` is None once the log is gone."""

    key: int
    state: SessionState | None
    version: int


class SessionChanges:
    """The sessions of a catalog by when they changed: each change is a new version.  Thread-safe."""

    def __init__(self, catalog: SessionCatalog) -> None:
        self._catalog = catalog
        self._rows: dict[str, ListedRow] = {}
        """By id, in the order of their versions."""
        self._version = 0
        self._lock = Lock()

    def update(self) -> None:
        """Compares the sessions with those of the catalog."""
        states = self._catalog.states()
        with self._lock:
            for identity, state in states.items():
                self._put(identity, state)
            for identity in self._rows.keys() - states.keys():
                self._put(identity, None)

    def _put(self, identity: str, state: SessionState | None) -> None:
        row = self._rows.get(identity)
        if row is None or row.state != state:
            self._version += 1
            key = len(self._rows) if row is None else row.key
            self._rows.pop(identity, None)
            self._rows[identity] = ListedRow(key, state, self._version)

    def since(self, version: int) -> tuple[list[ListedRow], int]:
        """Returns the rows that changed after ``version``, and the version that they lead to."""
        changed: list[ListedRow] = []
        with self._lock:
            for row in reversed(self._rows.values()):
                if row.version <= version:
                    break
                changed.append(row)
            return changed, self._version

    @property
    def version(self) -> int:
        """The version of the last change."""
        return self._version

    def ids(self, keys: Sequence[int]) -> list[str]:
        """Returns the ids of the listed sessions with these keys."""
        wanted = set(keys)
        with self._lock:
            return [identity for identity, row in self._rows.items() if row.key in wanted and row.state]

    def keys(self, identities: Sequence[str]) -> tuple[int, ...]:
        """Returns the keys of the sessions with these ids that are listed."""
        with self._lock:
            return tuple(self._rows[identity].key for identity in identities if identity in self._rows)

    def all_keys(self) -> dict[str, int]:
        """Returns the keys of all sessions that pages may have, by their ids."""
        with self._lock:
            return {identity: row.key for identity, row in self._rows.items() if row.state is not None}


def session_block(
    rows: Sequence[tuple[int, SessionState]], catalog: SessionCatalog
) -> tuple[ColumnBlock, bytes]:
    """Returns the columns of sessions, which have keys: the texts as displayed, and the numbers to sort by,
    NaN for unknown.

    ``flags``: 1 for a session that is running now, 2 for one that is going to be read as a whole.
    """
    columns = Columns(len(rows))
    states = [state for _, state in rows]
    sessions = [catalog.session(state) for state in states]
    now = time.time()
    shown = [session_row(session, now) for session in sessions]
    columns.numbers("key", "u32", [key for key, _ in rows])
    columns.numbers(
        "flags",
        "u8",
        [_RUNNING * state.is_running + _UNREAD * state.is_unread for state in states],
    )
    numbers: dict[str, Callable[[LoggedSession], float | None]] = {
        "changed": lambda one: one.changed,
        "started": lambda one: one.started,
        "duration": lambda one: one.duration,
        "calls": lambda one: one.calls,
        "failed": lambda one: one.failed_calls,
        "edits": lambda one: one.edits,
        "added": lambda one: one.added_lines,
        "removed": lambda one: one.removed_lines,
        "tokens": lambda one: one.tokens,
        "cost": lambda one: one.cost,
    }
    for name, number_of in numbers.items():
        values = map(number_of, sessions)
        columns.numbers(name, "f64", [nan if value is None else value for value in values])
    columns.texts("id", [one.id for one in sessions])
    columns.texts("title", [one.title for one in shown])
    columns.texts("times", [one.times for one in shown])
    columns.words("agent_key", [one.agent for one in sessions])
    columns.words("path", [one.project for one in sessions])
    repositories = [repository_of(one.project) if one.project else "" for one in sessions]
    columns.words("repository", repositories)
    columns.words("repository_text", [one_line(home_relative(one), 300) for one in repositories])
    columns.words("agent", [one.agent for one in shown])
    columns.words("model", [one.model for one in shown])
    columns.words("project", [one.project for one in shown])
    columns.words("folder", [one.folder for one in shown])
    columns.words("duration_text", [one.duration for one in shown])
    columns.words("tokens_text", [one.tokens for one in shown])
    columns.words("started_text", [one.started for one in shown])
    columns.words("cost_text", [one.cost for one in shown])
    columns.words("cost_note", [one.cost_note for one in shown])
    columns.words("doubt", [one.doubt for one in shown])
    columns.words("problem", [one.problem for one in shown])
    return columns.finish()
