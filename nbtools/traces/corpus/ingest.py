"""Brings a corpus up to date with its logs."""

from __future__ import annotations

import re
import sqlite3
import time
from collections.abc import Generator, Iterable, Iterator, Mapping
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from nbtools.core.errors import TraceError
from nbtools.traces.corpus.manifest import Change, Entry, Manifest, PartFiles, removed
from nbtools.traces.corpus.parallel import TaskFailure, connect, map_files, worker_count
from nbtools.traces.corpus.parts import (
    LARGEST_PART,
    Batch,
    MergeParts,
    NotStored,
    PartWritten,
    WritePart,
    plan_batches,
    plan_merges,
)
from nbtools.traces.corpus.plan import Log, Plan, plan_ingest
from nbtools.traces.corpus.progress import Progress, ProgressCallback
from nbtools.traces.corpus.storage import PARTS, Storage
from nbtools.traces.html import render
from nbtools.traces.model import NOWHERE, Problem

_PART = re.compile(PARTS + r"/\.?([0-9a-f]{32})/")
_DAY = 24 * 3600
"""Age in seconds from which on an unknown part was left by a process that was stopped:
its writer would have listed it.
"""
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
    storage: Storage
    manifest: Manifest
    read: list[str] = field(default_factory=list)
    problems: dict[str, Problem] = field(default_factory=dict)

    def run(
        self, paths: str | Path | Iterable[str | Path], client: Any, report: ProgressCallback, *, keep: bool
    ) -> Ingested:
        started = time.monotonic()
        with self._translated_errors(), connect(client) as executor:
            self.manifest.refresh()
            self._reading = self.manifest.next_reading()
            damaged = self._damaged_logs()
            logs = self.manifest.logs()
            known = {path: entry.log for path, entry in logs.items() if path not in damaged}
            work = plan_ingest(paths, known, keep=keep)
            lost = {path for path in damaged if path in logs and not Path(path).exists()}
            gone = sorted({*work.gone, *lost})
            self._start(work, [logs[path] for path in gone])
            self._problem(lost, "The file with its rows is damaged and the log no longer exists.")
            readable = [log for log in work.logs if not log.why]
            with closing(self._write_parts(readable, executor)) as outcomes:
                self._report(outcomes, work, report, started)
            self._merge(executor)
            self._delete_unused()
        return Ingested(
            tuple(sorted(self.read)), tuple(gone), self.problems, work.same, time.monotonic() - started
        )

    def _start(self, work: Plan, gone: list[Entry]) -> None:
        """Records the logs that are gone, and those that no reader recognises."""
        unreadable = [self._entry(log) for log in work.logs if log.why]
        if gone or unreadable:
            self.manifest.add(Change([*removed(gone, self._reading), *unreadable]))
        for entry in unreadable:
            self._problem([entry.path], entry.why)
        self._problem(work.not_utf8, "The name of the file is not valid UTF-8; rename the file.")

    def _problem(self, paths: Iterable[str], why: str) -> None:
        self.problems |= {path: Problem(NOWHERE, why) for path in paths}

    def _entry(self, log: Log, **other: Any) -> Entry:
        return Entry(
            log.path,
            self._reading,
            log.files,
            log.key,
            log.size,
            log.format,
            log.why,
            **other,
        )

    def _report(self, outcomes: Iterable[Log], work: Plan, report: ProgressCallback, started: float) -> None:
        logs = [log for log in work.logs if not log.why]
        total = sum(log.size for log in logs)
        so_far = 0
        for number, log in enumerate(outcomes, 1):
            so_far += log.size
            report(Progress(number, len(logs), so_far, total, log.path, time.monotonic() - started))

    def _write_parts(self, logs: list[Log], client: Any) -> Generator[Log]:
        """Yields each log when it is in the corpus or has failed."""
        lost: list[Log] = []
        batches = plan_batches(logs, worker_count(client))
        for batch, outcome in map_files(batches, WritePart(self.storage), client):
            if isinstance(outcome, TaskFailure) and len(batch.logs) > 1:
                lost += batch.logs
            else:
                self._store(batch, outcome)
                yield from batch.logs
        # Where a process died, its logs are tried one by one, so that only the one that kills it fails.
        for batch, outcome in map_files(
            [Batch((log,)) for log in lost], WritePart(self.storage), client, task=0
        ):
            self._store(batch, outcome)
            yield from batch.logs

    def _store(self, batch: Batch, outcome: PartWritten | NotStored | TaskFailure) -> None:
        if isinstance(outcome, NotStored):
            raise TraceError(f"{outcome.why} {_CONTINUE}")
        if isinstance(outcome, TaskFailure):
            outcome = PartWritten("", {}, {}, dict.fromkeys((log.path for log in batch.logs), outcome.why))
        entries = [
            (
                Entry(
                    log.path,
                    self._reading,
                    log.files,
                    "",
                    log.size,
                    log.format,
                    outcome.failures[log.path],
                )
                if log.path in outcome.failures
                else self._entry(log, rows=dict(outcome.rows[log.path]), part=outcome.name)
            )
            for log in batch.logs
        ]
        files = PartFiles(tuple(log.path for log in batch.logs), dict(outcome.files))
        self.manifest.add(Change(entries, {outcome.name: files} if outcome.rows else {}))
        self.read += outcome.rows
        for path, why in outcome.failures.items():
            self._problem([path], why)

    def _merge(self, client: Any) -> None:
        self.manifest.refresh()
        for job, outcome in map_files(
            plan_merges(self.manifest.parts()), MergeParts(self.storage), client, task=LARGEST_PART
        ):
            if not isinstance(outcome, TaskFailure):
                moved = [
                    Entry(
                        e.path,
                        e.read,
                        e.files,
                        e.key,
                        e.size,
                        e.format,
                        e.why,
                        e.rows,
                        outcome.name,
                        e.merges + 1,
                    )
                    for e in job.logs
                ]
                files = PartFiles(tuple(entry.path for entry in moved), dict(outcome.files))
                self.manifest.add(Change(moved, {outcome.name: files}))

    def _delete_unused(self) -> None:
        """Deletes parts in which no log is any more, and those that interrupted processes left."""
        self.manifest.refresh()
        unused = self.manifest.unused_parts()
        known = {*unused, *self.manifest.parts()}
        oldest = time.time() - _DAY
        newest: dict[str, float] = {}
        for name, stored in self.storage.files(PARTS).items():
            if (found := _PART.match(name)) and found[1] not in known:
                folder = name[: found.end() - 1]
                newest[folder] = max(newest.get(folder, 0.0), stored.modified)
        left = [folder for folder, modified in newest.items() if modified < oldest]
        self.storage.delete([f"{PARTS}/{name}" for name in sorted(unused)] + left)
        self.manifest.compact()

    def _damaged_logs(self) -> set[str]:
        """Returns the logs in parts whose files are missing or have another size than when they
        were written.
        """
        stored = {name: file.size for name, file in self.storage.files(PARTS).items()}
        damaged = {
            name
            for name, part in self.manifest.parts().items()
            if any(stored.get(f"{PARTS}/{name}/{file}") != size for file, size in part.files.items())
        }
        if damaged:
            self.manifest.refresh()  # a part that another process has just merged is no longer listed
        return {
            entry.path
            for name, part in self.manifest.parts().items()
            if name in damaged
            for entry in part.logs
        }

    @contextmanager
    def _translated_errors(self) -> Iterator[None]:
        """Converts disk and database errors of the corpus to ``TraceError``; finished logs stay in it."""
        try:
            yield
        except (OSError, sqlite3.Error) as error:
            raise TraceError(f"{self.storage.address} cannot be written to: {error}. {_CONTINUE}") from error
