"""A set of sessions to review: whose verdicts there are, what is left, and how far the reviewers agree."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cached_property
from itertools import combinations
from pathlib import Path
from types import MappingProxyType
from typing import Any, TypeAlias

from msgspec import Struct

from nbtools.core.errors import TraceError
from nbtools.traces.model import Row
from nbtools.traces.reader import LogFile
from nbtools.traces.reviews.code_book import CodeBook
from nbtools.traces.reviews.queue import sampled
from nbtools.traces.reviews.records import Label
from nbtools.traces.reviews.review import Review
from nbtools.traces.reviews.review_settings import default_reviewer
from nbtools.traces.reviews.session_verdicts import (
    IndexedLog,
    LogVerdicts,
    SeenVerdicts,
    agreement_on,
    verdicts_of,
)
from nbtools.traces.reviews.statistics import Agreement
from nbtools.traces.reviews.store import LabelFile
from nbtools.traces.session_index.figures import read_figures
from nbtools.traces.session_index.head import read_head
from nbtools.traces.session_index.index import COUNTS, SessionIndex
from nbtools.traces.session_index.listing import Outcome, sessions
from nbtools.traces.session_index.logged_session import LoggedSession
from nbtools.traces.session_index.places import OTHER, Place
from nbtools.traces.session_index.scan import LogStat
from nbtools.traces.stored_sessions import stored_path
from nbtools.traces.trace import load

Log: TypeAlias = LoggedSession | str | Path


class ReviewedSession(Struct, frozen=True):
    """A session of a set, with the verdicts on it as the reviewer sees them (``SeenVerdicts``)."""

    session: LoggedSession
    verdicts: SeenVerdicts

    @property
    def mine(self) -> str:
        return self.verdicts.mine

    @property
    def others(self) -> Mapping[str, str]:
        return self.verdicts.others

    @property
    def disagree(self) -> bool:
        return self.verdicts.disagree

    @property
    def hidden(self) -> bool:
        return self.verdicts.hidden


class ReviewSet:
    """The sessions to review, in the order in which they are reviewed, by ``reviewer``.

    Verdicts come from ``file``, by default the person's own label file, as they are when they are asked for.
    ``blind`` hides those of others on a session until the reviewer has given one. ``starts`` say how the
    sessions of logs that are not in the index begin, by the logs' ids (``decode_starts``). ``book`` has the
    labels, by default the code book of the project or the person.
    """

    def __init__(
        self,
        logs: Iterable[LoggedSession],
        reviewer: str = "",
        *,
        file: LabelFile | None = None,
        blind: bool = False,
        starts: Mapping[str, str] = MappingProxyType({}),
        book: CodeBook | None = None,
    ) -> None:
        self.sessions: Sequence[LoggedSession] = list({one.path: one for one in logs}.values())
        self.reviewer = reviewer or default_reviewer()
        self.file = file or LabelFile()
        self.blind = blind
        self.book = book
        self._other_starts = starts

    @property
    def rows(self) -> list[ReviewedSession]:
        """The sessions with their verdicts. Raises ``TraceError`` where the label file cannot be read."""
        pairs = zip(self.sessions, self._verdicts(), strict=True)
        return [
            ReviewedSession(session, found.seen_by(self.reviewer, blind=self.blind))
            for session, found in pairs
        ]

    @property
    def unreviewed(self) -> list[LoggedSession]:
        """The sessions on which the reviewer has given no verdict yet."""
        return [row.session for row in self.rows if not row.mine]

    @property
    def disagreements(self) -> list[ReviewedSession]:
        """The sessions on which reviewers gave different verdicts, as far as these are not hidden."""
        return [row for row in self.rows if row.disagree]

    def progress(self) -> tuple[int, int]:
        """Returns how many sessions have a verdict of the reviewer, and how many there are."""
        return sum(bool(row.mine) for row in self.rows), len(self.sessions)

    def following(self, after: Log | None = None) -> LoggedSession | None:
        """Returns the next session without a verdict of the reviewer, from the one after ``after`` on, and
        after the last one from the first one on; None if there is no other one.
        """
        rows, path = self.rows, None if after is None else _path(after)
        at = next((i for i, row in enumerate(rows) if row.session.path == path), -1) + 1
        waiting = (row.session for row in [*rows[at:], *rows[: max(at - 1, 0)]] if not row.mine)
        return next(waiting, None)

    def verdict(self, log: Log, value: str) -> Label:
        """Gives a session of the set the verdict ``pass``, ``fail`` or ``defer``. Reads its log.
        Raises ``TraceError``.
        """
        return self._review(log).verdict(None, value)

    def label(self, log: Log, code: str) -> Label:
        """Applies a code of the code book, by its name or key, to a session of the set. Reads its log.
        Raises ``TraceError``.
        """
        return self._review(log).label(None, code)

    def agreement(self, a: str, b: str, confidence: float = 0.95) -> Agreement:
        """Returns how far two reviewers agree, with Cohen's κ and its confidence interval, on the sessions on
        which both gave a verdict. Where the set is blind, only sessions count that the reviewer has judged.
        """
        logs = (log for log in self._verdicts() if not self.blind or log.of(self.reviewer))
        return agreement_on(logs, a, b, confidence)

    def agreements(self, confidence: float = 0.95) -> list[Agreement]:
        """Returns the agreement of each two reviewers who judged the same sessions; the reviewer's own first.

        There is no one number for three reviewers and more, because they need not judge the same sessions.
        """
        names = sorted({name for log in self._verdicts() for name in log.reviewers})
        names.sort(key=lambda name: name != self.reviewer)
        found = (self.agreement(a, b, confidence) for a, b in combinations(names, 2))
        return [one for one in found if one.items]

    def __len__(self) -> int:
        return len(self.sessions)

    def __repr__(self) -> str:
        done, total = self.progress()
        return f"<ReviewSet: {done} of {total} sessions reviewed by {self.reviewer}>"

    @property
    def logs(self) -> list[IndexedLog]:
        """The logs of the sessions, with how these begin."""
        return [IndexedLog(one.path, one.format, self._starts.get(one.id, "")) for one in self.sessions]

    def _review(self, log: Log) -> Review:
        return Review(load(_path(log)), self.file, self.reviewer, self.book)

    def _verdicts(self) -> Sequence[LogVerdicts]:
        return verdicts_of(self.file.records(), self.logs)

    @cached_property
    def _starts(self) -> Mapping[str, str]:
        index = SessionIndex()
        try:
            return {**index.starts(one.id for one in self.sessions), **self._other_starts}
        finally:
            index.close()


def review_set(
    logs: Iterable[Log] | None = None,
    *,
    text: str = "",
    agent: str = "",
    project: str = "",
    outcome: Outcome = "",
    sample: int | None = None,
    seed: int = 0,
    reviewer: str = "",
    blind: bool = False,
    file: str | Path | None = None,
) -> ReviewSet:
    """Returns a set of sessions to review: ``logs``, which are paths or what ``sessions()`` returns, else the
    sessions of this machine under a filter, as ``sessions()`` has it.

    ``sample`` takes as many of them, in turn from each combination of agent and outcome, at random with
    ``seed``. ``reviewer`` is by default ``$NBTOOLS_REVIEWER``, else the user's name; ``blind`` hides the
    verdicts of others on a session until the reviewer has given one; ``file`` is the label file.

    No log is read, except those of ``logs`` that are in no agent's folder. Raises ``TraceError``.
    """
    chosen = sessions(text, agent=agent, project=project, outcome=outcome) if logs is None else [*logs]
    known = (
        {one.path: one for one in sessions()} if any(isinstance(one, str | Path) for one in chosen) else {}
    )
    listed: list[LoggedSession] = []
    starts: dict[str, str] = {}
    for one in chosen:
        if isinstance(one, LoggedSession):
            listed.append(one)
        elif (path := _path(one)) in known:
            listed.append(known[path])
        else:
            session, beginning = read_session(path)
            listed.append(session)
            starts[session.id] = beginning
    if sample is not None:
        listed = sampled(listed, sample, seed)
    return ReviewSet(listed, reviewer, file=LabelFile(file), blind=blind, starts=starts)


def _path(log: Log) -> Path:
    return log.path if isinstance(log, LoggedSession) else Path(log).expanduser().absolute()


def read_session(
    path: Path, rows_of: Callable[[LogFile], Iterable[Row]] = LogFile.rows
) -> tuple[LoggedSession, str]:
    """Reads a log in no agent's folder: returns it as the list has it, and how its sessions begin.
    ``rows_of`` returns the rows of the log. Raises ``TraceError``.
    """
    try:
        status = stored_path(path).stat()
    except OSError as error:
        raise TraceError(f"{path} cannot be read: {error.strerror or error}.") from error
    place = Place(OTHER, path.parent, ())
    head = read_head(LogStat(str(path), place, status.st_size, status.st_mtime_ns, status.st_ino))
    figures = read_figures(str(path), (), rows_of)
    counts: dict[str, Any] = {name: getattr(figures.counts, name, None) for name in COUNTS}
    session = LoggedSession(
        path=path,
        title=figures.title or head.title,
        agent=head.agent,
        format=head.format,
        model=figures.model or head.model,
        project=figures.project or head.project,
        branch=head.branch,
        changed=status.st_mtime_ns / 1e9,
        size=status.st_size,
        started=getattr(figures.counts, "started", None),
        duration=getattr(figures.counts, "duration", None),
        read=True,
        problem=figures.problem,
        **counts,
    )
    return session, figures.starts
