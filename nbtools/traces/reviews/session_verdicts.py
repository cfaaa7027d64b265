"""The verdicts on whole sessions, found by what the label file and the index say, without reading a log."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import TypeAlias

import msgspec

from nbtools.traces.reviews.record_hashes import decode_starts
from nbtools.traces.reviews.records import Record, in_force
from nbtools.traces.reviews.statistics import Agreement, agreement_of

_Numbered: TypeAlias = tuple[int, Record]
"""A record in force, with its position among them."""


class IndexedLog(msgspec.Struct, frozen=True):
    """A log as the index knows it. ``starts`` says how its sessions begin, as JSON (``encode_starts``);
    it is empty until the log was read as a whole.
    """

    path: Path
    format: str
    starts: str = ""


class SeenVerdicts(msgspec.Struct, frozen=True):
    """The verdicts on a log as a reviewer sees them: ``mine`` is empty if there is none yet, ``others`` are
    those of the others by name; ``mixed`` stands for several verdicts on the sessions of one log.

    ``hidden``: the reader is blind, and so the others' verdicts are not in ``others`` yet.
    """

    mine: str = ""
    others: Mapping[str, str] = MappingProxyType({})
    disagree: bool = False
    hidden: bool = False


class LogVerdicts(msgspec.Struct, frozen=True):
    """The verdicts on the sessions of one log: for each session's id, the value by reviewer.

    ``sessions`` is their number, an evaluation has many; None until the log was read as a whole.
    """

    by_session: Mapping[str, Mapping[str, str]] = MappingProxyType({})
    sessions: int | None = None

    def of(self, reviewer: str) -> str:
        """Returns the reviewer's verdict; ``mixed`` for several; empty where a session has none."""
        values = self.values(reviewer)
        return _common(values) if len(values) >= (self.sessions or 1) else ""

    def values(self, reviewer: str) -> list[str]:
        """Returns the reviewer's verdicts, one for each session that has one."""
        return [verdicts[reviewer] for verdicts in self.by_session.values() if reviewer in verdicts]

    @property
    def reviewers(self) -> list[str]:
        """The names of those who gave a verdict."""
        return list(dict.fromkeys(name for verdicts in self.by_session.values() for name in verdicts))

    def seen_by(self, reviewer: str, *, blind: bool) -> SeenVerdicts:
        """Returns the verdicts as a reviewer sees them, who, if ``blind``, sees those of others after the own
        one. A verdict of another counts also where it is only about some of the sessions of a log.
        """
        mine = self.of(reviewer)
        if blind and not mine:
            return SeenVerdicts(hidden=True)
        others = {name: _common(self.values(name)) for name in self.reviewers if name != reviewer}
        disagree = any(len(set(verdicts.values())) > 1 for verdicts in self.by_session.values())
        return SeenVerdicts(mine, others, disagree)


def _common(values: Sequence[str]) -> str:
    return values[0] if len(set(values)) == 1 else "mixed"


def verdicts_of(records: Iterable[Record], logs: Sequence[IndexedLog]) -> list[LogVerdicts]:
    """Returns the verdicts on the sessions of each log, by ``records_of``."""
    verdicts = (one for one in in_force(records) if one.kind == "verdict" and _is_on_session(one))
    return [_verdicts_on(log, found) for log, found in zip(logs, records_of(verdicts, logs), strict=True)]


def _is_on_session(record: Record) -> bool:
    return record.target.first is None and not record.target.span


def records_of(records: Iterable[Record], logs: Sequence[IndexedLog]) -> list[list[tuple[str, Record]]]:
    """Returns the records about each log, in their order, each with the session that it is about.

    A record is about a log that begins like its session, as copies do, or has its path and a session with its
    id. A log that was not read as a whole yet has those that were written about its path.
    """
    by_path: dict[str, list[_Numbered]] = defaultdict(list)
    by_start: dict[tuple[str, str], list[_Numbered]] = defaultdict(list)
    for numbered in enumerate(records):
        target = numbered[1].target
        by_path[target.log].append(numbered)
        by_start[target.format, target.start].append(numbered)
    if not by_path:
        return [[] for _ in logs]
    return [_records_on(log, by_path[str(log.path)], by_start) for log in logs]


def _records_on(
    log: IndexedLog,
    written_here: Sequence[_Numbered],
    by_start: Mapping[tuple[str, str], Sequence[_Numbered]],
) -> list[tuple[str, Record]]:
    starts = decode_starts(log.starts)
    known = {start.session for start in starts}
    session_of = {
        number: (record.target.session, record)
        for number, record in written_here
        if record.target.format == log.format and (not log.starts or record.target.session in known)
    }
    for start in starts:
        for value in start.hashes:
            for number, record in by_start.get((log.format, value), ()):
                session_of[number] = start.session, record
    return [session_of[number] for number in sorted(session_of)]


def _verdicts_on(log: IndexedLog, found: Sequence[tuple[str, Record]]) -> LogVerdicts:
    if not found:
        return LogVerdicts()
    by_session: dict[str, dict[str, str]] = defaultdict(dict)
    for session, record in found:  # the last one written counts
        by_session[session][record.reviewer] = record.value
    return LogVerdicts(by_session, len(decode_starts(log.starts)) if log.starts else None)


def agreement_on(
    logs: Iterable[LogVerdicts],
    a: str,
    b: str,
    confidence: float = 0.95,
) -> Agreement:
    """Returns how far two reviewers agree on the sessions on which both gave a verdict."""
    pairs = (
        (verdicts[a], verdicts[b])
        for log in logs
        for verdicts in log.by_session.values()
        if a in verdicts and b in verdicts
    )
    return agreement_of(a, b, pairs, confidence)
