"""The list of all sessions on this machine: brings the index up to date, and searches,
filters and sorts it.
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from functools import cached_property
from pathlib import Path
from threading import Lock
from typing import Any, Literal, NamedTuple, TypeAlias

from nbtools.core.browser import IN_BROWSER
from nbtools.core.errors import TraceError
from nbtools.traces.parallel_reading import gc_paused
from nbtools.traces.query.excerpts import MAX_QUERY
from nbtools.traces.session_index.contents import ContentStore
from nbtools.traces.session_index.head import LogHead, read_head
from nbtools.traces.session_index.index import (
    COUNTS,
    MAX_TRIES,
    STATE,
    SessionIndex,
    number_of,
    session_id,
)
from nbtools.traces.session_index.logged_session import LoggedSession
from nbtools.traces.session_index.places import Place, known_agent, places
from nbtools.traces.session_index.repositories import repository_of
from nbtools.traces.session_index.running import running_logs
from nbtools.traces.session_index.scan import LogStat, find_logs
from nbtools.traces.session_index.stored_logs import UnreadDatabase, stored_logs
from nbtools.traces.session_index.times import since_time
from nbtools.traces.session_index.worker import BackgroundProcess, work

Outcome: TypeAlias = Literal["", "running", "failed", "clean", "changed"]
SortKey: TypeAlias = Literal[
    "title",
    "agent",
    "model",
    "project",
    "age",
    "duration",
    "calls",
    "failed_calls",
    "failed",
    "edits",
    "tokens",
    "cost",
    "started",
]
"""``failed`` is the old name of ``failed_calls`` and goes with the next release."""
WORKER = "nbtools.traces.session_index.worker"
_BATCH = 400
_SORTED = {
    "title": "title COLLATE NOCASE",
    "agent": "agent",
    "model": "nullif(model, '') COLLATE NOCASE",
    "project": "nullif(project, '') COLLATE NOCASE",
    "age": "mtime",
    "duration": "ended - started",
    "calls": "calls",
    "failed_calls": "failed_calls",
    "failed": "failed_calls",
    "edits": "added_lines + removed_lines",
    "tokens": "input_tokens + output_tokens",
    "cost": "cost",
    "started": "started",
}
_OUTCOMES = {
    "": "1",
    "running": "number IN (SELECT value FROM json_each(:running))",
    "failed": "failed_calls > 0",
    "clean": "calls > 0 AND failed_calls = 0",
    "changed": "edits > 0",
}
IN_FOUND = "number IN (SELECT value FROM json_each(:found))"
IS_PART = (
    "parent <> '' AND EXISTS (SELECT 1 FROM logs AS root WHERE root.session = logs.parent"  # noqa: S608 - constants
    f" AND root.session <> '' AND root.format = logs.format AND +root.{IN_FOUND})"  # +: not by number
)
"""Whether another session on this machine started it."""
_LISTED = f"format <> '' AND NOT ({IS_PART}) AND {IN_FOUND}"


@dataclass(frozen=True)
class SessionQuery:
    """Selects sessions and their order. ``text`` are beginnings of words in titles, projects and prompts;
    all must occur. ``project`` is a folder, with those below it, or the name of one; where there is none of
    that name, any part of a path. The project of a session is its folder, and the repository of that folder.
    ``since`` is the earliest last change and ``until`` the latest beginning, in seconds since the epoch; 0
    for any.
    """

    text: str = ""
    agent: str = ""
    project: str = ""
    outcome: Outcome = ""
    sort: SortKey = "age"
    descending: bool = True
    since: float = 0.0
    until: float = 0.0


class SessionState(NamedTuple):
    """A session in a form that is quickly compared: its row in the index, whether it is running, and whether
    its log is going to be read as a whole.
    """

    row: tuple[Any, ...]
    is_running: bool
    is_unread: bool

    @property
    def changed(self) -> int:
        """When the log changed last."""
        changed: int = self.row[_MTIME]
        return changed


@dataclass
class Found:
    """Logs that the last look at the folders found; ``left`` logs are not in the index yet."""

    logs: dict[str, LogStat] = field(default_factory=dict)
    places: list[Place] = field(default_factory=list)
    running: set[str] = field(default_factory=set)
    left: int = 0
    at: float = 0.0
    seconds: float = 0.0
    databases: tuple[UnreadDatabase, ...] = ()
    """Databases of agents that are not read."""

    @cached_property
    def numbers(self) -> str:
        """The numbers of the logs as JSON."""
        return _numbers(self.logs)


class SessionCatalog:
    """All session logs on this machine. Nothing is read before ``refresh``. Thread-safe."""

    def __init__(
        self, folders: Iterable[str | Path] = (), clock: Callable[[], float] = time.monotonic
    ) -> None:
        self.index = SessionIndex()
        self._clock = clock
        self.found = Found()
        self._folders = tuple(folders)
        self._lock = Lock()
        self._background = BackgroundProcess(WORKER)

    def refresh(self, seconds: float | None = None) -> None:
        """Looks at the folders and reads the beginnings of new logs, then of changed ones, the latest first,
        for ``seconds``.
        """
        with self._lock:
            start = self._clock()
            where = places(self._folders)
            stored = stored_logs(where)
            logs = find_logs(where) | stored.logs
            known = self.index.states()
            new = [log for path, log in logs.items() if not _is_current(log, known.get(path))]
            gone = [
                path
                for path in known.keys() - logs.keys()
                if not os.path.lexists(path) and stored.are_without(path)
            ]
            new.sort(key=lambda log: (log.path in known, -log.mtime_ns))
            if gone:
                self.index.put([], gone)
            read = 0
            end = None if seconds is None else start + seconds
            while read < len(new) and (end is None or self._clock() < end):
                with gc_paused():
                    heads = list(self._heads(new[read : read + _BATCH], end))
                    self.index.put(heads)
                read += len(heads)
            now = self._clock()
            self.found = Found(
                logs,
                where,
                set() if IN_BROWSER else running_logs(logs.values()),
                len(new) - read,
                now,
                now - start,
                stored.unread,
            )

    def _heads(self, logs: Sequence[LogStat], end: float | None) -> Iterator[tuple[LogStat, LogHead]]:
        """Yields the beginnings of logs until the time is over, at least one."""
        for log in logs:
            yield log, read_head(log)
            if end is not None and self._clock() >= end:
                return

    def read_in_background(self) -> bool:
        """Has a process of its own read whole logs, as long as this one lives.
        Returns whether there is something to read.
        """
        outdated = self.index.outdated(1) or ContentStore(self.index).outdated(1)
        waiting = self.index.lasting and (bool(outdated) or self.index.has_outdated_costs())
        if waiting:
            try:
                self._background.start()
            except OSError:
                return False
        return waiting

    def read_now(self, seconds: float | None = None, *, contents: bool = False) -> bool:
        """Reads whole logs in this thread, for their figures or for their ``contents``, too.
        Returns False if ``seconds`` were not enough.
        """
        return work(self.index, seconds, contents=contents)

    def close(self) -> None:
        self._background.stop()
        self.index.close()

    def count(self, query: SessionQuery) -> int:
        where, values = self._where(query)
        count: int = self.index.read(f"SELECT count(*) FROM logs WHERE {where}", values)[0][0]  # noqa: S608 - constants and placeholders
        return count

    def page(self, query: SessionQuery, first: int = 0, count: int = -1) -> list[LoggedSession]:
        """Returns the sessions of a query from the number ``first``;
        those for which the sorted value is not known come last.
        """
        where, values = self._where(query)
        order = _SORTED[query.sort]
        direction = "DESC" if query.descending else "ASC"
        rows = self.index.read(
            f"SELECT {', '.join(_COLUMNS)} FROM logs WHERE {where} "  # noqa: S608 - as above
            f"ORDER BY {order} IS NULL, {order} {direction}, mtime DESC, number LIMIT :count OFFSET :first",
            {**values, "count": count, "first": first},
        )
        return [self._session(row) for row in rows]

    def states(self) -> dict[str, SessionState]:
        """Returns the states of all sessions, by their ids."""
        where, values = self._where(SessionQuery())
        rows = self.index.read(
            f"SELECT {', '.join(_COLUMNS)}, number, tries < {MAX_TRIES} FROM logs WHERE {where}",  # noqa: S608 - as above
            values,
        )
        running = {os.fsencode(path) for path in self.found.running}
        lasting = self.index.lasting
        found = {}
        for *row, number, is_readable in rows:
            is_unread = lasting and bool(is_readable) and not row[-1]
            found[session_id(number)] = SessionState(tuple(row), row[0] in running, is_unread)
        return found

    def unread(self, query: SessionQuery) -> int:
        """Returns the number of sessions of a query whose logs were not read as a whole in their current
        state, and are going to be.
        """
        if not self.index.lasting:
            return 0
        where, values = self._where(query)
        rows = self.index.read(
            f"SELECT count(*) FROM logs WHERE {where} AND figured <> {STATE} AND tries < {MAX_TRIES}",  # noqa: S608 - as above
            values,
        )
        count: int = rows[0][0]
        return count

    def ids(self, query: SessionQuery) -> list[str]:
        """Returns the ids of the sessions of a query."""
        where, values = self._where(query)
        rows = self.index.read(f"SELECT number FROM logs WHERE {where}", values)  # noqa: S608 - as above
        return [session_id(number) for (number,) in rows]

    def numbers(self, query: SessionQuery) -> list[int]:
        """Returns the numbers of the sessions of a query in the index, those that changed last first."""
        where, values = self._where(query)
        rows = self.index.read(f"SELECT number FROM logs WHERE {where} ORDER BY mtime DESC, number", values)  # noqa: S608 - as above
        return [number for (number,) in rows]

    def below(self, folder: Path) -> tuple[int, int]:
        """Returns the number of listed sessions whose logs are below a folder, and that of the others that
        were found there and read.
        """
        start = os.path.join(folder, "")  # noqa: PTH118 - it ends with a separator
        numbers = _numbers(path for path in self.found.logs if path.startswith(start))
        ((listed, known),) = self.index.read(
            f"SELECT ifnull(sum({_LISTED}), 0), count(*) FROM logs"  # noqa: S608 - constants
            " WHERE number IN (SELECT value FROM json_each(:below)) AND (format <> '' OR size > 0)",
            {"found": self.found.numbers, "below": numbers},
        )
        return listed, known - listed

    def has_project(self, name: str) -> bool:
        """Returns whether there are sessions in this folder, or in one of this name."""
        return any(_is_project(one, name) for one in self.projects())

    def projects(self) -> list[str]:
        """Returns the folders of all sessions, those with the most sessions first."""
        order = "GROUP BY project ORDER BY count(*) DESC"
        query = f"SELECT project FROM logs WHERE {_LISTED} AND project <> '' {order}"  # noqa: S608 - constants
        return [project for (project,) in self.index.read(query, {"found": self.found.numbers})]

    def _projects_named(self, name: str) -> list[str]:
        """Returns the folders of sessions that a person means by ``name``."""
        known = self.projects()
        part = _with_slashes(name)
        return [one for one in known if _is_project(one, name)] or [
            one for one in known if any(part in _with_slashes(folder) for folder in _folders_of(one))
        ]

    def starts(self) -> list[tuple[str, Path, str, str]]:
        """Returns id, path and format of each listed log, and how its sessions begin (``decode_starts``)."""
        where, values = self._where(SessionQuery())
        rows = self.index.read(
            f"SELECT number, path, format, starts FROM logs WHERE {where}",  # noqa: S608 - as above
            values,
        )
        return [(session_id(number), Path(os.fsdecode(path)), *others) for number, path, *others in rows]

    def path_of(self, id: str) -> Path:  # noqa: A002 - the field's name
        """Returns the path of a log that was listed. Raises ``TraceError`` for another id."""
        path = next((path for path in self.found.logs if session_id(number_of(path)) == id), None)
        if path is None:
            raise TraceError("This log is no longer in its folder, or was not listed.")
        return Path(path)

    def _where(self, query: SessionQuery) -> tuple[str, dict[str, Any]]:
        parts = [_LISTED, _OUTCOMES[query.outcome]]
        values: dict[str, Any] = {"found": self.found.numbers, "running": _numbers(self.found.running)}
        if query.agent:
            parts.append("agent = :agent")
            values["agent"] = query.agent
        if query.project:
            parts.append("project IN (SELECT value FROM json_each(:projects))")
            values["projects"] = json.dumps(self._projects_named(query.project))
        if query.since:
            parts.append("mtime >= :since")
            values["since"] = query.since * 1e9
        if query.until:
            parts.append("ifnull(started, mtime / 1e9) <= :until")
            values["until"] = query.until
        for number, word in enumerate(query.text[:MAX_QUERY].split()):
            parts.append(_condition(word).replace(":word", f":word{number}"))
            values |= {
                f"word{number}": f'"{word.replace(chr(34), " ")}"*',
                f"word{number}_like": f"%{_like(word)}%",
            }
        return " AND ".join(parts), values

    def session(self, state: SessionState) -> LoggedSession:
        return self._session(state.row)

    def _session(self, row: tuple[Any, ...]) -> LoggedSession:
        values = dict(zip(_COLUMNS, row, strict=True))
        started, ended, path = values["started"], values.pop("ended"), os.fsdecode(values["path"])
        values["path"] = Path(path)
        values["changed"] = values.pop("mtime") / 1e9
        values["duration"] = (
            ended - started if started is not None and ended is not None and ended >= started else None
        )
        is_priced = values.pop("group_costs <> ''")
        values["prices"] = values["prices"] if is_priced else ""
        values["read"], values["doubtful"] = bool(values.pop(_READ)), bool(values["doubtful"])
        return LoggedSession(**values, running=path in self.found.running)


_READ = f"figured = {STATE}"
_COLUMNS = (
    *("path", "title", "agent", "format", "model", "project", "branch", "mtime", "size", "started", "ended"),
    *COUNTS,
    *("cost", "unpriced", "group_costs <> ''", "prices", "doubtful", "repeats", "problem", _READ),
)
_MTIME = _COLUMNS.index("mtime")
_TITLED = "title LIKE :word_like ESCAPE '!' OR project LIKE :word_like ESCAPE '!'"
_MATCHES = "number IN (SELECT rowid FROM texts WHERE texts MATCH :word)"
_CONTAINS = "number IN (SELECT rowid FROM texts WHERE text LIKE :word_like ESCAPE '!')"


def _condition(word: str) -> str:
    """Returns the condition for a word: the index finds beginnings of words;
    in scripts without spaces, the texts are searched.
    """
    indexed = _MATCHES if any(character.isalnum() for character in word) else "0"
    return f"({indexed} OR {_TITLED}{'' if word.isascii() else f' OR {_CONTAINS}'})"


def _is_project(project: str, name: str) -> bool:
    """Returns whether a session's folder, or its repository, is the folder ``name``, is below it, or has that
    name.
    """
    wanted = _with_slashes(name)
    end = f"/{wanted.lstrip('/')}"
    folders = map(_with_slashes, _folders_of(project))
    return any(f"{one}/".startswith(f"{wanted}/") or one.endswith(end) for one in folders)


def _folders_of(project: str) -> set[str]:
    return {project, repository_of(project)}


def _with_slashes(path: str) -> str:
    """Returns a path, which may have either kind of slashes, in the form in which paths are compared."""
    return path.lower().replace("\\", "/").rstrip("/")


def _like(text: str) -> str:
    return text.replace("!", "!!").replace("%", "!%").replace("_", "!_")


def _is_current(log: LogStat, state: tuple[int, int, int] | None) -> bool:
    """Returns whether a log is indexed as it is now.
    In JupyterLite, its size alone tells: reading a file changes its time.
    """
    return state == (log.size, log.mtime_ns, log.inode) or (
        IN_BROWSER and state is not None and state[0] == log.size
    )


def _numbers(paths: Iterable[str]) -> str:
    return json.dumps([number_of(path) for path in paths])


def session_query(
    agent: str = "",
    project: str = "",
    outcome: Outcome = "",
    since: float | str | datetime | None = None,
    *,
    text: str = "",
    sort: SortKey = "age",
    descending: bool = True,
) -> SessionQuery:
    """Returns a query from the words of a person. Raises ``TraceError`` for an unknown one."""
    for word, values, what in ((outcome, _OUTCOMES, "outcome"), (sort, _SORTED, "order")):
        if word not in values:
            names = ", ".join(filter(None, values))
            raise TraceError(f"{word!r} is no {what} of sessions. Name one of: {names}.")
    name = known_agent(agent) if agent else ""
    return SessionQuery(text, name, project, outcome, sort, descending, since_time(since))


def sessions(
    text: str = "",
    *,
    agent: str = "",
    project: str = "",
    outcome: Outcome = "",
    since: float | str | datetime | None = None,
    sort: SortKey = "age",
    descending: bool = True,
    folders: Iterable[str | Path] = (),
    complete: bool = False,
) -> list[LoggedSession]:
    """Returns the sessions of all agents on this machine, those that changed last first.

    ``text`` are beginnings of words in titles, projects and prompts. ``agent`` is a name such as
    ``"claude"``; ``project`` a folder, its name or a part of its path; ``outcome`` one of ``running failed
    clean changed``; ``since`` a time as of ``time.time()``, a ``datetime``, or a text such as ``7d``,
    ``yesterday`` and ``2026-11-01``. ``folders`` are searched besides the agents' usual ones.

    Only the beginnings of new logs are read. With ``complete``, new and changed logs are read as a whole,
    about 50 MB a second; without it, ``calls`` and the other counts are None until that was done once. Raises
    ``TraceError`` for an agent, outcome, order or time that is not known.
    """
    query = session_query(agent, project, outcome, since, text=text, sort=sort, descending=descending)
    catalog = SessionCatalog(folders)
    try:
        catalog.refresh()
        if complete:
            catalog.read_now()
        return catalog.page(query)
    finally:
        catalog.close()
