"""Computes what requests cost: as recorded, and by the prices of ``genai-prices``."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import UTC, date, datetime
from importlib.metadata import version
from typing import Any

from nbtools.traces.model import RequestUsage, Session
from nbtools.traces.optional_libraries import import_library
from nbtools.traces.usage.requests import input_of

_REASONING_APART = {"gemini-cli", "gemini-telemetry"}
"""Formats whose output tokens do not include those of reasoning, which are billed as output."""


@dataclass(frozen=True)
class Cost:
    """Money in US dollars.

    ``recorded`` is what the logs say, None where they say nothing. ``total`` is the recorded cost, or with
    prices the sum of ``by_model``; it lacks the requests of ``unpriced`` models (with their number; empty:
    the log does not name the model). ``prices`` names the library and its version, ``price_dates`` the first
    and the last day whose prices were applied. ``lower_bound``: output tokens of some requests are
    placeholders, so they cost more.
    """

    total: float | None
    recorded: float | None
    by_model: dict[str, float] = field(default_factory=dict)
    unpriced: dict[str, int] = field(default_factory=dict)
    prices: str = ""
    price_dates: tuple[date, date] | None = None
    lower_bound: bool = False


def recorded_cost(sessions: Iterable[Session]) -> Cost:
    costs = [session.cost for session in sessions if session.cost is not None]
    recorded = sum(costs) if costs else None
    return Cost(recorded, recorded)


def priced_cost(sessions: Iterable[Session], usage: Iterable[RequestUsage]) -> Cost:
    """Prices every request, by the price on the day of the request where its time is known, else today's.

    Raises ``TraceError`` where genai-prices is not installed.
    Nothing is sent or fetched: the library contains its prices.
    """
    library = import_library("genai_prices")
    rows = {session.id: session for session in sessions}
    money: dict[str, float] = defaultdict(float)
    unpriced: Counter[str] = Counter()
    days: set[date] = set()
    lower_bound = False
    for request in usage:
        if input_of(request.tokens) is None and request.tokens.output is None:
            continue
        session = rows.get(request.session)
        model = request.model or (
            session.models[0] if session is not None and len(session.models) == 1 else ""
        )
        at = datetime.now(UTC) if request.at is None else datetime.fromtimestamp(request.at, UTC)
        price = _price(
            library, request, model, at, apart=session is not None and session.format in _REASONING_APART
        )
        if price is None:
            unpriced[model] += 1
        else:
            money[model] += price
            days.add(at.date())
            lower_bound |= "placeholder" in request.flags
    total = sum(money.values()) if money else None
    dates = (min(days), max(days)) if days else None
    name = f"genai-prices {version('genai-prices')}"
    return Cost(
        total, recorded_cost(rows.values()).recorded, dict(money), dict(unpriced), name, dates, lower_bound
    )


def _price(library: Any, request: RequestUsage, model: str, at: datetime, *, apart: bool) -> float | None:
    """Returns the price of a request; None where its model has none."""
    tokens, size = request.tokens, input_of(request.tokens) or 0
    output = (tokens.output or 0) + ((tokens.reasoning or 0) if apart else 0)
    sign = -1 if min(size, output) < 0 else 1  # a negative rest
    counts = {
        "input_tokens": size,
        "cache_read_tokens": tokens.cache_read or 0,
        "cache_write_tokens": tokens.cache_write or 0,
        "output_tokens": output,
    }
    if not model or any(count * sign < 0 for count in counts.values()):
        return None
    try:
        usage = library.Usage(**{name: count * sign for name, count in counts.items()})
        return sign * float(library.calc_price(usage, model, genai_request_timestamp=at).total_price)
    except (LookupError, ValueError):
        return None
