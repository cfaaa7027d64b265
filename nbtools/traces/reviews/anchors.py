"""Anchors review records to the bytes of a log, and finds their place in a trace again."""

from __future__ import annotations

from bisect import bisect_left
from collections import defaultdict
from collections.abc import Mapping, Sequence
from functools import cached_property
from operator import attrgetter
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

from nbtools.core.errors import TraceError
from nbtools.traces.model import Call, Event, Ref, Session
from nbtools.traces.reader import LogFile
from nbtools.traces.reviews.record_hashes import START_ROWS, digest, hash_at, record_hash
from nbtools.traces.reviews.records import ReviewRow, Status, StepAnchor, Target

if TYPE_CHECKING:
    from nbtools.traces.trace_rows import TraceRows

Step: TypeAlias = Call | Event
_CONTEXT_ROWS = 3
"""Number of records before a step that tell it from others with the same content."""
SessionKey: TypeAlias = tuple[int, str]
"""A session, by the identity of its log and its id: two logs may have the same id."""


class Found(NamedTuple):
    """A target's place in a trace; ``session`` is None where the trace does not have it,
    ``first`` and ``last`` where a step is lost.
    """

    status: Status
    session: Session | None
    first: Step | None = None
    last: Step | None = None


class Anchors:
    """The anchors of one trace's rows. Records are read from the logs on demand."""

    def __init__(self, trace: TraceRows) -> None:
        self._trace = trace
        self._hashes: dict[tuple[int, Ref], str] = {}
        self._starts: dict[tuple[int, int], tuple[str, int]] = {}
        self._positions: dict[SessionKey, dict[int, int]] = {}

    def target(self, first: ReviewRow, last: Step | None = None, span: str = "") -> Target:
        """Returns the target for a session, a step or a range.
        Raises ``TraceError`` where the log cannot be read any more.
        """
        session = first if isinstance(first, Session) else self.session_of(first)
        start, rows = self._start(session, START_ROWS)
        return Target(
            format=session.format,
            session=session.id,
            start=start,
            rows=rows,
            first=None if isinstance(first, Session) else self._anchor(first),
            last=None if last is None or last is first else self._anchor(last),
            span=span,
            log=self.path_of(session),
        )

    def prepare(self) -> None:
        """Builds the indexes of all rows."""
        _ = self._by_id
        for rows in self._steps.values():
            self._position(rows[0])

    def session_of(self, row: Step) -> Session:
        """Returns the row's session. Raises ``TraceError`` where the log does not have it."""
        session = self._sessions.get(self._key(row))
        if session is None:
            raise TraceError(f"The log has no session {row.session}, so this step cannot be reviewed.")
        return session

    def steps_between(self, first: Step, last: Step) -> Sequence[Step]:
        """Returns the steps of a range, with both ends."""
        return self._steps[self._key(first)][self._position(first) : self._position(last) + 1]

    def is_range(self, first: Step, last: Step) -> bool:
        """Returns whether these are the first and the last of several steps of the same session of a log."""
        return self._key(first) == self._key(last) and first.seq < last.seq

    def find(self, target: Target) -> Found:
        """Returns where the target is now.
        A place is only named where its content is the same, or the log's own id is.
        """
        session, trusted = self._find_session(target)
        if session is None:
            return Found("gone", None)
        expected = trusted or self.path_of(session) == target.log
        if target.first is None:
            return Found("same" if trusted else "changed", session if expected else None)
        status, first = self._find_step(session, target.first, trusted=trusted)
        if not expected and (first is None or status == "changed"):
            return Found("gone", None)  # another log whose session has the same id
        if target.last is None:
            return Found(status, session, first, first)
        last_status, last = self._find_step(session, target.last, trusted=trusted)
        worst = max(status, last_status, key=("same", "moved", "changed", "gone").index)
        if first is None or last is None or last.seq < first.seq:
            return Found(worst if worst != "same" else "changed", session)
        return Found(worst, session, first, last)

    # --- sessions

    def _find_session(self, target: Target) -> tuple[Session | None, bool]:
        """Returns the session, and whether its beginning has the same content.
        Of several copies it is the one at the same path.
        """
        of_format = [one for one in self._sessions.values() if one.format == target.format]
        alike = [one for one in of_format if self._starts_like(one, target)]
        named = [one for one in of_format if one.id == target.session]
        if alike:
            alike.sort(key=lambda one: (one.id != target.session, self.path_of(one) != target.log))
            return alike[0], True
        return (named[0], False) if named else (None, False)

    def _starts_like(self, session: Session, target: Target) -> bool:
        return target.rows > 0 and self._start(session, target.rows) == (target.start, target.rows)

    def _start(self, session: Session, count: int) -> tuple[str, int]:
        """Returns the hash of the first records, and their number."""
        key = (id(session), count)
        if key not in self._starts:
            rows = self._steps.get(self._session_key(session), ())[:count]
            self._starts[key] = (digest(map(self.record_hash, rows)), len(rows)) if rows else ("", 0)
        return self._starts[key]

    # --- steps

    def _anchor(self, row: Step) -> StepAnchor:
        record = self.record_hash(row)
        if not record:
            raise TraceError(
                "The record of this step cannot be read. The log may have changed since it was loaded; load"
                " it again."
            )
        before, context = self._before(row)
        return StepAnchor(
            kind=_kind(row),
            seq=row.seq,
            id=_id(row),
            native=self._is_native(row),
            part=self._part(row),
            record=record,
            result=self._result_hash(row),
            before=before,
            context=context,
        )

    def _find_step(
        self, session: Session, anchor: StepAnchor, *, trusted: bool
    ) -> tuple[Status, Step | None]:
        key = self._session_key(session)
        steps = self._steps.get(key, ())
        named = self._named(key, anchor)
        for row in named:
            in_context = self._in_context(row, anchor)
            if self._same_content(row, anchor) and (
                in_context or (trusted and anchor.native and len(named) == 1)
            ):
                return ("same" if row.seq == anchor.seq else "moved"), row
        alike = [row for row in steps if self._same_content(row, anchor)]
        certain = (
            alike if trusted and len(alike) == 1 else [row for row in alike if self._in_context(row, anchor)]
        )
        if len(certain) == 1:
            return ("same" if certain[0].seq == anchor.seq else "moved"), certain[0]
        if alike:
            return "moved", None
        if anchor.native and len(named) == 1 and (anchor.kind == "call" or anchor.kind == _kind(named[0])):
            return "changed", named[0]
        return ("changed" if named and anchor.id else "gone"), None

    def _named(self, key: SessionKey, anchor: StepAnchor) -> Sequence[Step]:
        """Returns the steps with the anchor's id; for an event without one, the event at its position."""
        if anchor.id:
            return [
                row
                for row in self._by_id.get((key, anchor.kind, anchor.id), ())
                if self._part(row) == anchor.part
            ]
        steps = self._steps.get(key, ())
        at = bisect_left(steps, anchor.seq, key=attrgetter("seq"))
        return (
            [steps[at]]
            if at < len(steps) and steps[at].seq == anchor.seq and _kind(steps[at]) == anchor.kind
            else []
        )

    def _same_content(self, row: Step, anchor: StepAnchor) -> bool:
        if (
            _kind(row) != anchor.kind
            or self._part(row) != anchor.part
            or self.record_hash(row) != anchor.record
        ):
            return False
        return not anchor.result or self._result_hash(row) == anchor.result

    def _in_context(self, row: Step, anchor: StepAnchor) -> bool:
        """Returns whether as many records before the row are the same;
        near the beginning of a session there are none to compare.
        """
        return self._before(row) == (anchor.before, anchor.context) and (
            anchor.context == _CONTEXT_ROWS or row.seq == anchor.seq
        )

    def _before(self, row: Step) -> tuple[str, int]:
        steps = self._steps[self._key(row)]
        at = self._position(row)
        records: dict[Ref, Step] = {}
        while at > 0 and len(records) < _CONTEXT_ROWS:
            at -= 1
            if steps[at].ref != row.ref:
                records.setdefault(steps[at].ref, steps[at])
        return digest(map(self.record_hash, records.values())), len(records)

    def _position(self, row: Step) -> int:
        key = self._key(row)
        positions = self._positions.get(key)
        if positions is None:
            positions = self._positions[key] = {id(one): at for at, one in enumerate(self._steps[key])}
        return positions[id(row)]

    def _part(self, row: Step) -> int:
        """Returns the position among the rows of this kind that were made from the same record."""
        steps = self._steps[self._key(row)]
        at = self._position(row) - 1
        part = 0
        while at >= 0 and steps[at].ref == row.ref:
            part += _kind(steps[at]) == _kind(row)
            at -= 1
        return part

    def _is_native(self, row: Step) -> bool:
        """Returns whether the log itself has the row's id, and has it once in the session."""
        native = bool(row.native_id) and row.id == row.native_id if isinstance(row, Call) else bool(row.key)
        return (
            native
            and sum(
                self._part(one) == self._part(row)
                for one in self._by_id[self._key(row), _kind(row), _id(row)]
            )
            == 1
        )

    # --- contents

    def record_hash(self, row: Step) -> str:
        """Returns the hash of the record's bytes without surrounding blanks;
        empty where they cannot be read.
        """
        return record_hash(row, self.log_of(row), self._hash_at)

    def _result_hash(self, row: Step) -> str:
        """Returns the hash of the result's record, if it has one of its own."""
        log = self.log_of(row)
        if (
            log is None
            or not isinstance(row, Call)
            or not row.answered
            or not row.result_ref.length
            or row.result_ref == row.ref
        ):
            return ""
        return self._hash_at(log, row.result_ref)

    def _hash_at(self, log: LogFile, ref: Ref) -> str:
        key = (id(log), ref)
        if key not in self._hashes:
            if not (found := hash_at(log, ref)):
                return ""
            self._hashes[key] = found
        return self._hashes[key]

    # --- indexes

    @cached_property
    def _sessions(self) -> Mapping[SessionKey, Session]:
        return {self._session_key(session): session for session in self._trace.sessions}

    @cached_property
    def _steps(self) -> Mapping[SessionKey, Sequence[Step]]:
        """The calls and events of each session, in order."""
        steps: dict[SessionKey, list[Step]] = defaultdict(list)
        rows: list[Step] = [*self._trace.events, *self._trace.calls]
        for row in rows:
            steps[self._key(row)].append(row)
        for own in steps.values():
            own.sort(key=attrgetter("seq"))
        return steps

    @cached_property
    def _by_id(self) -> Mapping[tuple[SessionKey, str, str], Sequence[Step]]:
        by_id: dict[tuple[SessionKey, str, str], list[Step]] = defaultdict(list)
        for key, rows in self._steps.items():
            for row in rows:
                if row_id := _id(row):
                    by_id[key, _kind(row), row_id].append(row)
        return by_id

    @cached_property
    def _logs(self) -> Mapping[int, LogFile]:
        """The log of each row, by the row's identity."""
        tables = (self._trace.sessions, self._trace.events, self._trace.calls)
        return {id(row): log for rows in tables for row, log in zip(rows, rows.log_files, strict=True)}

    def _key(self, row: Step) -> SessionKey:
        return id(self.log_of(row)), row.session

    def _session_key(self, session: Session) -> SessionKey:
        return id(self.log_of(session)), session.id

    def path_of(self, row: ReviewRow) -> str:
        """Returns the path of the log that a row was read from; empty for a row of no log."""
        log = self.log_of(row)
        return "" if log is None else str(log.source.path)

    def log_of(self, row: ReviewRow) -> LogFile | None:
        """Returns the log that a row of the trace was read from."""
        readings = self._trace.readings
        return readings[0] if len(readings) == 1 else self._logs.get(id(row))


def _kind(row: Step) -> str:
    return "call" if isinstance(row, Call) else row.kind


def _id(row: Step) -> str:
    return row.id if isinstance(row, Call) else row.key
