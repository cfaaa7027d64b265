"""A corpus of thousands of sessions in a folder.

It consists of Parquet files for queries, a search index, and a manifest of the logs it was made from.
"""

from __future__ import annotations

import fcntl
import glob
import sqlite3
import time
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from nbtools.core.errors import TraceError
from nbtools.traces.corpus import search_index
from nbtools.traces.corpus.manifest import Manifest, Part
from nbtools.traces.corpus.parallel import TaskFailure, connect, map_files
from nbtools.traces.corpus.parts import LARGEST_PART, DiskFull, MergeParts, PartWritten, WritePart, delete_unused_parts, plan_merges
from nbtools.traces.corpus.plan import Log, Plan, plan_ingest
from nbtools.traces.corpus.progress import Progress, ProgressCallback, progress_display
from nbtools.traces.corpus.search_index import Found, delete_documents
from nbtools.traces.html import render
from nbtools.traces.model import NOWHERE, Problem
from nbtools.traces.optional_libraries import import_library
from nbtools.traces.query.sql import Database, QueryResult
from nbtools.traces.query.tables import TABLES, schema
from nbtools.traces.review.tables import names_table
from nbtools.traces.trace import Trace, load

if TYPE_CHECKING:
    from nbtools.traces.corpus.labels import CorpusLabels


def open_corpus_database(manifest: Manifest, folder: Path) -> Database:
    """Opens a DuckDB database with a view for each of ``TABLES`` over the current parts in ``folder``."""
    db = Database()
    parts = manifest.parts().values()
    for name, kind in TABLES.items():
        db.add_table(f"no_{name}", schema(kind).empty_table() if name != "problems" else _unreadable_logs(manifest))
        db.execute(f"create temp view {name} as from no_{name}{''.join(_unions(folder, name, parts))}")
    return db


def sql_literal(text: str) -> str:
    """Returns the text as an SQL string literal."""
    return "'" + text.replace("'", "''") + "'"


def _unreadable_logs(manifest: Manifest) -> Any:
    rows = [{"why": log.why, "source": log.path, "recovered": 0} for log in manifest.logs().values() if log.why]
    return import_library("pyarrow").Table.from_pylist(rows, schema(Problem))


def _unions(folder: Path, table: str, parts: Iterable[Part]) -> Iterator[str]:
    """Yields the SQL that combines the parts: complete parts together, and each part with outdated logs by itself, without their rows."""
    with_table = [part for part in parts if table in part.tables]
    whole = [part for part in with_table if not part.dead]
    for group in ([whole] if whole else []) + [[part] for part in with_table if part.dead]:
        files = ", ".join(sql_literal(glob.escape(str(folder / part.name / f"{table}.parquet"))) for part in group)
        dead = ", ".join(sql_literal(path) for part in group for path in part.dead)
        condition = f" where source not in ({dead})" if dead else ""
        yield f" union all by name select * from read_parquet([{files}], union_by_name = false){condition}"  # noqa: S608 - quoted


@dataclass(frozen=True)
class Ingested:
    """The result of an ingest, as paths: ``read`` logs were new or had changed, ``gone`` logs were removed from the corpus, ``problems``
    could not be read, and keep what the corpus had of them. ``same`` is the number of logs that had not changed.
    """

    read: tuple[str, ...]
    gone: tuple[str, ...]
    problems: Mapping[str, Problem]
    same: int
    seconds: float

    def __str__(self) -> str:
        counts = f"{len(self.read):,} logs read, {self.same:,} unchanged, {len(self.gone):,} removed, {len(self.problems):,} not readable"
        return f"{counts}, in {self.seconds:.1f} s"

    def __repr__(self) -> str:
        return f"<Ingested: {self}>"

    def _repr_html_(self) -> str:
        problems = [f"{path}: {problem.why}" for path, problem in self.problems.items()]
        return render("ingested", summary=str(self), problems=problems, gone=self.gone)


class Corpus:
    """The corpus in ``folder``, which is created where it does not exist.

    Several processes may read it at once; only one may ingest at a time.

    A corpus in a read-only folder can be queried. Raises ``TraceError`` where the folder cannot be used, or contains a corpus of another
    version.
    """

    def __init__(self, folder: str | Path) -> None:
        self.folder = Path(folder).expanduser().absolute()
        self._parts = self.folder / "parts"
        try:
            self._parts.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise TraceError(f"{self.folder}: {error.strerror or error}.") from error
        self._manifest = Manifest(self.folder)
        self._database: Database | None = None
        self._version: tuple[int, ...] = ()

    def ingest(
        self,
        paths: str | Path | Iterable[str | Path],
        client: Any = None,
        progress: Callable[[Progress], object] | bool | None = None,
        *,
        keep: bool = False,
    ) -> Ingested:
        """Reads the logs at ``paths`` that are new or have changed, and removes the logs whose file no longer exists.

        ``paths``: logs, folders that contain logs at any depth, or a glob pattern.

        ``client``: an executor or a ``dask.distributed.Client`` that does the work, or the address of its scheduler; its workers must see
        the logs and the corpus under the same paths. Without one, a process is used for each processor. ``progress`` is called after each
        log; by default, progress is displayed in notebooks and terminals (True: always, False: never). ``keep``: logs deleted from disk
        stay in the corpus, for agents that delete their old logs. An ingest may be interrupted at any time; finished logs stay in the
        corpus. In a script, call this below ``if __name__ == "__main__":``, because it starts processes.

        Raises ``TraceError`` where the corpus cannot be written to, for example when the disk is full.
        """
        import_library("pyarrow.parquet")
        started = time.monotonic()
        with self._locked(), _translated_errors(self.folder), connect(client) as executor:
            delete_unused_parts(self._parts, self._manifest.parts())
            work = plan_ingest(paths, self._manifest.logs(), keep=keep)
            self._update_manifest(work)
            problems = {log.path: Problem(NOWHERE, log.why) for log in work.logs if log.why}
            problems |= {path: Problem(NOWHERE, "The name of the file is not valid UTF-8; rename the file.") for path in work.not_utf8}
            read: list[str] = []
            with progress_display(progress) as report, closing(self._read(work, executor, report, started)) as outcomes:
                for log, failed in outcomes:
                    if failed is None:
                        read.append(log.path)
                    else:
                        problems[log.path] = Problem(NOWHERE, failed.why)
            self._compact(executor)
        return Ingested(tuple(sorted(read)), work.gone, problems, work.same, time.monotonic() - started)

    def sql(self, query: str) -> QueryResult:
        """Runs a DuckDB query over ``sessions events calls file_changes problems usage context labels``, the tables of all logs.

        ``source`` is the log of a row, ``ref.line`` the line in it; ``open`` loads that log. Raises ``TraceError`` for an invalid query,
        and where DuckDB or pyarrow is not installed.
        """
        while True:
            version = self._manifest.version()
            if self._database is None or version != self._version:
                self._database, self._version = open_corpus_database(self._manifest, self._parts), version
            if names_table(query, "labels"):
                self._database.add_table("labels", self._labels.table(self._database))
            try:
                return self._database.query(query)
            except TraceError:
                if self._manifest.version() == version:
                    raise  # otherwise an ingest has removed what was being read

    def search(self, text: str, limit: int = 50) -> tuple[Found, ...]:
        """Returns events and calls that contain these words, most recently read logs first.

        The query syntax is that of ``Trace.search``.
        """
        return search_index.find(self._manifest, self._parts, text, limit)

    @property
    def sessions(self) -> QueryResult:
        """All sessions, in the order in which they began."""
        return self.sql("select * from sessions order by started, source, id")

    def open(self, where: str | Path | Found) -> Trace:
        """Loads the log of a session (its id), of a row (its ``source``) or of a search hit.

        Raises ``TraceError`` where there is no such session, several logs contain it, or the log no longer exists.
        """
        return load(self._source(where))

    @cached_property
    def _labels(self) -> CorpusLabels:
        from nbtools.traces.corpus.labels import CorpusLabels  # noqa: PLC0415 - loaded on first use

        return CorpusLabels(self.folder)

    def close(self) -> None:
        self._manifest.close()
        self._database = None

    def __repr__(self) -> str:
        return f"<Corpus of {self._manifest.counts()[0]:,} logs in {self.folder}>"

    def _repr_html_(self) -> str:
        """Omits what needs a query where DuckDB is not installed."""
        logs, size = self._manifest.counts()
        facts = {"logs": f"{logs:,}, {size / 1e6:,.1f} MB"}
        unread = [f"{log.path}: {log.why}" for log in self._manifest.logs().values() if log.why]
        with suppress(TraceError):
            facts |= self._counts()
        return render("corpus", folder=self.folder, facts=facts, unread=unread)

    def _counts(self) -> dict[str, str]:
        ((sessions, first, last),) = self.sql("select count(*), min(started), max(coalesce(ended, started)) from sessions").fetchall()
        ((calls,),) = self.sql("select count(*) from calls").fetchall()
        ((problems,),) = self.sql("select count(*) from problems").fetchall()
        formats = self.sql("select format, count(*) as n from sessions group by format order by n desc, format").fetchall()
        return {
            "sessions": f"{sessions:,}",
            "calls": f"{calls:,}",
            "formats": ", ".join(f"{name} {number:,}" for name, number in formats),
            "from": "" if first is None else f"{first:%Y-%m-%d} to {last:%Y-%m-%d}",
            "problems": f"{problems:,}",
        }

    def _source(self, where: str | Path | Found) -> str:
        if isinstance(where, Found):
            return where.source
        if isinstance(where, Path) or self._manifest.has(where):
            return str(where)
        query = f"select distinct source from sessions where id = {sql_literal(where)} order by source"  # noqa: S608 - quoted
        found = self.sql(query).fetchall()
        if len(found) != 1:
            several = f"{len(found)} logs have a session {where}. Open one of these: {', '.join(source for (source,) in found)}."
            raise TraceError(several if found else f"{self.folder} has no session {where}.")
        return str(found[0][0])

    def _update_manifest(self, work: Plan) -> None:
        with self._manifest.transaction():
            self._manifest.drop(work.gone)
            for log in work.logs:
                if log.why:
                    self._manifest.put(log, {}, "")

    def _read(self, work: Plan, client: Any, report: ProgressCallback, started: float) -> Generator[tuple[Log, TaskFailure | None]]:
        logs = [log for log in work.logs if not log.why]
        total = sum(log.size for log in logs)
        so_far = 0
        with closing(map_files(logs, WritePart(str(self._parts)), client)) as outcomes:
            for number, (log, outcome) in enumerate(outcomes, 1):
                yield log, self._store_outcome(log, outcome)
                so_far += log.size
                report(Progress(number, len(logs), so_far, total, log.path, time.monotonic() - started))

    def _store_outcome(self, log: Log, outcome: PartWritten | DiskFull | TaskFailure) -> TaskFailure | None:
        if isinstance(outcome, DiskFull):
            raise OSError(outcome.why)
        if isinstance(outcome, TaskFailure):
            self._store_failure(log, outcome)
            return outcome
        self._store(log, outcome.rows)
        return None

    def _store(self, log: Log, rows: Mapping[str, int]) -> None:
        with self._manifest.transaction():
            self._manifest.put(log, rows, log.key)
            search_index.index_part(self._manifest, self._parts, log.key)
        delete_documents(self._parts / log.key)

    def _store_failure(self, log: Log, failed: TaskFailure) -> None:
        """Stores the log without a key, so that the next ingest tries again."""
        if not self._manifest.has_rows(log.path):
            with self._manifest.transaction():
                self._manifest.put(replace(log, key="", why=failed.why), {}, "")

    def _compact(self, client: Any) -> None:
        for merged, outcome in map_files(plan_merges(self._manifest.parts()), MergeParts(str(self._parts)), client, task=LARGEST_PART):
            if not isinstance(outcome, TaskFailure):
                with self._manifest.transaction():
                    self._manifest.move(merged.logs, outcome)
        with self._manifest.transaction():
            self._manifest.remove_unused_entries()
            search_index.rebuild_if_outdated(self._manifest)
        self._manifest.checkpoint()
        delete_unused_parts(self._parts, self._manifest.parts())

    @contextmanager
    def _locked(self) -> Iterator[None]:
        try:
            lock = (self.folder / "lock").open("w")
        except OSError as error:
            raise TraceError(f"{self.folder} cannot be written to: {error.strerror or error}.") from error
        with lock:
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except OSError as error:
                raise TraceError(f"{self.folder} is locked by another ingest. Try again when it has finished.") from error
            yield


@contextmanager
def _translated_errors(folder: Path) -> Iterator[None]:
    """Converts disk and database errors of the corpus to ``TraceError``; finished logs stay in it."""
    try:
        yield
    except (OSError, sqlite3.Error) as error:
        raise TraceError(
            f"{folder} cannot be written to: {error}. The logs read so far are in it; run ingest again to continue."
        ) from error
