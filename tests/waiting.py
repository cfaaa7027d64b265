"""Waiting for what a task, a thread or another process does:
until it holds, and no longer than ``DEADLINE`` seconds.
"""

from __future__ import annotations

import asyncio
import inspect
import time
from collections.abc import Callable
from typing import Any

DEADLINE = 120.0
PAUSE = 0.02
"""Seconds between two looks."""


async def eventually(
    wanted: object, read: Callable[..., object], *arguments: Any, seconds: float = DEADLINE
) -> None:
    """Waits until ``read(*arguments)``, which may be asynchronous, returns what is wanted.
    Fails with what it returned last.
    """
    end = time.monotonic() + seconds
    while (found := await value(read, *arguments)) != wanted and time.monotonic() < end:
        await asyncio.sleep(PAUSE)
    assert found == wanted, f"{found!r} after {seconds:g} seconds"


async def until(holds: Callable[[], object], seconds: float = DEADLINE) -> None:
    """Returns as soon as the condition holds.  Fails after ``seconds``."""
    await eventually(True, lambda: bool(holds()), seconds=seconds)


async def falls_silent(count: Callable[[], object], seconds: float) -> None:
    """Waits until what is counted has stayed the same for that long."""
    end, before = time.monotonic() + DEADLINE, None
    while (now := await value(count)) != before:
        assert time.monotonic() < end, f"{now!r} after {DEADLINE:g} seconds"
        before = now
        await asyncio.sleep(seconds)


async def value(read: Callable[..., object], *arguments: Any) -> object:
    """Returns the result of a function, or of the coroutine that it returns."""
    returned = read(*arguments)
    return await returned if inspect.isawaitable(returned) else returned


def comes_true(holds: Callable[[], object], seconds: float = DEADLINE) -> bool:
    """Waits without a loop until the condition holds; returns whether it did within ``seconds``."""
    end = time.monotonic() + seconds
    while not (reached := bool(holds())) and time.monotonic() < end:
        time.sleep(PAUSE)
    return reached
