"""Finds the records that several logs of a set contain, so that each is counted once.

An agent that forks or resumes a session in a new file copies the earlier records into it, often under the new
session's id. Two logs are related if they have the same format, and a request or a call of different sessions
in common: the same id of the provider at the same time. Of related logs, the one that began first has a
record, and the others repeat it. A copy of a whole file has the same sessions, and is not touched.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

from msgspec.structs import replace

from nbtools.traces.model import Call, Event, Ref, RequestUsage, Session
from nbtools.traces.parallel_reading import RowBatch
from nbtools.traces.usage.requests import sum_of_tokens, tokens_between

REPEATS = "repeats"
"""The flag of a session that repeats records, and the key of their number in its ``counts``."""
COPIED_SESSION = "repeated"
"""The flag of a session that is part of another log's session, as its format's reader has found."""
MIN_ID = 16
"""Characters from which on an id is unique: shorter ones are counted, such as ``call_1``."""
Key: TypeAlias = Hashable


@dataclass(frozen=True)
class Repeats:
    """The records that one log of a set repeats: ``steps`` are the positions (``seq``) of events and calls.

    ``calls`` are the calls' sessions and ids, ``requests`` positions in the log's list of requests.
    ``sessions`` has the sessions that repeat something, as they count in the set; None for one that counts in
    another log only. ``rests`` has the requests with the scope ``rest`` that change, by position.
    """

    steps: frozenset[int]
    calls: frozenset[tuple[str, str]]
    requests: frozenset[int]
    sessions: Mapping[str, Session | None] = field(default_factory=dict)
    rests: Mapping[int, RequestUsage] = field(default_factory=dict)

    def is_counted(self, seqs: Sequence[int]) -> bool:
        """Whether something that consists of these steps is not wholly repeated."""
        return not seqs or not self.steps.issuperset(seqs)


def find_repeats(logs: Sequence[RowBatch]) -> list[Repeats | None]:
    """Returns what each log repeats of the others; None where it repeats nothing."""
    related = _related(logs)
    found: list[Repeats | None] = [None] * len(logs)
    if not related:
        return found
    keys = {
        at: record_keys(logs[at])
        for at in {*related, *(owner for owners in related.values() for owner in owners)}
    }
    whole = {
        session.id: session
        for batch in logs
        for session in batch.sessions
        if COPIED_SESSION not in session.flags
    }
    for at, owners in related.items():
        known = {key for owner in owners for key in keys[owner]}
        copied = {one.id for one in logs[at].sessions if COPIED_SESSION in one.flags and one.id in whole}
        found[at] = _repeats(logs[at], known, copied, [logs[owner] for owner in owners])
    return found


def without_repeats(log: RowBatch, repeats: Repeats | None) -> RowBatch:
    """Returns the rows of a log that count in its set; the log's own batch where it repeats nothing."""
    if repeats is None:
        return log
    sessions = [repeats.sessions.get(one.id, one) for one in log.sessions]
    return RowBatch(
        [one for one in sessions if one is not None],
        [one for one in log.events if one.seq not in repeats.steps],
        [one for one in log.calls if one.seq not in repeats.steps],
        [one for one in log.file_changes if (one.session, one.call) not in repeats.calls],
        log.problems,
        [repeats.rests.get(at, one) for at, one in enumerate(log.usage) if at not in repeats.requests],
    )


def _related(logs: Sequence[RowBatch]) -> dict[int, set[int]]:
    """Returns the logs that repeat something, each with those that may have it first."""
    if len(logs) < 2:
        return {}
    pairs: set[tuple[int, int]] = set()
    first: dict[Key, list[tuple[int, str]]] = {}
    for at, log in enumerate(logs):
        for key, session in _identities(log):
            seen = first.setdefault(key, [])
            pairs |= {(other, at) for other, name in seen if other != at and name != session}
            if (at, session) not in seen:
                seen.append((at, session))
    ranks = {at: (*_began(logs[at]), at) for pair in pairs for at in pair}
    related: dict[int, set[int]] = defaultdict(set)
    for pair in pairs:
        owner, other = sorted(pair, key=lambda at: ranks[at])
        related[other].add(owner)
    for owner, other in _pairs_by_session(logs):
        related[other].add(owner)
    return related


def _identities(log: RowBatch) -> Iterator[tuple[Key, str]]:
    """Yields the ids that the provider gave to requests and calls, with the log's format,
    their times and sessions.
    """
    form = log.sessions[0].format if log.sessions else ""
    for request in log.usage:
        if len(request.id) >= MIN_ID and request.at is not None:
            yield (form, "request", request.id, request.at), request.session
    for call in log.calls:
        if len(call.native_id) >= MIN_ID and call.at is not None:
            yield (form, "call", call.native_id, call.at), call.session


def _pairs_by_session(logs: Sequence[RowBatch]) -> set[tuple[int, int]]:
    """Returns the logs with copies of a session (by the reader's judgement),
    with the log that has the session itself.
    """
    whole = {
        one.id: at for at, log in enumerate(logs) for one in log.sessions if COPIED_SESSION not in one.flags
    }
    copies = (
        (one.id, at) for at, log in enumerate(logs) for one in log.sessions if COPIED_SESSION in one.flags
    )
    return {(whole[name], at) for name, at in copies if name in whole and whole[name] != at}


def _began(log: RowBatch) -> tuple[float, float]:
    """Returns when a log was begun and when it ended:
    a fork's first record may be its own, or a copy of the parent's first one.
    """
    first = next((event.at for event in log.events if event.at is not None), math.inf)
    ended = max((one.ended for one in log.sessions if one.ended is not None), default=math.inf)
    return first, ended


def record_keys(log: RowBatch) -> set[Key]:
    """Returns what the messages, calls and requests of a log have in common with their copies, as far as
    their times are recorded.
    """
    rows: Iterable[Event | Call | RequestUsage] = (*log.events, *log.calls, *log.usage)
    return {key for row in rows if (key := _key(row)) is not None}


def _key(row: Event | Call | RequestUsage) -> Key | None:
    """Returns what a record has in common with its copies;
    None where it has no time, and so cannot be told from another.
    """
    if row.at is None:
        return None
    at = round(row.at * 1e6)
    if isinstance(row, Event):
        return row.kind, at, row.size, row.text, row.type, row.key
    if isinstance(row, Call):
        return "call", at, row.native_id, row.name, row.subject
    return "request", at, row.id, row.model, None if row.id else row.tokens


def _repeats(log: RowBatch, known: set[Key], copied: set[str], owners: Sequence[RowBatch]) -> Repeats:
    def is_repeated(row: Event | Call | RequestUsage) -> bool:
        return row.session in copied or _key(row) in known

    events = [one for one in log.events if is_repeated(one)]
    calls = [one for one in log.calls if is_repeated(one)]
    requests = frozenset(at for at, one in enumerate(log.usage) if is_repeated(one))
    records: dict[str, set[Ref]] = defaultdict(set)
    for event in events:
        records[event.session].add(event.ref)
    for call in calls:
        records[call.session].update((call.ref, call.result_ref) if call.answered else (call.ref,))
    sessions: dict[str, Session | None] = dict.fromkeys(copied)
    for session in log.sessions:
        if session.id not in copied and records.get(session.id):
            spent = [log.usage[at] for at in requests if log.usage[at].session == session.id]
            sessions[session.id] = _counted(session, len(records[session.id]), spent, owners)
    rests = {
        at: replace(one, cost=counted.cost)
        for at, one in enumerate(log.usage)
        if one.scope == "rest" and at not in requests and (counted := sessions.get(one.session)) is not None
    }
    steps = frozenset((*(event.seq for event in events), *(call.seq for call in calls)))
    return Repeats(steps, frozenset((call.session, call.id) for call in calls), requests, sessions, rests)


def _counted(
    session: Session, records: int, spent: Sequence[RequestUsage], owners: Sequence[RowBatch]
) -> Session:
    """Returns a session that repeats so many records, without the requests among them."""
    return replace(
        session,
        tokens=tokens_between(sum_of_tokens(one.tokens for one in spent), session.tokens),
        cost=_own_cost(session, spent, owners),
        flags=(*session.flags, REPEATS),
        counts={**session.counts, REPEATS: records},
    )


def _own_cost(session: Session, spent: Sequence[RequestUsage], owners: Sequence[RowBatch]) -> float | None:
    """Returns the cost of what the session does not repeat.

    An agent counts on from the parent's cost.
    That is known where the requests have costs, or a log is repeated as a whole; else None.
    """
    if session.cost is None or not spent:
        return session.cost
    if all(one.cost is not None for one in spent):
        return session.cost - sum(one.cost or 0.0 for one in spent)
    repeated = {_key(one) for one in spent}
    for owner in owners:
        costs = [one.cost for one in owner.sessions if one.cost is not None]
        if costs and {_key(one) for one in owner.usage if one.scope == "request"} == repeated:
            return session.cost - sum(costs)
    return None
