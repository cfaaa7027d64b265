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


@dataclass(frozen=True, slots=True)
class Limits:
    """Where a run stops by itself, with what it has.  ``steps`` are requests to the model, ``cost`` US dollars; None: no limit."""

    steps: int = 50
    tokens: int | None = None
    cost: float | None = None
