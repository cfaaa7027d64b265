"""Loads session logs: one, or several in parallel processes."""

from __future__ import annotations

import glob
from collections.abc import Iterable, Iterator
from functools import cached_property
from pathlib import Path
from typing import Any

from nbtools.core.errors import TraceError
from nbtools.traces.deprecated_methods import DeprecatedMethods
from nbtools.traces.export_methods import ExportMethods
from nbtools.traces.formats import open_log
from nbtools.traces.model import Row
from nbtools.traces.parallel_reading import read_in_processes
from nbtools.traces.query.facts import facts_of
from nbtools.traces.query.sql import Database, QueryResult, open_database
from nbtools.traces.reader import NO_KNOWN_STEPS, LogFile
from nbtools.traces.reviews.tables import review_tables
from nbtools.traces.rows import Rows
from nbtools.traces.trace_rows import TraceRows


def open_logs(paths: str | Path | Iterable[str | Path]) -> list[LogFile]:
    """Opens each log once, in the given order.
    A path that occurs twice, or belongs to another of the logs, is not opened again.

    Raises ``TraceError`` for a path that cannot be opened or is in no known format,
    unless it belongs to another log.
    """
    if isinstance(paths, str | Path):
        pattern = Path(paths).expanduser()
        # an existing path is opened as it is, even if it looks like a pattern
        paths = [pattern] if pattern.exists() else sorted(glob.glob(str(pattern), recursive=True))  # noqa: PTH207 - it may be absolute
    logs: dict[Path, LogFile | TraceError] = {}
    for path in paths:
        here = Path(path).expanduser()
        if here.resolve() not in logs:
            try:
                logs[here.resolve()] = open_log(here)
            except TraceError as error:
                logs[here.resolve()] = error
    owners: dict[Path, Path] = {}
    for path, log in logs.items():
        if path not in owners and isinstance(log, LogFile):
            owners |= dict.fromkeys((file.resolve() for file in log.source.files[1:]), path)
    opened = []
    for path, log in logs.items():
        if path in owners:
            continue
        if isinstance(log, TraceError):
            raise log
        opened.append(log)
    return opened


class Trace(TraceRows, ExportMethods, DeprecatedMethods):
    """Session logs loaded into memory: rows, SQL and search."""

    def facts(self) -> dict[str, Any]:
        """Returns counts for a single log, by the names and rules of its format.
        Raises ``TraceError`` for several logs.
        """
        if len(self.readings) != 1:
            raise TraceError(
                f"facts() counts a single log, and this trace has {len(self.readings)}. Load each log by"
                " itself."
            )
        return facts_of(self, TraceRows([self.readings[0].strict()]) if self.problems else self)

    def sql(self, query: str) -> QueryResult:
        """Runs a DuckDB query over ``sessions events calls file_changes problems usage context samples
        metrics labels signals``.

        ``tables.COLUMNS`` lists their columns.

        Raises ``TraceError`` for an invalid query, and where DuckDB or pyarrow is not installed.
        """
        for name, table in review_tables(self, query):
            self._database.add_table(name, table)
        return self._database.query(query)

    @cached_property
    def _database(self) -> Database:
        more: dict[str, Rows[Any]] = {
            "context": self.context,
            "samples": self.samples,
            "metrics": self.metrics,
        }
        return open_database({**self._tables, **more})

    def __repr__(self) -> str:
        return f"<Trace of {len(self.sessions)} sessions, {len(self.calls)} calls>"


def load(path: str | Path) -> Trace:
    """Loads the log at ``path`` with the files that belong to it.

    Raises ``TraceError`` where it cannot be opened, its format is not known,
    or it contains nothing that the reader of its format knows.
    """
    trace = Trace([open_log(Path(path).expanduser())])
    if any(problem.why == NO_KNOWN_STEPS for problem in trace.problems):
        raise TraceError(
            f"{path} is read as {trace.readings[0].format.name}, but {NO_KNOWN_STEPS}. It may be empty, or of"
            " another version."
        )
    return trace


def load_many(paths: str | Path | Iterable[str | Path], *, workers: int = 1) -> Trace:
    """Loads several logs as one trace: paths, or a glob pattern (``**`` matches folders at any depth).

    A file that belongs to another log is not loaded twice.

    ``workers`` is the number of processes that read; more than one pays off from some hundred megabytes on. A
    script must then call this below ``if __name__ == "__main__":``.
    """
    found = open_logs(paths)
    return Trace(found, read_in_processes(workers, found) if min(workers, len(found)) > 1 else None)


def stream(path: str | Path) -> Iterator[Row]:
    """Yields the same rows one by one without storing them, for a log that is larger than memory.
    Calls come when their result is known.
    """
    return open_log(Path(path).expanduser()).rows()
