"""A log, read: its sessions, events, calls and changed files."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

from nbtools.core.errors import TraceError
from nbtools.traces.facts import facts_of
from nbtools.traces.format import NOTHING_KNOWN, Reading, reading
from nbtools.traces.many import readings, told_by
from nbtools.traces.model import Call, Event, FileChange, Problem, Row, Session
from nbtools.traces.replaying import write_notebook
from nbtools.traces.rows import Rows
from nbtools.traces.search import Hit, Searcher
from nbtools.traces.sql import Answer, Database, database
from nbtools.traces.uncollected import uncollected


class Trace:
    """What logs say happened.  Lists are in reading order; ``problems`` are the bytes that could not be read."""

    def __init__(self, readings: Sequence[Reading], told: Iterable[Iterable[Row]] | None = None) -> None:
        """``told`` are the rows of each, where somebody has read them."""
        self.readings = tuple(readings)
        self.sessions: Rows[Session] = Rows(Session)
        self.events: Rows[Event] = Rows(Event)
        self.calls: Rows[Call] = Rows(Call)
        self.file_changes: Rows[FileChange] = Rows(FileChange)
        self.problems: Rows[Problem] = Rows(Problem)
        homes: dict[type, Any] = {
            Session: self.sessions.append,
            Event: self.events.append,
            Call: self.calls.append,
            FileChange: self.file_changes.append,
            Problem: self.problems.append,
        }
        with uncollected():
            for one, rows in zip(self.readings, told or map(Reading.rows, self.readings), strict=True):
                first = len(self.calls)
                for row in rows:
                    homes[type(row)](row)
                self.calls[first:] = sorted(self.calls[first:], key=lambda call: call.seq)
                for table in self._tables.values():
                    table.read_from(one)

    def facts(self) -> dict[str, Any]:
        """Counts of one log, by the names and rules of its format.  Raises ``TraceError`` for several logs."""
        if len(self.readings) != 1:
            raise TraceError("facts() counts one log; load each by itself.")
        return facts_of(self, Trace([self.readings[0].strict()]) if self.problems else self)

    def sql(self, query: str) -> Answer:
        """What DuckDB answers over ``sessions events calls file_changes problems``, whose columns are ``tables.COLUMNS``.

        Raises ``TraceError`` for a query that it does not understand, and where DuckDB or pyarrow is not installed.
        """
        return self._database.ask(query)

    def search(self, text: str, limit: int = 50) -> tuple[Hit, ...]:
        """The first events and calls with these words, in reading order; what is written like code is found as it is written.

        ``"two words"`` stand one after the other, ``begin*`` is how a word begins.  Upper and lower case are the same.
        """
        return self.searcher.find(text, limit)

    def to_notebook(self, path: str | Path) -> Path:
        """Writes a notebook that tells what happened, each call a cell that can be run, with the recorded result as its output.

        Returns where: never over an existing file, but under the next free name beside it.
        """
        return write_notebook(self, path)

    @cached_property
    def _database(self) -> Database:
        return database(self._tables)

    @cached_property
    def searcher(self) -> Searcher:
        """What ``search`` asks; its index grows when it is first asked."""
        return Searcher(self.events, self.calls)

    @property
    def _tables(self) -> dict[str, Rows[Any]]:
        names = ("sessions", "events", "calls", "file_changes", "problems")
        return {name: getattr(self, name) for name in names}

    def __repr__(self) -> str:
        return f"<Trace of {len(self.sessions)} sessions, {len(self.calls)} calls>"


def load(path: str | Path) -> Trace:
    """The log at ``path`` with the files that belong to it.

    Raises ``TraceError`` where it cannot be opened, its format is not known, or the reader of its format knows nothing of what is in it.
    """
    trace = Trace([reading(Path(path).expanduser())])
    if any(problem.why == NOTHING_KNOWN for problem in trace.problems):
        raise TraceError(f"{path} is read as {trace.readings[0].format.name}, but {NOTHING_KNOWN}: it may be empty, or of another version.")
    return trace


def load_many(paths: str | Path | Iterable[str | Path], *, workers: int = 1) -> Trace:
    """Several logs as one: paths, or a glob pattern (``**`` for folders in folders).  What belongs to another of them is not read again.

    ``workers``: so many processes read them, which is worth their start from some hundred megabytes on.  A script calls this below
    ``if __name__ == "__main__":``.
    """
    found = readings(paths)
    return Trace(found, told_by(workers, found) if min(workers, len(found)) > 1 else None)


def stream(path: str | Path) -> Iterator[Row]:
    """The same rows one by one, none of them kept: for a log that is larger than memory.  Calls come when their result is known."""
    return reading(Path(path).expanduser()).rows()
