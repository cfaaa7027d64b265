"""The rows of a session's token usage: one for each request, and one for what no request explains."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Iterator, Sequence
from operator import attrgetter

from msgspec.structs import replace

from nbtools.traces.model import RequestUsage, Tokens

TOKEN_KINDS = ("input", "cache_read", "cache_write", "output", "reasoning")
_counts = attrgetter(*TOKEN_KINDS)
_COST_TOLERANCE = 1e-6
"""Differences below this, in US dollars, are those of floating-point sums."""


def sum_of_tokens(parts: Iterable[Tokens]) -> Tokens:
    """Adds token counts; a count that no part has is None."""
    sums: list[int | None] = []
    for counts in zip(*map(_counts, parts), strict=True):
        recorded = [count for count in counts if count is not None]
        sums.append(sum(recorded) if recorded else None)
    return Tokens(*sums)


def tokens_between(before: Tokens, after: Tokens) -> Tokens:
    """Returns how much each count of a running total has grown; None where the later total lacks it."""
    counts = ((getattr(before, kind) or 0, getattr(after, kind)) for kind in TOKEN_KINDS)
    return Tokens(*(None if later is None else later - earlier for earlier, later in counts))


def with_sums(total: Tokens, spent: Tokens) -> Tokens:
    """Returns the session's total with the counts that it lacks taken from the sum over its requests."""
    counts = ((getattr(total, kind), getattr(spent, kind)) for kind in TOKEN_KINDS)
    return Tokens(*(sum_ if count is None else count for count, sum_ in counts))


def difference_of(requests: Sequence[RequestUsage], total: Tokens) -> str:
    """Describes where a recorded total is not the sum over the requests; empty if it is.

    Only counts that the total and every request have are compared.
    """
    different = []
    for kind in TOKEN_KINDS:
        recorded, counts = getattr(total, kind), [getattr(request.tokens, kind) for request in requests]
        if recorded is not None and counts and None not in counts and sum(counts) != recorded:
            different.append(
                f"{kind}: {recorded:,} in the log's total, {sum(counts):,} in its {len(counts):,} requests"
            )
    return "; ".join(different)


def input_of(tokens: Tokens) -> int | None:
    """Returns all input tokens of a request, cached ones included; None where none is recorded."""
    counts = [count for count in (tokens.input, tokens.cache_read, tokens.cache_write) if count is not None]
    return sum(counts) if counts else None


def usage_rows(
    session: str,
    requests: Sequence[RequestUsage],
    compactions: Sequence[int],
    total: Tokens,
    cost: float | None,
) -> Iterator[RequestUsage]:
    """Yields the requests with their marks, and the rest where they do not sum up to the total."""
    cached: dict[str, int] = {}
    before = 0
    for request in requests:
        if "scorer" in request.flags:  # it has a context of its own
            yield request
            continue
        marks: tuple[str, ...] = ()
        read = request.tokens.cache_read
        compacted = before if request.seq is None else bisect_left(compactions, request.seq)
        if compacted > before:
            marks = ("after_compaction",)
        elif read is not None and read < cached.get(request.model, 0):
            marks = ("cache_break",)
        before = compacted
        cached[request.model] = read or 0
        if marks or request.session != session:
            yield replace(request, session=session, flags=(*request.flags, *marks))
        else:
            yield request
    spent = sum_of_tokens(request.tokens for request in requests)
    tokens = tokens_between(spent, total)
    money = None if cost is None else cost - sum(request.cost or 0.0 for request in requests)
    unexplained = any(getattr(tokens, kind) for kind in TOKEN_KINDS)
    if unexplained or (money is not None and abs(money) >= _COST_TOLERANCE):
        yield RequestUsage(session, scope="rest", tokens=tokens, cost=money)
