"""Reads what one learner has submitted: the numbers of the sessions, signals, and facts about notebooks.

There is no score and no ranking: each number is a count by a definition.
"""

from __future__ import annotations

import re
import time
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping
from functools import cached_property
from itertools import chain
from pathlib import Path

from msgspec import Struct

from nbtools.cards.phrases import size
from nbtools.core.errors import TraceError
from nbtools.traces.counts import DEFINITIONS, LogCounts
from nbtools.traces.formats import beginning_of, database_agent, open_log, unsupported_agent
from nbtools.traces.model import Call, Event, Row
from nbtools.traces.parallel_reading import RowBatch, read_rows
from nbtools.traces.prompts import first_prompt
from nbtools.traces.reader import Head, LogFile
from nbtools.traces.repeated_records import record_keys
from nbtools.traces.reviews.commands import runs_tests
from nbtools.traces.reviews.record_hashes import decode_starts, digest
from nbtools.traces.reviews.records import SignalKind
from nbtools.traces.reviews.review_set import read_session
from nbtools.traces.reviews.signals import signals_of
from nbtools.traces.session_index.left_out import LeftOut
from nbtools.traces.session_index.logged_session import LoggedSession
from nbtools.traces.stored_sessions import STORING_AGENT, stored_path, stored_sessions
from nbtools.traces.submissions.folder import LearnerFolder, Links, left_out, refuse_outside
from nbtools.traces.submissions.notebooks import NotebookFacts, notebook_facts
from nbtools.traces.trace_rows import TraceRows

MAX_LOG = 200 << 20
"""Bytes of the largest log that is read, with the files that belong to it."""
_MAX_DAYS = 366
_UTF_16 = (b"\xff\xfe", b"\xfe\xff")
_NO_LOG = "It is neither a notebook nor a session log."
LEARNER_DEFINITIONS: Mapping[str, str] = {
    "sessions": "Session logs in the learner's folder, those of sub-agents with the one that started them",
    "prompts": "Messages of the person that ask for something: no commands of the application, no notices",
    **{
        name: DEFINITIONS[name]
        for name in (
            *("calls", "failed_calls", "edits", "edited_files", "added_lines", "removed_lines"),
            *("input_tokens", "output_tokens"),
        )
    },
    "test_runs": "Calls of commands that run a known test runner, or a file that is named like a test",
    "edits_after_tests": "Edits after the last of these, by time",
    "session_time": "Time from the first to the last record of each session, added up",
    "started": "When the first record of a session was written",
    "ended": "When the last record of a session was written",
}
"""What each number of a learner means, for people to read."""


class DayOfWork(Struct, frozen=True):
    """The prompts, calls, edits and test runs of a day, ``2026-03-01`` in the local time zone."""

    day: str
    prompts: int = 0
    calls: int = 0
    edits: int = 0
    test_runs: int = 0


class SubmittedLog(Struct, frozen=True):
    """A session log of a learner.  ``starts`` say how its sessions begin (``decode_starts``).  ``ids`` are
    its sessions, with their format, ``firsts`` hashes of their first records, and ``records`` hashes of the
    times and contents of messages, calls and requests: what copies have in common.
    """

    session: LoggedSession
    starts: str
    ids: frozenset[tuple[str, str]]
    firsts: frozenset[str]
    records: frozenset[str]


class Learner(Struct, frozen=True):
    """A learner, who has the name of the folder: numbers by ``LEARNER_DEFINITIONS`` over all sessions, each
    record once, the number of signals by kind, and the notebooks.

    None: the logs do not record it, or there is no log. ``left_out`` are the entries of the folder that are
    neither, or cannot be read, with the reasons.
    """

    name: str
    folder: Path
    logs: tuple[SubmittedLog, ...] = ()
    notebooks: tuple[NotebookFacts, ...] = ()
    left_out: tuple[LeftOut, ...] = ()
    prompts: int = 0
    test_runs: int = 0
    edits_after_tests: int | None = None
    session_time: float | None = None
    counts: LogCounts = LogCounts()
    signals: Mapping[SignalKind, int] = {}
    days: tuple[DayOfWork, ...] = ()

    @property
    def sessions(self) -> list[LoggedSession]:
        """The sessions, those that began first in front."""
        return [log.session for log in self.logs]


def read_learner(folder: LearnerFolder) -> Learner:
    """Reads everything in a learner's folder."""
    return _Reading(folder).learner()


class _Reading:
    def __init__(self, folder: LearnerFolder) -> None:
        self._folder = folder
        self._links = Links(folder.links)
        self._left_out = list(folder.left_out)
        self._readings: list[LogFile] = []
        self._batches: list[RowBatch] = []
        self._why_none: dict[Path, str] = {}
        """Why files are no logs."""

    def learner(self) -> Learner:
        logs = sorted(self._logs(), key=lambda log: (log.session.started or 0.0, str(log.session.path)))
        rows = TraceRows(self._readings, self._batches)
        work = _Work(rows)
        times = [one.duration for log in logs if (one := log.session).duration is not None]
        root = self._folder.path
        return Learner(
            self._folder.name,
            root,
            tuple(logs),
            tuple(notebook_facts(path, str(path.relative_to(root))) for path in self._folder.notebooks),
            tuple(self._left_out),
            prompts=len(work.prompts),
            test_runs=len(work.tests),
            edits_after_tests=work.edits_after_tests,
            session_time=sum(times) if times else None,
            counts=rows.counts,
            signals=self._signals(rows),
            days=tuple(work.days()),
        )

    def _logs(self) -> Iterator[SubmittedLog]:
        """Yields the logs that do not belong to another one, as those of sub-agents do."""
        opened: dict[Path, LogFile | None] = {}
        for path in chain.from_iterable(map(self._paths, self._folder.files)):
            try:
                opened[path] = self._opened(path)
            except (TraceError, OSError) as error:
                self._leave_out(path, str(error))
        owned: set[Path] = set()
        for path, log in opened.items():
            if log is not None and path not in owned:
                owned.update(log.source.files[1:])
                owned.update(file.with_suffix(".meta.json") for file in log.source.files[1:])
        for path, log in opened.items():
            if path in owned:
                continue
            if log is None:
                self._leave_out(path, self._why_none[path])
                continue
            try:
                yield self._read(path)
            except (TraceError, OSError) as error:
                self._leave_out(path, str(error))

    def _paths(self, path: Path) -> list[Path]:
        """Returns the logs of a file: itself, or the sessions in a database."""
        try:
            start = beginning_of(path)
            self._links.refuse_beside(path, start)
            if database_agent(Head(path, start)).startswith(STORING_AGENT):
                return [path / one.id for one in stored_sessions(path)]
            _refuse_size(path.stat().st_size)  # readers look for other files in a whole document
        except (TraceError, OSError) as error:
            self._leave_out(path, str(error))
            return []
        return [path]

    def _opened(self, path: Path) -> LogFile | None:
        """Returns the log at a path; None for a file that is none. Raises ``TraceError`` and ``OSError``."""
        try:
            log = open_log(path)
        except TraceError as error:
            self._why_none[path] = _reason(path, error)
            return None
        self._check(log)
        return log

    def _check(self, log: LogFile) -> None:
        refuse_outside(log, self._folder.path)
        _refuse_size(sum(file.stat().st_size for file in log.source.files))

    def _read(self, path: Path) -> SubmittedLog:
        """Reads a log once, for the list's figures and for the learner's."""
        batches: list[tuple[LogFile, RowBatch]] = []

        def rows_of(log: LogFile) -> Iterator[Row]:
            self._check(log)
            batch = read_rows(log)
            batches.append((log, batch))
            yield from chain[Row](
                batch.sessions,
                batch.events,
                batch.calls,
                batch.file_changes,
                batch.usage,
                batch.problems,
            )

        session, starts = read_session(path, rows_of)
        if not batches or session.problem:
            raise TraceError(session.problem or "It cannot be read.")
        log, batch = batches[0]
        self._readings.append(log)
        self._batches.append(batch)
        return SubmittedLog(
            session,
            starts,
            frozenset(
                (one.format, one.id)
                for one in batch.sessions
                if not one.parent and _is_recorded(one.id, path)
            ),
            frozenset(value for start in decode_starts(starts) for value in start.hashes[-1:]),
            frozenset(digest([repr(key)]) for key in record_keys(batch)),
        )

    def _signals(self, rows: TraceRows) -> Mapping[SignalKind, int]:
        try:
            return Counter(signal.kind for signal in signals_of(rows))
        except (
            TraceError,
            OSError,
            ValueError,
            RecursionError,
            LookupError,
            TypeError,
            AttributeError,
        ) as error:
            self._leave_out(self._folder.path, f"Signals cannot be looked for: {error}")
            return {}

    def _leave_out(self, path: Path, reason: str) -> None:
        # An error of a reader begins with the path, which is known here.
        self._left_out.append(left_out(path, reason.removeprefix(f"{path}: ").removeprefix(f"{path} ")))


def _refuse_size(total: int) -> None:
    """Raises ``TraceError`` for too many bytes."""
    if total > MAX_LOG:
        raise TraceError(
            f"It has {size(total)}, and more than {size(MAX_LOG)} are not read here. Open it by itself."
        )


def _is_recorded(session: str, path: Path) -> bool:
    """Returns whether a session's id is in its log. The names of files, which stand for ids where a log has
    none, such as ``chat``, are the same for many learners.
    """
    if session not in {path.stem, path.name, *path.parts}:
        return True
    field = rb'id"\s*:\s*"' + re.escape(session.encode("utf-8", "replace")) + b'"'
    return re.search(field, beginning_of(stored_path(path)), re.IGNORECASE) is not None


def _reason(path: Path, error: TraceError) -> str:
    """Returns why a file cannot be opened as a log."""
    head = Head(path, beginning_of(stored_path(path)))
    agent = database_agent(head) or unsupported_agent(head)
    if agent:
        return f"It looks like a log of {agent}, which is not read."
    return str(error) if head.start.startswith(_UTF_16) else _NO_LOG


class _Work:
    """The prompts, edits and test runs of a learner, each with its time as far as it is recorded."""

    def __init__(self, rows: TraceRows) -> None:
        self._started = {one.id: one.started for one in rows.sessions}
        parts = {one.id for one in rows.sessions if one.parent}
        typed = (
            (event, log)
            for event, log in zip(rows.events, rows.events.log_files, strict=True)
            if event.kind == "user" and event.session not in parts
        )
        self.prompts = [event for event, log in typed if first_prompt([(event, log)])]
        self.calls = [one for one in rows.calls if one.has_failed is not None]
        self.tests = [one for one in self.calls if one.op == "shell" and runs_tests(one.subject)]
        by_id = {(one.session, one.id): one for one in rows.calls}
        changes = (by_id.get((one.session, one.call)) for one in rows.file_changes if one.applied)
        self.edits = [call for call in changes if call is not None]

    @cached_property
    def edits_after_tests(self) -> int | None:
        """The number of edits after the last test run; None without one."""
        last = max(map(self._order, self.tests), default=None)
        return None if last is None else sum(self._order(call) > last for call in self.edits)

    def _order(self, row: Call) -> tuple[float, int]:
        return row.at or self._started.get(row.session) or 0.0, row.seq

    def days(self) -> Iterator[DayOfWork]:
        """Yields the days with prompts or calls, at most a year of them: the last ones."""
        found: dict[str, dict[str, int]] = defaultdict(Counter)
        parts: dict[str, list[Event] | list[Call]] = {
            "prompts": self.prompts,
            "calls": self.calls,
            "edits": self.edits,
            "test_runs": self.tests,
        }
        for name, rows in parts.items():
            for row in rows:
                if row.at is not None and (day := _day(row.at)):
                    found[day][name] += 1
        for day in sorted(found)[-_MAX_DAYS:]:
            yield DayOfWork(day, **found[day])


def _day(at: float) -> str:
    try:
        return time.strftime("%Y-%m-%d", time.localtime(at))
    except (OverflowError, ValueError, OSError):  # a log may claim any time
        return ""
