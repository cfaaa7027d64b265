"""Counts what a list shows about a whole log, while reading it once."""

from __future__ import annotations

import gc
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from itertools import chain
from pathlib import Path

from msgspec import Struct

from nbtools.core.errors import TraceError
from nbtools.traces.counts import LogCounter, LogCounts
from nbtools.traces.formats import open_log
from nbtools.traces.model import Event, Problem, Row, Session
from nbtools.traces.parallel_reading import batch_of, gc_paused, read_rows
from nbtools.traces.prompts import FirstPrompt, typed_text
from nbtools.traces.reader import NO_KNOWN_STEPS, LogFile
from nbtools.traces.repeated_records import REPEATS, find_repeats, without_repeats
from nbtools.traces.reviews.record_hashes import SessionStarts, encode_starts
from nbtools.traces.reviews.records import SessionStart
from nbtools.traces.session_index.head import one_line_title
from nbtools.traces.usage.usage_groups import LogUsage, UsageCounter

_MAX_TEXT = 20_000
"""Characters of what the person typed that are searched."""
_MAX_SESSIONS = 1_000
"""Sessions of a log that reviews find."""


class LogFigures(Struct, frozen=True):
    """The values of a whole log that a list shows.

    ``counts`` are None where the log cannot be read. ``doubtful`` is true where the numbers of output tokens
    are placeholders. ``repeats`` is the number of records that a fork's log repeats of its parent's; they do
    not count. ``starts`` are the hashes by which reviews find the log's sessions (``encode_starts``).
    """

    title: str = ""
    model: str = ""
    project: str = ""
    text: str = ""
    counts: LogCounts | None = None
    usage: LogUsage = LogUsage()
    doubtful: bool = False
    repeats: int = 0
    starts: str = ""
    problem: str = ""


def read_figures(
    path: str, others: Sequence[str] = (), rows_of: Callable[[LogFile], Iterable[Row]] = LogFile.rows
) -> LogFigures:
    """Reads a whole log, and the ``others`` that begin with the same prompt,
    whose records are not counted again.  ``rows_of`` returns the rows of the log itself.

    Never raises because of the log: ``problem`` says what is wrong.
    """
    try:
        return _Reading().figures(open_log(Path(path)), others, rows_of)
    except (TraceError, OSError) as error:
        return LogFigures(problem=str(error))
    except (ValueError, RecursionError, MemoryError, LookupError, TypeError, AttributeError) as error:
        gc.collect()
        return LogFigures(problem=f"It cannot be read: {type(error).__name__}.")


class _Reading:
    def __init__(self) -> None:
        self.counter = LogCounter()
        self.usage = UsageCounter()
        self.prompts: dict[str, FirstPrompt] = defaultdict(FirstPrompt)
        """By session: what a sub-agent was asked for is not what the person asked for."""
        self.texts: list[str] = []
        self.size = 0

    def figures(
        self, log: LogFile, others: Sequence[str], rows_of: Callable[[LogFile], Iterable[Row]]
    ) -> LogFigures:
        problem, starts = "", SessionStarts(log)
        own = starts.passed(rows_of(log))
        for row in _counted_rows(own, others) if others else own:
            self.counter.add(row)
            self.usage.add(row)
            if isinstance(row, Event):
                self.prompts[row.session].add(row, log)
                self._add_text(row)
            elif isinstance(row, Problem) and row.why == NO_KNOWN_STEPS:
                problem = f"{NO_KNOWN_STEPS[:1].upper()}{NO_KNOWN_STEPS[1:]}."
        sessions = self.counter.sessions
        roots = [session for session in sessions if not session.parent] or sessions
        models = list(dict.fromkeys(model for session in roots for model in session.models))
        title = one_line_title(roots[0].title, self.prompts[roots[0].id].text) if len(roots) == 1 else ""
        return LogFigures(
            title=title,
            model=models[-1][:300] if models else "",
            project=next((session.cwd[:4096] for session in roots if session.cwd), ""),
            text="\n".join(self.texts)[:_MAX_TEXT],
            counts=self.counter.counts(tells_errors=log.format.tells_errors),
            usage=self.usage.usage(),
            doubtful=any("tokens_placeholder" in session.flags for session in sessions),
            repeats=sum(session.counts.get(REPEATS, 0) for session in sessions),
            starts=_starts_of(roots, starts),
            problem=problem,
        )

    def _add_text(self, event: Event) -> None:
        if event.kind == "user" and event.live and self.size < _MAX_TEXT and (text := typed_text(event.text)):
            self.texts.append(text)
            self.size += len(text)


def _starts_of(roots: Sequence[Session], starts: SessionStarts) -> str:
    hashes = {start.session: start.hashes for start in starts.take()}
    return encode_starts(SessionStart(root.id, hashes.get(root.id, ())) for root in roots[:_MAX_SESSIONS])


def _counted_rows(own: Iterable[Row], others: Sequence[str]) -> Iterator[Row]:
    """Yields the rows of a log without those that repeat another's."""
    with gc_paused():
        batches = [batch_of(own)]
    for path in others:
        with suppress(TraceError, OSError):  # it has its own row in the list, which says what is wrong
            batches.append(read_rows(open_log(Path(path))))
    rows = without_repeats(batches[0], find_repeats(batches)[0])
    yield from chain[Row](
        rows.events, rows.calls, rows.file_changes, rows.usage, rows.sessions, rows.problems
    )
