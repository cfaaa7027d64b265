"""Waiting for what a task, a thread or another process does: until it holds, and no longer than ``DEADLINE`` seconds."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable

DEADLINE = 60.0
PAUSE = 0.01
"""Seconds between two looks."""


async def until(holds: Callable[[], object], seconds: float = DEADLINE) -> None:
    """Returns as soon as the condition holds.  Fails after ``seconds``."""
    end = time.monotonic() + seconds
    while not holds():
        assert time.monotonic() < end, f"the condition did not come true in {seconds:g} seconds"
        await asyncio.sleep(PAUSE)


def comes_true(holds: Callable[[], object], seconds: float = DEADLINE) -> bool:
    """Waits without a loop until the condition holds; returns whether it did within ``seconds``."""
    end = time.monotonic() + seconds
    while not (reached := bool(holds())) and time.monotonic() < end:
        time.sleep(PAUSE)
    return reached
