"""Token usage of a log in groups that have one price each, by half hours, small enough to be stored for
every log.
"""

from __future__ import annotations

import json
from bisect import bisect_left
from collections.abc import Iterable
from math import isfinite

from msgspec import Struct
from msgspec.structs import astuple

from nbtools.traces.model import Call, RequestUsage, Row, Session
from nbtools.traces.usage.requests import input_of

HALF_HOUR = 1800
"""Seconds. Days begin at a half or a full hour in all time zones but two, and so do the prices of a time of
day.
"""
PRICE_STEPS = (32_000, 100_000, 128_000, 199_999, 200_000, 256_000, 272_000, 512_000, 524_288)
"""Numbers of input tokens above which requests to some model have another price."""
REST = -1
"""The size class of what no request explains."""
REASONING_APART = frozenset({"gemini-cli", "gemini-telemetry"})
"""Formats whose output tokens do not include those of reasoning, which are billed as output."""


class UsageGroup(Struct, frozen=True, array_like=True):
    """Requests to one model within a half hour whose numbers of input tokens lie between the same two of
    ``PRICE_STEPS``: the price of their sum is the sum of their prices.

    ``half_hour`` is counted since the epoch, None where the log tells no time. ``input`` includes what was
    read from and written to a cache. ``reasoning`` is what is billed besides ``output``. ``placeholders``:
    some of the output counts are placeholders.
    """

    model: str
    half_hour: int | None
    size_class: int
    requests: int = 0
    input: int = 0
    cache_read: int = 0
    cache_write: int = 0
    output: int = 0
    reasoning: int = 0
    placeholders: bool = False

    def plus(self, request: RequestUsage, *, reasoning_apart: bool) -> UsageGroup:
        tokens = request.tokens
        return UsageGroup(
            self.model,
            self.half_hour,
            self.size_class,
            self.requests + (request.scope != "rest"),
            self.input + (input_of(tokens) or 0),
            self.cache_read + (tokens.cache_read or 0),
            self.cache_write + (tokens.cache_write or 0),
            self.output + (tokens.output or 0),
            self.reasoning + (tokens.reasoning or 0 if reasoning_apart else 0),
            self.placeholders or "placeholder" in request.flags,
        )


class CallGroup(Struct, frozen=True, array_like=True):
    """The calls and failed calls of a half hour."""

    half_hour: int | None
    calls: int = 0
    failed_calls: int = 0


class LogUsage(Struct, frozen=True):
    """The usage and the calls of a log by half hours."""

    groups: tuple[UsageGroup, ...] = ()
    calls: tuple[CallGroup, ...] = ()

    def as_json(self) -> str:
        """Returns the usage as JSON, in which numbers have any size."""
        return json.dumps([list(map(astuple, part)) for part in (self.groups, self.calls)])

    @classmethod
    def from_json(cls, text: str) -> LogUsage:
        groups, calls = json.loads(text) if text else ((), ())
        return cls(tuple(UsageGroup(*one) for one in groups), tuple(CallGroup(*one) for one in calls))


class UsageCounter:
    """Groups the usage of a log while its rows are read."""

    def __init__(self) -> None:
        self._sessions: dict[str, Session] = {}
        self._requests: list[RequestUsage] = []
        self._calls: dict[int | None, list[int]] = {}

    def add(self, row: Row) -> None:
        if type(row) is RequestUsage:
            self._requests.append(row)
        elif type(row) is Session:
            self._sessions[row.id] = row
        elif type(row) is Call and row.has_failed is not None:
            counts = self._calls.setdefault(_half_hour(row.at), [0, 0])
            counts[0] += 1
            counts[1] += row.has_failed

    def usage(self) -> LogUsage:
        """Returns the usage of all rows so far."""
        calls = (CallGroup(half_hour, *counts) for half_hour, counts in self._calls.items())
        return LogUsage(tuple(usage_groups(self._requests, self._sessions)), tuple(calls))


def usage_groups(requests: Iterable[RequestUsage], sessions: dict[str, Session]) -> Iterable[UsageGroup]:
    """Groups requests, whose sessions are given by their ids."""
    groups: dict[tuple[str, int | None, int], UsageGroup] = {}
    for request in requests:
        session = sessions.get(request.session)
        size = input_of(request.tokens) or 0
        if not size and not request.tokens.output:
            continue
        at = request.at
        if at is None and session is not None:
            at = session.started
        key = (
            model_of(request, session),
            _half_hour(at),
            REST if request.scope == "rest" else bisect_left(PRICE_STEPS, size),
        )
        apart = session is not None and session.format in REASONING_APART
        groups[key] = groups.get(key, UsageGroup(*key)).plus(request, reasoning_apart=apart)
    return groups.values()


def model_of(request: RequestUsage, session: Session | None) -> str:
    """Returns the model of a request: where the log does not say, that of its session, if it has only one."""
    only = session.models[0] if session is not None and len(session.models) == 1 else ""
    return request.model or only


def _half_hour(at: float | None) -> int | None:
    return None if at is None or not isfinite(at) else int(at // HALF_HOUR)
