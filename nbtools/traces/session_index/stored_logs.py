"""Lists the sessions in agents' databases as logs, and names the databases that are not read."""

from __future__ import annotations

import os
from collections.abc import Iterable
from functools import lru_cache
from pathlib import Path
from typing import NamedTuple

from msgspec import Struct

from nbtools.core.browser import IN_BROWSER
from nbtools.core.errors import TraceError
from nbtools.traces.formats import beginning_of, database_agent
from nbtools.traces.reader import Head
from nbtools.traces.session_index.places import Place, database_places
from nbtools.traces.session_index.scan import LogStat, find_logs
from nbtools.traces.stored_sessions import STORING_AGENT, stored_sessions

_MAX_DATABASES = 500


class UnreadDatabase(Struct, frozen=True):
    """A database that is not read. ``agent`` is the one in whose folder it is."""

    path: str
    agent: str
    reason: str


class StoredLogs(NamedTuple):
    """The sessions in databases as logs by path, the databases that were read, and those of agents that are
    not read.
    """

    logs: dict[str, LogStat]
    read: frozenset[str]
    unread: tuple[UnreadDatabase, ...]

    def are_without(self, path: str) -> bool:
        """Returns whether no database can have a log that was not found. One that was not read now, as its
        folder was not looked at or it cannot be read, may still have it.
        """
        database = os.path.dirname(path)  # noqa: PTH120 - thousands of paths
        return database in self.read or not os.path.isfile(database)  # noqa: PTH113 - as above


def stored_logs(places: Iterable[Place]) -> StoredLogs:
    """Looks for databases of agents."""
    logs: dict[str, LogStat] = {}
    read, unread = set[str](), list[UnreadDatabase]()
    found = {} if IN_BROWSER else find_logs(database_places(places))
    for log in list(found.values())[:_MAX_DATABASES]:
        name = _database_of(log.path, log.size, log.mtime_ns)
        if log.place.agent == STORING_AGENT or name.startswith(STORING_AGENT):
            try:
                logs |= _sessions(log)
                read.add(log.path)
            except TraceError as error:
                unread.append(UnreadDatabase(log.path, log.place.agent, str(error)))
        elif name:
            unread.append(
                UnreadDatabase(log.path, log.place.agent, f"It is a log of {name}, which is not read.")
            )
    return StoredLogs(logs, frozenset(read), tuple(unread))


def _sessions(log: LogStat) -> dict[str, LogStat]:
    place = Place(log.place.agent, log.place.folder, (), (STORING_AGENT,))
    return {
        f"{log.path}/{one.id}": LogStat(f"{log.path}/{one.id}", place, one.size, one.changed, log.inode)
        for one in stored_sessions(log.path)
    }


@lru_cache(maxsize=1_000)
def _database_of(path: str, size: int, mtime: int) -> str:  # noqa: ARG001 - size and time are part of the key
    """Returns whose database a file is; empty where its tables do not tell."""
    try:
        return database_agent(Head(Path(path), beginning_of(Path(path))))
    except OSError:
        return ""
