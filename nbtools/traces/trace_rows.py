"""The rows of session logs, what is computed from them, and their search.

``Trace`` adds the queries that need more than rows. What those need, such as a review, imports this module.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Sequence
from functools import cached_property
from itertools import chain
from threading import Lock
from typing import Any

from nbtools.traces.counts import LogCounts, counts_of
from nbtools.traces.following.growing_log import GrowingLog, file_states
from nbtools.traces.model import (
    Call,
    ContextPart,
    Event,
    FileChange,
    Metric,
    Problem,
    RequestUsage,
    Row,
    SampleResult,
    Session,
)
from nbtools.traces.parallel_reading import RowBatch, gc_paused, read_rows
from nbtools.traces.query.search import Hit, Searcher
from nbtools.traces.reader import LogFile
from nbtools.traces.repeated_records import Repeats, find_repeats, without_repeats
from nbtools.traces.rows import Rows
from nbtools.traces.usage.context import ContextBuilder
from nbtools.traces.usage.cost import Cost, priced_cost, recorded_cost
from nbtools.traces.usage.timing import TurnTime, slowest, turn_times

_KEPT = frozenset({"_growing", "searcher"})
"""What is kept of a trace that grows, because it can grow itself;
everything else that was made of the rows is made again.
"""
_FRESH = 600.0
"""Seconds after which nobody is writing to a log any longer, as far as one can tell."""


class TraceRows:
    """The rows of session logs in memory. Lists are in reading order;
    ``problems`` are the bytes that could not be read.

    Of several logs, the lists have each record once: what a fork's log repeats of its parent's is only in
    ``batches``, which are the rows of each log as they were read. ``repeats`` says for each log what that is.
    """

    batches: tuple[RowBatch, ...]
    repeats: tuple[Repeats | None, ...]

    def __init__(self, readings: Sequence[LogFile], rows: Iterable[RowBatch] | None = None) -> None:
        """``rows`` are the rows of each log, where they have been read already."""
        self.readings = tuple(readings)
        self._states = [file_states(log.source.files) for log in self.readings]
        self._updating = Lock()
        self.sessions: Rows[Session] = Rows(Session)
        self.events: Rows[Event] = Rows(Event)
        self.calls: Rows[Call] = Rows(Call)
        self.file_changes: Rows[FileChange] = Rows(FileChange)
        self.problems: Rows[Problem] = Rows(Problem)
        self.usage: Rows[RequestUsage] = Rows(RequestUsage)
        self.attachments: dict[str, Any] = {}
        """What functions of other packages keep about the trace, such as its review."""
        with gc_paused():
            self._take_rows([*(rows or map(read_rows, self.readings))])

    def update(self) -> list[Row]:
        """Reads what was written to the logs since they were read,
        and returns the rows that are new or different.

        The lists are replaced by longer ones; a list that was taken before stays as it is. A row that has
        changed, such as a call that has got its result, is another object with the same id. A log that cannot
        be read now keeps its rows.
        """
        with self._updating:
            changed = [row for log in self._growing for row in log.update()]
            if changed or self.readings != tuple(log.log for log in self._growing):
                self.readings = tuple(log.log for log in self._growing)
                self._states = [log.states for log in self._growing]
                self._take_rows([log.rows for log in self._growing])
                self._forget()
        return changed

    def _take_rows(self, batches: Sequence[RowBatch]) -> None:
        """Takes over the rows of each log, without those that repeat another log's."""
        self.batches, self.repeats = tuple(batches), tuple(find_repeats(batches))
        tables: dict[str, Rows[Any]] = {name: Rows(table.kind) for name, table in self._tables.items()}
        for log, batch, repeats in zip(self.readings, self.batches, self.repeats, strict=True):
            counted = without_repeats(batch, repeats)
            for name, table in tables.items():
                table.extend(getattr(counted, name))
                table.assign_log_file(log)
        for name, table in tables.items():
            setattr(self, name, table)

    def _forget(self) -> None:
        """Forgets what was made of the rows before."""
        for name in [
            name for name in vars(self) if isinstance(getattr(type(self), name, None), cached_property)
        ]:
            if name not in _KEPT:
                del self.__dict__[name]
        if "searcher" in vars(self):
            self.searcher.update(self.events, self.calls)

    @cached_property
    def _growing(self) -> list[GrowingLog]:
        """The logs with their rows."""
        logs = zip(self.readings, self.batches, self._states, strict=True)
        return [GrowingLog.since(log, batch, states) for log, batch, states in logs]

    @property
    def fresh(self) -> bool:
        """Whether a file of the logs was written in the ten minutes before now, as far as it was read."""
        modified = max((state.modified for states in self._states for state in states if state), default=0)
        return time.time() - modified / 1e9 < _FRESH

    def search(self, text: str, limit: int = 50) -> tuple[Hit, ...]:
        """Returns the first events and calls that contain all these words, in reading order. Words are found
        inside of others, too; text in quotation marks must occur as it is. Case is ignored.
        """
        return self.searcher.find(text, limit)

    def cost(self, *, prices: bool = False) -> Cost:
        """Returns what the sessions cost, as recorded;
        with ``prices`` also by the price lists of ``genai-prices``, request by request.

        Raises ``TraceError`` where prices are wanted and genai-prices is not installed.
        """
        return priced_cost(self.sessions, self.usage) if prices else recorded_cost(self.sessions)

    @cached_property
    def counts(self) -> LogCounts:
        """The numbers of calls, edits, tokens and so on, as ``counts.DEFINITIONS`` defines them."""
        tells_errors = all(log.format.tells_errors for log in self.readings)
        rows = chain[Row](self.events, self.calls, self.file_changes, self.sessions)
        return counts_of(rows, tells_errors=tells_errors)

    @cached_property
    def turns(self) -> list[TurnTime]:
        """The time of each turn, divided into calls, the model, and waiting for the person."""
        return turn_times(self.events, self.calls)

    def slowest(self, count: int = 10) -> list[Call]:
        """Returns the calls that took longest."""
        return slowest(self.calls, count)

    @cached_property
    def samples(self) -> Rows[SampleResult]:
        """The results of the samples of evaluations, as Inspect's logs record them."""
        samples: Rows[SampleResult] = Rows(SampleResult)
        for session, log in zip(self.sessions, self.sessions.log_files, strict=True):
            if session.sample is not None:
                samples.append(session.sample)
                samples.assign_log_file(log)
        return samples

    @cached_property
    def metrics(self) -> Rows[Metric]:
        """The metrics of evaluations, such as accuracy, as the headers of Inspect's logs record them."""
        metrics: Rows[Metric] = Rows(Metric)
        for session, log in zip(self.sessions, self.sessions.log_files, strict=True):
            metrics.extend(session.metrics)
            metrics.assign_log_file(log)
        return metrics

    @cached_property
    def context(self) -> Rows[ContextPart]:
        """The parts that were added to the models' contexts, by session and in reading order;
        computed on first access.
        """
        parts: Rows[ContextPart] = Rows(ContextPart)
        for log, batch, repeats in zip(self.readings, self.batches, self.repeats, strict=True):
            builder = ContextBuilder()
            for row in chain(batch.events, batch.calls, batch.usage):
                builder.add(row)
            for session in batch.sessions:
                found = builder.take(session.id)
                parts.extend(
                    found
                    if repeats is None
                    else (one for one in found if one.seq is None or repeats.is_counted([one.seq]))
                )
                parts.assign_log_file(log)
        return parts

    @cached_property
    def searcher(self) -> Searcher:
        """The search index over events and calls; it is filled on the first search."""
        return Searcher(self.events, self.calls)

    @property
    def _tables(self) -> dict[str, Rows[Any]]:
        names = ("sessions", "events", "calls", "file_changes", "problems", "usage")
        return {name: getattr(self, name) for name in names}
