"""Times as logs write them."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

_LATEST_SECONDS = 253_402_300_800
"""The end of the last year that has a date; more is no time."""
_LATEST = _LATEST_SECONDS * 1000
_iso = datetime.fromisoformat


def seconds(recorded: Any) -> float | None:
    """Seconds since the epoch, of an ISO time (UTC where it names no zone) or a number of seconds or milliseconds.

    None for anything else, and for what no calendar has.
    """
    if isinstance(recorded, str):
        try:
            time = _iso(recorded)
        except ValueError:
            return None
        at = time.timestamp() if time.tzinfo else time.replace(tzinfo=UTC).timestamp()
        return at if 0 <= at < _LATEST_SECONDS else None
    if isinstance(recorded, int | float) and not isinstance(recorded, bool) and 0 <= recorded < _LATEST:
        return recorded / 1000 if recorded > 1e11 else float(recorded)
    return None
