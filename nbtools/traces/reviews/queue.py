"""The order in which unreviewed sessions or steps are offered:
random with a seed, or spread over agents and outcomes.
"""

from __future__ import annotations

import random
from collections import defaultdict
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Literal, TypeAlias, TypeVar

from nbtools.traces.model import Call, SampleResult, Session

if TYPE_CHECKING:
    from nbtools.traces.session_index.logged_session import LoggedSession

T = TypeVar("T")
Order: TypeAlias = Literal["random", "stratified", "recorded"]


def ordered(items: Iterable[T], order: Order, seed: int, stratum: Callable[[T], Hashable]) -> list[T]:
    """Returns the items in an order that only depends on their own order and the seed.

    ``stratified`` takes one of each stratum in turn,
    so that the first *n* items have about the same number of each; within a stratum the order is random.
    """
    listed = list(items)
    if order == "recorded":
        return listed
    source = random.Random(seed)  # noqa: S311 - a reproducible order, not a secret
    source.shuffle(listed)
    return listed if order == "random" else [*_in_turn(listed, stratum)]


def _in_turn(items: Sequence[T], stratum: Callable[[T], Hashable]) -> Iterator[T]:
    strata: dict[Hashable, list[T]] = defaultdict(list)
    for item in items:
        strata[stratum(item)].append(item)
    for position in range(max(map(len, strata.values()), default=0)):
        yield from (rows[position] for rows in strata.values() if position < len(rows))


def outcome_of_sample(sample: SampleResult) -> str:
    """Returns ``error``, or the scores: ``match: C``; empty where neither is recorded."""
    if sample.error is not None:
        return "error"
    return ", ".join(f"{name}: {value}" for name, value in (sample.scores or {}).items())


def outcome_of(session: Session, calls: Iterable[Call]) -> str:
    """Returns the outcome of a session as its log records it.

    That is a sample's error or scores, or an exit status, else the status of the last answered call,
    else empty.
    """
    if session.sample is not None and (outcome := outcome_of_sample(session.sample)):
        return outcome
    recorded = session.counts.get("exit_status")
    if isinstance(recorded, str) and recorded:
        return recorded
    last = None
    for call in calls:
        if call.live and call.level == "model" and call.answered and (last is None or call.seq > last.seq):
            last = call
    return last.status if last else ""


def sampled(logs: Iterable[LoggedSession], count: int, seed: int = 0) -> list[LoggedSession]:
    """Returns ``count`` of the sessions, in turn from each combination of agent and outcome (whether a call
    failed), and within these at random. The same sessions and seed always give the same sample.
    """
    in_order = sorted(logs, key=lambda one: str(one.path))
    return ordered(in_order, "stratified", seed, _stratum)[: max(count, 0)]


def _stratum(session: LoggedSession) -> tuple[str, bool | None]:
    return session.agent, None if session.failed_calls is None else session.failed_calls > 0
