"""Token usage of runs, and limits on it."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Usage:
    """Requests, tool calls and tokens; ``input`` excludes cached tokens.
    ``cost`` is in US dollars, None if the price is unknown.
    """

    requests: int = 0
    calls: int = 0
    input: int = 0
    cache_read: int = 0
    cache_write: int = 0
    output: int = 0
    cost: float | None = None

    @property
    def tokens(self) -> int:
        return self.input + self.cache_read + self.cache_write + self.output

    def __add__(self, other: Usage) -> Usage:
        """Adds usages; the cost is None if either is unknown."""
        if not self.requests or not other.requests:
            cost = self.cost if self.requests else other.cost
        else:
            cost = None if self.cost is None or other.cost is None else self.cost + other.cost
        return Usage(
            self.requests + other.requests,
            self.calls + other.calls,
            self.input + other.input,
            self.cache_read + other.cache_read,
            self.cache_write + other.cache_write,
            self.output + other.output,
            cost,
        )


@dataclass(frozen=True, slots=True)
class Limits:
    """Limits at which a run stops.  ``steps`` are model requests, ``cost`` is in US dollars;
    None means no limit.
    """

    steps: int = 50
    tokens: int | None = None
    cost: float | None = None

    def reached(self, used: Usage) -> str:
        """Returns which limit is reached; empty if none is."""
        if used.requests >= self.steps:
            return f"it reached its limit of {self.steps:,} step{'s' if self.steps != 1 else ''}"
        if self.tokens is not None and used.tokens >= self.tokens:
            return f"it reached its limit of {self.tokens:,} tokens ({used.tokens:,} used)"
        if self.cost is None or not used.requests:
            return ""
        if used.cost is None:
            return "the price of this model is unknown, so the cost limit cannot be enforced"
        return (
            f"it reached its limit of ${self.cost:g} (${used.cost:.4f} used)"
            if used.cost >= self.cost
            else ""
        )
