"""Computes what requests cost: as recorded, and by the prices of ``genai-prices``."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import UTC, date, datetime
from decimal import Decimal
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from math import isfinite
from typing import Any

from msgspec import Struct

from nbtools.core.errors import TraceError
from nbtools.traces.model import RequestUsage, Session
from nbtools.traces.optional_libraries import import_library
from nbtools.traces.usage.usage_groups import HALF_HOUR, LogUsage, UsageGroup, usage_groups


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
    """Prices every request, by the price at the time of the request where it is known, else of its session,
    else today's.

    Raises ``TraceError`` where genai-prices is not installed.
    Nothing is sent or fetched: the library contains its prices.
    """
    prices = PriceList()
    rows = {session.id: session for session in sessions}
    money: dict[str, float] = defaultdict(float)
    unpriced: Counter[str] = Counter()
    days: set[date] = set()
    lower_bound = False
    for group in usage_groups(usage, rows):
        price = prices.price_of(group)
        if price is None:
            unpriced[group.model] += group.requests or 1
        else:
            money[group.model] += price
            days.add(_time_of(group).date())
            lower_bound |= group.placeholders
    total = sum(money.values()) if money else None
    dates = (min(days), max(days)) if days else None
    recorded = recorded_cost(rows.values()).recorded
    return Cost(total, recorded, dict(money), dict(unpriced), prices.name, dates, lower_bound)


class LogCost(Struct, frozen=True):
    """The cost of a log by price lists, in US dollars: ``by_group`` has the cost of each of its
    ``UsageGroup``, None where the model has no price. ``prices`` names the price lists.
    """

    by_group: tuple[float | None, ...] = ()
    prices: str = ""


def log_cost(usage: LogUsage) -> LogCost:
    """Prices a log's usage; without ``prices`` where the price lists are not installed."""
    if not usage.groups or not prices_name():
        return LogCost(prices=prices_name())
    try:
        prices = PriceList()
    except TraceError:
        return LogCost(prices=prices_name())
    return LogCost(tuple(prices.price_of(group) for group in usage.groups), prices.name)


class PriceList:
    """The prices that ``genai-prices`` contains. Raises ``TraceError`` where it is not installed."""

    def __init__(self) -> None:
        self._library: Any = import_library("genai_prices")
        self.name = prices_name()

    def price_of(self, group: UsageGroup) -> float | None:
        """Returns what a group's requests cost on their day, in US dollars; None where the model has no
        price.
        """
        output = group.output + group.reasoning
        sign = -1 if min(group.input, output) < 0 else 1  # a negative rest
        counts = {
            "input_tokens": group.input,
            "cache_read_tokens": group.cache_read,
            "cache_write_tokens": group.cache_write,
            "output_tokens": output,
        }
        if not group.model or any(count * sign < 0 for count in counts.values()):
            return None
        # A group's requests have one price, but their sum may be above a limit that none of them is above.
        number = max(group.requests, 1)
        try:
            usage = self._library.Usage(
                **{name: Decimal(count * sign) / number for name, count in counts.items()}
            )
            at = _time_of(group)
            found = self._library.calc_price(usage, group.model, genai_request_timestamp=at).total_price
            price = sign * number * float(found)
        except (LookupError, ValueError, ArithmeticError):
            return None
        return price if isfinite(price) else None


@cache
def prices_name() -> str:
    """Returns the name and version of the price lists; empty where they are not installed."""
    try:
        return f"genai-prices {version('genai-prices')}"
    except PackageNotFoundError:
        return ""


def _time_of(group: UsageGroup) -> datetime:
    """Returns when a group's requests were sent: now, where that is not known."""
    if group.half_hour is not None:
        with suppress(OverflowError, ValueError, OSError):
            return datetime.fromtimestamp(group.half_hour * HALF_HOUR, UTC)
    return datetime.now(UTC)
