"""Thousands of sessions in a folder: Parquet for queries, an index for search, and a list of what they were made of."""

from __future__ import annotations

import fcntl
import sqlite3
import time
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from nbtools.core.errors import TraceError
from nbtools.traces.corpus import finding
from nbtools.traces.corpus.documents import forget
from nbtools.traces.corpus.finding import Found
from nbtools.traces.corpus.manifest import Manifest
from nbtools.traces.corpus.mapping import Failed, connected, map_files
from nbtools.traces.corpus.merging import LARGEST, Merge, to_merge
from nbtools.traces.corpus.parts import Full, Write, Written, swept
from nbtools.traces.corpus.planning import Log, Plan, plan
from nbtools.traces.corpus.progress import Progress, Told, watched
from nbtools.traces.corpus.shown import corpus_html, ingested_html
from nbtools.traces.corpus.views import database, quoted
from nbtools.traces.libraries import library
from nbtools.traces.model import NOWHERE, Problem
from nbtools.traces.sql import Answer, Database
from nbtools.traces.trace import Trace, load


@dataclass(frozen=True)
class Ingested:
    """What an ingest did, in paths: ``read`` is new in the corpus or has changed, ``gone`` is no longer in it, ``problems`` could not be
    read; of those, what was in the corpus before stays.  ``same`` logs were as before.
    """

    read: tuple[str, ...]
    gone: tuple[str, ...]
    problems: Mapping[str, Problem]
    same: int
    seconds: float

    def __str__(self) -> str:
        counts = f"{len(self.read):,} logs read, {self.same:,} as before, {len(self.gone):,} gone, {len(self.problems):,} not readable"
        return f"{counts}, in {self.seconds:.1f} s"

    def __repr__(self) -> str:
        return f"<Ingested: {self}>"

    def _repr_html_(self) -> str:
        return ingested_html(str(self), self.problems, self.gone)


class Corpus:
    """The corpus in ``folder``, which is made where there is none.  Several may read it at once; one at a time may ingest.

    What cannot be written to can be asked.  Raises ``TraceError`` where the folder cannot be used, or is a corpus of another version.
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
        """Reads the logs at ``paths`` that are new or have changed, and forgets all whose file is gone.

        ``paths``: logs, folders in which they are at any depth, or a glob pattern.

        ``client``: an executor or a ``dask.distributed.Client`` that does the work, or the address of its scheduler; the workers see the
        logs and the corpus by the same paths.  Without one, as many processes as there are processors.  ``progress`` is called with each
        log that is done; by default a bar or a line shows it where somebody looks, True: always, False: never.  ``keep``: what is gone from
        disk stays in the corpus, for agents that clean up after themselves.  It may be stopped at any time: what was done is done.  In a
        script, call it below ``if __name__ == "__main__":``, as everything that starts processes.

        Raises ``TraceError`` where the corpus cannot be written to, as when the disk is full.
        """
        library("pyarrow.parquet")
        started = time.monotonic()
        with self._alone(), _told(self.folder), connected(client) as executor:
            swept(self._parts, self._manifest.parts())
            todo = plan(paths, self._manifest.logs(), keep=keep)
            self._forget(todo)
            problems = {log.path: Problem(NOWHERE, log.why) for log in todo.logs if log.why}
            problems |= {path: Problem(NOWHERE, "its name is no UTF-8; rename it.") for path in todo.odd}
            read: list[str] = []
            with watched(progress) as tell, closing(self._read(todo, executor, tell, started)) as outcomes:
                for log, failed in outcomes:
                    if failed is None:
                        read.append(log.path)
                    else:
                        problems[log.path] = Problem(NOWHERE, failed.why)
            self._tidy(executor)
        return Ingested(tuple(sorted(read)), todo.gone, problems, todo.same, time.monotonic() - started)

    def sql(self, query: str) -> Answer:
        """What DuckDB answers over ``sessions events calls file_changes problems``: the tables of a trace, of all logs.

        ``source`` is the log that a row is from, ``ref.line`` the line in it; ``open`` goes there.
        Raises ``TraceError`` for a query that it does not understand, and where DuckDB or pyarrow is not installed.
        """
        while True:
            version = self._manifest.version()
            if self._database is None or version != self._version:
                self._database, self._version = database(self._manifest, self._parts), version
            try:
                return self._database.ask(query)
            except TraceError:
                if self._manifest.version() == version:
                    raise  # and else an ingest has taken away what was being read

    def search(self, text: str, limit: int = 50) -> tuple[Found, ...]:
        """Events and calls with these words, those of the logs that were read last first; the query is written as for a trace."""
        return finding.find(self._manifest, self._parts, text, limit)

    @property
    def sessions(self) -> Answer:
        """All of them, in the order they began."""
        return self.sql("select * from sessions order by started, source, id")

    def open(self, where: str | Path | Found) -> Trace:
        """The log of a session (its id), of a row (its ``source``) or of what was found, read now.

        Raises ``TraceError`` where there is no such session, several logs have one, or the log is gone since.
        """
        return load(self._source(where))

    def close(self) -> None:
        self._manifest.close()
        self._database = None

    def __repr__(self) -> str:
        return f"<Corpus of {self._manifest.counts()[0]:,} logs in {self.folder}>"

    def _repr_html_(self) -> str:
        """Without what needs a query where DuckDB is not installed."""
        logs, size = self._manifest.counts()
        facts = {"logs": f"{logs:,}, {size / 1e6:,.1f} MB"}
        unread = [(log.path, log.why) for log in self._manifest.logs().values() if log.why]
        with suppress(TraceError):
            facts |= self._asked()
        return corpus_html(self.folder, facts, unread)

    def _asked(self) -> dict[str, str]:
        ((sessions, first, last),) = self.sql("select count(*), min(started), max(coalesce(ended, started)) from sessions").fetchall()
        ((calls,),) = self.sql("select count(*) from calls").fetchall()
        ((problems,),) = self.sql("select count(*) from problems").fetchall()
        kinds = self.sql("select format, count(*) as n from sessions group by format order by n desc, format").fetchall()
        return {
            "sessions": f"{sessions:,}",
            "calls": f"{calls:,}",
            "formats": ", ".join(f"{name} {number:,}" for name, number in kinds),
            "from": "" if first is None else f"{first:%Y-%m-%d} to {last:%Y-%m-%d}",
            "problems": f"{problems:,}",
        }

    def _source(self, where: str | Path | Found) -> str:
        if isinstance(where, Found):
            return where.source
        if isinstance(where, Path) or self._manifest.has(where):
            return str(where)
        query = f"select distinct source from sessions where id = {quoted(where)} order by source"  # noqa: S608 - quoted
        found = self.sql(query).fetchall()
        if len(found) != 1:
            several = f"{len(found)} logs have a session {where}: open one of {', '.join(source for (source,) in found)}."
            raise TraceError(several if found else f"There is no session {where} in {self.folder}.")
        return str(found[0][0])

    def _forget(self, todo: Plan) -> None:
        with self._manifest.change():
            self._manifest.drop(todo.gone)
            for log in todo.logs:
                if log.why:
                    self._manifest.put(log, {}, "")

    def _read(self, todo: Plan, client: Any, tell: Told, started: float) -> Generator[tuple[Log, Failed | None]]:
        logs = [log for log in todo.logs if not log.why]
        total = sum(log.size for log in logs)
        so_far = 0
        with closing(map_files(logs, Write(str(self._parts)), client)) as outcomes:
            for number, (log, outcome) in enumerate(outcomes, 1):
                yield log, self._taken(log, outcome)
                so_far += log.size
                tell(Progress(number, len(logs), so_far, total, log.path, time.monotonic() - started))

    def _taken(self, log: Log, outcome: Written | Full | Failed) -> Failed | None:
        if isinstance(outcome, Full):
            raise OSError(outcome.why)
        if isinstance(outcome, Failed):
            self._failed(log, outcome)
            return outcome
        self._take(log, outcome.rows)
        return None

    def _take(self, log: Log, rows: Mapping[str, int]) -> None:
        with self._manifest.change():
            self._manifest.put(log, rows, log.key)
            finding.learn(self._manifest, self._parts, log.key)
        forget(self._parts / log.key)

    def _failed(self, log: Log, failed: Failed) -> None:
        """It has no key, so that the next ingest tries again."""
        if not self._manifest.has_rows(log.path):
            with self._manifest.change():
                self._manifest.put(replace(log, key="", why=failed.why), {}, "")

    def _tidy(self, client: Any) -> None:
        for merged, outcome in map_files(to_merge(self._manifest.parts()), Merge(str(self._parts)), client, task=LARGEST):
            if not isinstance(outcome, Failed):
                with self._manifest.change():
                    self._manifest.move(merged.logs, outcome)
        with self._manifest.change():
            self._manifest.tidy()
            finding.tidy(self._manifest)
        self._manifest.settle()
        swept(self._parts, self._manifest.parts())

    @contextmanager
    def _alone(self) -> Iterator[None]:
        try:
            lock = (self.folder / "lock").open("w")
        except OSError as error:
            raise TraceError(f"{self.folder} cannot be written to: {error.strerror or error}.") from error
        with lock:
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except OSError as error:
                raise TraceError(f"{self.folder} is being fed by another ingest; wait for it.") from error
            yield


@contextmanager
def _told(folder: Path) -> Iterator[None]:
    """What the disk says of the corpus itself, in our words; what was done before stays."""
    try:
        yield
    except (OSError, sqlite3.Error) as error:
        raise TraceError(f"{folder} cannot be written to: {error}.  What was read so far is in it; ingest again.") from error
