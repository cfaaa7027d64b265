"""A corpus of thousands of sessions in a folder.

It consists of parts (Parquet files for queries and a search index) and a catalogue of the logs they were made
from.
"""

from __future__ import annotations

import glob
import re
import warnings
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from nbtools.core.errors import TraceError
from nbtools.traces.corpus.catalogue import DAMAGED, PARTS, Catalogue
from nbtools.traces.corpus.ingest import Ingest, Ingested
from nbtools.traces.corpus.progress import Progress, progress_display
from nbtools.traces.corpus.repeats import add_views
from nbtools.traces.corpus.search_index import Found, SearchIndex
from nbtools.traces.html import render
from nbtools.traces.model import Problem
from nbtools.traces.optional_libraries import import_library
from nbtools.traces.query.sql import Database, QueryResult
from nbtools.traces.query.tables import CORPUS_TABLES, REVIEW_TABLES, schema
from nbtools.traces.reviews.tables import names_table
from nbtools.traces.trace import Trace, load

if TYPE_CHECKING:
    from nbtools.traces.corpus.labels import CorpusLabels

T = TypeVar("T")
_PART_FILE = re.compile(PARTS + r"/[0-9a-f]{32}/")
_URL = re.compile(r"[a-z][a-z0-9+.-]+:/", re.IGNORECASE)
"""The beginning of an address such as ``s3://``, of which ``Path`` removes the second slash."""


def open_corpus_database(catalogue: Catalogue) -> Database:
    """Opens a DuckDB database with a view for each table over the current parts, which has each record once;
    ``all_NAME`` has all.
    """
    db = Database()
    for name, kind in CORPUS_TABLES.items():
        db.add_internal_table(
            f"no_{name}", schema(kind).empty_table() if name != "problems" else _unreadable_logs(catalogue)
        )
        db.execute(
            f"create temp view all_{name} as from internal.no_{name}{''.join(_unions(catalogue, name))}"
        )
    add_views(db)
    db.add_table("labels", schema(REVIEW_TABLES["labels"]).empty_table())
    return db


def _unreadable_logs(catalogue: Catalogue) -> Any:
    rows = [
        {"why": log.why, "source": path, "recovered": 0}
        for path, log in sorted(catalogue.logs.items())
        if log.why
    ]
    return import_library("pyarrow").Table.from_pylist(rows, schema(Problem))


def _unions(catalogue: Catalogue, table: str) -> Iterator[str]:
    """Yields the SQL that combines the parts:
    complete parts together, and each part with outdated logs by itself, without their rows.
    """
    file = f"{table}.parquet"
    parts = [part for part in catalogue.parts.values() if file in part.files]
    whole = [part for part in parts if not part.outdated]
    for group in ([whole] if whole else []) + [[part] for part in parts if part.outdated]:
        paths = (str(catalogue.folder / PARTS / part.name / file) for part in group)
        files = ", ".join(sql_literal(glob.escape(path)) for path in paths)
        outdated = ", ".join(sql_literal(path) for part in group for path in part.outdated)
        condition = f" where source not in ({outdated})" if outdated else ""
        yield f" union all by name select * from read_parquet([{files}], union_by_name = false){condition}"  # noqa: S608 - quoted


def sql_literal(text: str) -> str:
    """Returns the text as an SQL string literal."""
    return "'" + text.replace("'", "''") + "'"


class Corpus:
    """The corpus in a folder, which is created where it does not exist.

    Several processes may read it and ingest into it at once.
    A corpus that cannot be written to can be queried. ``machine`` has no effect and is deprecated.

    Raises ``TraceError`` where the folder cannot be used, or contains a corpus of another version.
    """

    def __init__(self, folder: str | Path, *, machine: str | None = None) -> None:
        if _URL.match(str(folder)):
            raise TraceError(
                "A corpus is a folder, not an address. Copy one from an object store into a folder, for"
                " example with aws s3 sync s3://BUCKET/PREFIX FOLDER, or with rclone sync, and open that."
            )
        if machine is not None:
            warnings.warn("Corpus(…, machine=…) has no effect.", DeprecationWarning, stacklevel=2)
        self.folder = Path(folder).expanduser().absolute()
        self._catalogue = Catalogue(self.folder)
        self._index = SearchIndex(self._catalogue)
        self._database: Database | None = None
        self._version = -1

    def ingest(
        self,
        paths: str | Path | Iterable[str | Path],
        client: Any = None,
        progress: Callable[[Progress], object] | bool | None = None,
        *,
        keep: bool = False,
    ) -> Ingested:
        """Reads the logs at ``paths`` that are new or have changed,
        and removes the logs whose file no longer exists.

        Your notes, labels and verdicts about sessions of the corpus are copied into it.

        ``paths``: logs, folders that contain logs at any depth, or a glob pattern.

        ``client``: an executor or a ``dask.distributed.Client`` that does the work, or the address of its
        scheduler; its workers must see the logs and the corpus under the same paths. Without one, a process
        is used for each processor. ``progress`` is called after each log; by default, progress is displayed
        in notebooks and terminals (True: always, False: never). ``keep``: logs deleted from disk stay in the
        corpus, for agents that delete their old logs. An ingest may be interrupted at any time; finished logs
        stay in the corpus. In a script, call this below ``if __name__ == "__main__":``, because it starts
        processes.

        Raises ``TraceError`` where the corpus cannot be written to, for example when the disk is full.
        """
        import_library("pyarrow.parquet")
        with progress_display(progress) as report:
            made = Ingest(self._catalogue).run(paths, client, report, keep=keep)
        self._while_current(lambda: self._labels.copy_new(self._current_database))
        return made

    def sql(self, query: str) -> QueryResult:
        """Runs a DuckDB query over the tables of all logs, those of ``Trace.sql``.

        ``source`` is the log of a row, ``ref.line`` the line in it; ``open`` loads that log. Raises
        ``TraceError`` for an invalid query, and where DuckDB or pyarrow is not installed.
        """

        def read() -> QueryResult:
            database = self._current_database()
            if names_table(query, "labels"):
                database.add_table("labels", self._labels.table(database))
            return database.query(query)

        try:
            return self._while_current(read)
        except TraceError as error:
            damage = f"\n{DAMAGED}" if _PART_FILE.search(str(error)) else ""
            raise TraceError(f"{error}{damage}") from error

    def search(self, text: str, limit: int = 50) -> tuple[Found, ...]:
        """Returns events and calls that contain these words, most recently read logs first.

        The query syntax is that of ``Trace.search``.
        """
        return self._while_current(lambda: self._index.find(text, limit))

    @property
    def sessions(self) -> QueryResult:
        """All sessions, in the order in which they began."""
        return self.sql("select * from sessions order by started, source, id")

    def open(self, where: str | Path | Found) -> Trace:
        """Loads the log of a session (its id), of a row (its ``source``) or of a search hit.

        Raises ``TraceError`` where there is no such session, several logs contain it,
        or the log no longer exists.
        """
        return load(self._source(where))

    def close(self) -> None:
        self._index.close()
        self._catalogue.close()
        self._database = None

    def __repr__(self) -> str:
        return f"<Corpus of {len(self._catalogue.sizes):,} logs in {self.folder}>"

    def _repr_html_(self) -> str:
        """Omits what needs a query where DuckDB is not installed."""
        self._catalogue.refresh()
        sizes = self._catalogue.sizes
        facts = {"logs": f"{len(sizes):,}, {sum(sizes) / 1e6:,.1f} MB"}
        unread = [f"{path}: {log.why}" for path, log in sorted(self._catalogue.logs.items()) if log.why]
        with suppress(TraceError):
            facts |= self._counts()
        return render("corpus", folder=str(self.folder), facts=facts, unread=unread)

    @cached_property
    def _labels(self) -> CorpusLabels:
        from nbtools.traces.corpus.labels import CorpusLabels  # noqa: PLC0415 - loaded on first use

        return CorpusLabels(self.folder)

    def _while_current(self, read: Callable[[], T]) -> T:
        """Returns what ``read`` returns;
        calls it again where an ingest has meanwhile removed what was being read.
        """
        self._catalogue.refresh()
        while True:
            version = self._catalogue.version
            try:
                return read()
            except TraceError:
                self._catalogue.refresh()
                if self._catalogue.version == version:
                    raise

    def _current_database(self) -> Database:
        version = self._catalogue.version
        if self._database is None or version != self._version:
            self._database, self._version = open_corpus_database(self._catalogue), version
        return self._database

    def _counts(self) -> dict[str, str]:
        ((sessions, first, last),) = self.sql(
            "select count(*), min(started), max(coalesce(ended, started)) from sessions"
        ).fetchall()
        ((calls,),) = self.sql("select count(*) from calls").fetchall()
        ((problems,),) = self.sql("select count(*) from problems").fetchall()
        formats = self.sql(
            "select format, count(*) as n from sessions group by format order by n desc, format"
        ).fetchall()
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
        self._catalogue.refresh()
        if isinstance(where, Path) or where in self._catalogue.logs:
            return str(where)
        query = f"select distinct source from sessions where id = {sql_literal(where)} order by source"  # noqa: S608 - quoted
        found = self.sql(query).fetchall()
        if len(found) != 1:
            several = (
                f"{len(found)} logs have a session {where}. Open one of these:"
                f" {', '.join(source for (source,) in found)}."
            )
            raise TraceError(several if found else f"{self.folder} has no session {where}.")
        return str(found[0][0])
