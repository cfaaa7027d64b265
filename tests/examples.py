"""Property tests try a share of their examples in ``make test``, and all of them in ``make fuzz``."""

from __future__ import annotations

from hypothesis import settings

SHARE = 4
FEWEST = 5


def examples(number: int) -> int:
    """A share of ``number``; with ``--hypothesis-profile=search`` all of it."""
    return (
        number
        if settings.get_current_profile_name() == "search"
        else max(number // SHARE, min(number, FEWEST))
    )
