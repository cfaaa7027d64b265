"""Counts what a list shows about a whole log, while reading it once."""

from __future__ import annotations

import gc
from collections.abc import Iterator, Sequence
from contextlib import suppress
from itertools import chain
from pathlib import Path

from msgspec import Struct

from nbtools.core.errors import TraceError
from nbtools.traces.formats import open_log
from nbtools.traces.model import Call, Event, FileChange, Problem, Row, Session
from nbtools.traces.parallel_reading import read_rows
from nbtools.traces.prompts import typed_text
from nbtools.traces.reader import NO_KNOWN_STEPS, LogFile
from nbtools.traces.repeated_records import REPEATS, find_repeats, without_repeats
from nbtools.traces.session_index.head import one_title

_MAX_TEXT = 20_000
"""Characters of what the person typed that are searched."""


class LogFigures(Struct, frozen=True):
    """Counts of a whole log, sub-agents included; None: not recorded.

    ``calls`` are those that the model made on no rewound branch, ``failed`` those of them that failed.
    ``edits``, ``added`` and ``removed`` count the changes of files that took effect, and their lines.
    ``tokens_in`` includes tokens read from and written to a cache. ``doubtful`` is true where the numbers of
    output tokens are placeholders. ``repeats`` is the number of records that a fork's log repeats of its
    parent's; they do not count.
    """

    title: str = ""
    model: str = ""
    project: str = ""
    text: str = ""
    started: float | None = None
    ended: float | None = None
    calls: int | None = None
    failed: int | None = None
    edits: int | None = None
    added: int | None = None
    removed: int | None = None
    tokens_in: int | None = None
    tokens_out: int | None = None
    doubtful: bool = False
    repeats: int = 0
    problem: str = ""


def read_figures(path: str, others: Sequence[str] = ()) -> LogFigures:
    """Reads a whole log, and the ``others`` that begin with the same prompt,
    whose records are not counted again.

    Never raises because of the log: ``problem`` says what is wrong.
    """
    try:
        return _Counter().count(path, others)
    except (TraceError, OSError) as error:
        return LogFigures(problem=str(error))
    except (ValueError, RecursionError, MemoryError, LookupError, TypeError, AttributeError) as error:
        gc.collect()
        return LogFigures(problem=f"It cannot be read: {type(error).__name__}.")


class _Counter:
    def __init__(self) -> None:
        self.sessions: list[Session] = []
        self.texts: list[str] = []
        self.size = 0
        self.calls = self.failed = self.edits = 0
        self.added: int | None = None
        self.removed: int | None = None

    def count(self, path: str, others: Sequence[str]) -> LogFigures:
        log = open_log(Path(path))
        problem = ""
        for row in _counted_rows(log, others) if others else log.rows():
            if isinstance(row, Call):
                self.calls += 1
                self.failed += row.status == "error" or (row.status == "ok" and bool(row.exit_code))
            elif isinstance(row, Event):
                self._add_event(row)
            elif isinstance(row, FileChange) and row.applied:
                self.edits += 1
                self.added = _sum(self.added, row.added)
                self.removed = _sum(self.removed, row.removed)
            elif isinstance(row, Session):
                self.sessions.append(row)
            elif isinstance(row, Problem) and row.why == NO_KNOWN_STEPS:
                problem = f"{NO_KNOWN_STEPS[:1].upper()}{NO_KNOWN_STEPS[1:]}."
        return self._figures(log.format.tells_errors, problem)

    def _add_event(self, event: Event) -> None:
        self.failed += event.kind == "error" and bool(event.text)
        if event.kind == "user" and event.live and self.size < _MAX_TEXT and (text := typed_text(event.text)):
            self.texts.append(text)
            self.size += len(text)

    def _figures(self, tells_errors: bool, problem: str) -> LogFigures:
        roots = [session for session in self.sessions if not session.parent] or self.sessions
        times = [
            time for session in self.sessions for time in (session.started, session.ended) if time is not None
        ]
        models = list(dict.fromkeys(model for session in roots for model in session.models))
        tokens_in = tokens_out = None
        for session in self.sessions:
            for count in (session.tokens.input, session.tokens.cache_read, session.tokens.cache_write):
                tokens_in = _sum(tokens_in, count)
            tokens_out = _sum(tokens_out, session.tokens.output)
        title = typed_text(roots[0].title) if len(roots) == 1 else ""
        return LogFigures(
            title=one_title(title, self.texts) if len(roots) == 1 else "",
            model=models[-1][:300] if models else "",
            project=next((session.cwd[:4096] for session in roots if session.cwd), ""),
            text="\n".join(self.texts)[:_MAX_TEXT],
            started=min(times, default=None),
            ended=max(times, default=None),
            calls=self.calls,
            failed=self.failed if tells_errors or self.failed else None,
            edits=self.edits,
            added=self.added,
            removed=self.removed,
            tokens_in=tokens_in,
            tokens_out=tokens_out,
            doubtful=any("tokens_placeholder" in session.flags for session in self.sessions),
            repeats=sum(session.counts.get(REPEATS, 0) for session in self.sessions),
            problem=problem,
        )


def _counted_rows(log: LogFile, others: Sequence[str]) -> Iterator[Row]:
    """Yields the rows of a log without those that repeat another's."""
    batches = [read_rows(log)]
    for path in others:
        with suppress(TraceError, OSError):  # it has its own row in the list, which says what is wrong
            batches.append(read_rows(open_log(Path(path))))
    rows = without_repeats(batches[0], find_repeats(batches)[0])
    yield from chain[Row](
        rows.events, rows.calls, rows.file_changes, rows.usage, rows.sessions, rows.problems
    )


def _sum(total: int | None, count: int | None) -> int | None:
    return total if count is None else (total or 0) + count
