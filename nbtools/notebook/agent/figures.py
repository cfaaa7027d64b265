"""What a run has used, in the few words of its head and foot."""

from __future__ import annotations

from nbtools.agents.usage import Limits, Usage
from nbtools.notebook.phrases import counted, elapsed


def running(step: int, limits: Limits, usage: Usage, seconds: float) -> tuple[str, ...]:
    """While it runs, the weightiest first."""
    return (f"step {max(step, 1)} of {limits.steps}", elapsed_roughly(seconds), *_used(usage))


def ended(usage: Usage, seconds: float) -> tuple[str, ...]:
    calls = (counted(usage.calls, "call"),) if usage.calls else ()
    return (counted(usage.requests, "step"), *calls, elapsed(seconds), *_used(usage))


def elapsed_roughly(seconds: float) -> str:
    """Whole seconds: it counts on once a second."""
    return elapsed(seconds) if seconds >= 59.5 else f"{int(seconds)} s"


def _used(usage: Usage) -> tuple[str, ...]:
    tokens = (counted(usage.tokens, "token"),) if usage.tokens else ()
    return (*tokens, price(usage.cost)) if usage.cost is not None else tokens


def price(dollars: float) -> str:
    """``$0.0042``, ``$0.31``, ``$12.40``."""
    if not dollars:
        return "$0"
    return f"${dollars:,.2f}" if dollars >= 0.1 else f"${dollars:.2g}" if dollars >= 0.0001 else "under $0.0001"
