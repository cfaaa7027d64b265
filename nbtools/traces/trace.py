"""Loads session logs: one, or several in parallel processes."""

from __future__ import annotations

import glob
import re
import time
from collections.abc import Collection, Iterable, Iterator, Sequence
from functools import cached_property
from itertools import chain
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING, Any

from nbtools.core.errors import TraceError
from nbtools.core.extension_points import extension
from nbtools.core.secret_search import Secret
from nbtools.traces.following.growing_log import GrowingLog, file_states
from nbtools.traces.model import (
    Call,
    ContextPart,
    Event,
    FileChange,
    Problem,
    RequestUsage,
    Row,
    SampleResult,
    Session,
)
from nbtools.traces.parallel_reading import RowBatch, gc_paused, read_in_processes, read_rows
from nbtools.traces.query.facts import facts_of
from nbtools.traces.query.search import Hit, Searcher
from nbtools.traces.query.sql import Database, QueryResult, open_database
from nbtools.traces.reader import NO_KNOWN_STEPS, LogFile, open_log
from nbtools.traces.repeated_records import Repeats, find_repeats, without_repeats
from nbtools.traces.review.tables import label_rows, review_tables
from nbtools.traces.rows import Rows
from nbtools.traces.usage.context import ContextBuilder
from nbtools.traces.usage.cost import Cost, priced_cost, recorded_cost
from nbtools.traces.usage.timing import TurnTime, slowest, turn_times

if TYPE_CHECKING:
    from nbtools.traces.review.model import Label, Signal
    from nbtools.traces.review.review import Review, Where

_KEPT = frozenset({"_growing", "searcher"})
"""What is kept of a trace that grows, because it can grow itself;
everything else that was made of the rows is made again.
"""
_FRESH = 600.0
"""Seconds after which nobody is writing to a log any longer, as far as one can tell."""


def open_logs(paths: str | Path | Iterable[str | Path]) -> list[LogFile]:
    """Opens each log once, in the given order.
    A path that occurs twice, or belongs to another of the logs, is not opened again.

    Raises ``TraceError`` for a path that cannot be opened or is in no known format,
    unless it belongs to another log.
    """
    logs: dict[Path, LogFile | TraceError] = {}
    for path in _expand(paths) if isinstance(paths, str | Path) else paths:
        here = Path(path).expanduser()
        if here.resolve() not in logs:
            logs[here.resolve()] = _open_or_error(here)
    owners: dict[Path, Path] = {}
    for path, log in logs.items():
        if path not in owners and isinstance(log, LogFile):
            owners |= dict.fromkeys((file.resolve() for file in log.source.files[1:]), path)
    return [_raise_error(log) for path, log in logs.items() if path not in owners]


def _open_or_error(path: Path) -> LogFile | TraceError:
    try:
        return open_log(path)
    except TraceError as error:
        return error


def _raise_error(log: LogFile | TraceError) -> LogFile:
    if isinstance(log, TraceError):
        raise log
    return log


def _expand(pattern: str | Path) -> list[str]:
    """Returns the paths that match a pattern.
    An existing path is returned as it is, even if it looks like a pattern.
    """
    expanded = Path(pattern).expanduser()
    return [str(expanded)] if expanded.exists() else sorted(glob.glob(str(expanded), recursive=True))  # noqa: PTH207 - it may be absolute


class Trace:
    """Session logs loaded into memory. Lists are in reading order;
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
        self._review: Review | None = None
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

    def facts(self) -> dict[str, Any]:
        """Returns counts for a single log, by the names and rules of its format.
        Raises ``TraceError`` for several logs.
        """
        if len(self.readings) != 1:
            raise TraceError(
                f"facts() counts a single log, and this trace has {len(self.readings)}. Load each log by"
                " itself."
            )
        return facts_of(self, Trace([self.readings[0].strict()]) if self.problems else self)

    def sql(self, query: str) -> QueryResult:
        """Runs a DuckDB query over ``sessions events calls file_changes problems usage context samples labels
        signals``.

        ``tables.COLUMNS`` lists their columns.

        Raises ``TraceError`` for an invalid query, and where DuckDB or pyarrow is not installed.
        """
        for name, table in review_tables(self, query):
            self._database.add_table(name, table)
        return self._database.query(query)

    def search(self, text: str, limit: int = 50) -> tuple[Hit, ...]:
        """Returns the first events and calls that contain these words, in reading order.
        Text that looks like code is matched literally.

        ``"two words"`` matches a phrase, ``begin*`` the beginning of a word. Case is ignored.
        """
        return self.searcher.find(text, limit)

    def filter(self, name: str) -> list[Session | Call | Event]:
        """Returns what the explorer lists under the saved filter with this name, in the same order.

        Raises ``TraceError`` where there is no such filter, or it has a chip that this log does not have.
        """
        from nbtools.traces.explorer.explorer import filtered_rows  # noqa: PLC0415 - loaded on first use

        return filtered_rows(self, name)

    def to_notebook(
        self,
        path: str | Path,
        *,
        lesson: bool = False,
        redact: str | re.Pattern[str] | Iterable[str | re.Pattern[str]] = (),
        keep: Collection[str] = (),
        home: bool = True,
    ) -> Path:
        """Writes a notebook of the trace:
        each call is a cell that can be run, with the recorded result as its output.

        A ``lesson`` asks before each step what the reader would do, and folds what the agent did; notes of
        the review are speaker notes. Secrets are removed, and the first cell says how many; ``redact``,
        ``keep`` and ``home`` are those of ``to_html``. Returns its path. An existing file is never
        overwritten; the next free name beside it is used.
        """
        written: Path = extension("traces.write_notebook")(
            self, path, lesson=lesson, redact=redact, keep=keep, home=home
        )
        return written

    def cost(self, *, prices: bool = False) -> Cost:
        """Returns what the sessions cost, as recorded;
        with ``prices`` also by the price lists of ``genai-prices``, request by request.

        Raises ``TraceError`` where prices are wanted and genai-prices is not installed.
        """
        return priced_cost(self.sessions, self.usage) if prices else recorded_cost(self.sessions)

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

    def to_html(
        self,
        path: str | Path,
        *,
        redact: str | re.Pattern[str] | Iterable[str | re.Pattern[str]] = (),
        keep: Collection[str] = (),
        home: bool = True,
        notes: bool = False,
    ) -> Path:
        """Writes one HTML file for other people, with the explorer and all steps.
        It needs no kernel and loads nothing.

        Secrets are removed: ``find_secrets`` lists them, ``redact`` are regular expressions of further ones,
        and ``keep`` the ids of those that stay. With ``home``, home folders and the names of their owners
        become ``~``, with ``notes``, the review's notes, labels and verdicts are in the file. The raw records
        of the log are not included. Returns the path. An existing file is never overwritten; the next free
        name beside it is used.
        """
        from nbtools.traces.sharing.page import trace_to_html  # noqa: PLC0415 - loaded on first use

        return trace_to_html(self, path, redact, keep, home, notes)

    def find_secrets(
        self,
        *,
        redact: str | re.Pattern[str] | Iterable[str | re.Pattern[str]] = (),
        home: bool = True,
        notes: bool = False,
    ) -> tuple[Secret, ...]:
        """Returns the secrets that ``to_html`` and the other exports remove.

        Each has its kind, its beginning, and the steps in which it occurs.
        """
        from nbtools.traces.sharing.page import find_secrets  # noqa: PLC0415 - loaded on first use

        return find_secrets(self, redact, home, notes)

    @property
    def review(self) -> Review:
        """The review of this trace: notes, labels and verdicts, the queue, rates and agreement."""
        from nbtools.traces.review.review import Review  # noqa: PLC0415 - loaded on first use

        self._review = Review(self) if self._review is None else self._review.current()
        return self._review

    @property
    def labels(self) -> Rows[Label]:
        """Notes, labels and verdicts in force, oldest first.
        Raises ``TraceError`` where the label file cannot be read.
        """
        return label_rows(self)

    def label(self, where: Where, code: str, span: str = "") -> Label:
        """Applies a code of the code book to a session, step or range: ``trace.label("46-52", "loop")``.
        Raises ``TraceError``.
        """
        return self.review.label(where, code, span)

    def note(self, where: Where, text: str, span: str = "") -> Label:
        """Writes a note about a session, step or range. Raises ``TraceError``."""
        return self.review.note(where, text, span)

    def verdict(self, where: Where, value: str, span: str = "") -> Label:
        """Gives the verdict ``pass``, ``fail`` or ``defer`` on a session (``None``:
        the only one), step or range. Raises ``TraceError``.
        """
        return self.review.verdict(where, value, span)

    @property
    def signals(self) -> Rows[Signal]:
        """Patterns worth a look, by the rules in ``nbtools.traces.review.signals.DEFINITIONS``.
        Raises ``TraceError``.
        """
        return self.review.signals

    @cached_property
    def _database(self) -> Database:
        return open_database({**self._tables, "context": self.context, "samples": self.samples})

    @cached_property
    def searcher(self) -> Searcher:
        """The search index over events and calls; it is filled on the first search."""
        return Searcher(self.events, self.calls)

    @property
    def _tables(self) -> dict[str, Rows[Any]]:
        names = ("sessions", "events", "calls", "file_changes", "problems", "usage")
        return {name: getattr(self, name) for name in names}

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
