"""Brings a corpus up to date with its logs."""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Generator, Iterable, Iterator, Mapping
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from msgspec.structs import replace

from nbtools.core.errors import TraceError
from nbtools.traces.corpus.catalogue import Catalogue, Log
from nbtools.traces.corpus.parallel import TaskFailure, connect, map_files, worker_count
from nbtools.traces.corpus.parts import Batch, NotStored, PartWritten, WritePart, plan_batches
from nbtools.traces.corpus.plan import plan_ingest
from nbtools.traces.corpus.progress import Progress, ProgressCallback
from nbtools.traces.html import render
from nbtools.traces.model import NOWHERE, Problem

_CONTINUE = "The logs read so far are in it; run ingest again to continue."


@dataclass(frozen=True)
class Ingested:
    """The result of an ingest, as paths: ``read`` logs were new or had changed, ``gone`` logs were removed
    from the corpus, ``problems`` could not be read, and keep what the corpus had of them. ``same`` is the
    number of logs that had not changed.
    """

    read: tuple[str, ...]
    gone: tuple[str, ...]
    problems: Mapping[str, Problem]
    same: int
    seconds: float

    def __str__(self) -> str:
        counts = (
            f"{len(self.read):,} logs read, {self.same:,} unchanged, {len(self.gone):,} removed,"
            f" {len(self.problems):,} not readable"
        )
        return f"{counts}, in {self.seconds:.1f} s"

    def __repr__(self) -> str:
        return f"<Ingested: {self}>"

    def _repr_html_(self) -> str:
        problems = [f"{path}: {problem.why}" for path, problem in self.problems.items()]
        return render("ingested", summary=str(self), problems=problems, gone=self.gone)


@dataclass
class Ingest:
    """An ingest into a corpus."""

    catalogue: Catalogue
    read: list[str] = field(default_factory=list)
    problems: dict[str, Problem] = field(default_factory=dict)

    def run(
        self, paths: str | Path | Iterable[str | Path], client: Any, report: ProgressCallback, *, keep: bool
    ) -> Ingested:
        started = time.monotonic()
        with self._translated_errors(), self.catalogue.ingesting(), connect(client) as executor:
            self.catalogue.refresh()
            self._reading = self.catalogue.next_reading()
            damaged = self.catalogue.damaged_parts()
            lost = {log.path for log in self.catalogue.logs.values() if log.part in damaged}
            known = {path: log for path, log in self.catalogue.logs.items() if path not in lost}
            plan = plan_ingest(paths, known, keep=keep)
            self._workers = worker_count(executor)
            sound = [part for name, part in self.catalogue.parts.items() if name not in damaged]
            renewed = plan.to_renew(sound, self._workers)
            lost = {path for path in lost if not Path(path).exists()}
            gone = sorted({*plan.gone, *lost})
            self.catalogue.remove(gone, self._reading)
            self._problem(lost, "The file with its rows is damaged and the log no longer exists.")
            self._problem(plan.odd, "The name of the file is not valid UTF-8; rename the file.")
            unreadable = [replace(log, read=self._reading) for log in plan.changed if log.why]
            self.catalogue.put(unreadable)
            self.problems |= {log.path: Problem(NOWHERE, log.why) for log in unreadable}
            logs = [*(log for log in plan.changed if not log.why), *renewed]
            with closing(self._write_parts(logs, executor)) as outcomes:
                self._report(outcomes, logs, report, started)
            self.catalogue.remove_unused_parts()
        read = {*self.read} - {log.path for log in renewed}
        return Ingested(
            tuple(sorted(read)), tuple(gone), self.problems, len(plan.same), time.monotonic() - started
        )

    def _problem(self, paths: Iterable[str], why: str) -> None:
        self.problems |= {path: Problem(NOWHERE, why) for path in paths}

    def _report(
        self, outcomes: Iterable[Log], logs: list[Log], report: ProgressCallback, started: float
    ) -> None:
        total = sum(log.size for log in logs)
        so_far = 0
        for number, log in enumerate(outcomes, 1):
            so_far += log.size
            report(Progress(number, len(logs), so_far, total, log.path, time.monotonic() - started))

    def _write_parts(self, logs: list[Log], client: Any) -> Generator[Log]:
        """Yields each log when it is in the corpus or has failed."""
        lost: list[Log] = []
        write = WritePart(self.catalogue.folder)
        for batch, outcome in map_files(plan_batches(logs, self._workers), write, client):
            if isinstance(outcome, TaskFailure) and len(batch.logs) > 1:
                lost += batch.logs
            else:
                self._store(batch, outcome)
                yield from batch.logs
        # Where a process died, its logs are tried one by one, so that only the one that kills it fails.
        for batch, outcome in map_files([Batch((log,)) for log in lost], write, client, here=0):
            self._store(batch, outcome)
            yield from batch.logs

    def _store(self, batch: Batch, outcome: PartWritten | NotStored | TaskFailure) -> None:
        if isinstance(outcome, NotStored):
            raise TraceError(f"{outcome.why} {_CONTINUE}")
        if isinstance(outcome, TaskFailure):
            outcome = PartWritten("", {}, {}, {log.path: outcome.why for log in batch.logs})
        logs = []
        for log in batch.logs:
            if (why := outcome.failures.get(log.path)) is None:
                logs.append(replace(log, part=outcome.name, read=self._reading))
            else:
                logs.append(replace(log, key="", why=why, read=self._reading))
                self._problem([log.path], why)
        part = (outcome.name, [log.path for log in batch.logs], outcome.files) if outcome.rows else None
        self.catalogue.put(logs, part)
        self.read += outcome.rows

    @contextmanager
    def _translated_errors(self) -> Iterator[None]:
        """Converts disk and database errors of the corpus to ``TraceError``; finished logs stay in it."""
        try:
            yield
        except (OSError, sqlite3.Error) as error:
            raise TraceError(f"{self.catalogue.folder} cannot be written to: {error}. {_CONTINUE}") from error
