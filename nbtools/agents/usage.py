"""What a run has used, and what it may."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Usage:
    """Tokens; ``input`` is without those from the cache.  ``cost`` is in US dollars, None where the model's price is not known."""

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
        """The cost of both is known only where that of each is."""
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
    """Where a run stops by itself, with what it has.  ``steps`` are requests to the model, ``cost`` US dollars; None: no limit."""

    steps: int = 50
    tokens: int | None = None
    cost: float | None = None

    def reached(self, used: Usage) -> str:
        """Why nothing more may be asked of the model; empty while it may."""
        if used.requests >= self.steps:
            return f"it reached its limit of {self.steps:,} step{'s' if self.steps != 1 else ''}"
        if self.tokens is not None and used.tokens >= self.tokens:
            return f"it reached its limit of {self.tokens:,} tokens ({used.tokens:,} used)"
        if self.cost is None or not used.requests:
            return ""
        if used.cost is None:
            return "the price of this model is not known, so its limit of cost cannot be kept"
        return f"it reached its limit of ${self.cost:g} (${used.cost:.4f} used)" if used.cost >= self.cost else ""
