"""Parses times as people type them on a command line: ``7d``, ``yesterday``, ``2026-11-01``."""

from __future__ import annotations

import re
import time
from datetime import datetime, timedelta

from nbtools.core.errors import TraceError

_SPAN = re.compile(
    r"(\d{1,6}) ?(m|min|minutes?|h|hours?|d|days?|w|weeks?|months?|y|years?)(?: ago)?", re.IGNORECASE
)
_DAYS = {"d": 1.0, "w": 7.0, "mo": 30.44, "y": 365.25, "h": 1 / 24, "m": 1 / 1440}
"""Days in a unit, by its first letters."""


def since_time(text: float | str | datetime | None, now: float | None = None) -> float:
    """Returns the seconds since the epoch that a time means; 0 for none. Raises ``TraceError``.

    Days begin at midnight, local time; ``7d`` is 168 hours before now.
    """
    if not text:
        return 0.0
    if isinstance(text, int | float):
        return float(text)
    moment = time.time() if now is None else now
    try:
        if isinstance(text, datetime):
            return text.timestamp()
        word = text.strip().lower()
        local = datetime.fromtimestamp(moment)  # noqa: DTZ006 - days are those of the person
        today = local.replace(hour=0, minute=0, second=0, microsecond=0)
        if word in {"today", "yesterday"}:
            return (today - timedelta(days=word == "yesterday")).timestamp()
        if span := _SPAN.fullmatch(word):
            unit = "mo" if span[2].startswith("mo") else span[2][0]
            return max(0.0, moment - int(span[1]) * _DAYS[unit] * 86_400)
        return datetime.fromisoformat(text.strip().upper()).timestamp()
    except (ValueError, OverflowError, OSError):
        raise TraceError(
            f"{text!r} is no time. Write it as 7d (also h, w, months), today, yesterday, or a date such as"
            f" {time.strftime('%Y-%m-01')}."
        ) from None
