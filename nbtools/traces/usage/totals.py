"""Adds up sessions by day, project, model or agent."""

from __future__ import annotations

import time
from collections.abc import Iterable, Sequence
from typing import Literal, TypeAlias, get_args

from msgspec import Struct

from nbtools.traces.usage.usage_groups import HALF_HOUR, LogUsage, UsageGroup

TotalsBy: TypeAlias = Literal["day", "project", "model", "agent"]
TOTALS_BY: tuple[TotalsBy, ...] = get_args(TotalsBy)


class SessionUsage(Struct, frozen=True):
    """The usage of one session. ``started`` is in seconds since the epoch, ``costs`` are those of the usage
    groups in their order, ``recorded_cost`` is what the log says where there are none.
    """

    number: int
    agent: str
    project: str
    started: float
    usage: LogUsage
    costs: Sequence[float | None] = ()
    recorded_cost: float | None = None

    @property
    def models(self) -> set[str]:
        return {group.model for group in self.usage.groups}


class Total(Struct, frozen=True):
    """The sums over the sessions of a day, a project, a model or an agent, which ``name`` tells.

    ``name`` is a date such as ``2026-11-29``, a folder, a model or an agent; empty where the log does not
    tell. The numbers are those of ``counts.DEFINITIONS``. ``calls`` and ``failed_calls`` are None for models:
    logs do not tell which model made a call. ``cost`` is in US dollars and lacks the ``unpriced`` requests to
    models that have no price; None where nothing has one. ``lower_bound``: it would be more, as there are
    such requests, or as numbers of output tokens are placeholders.
    """

    name: str
    sessions: int = 0
    calls: int | None = None
    failed_calls: int | None = None
    requests: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    cost: float | None = None
    unpriced: int = 0
    lower_bound: bool = False


class _Sum:
    def __init__(self) -> None:
        self.numbers: set[int] = set()
        self.calls = self.failed = self.requests = self.input = self.output = self.unpriced = 0
        self.costs: list[float] = []
        self.has_placeholders = False

    def add_group(self, group: UsageGroup, cost: float | None, *, is_priced: bool) -> None:
        self.requests += group.requests
        self.input += group.input
        self.output += group.output
        self.has_placeholders |= group.placeholders
        if cost is not None:
            self.costs.append(cost)
        elif is_priced:
            self.unpriced += group.requests or 1

    def total(self, name: str, by: TotalsBy) -> Total:
        has_calls = by != "model"
        return Total(
            name,
            len(self.numbers),
            self.calls if has_calls else None,
            self.failed if has_calls else None,
            self.requests,
            self.input,
            self.output,
            sum(self.costs) if self.costs else None,
            self.unpriced,
            bool(self.costs) and (self.unpriced > 0 or self.has_placeholders),
        )


def add_up(
    sessions: Iterable[SessionUsage], by: TotalsBy, since: float = 0.0, until: float = 0.0
) -> list[Total]:
    """Adds up what sessions did from ``since`` to ``until``, in seconds since the epoch; 0 for any time.

    Calls and requests count on the day on which they were made, half hours as a whole; those without a time
    on the day on which their session began. Days are in the order of time, others by cost, then by tokens.
    """
    sums: dict[str, _Sum] = {}
    for session in sessions:
        _add(session, by, since, until, sums)
    totals = [found.total(name, by) for name, found in sums.items()]
    if by == "day":
        return sorted(totals, key=lambda one: one.name)
    return sorted(totals, key=lambda one: (-(one.cost or 0), -one.input_tokens, one.name))


def _add(session: SessionUsage, by: TotalsBy, since: float, until: float, sums: dict[str, _Sum]) -> None:
    def sum_of(half_hour: int | None, model: str = "") -> _Sum | None:
        at = session.started if half_hour is None else half_hour * HALF_HOUR
        if at + HALF_HOUR <= since or (until and at > until):
            return None
        names = {"day": _day(at), "project": session.project, "model": model, "agent": session.agent}
        found = sums.setdefault(names[by], _Sum())
        found.numbers.add(session.number)
        return found

    groups, costs = session.usage.groups, session.costs
    is_recorded = not any(cost is not None for cost in costs) and session.recorded_cost is not None
    for group, cost in zip(groups, costs if len(costs) == len(groups) else [None] * len(groups), strict=True):
        if (found := sum_of(group.half_hour, group.model)) is not None:
            found.add_group(group, cost, is_priced=not is_recorded)
    for one in session.usage.calls:
        if by != "model" and (found := sum_of(one.half_hour)) is not None:
            found.calls += one.calls
            found.failed += one.failed_calls
    if is_recorded or by != "model":
        models = session.models
        start = sum_of(None, next(iter(models)) if len(models) == 1 else "")
        if start is not None and is_recorded:
            start.costs.append(session.recorded_cost or 0.0)


def _day(at: float) -> str:
    try:
        return time.strftime("%Y-%m-%d", time.localtime(at))
    except (OverflowError, ValueError, OSError):
        return ""
