"""Progress is reported at once, then at a limited rate, and at the end."""

from __future__ import annotations

import asyncio
import itertools
import time

from nbtools.workspace.throttle import Throttle
from tests.waiting import until


async def test_many_touches_are_few_beats_and_the_last_one_counts() -> None:
    beats: list[tuple[float, int]] = []
    touched = 0
    pulse = Throttle(lambda: beats.append((time.monotonic(), touched)), interval=0.05)
    end = time.monotonic() + 0.3
    while time.monotonic() < end:
        touched += 1
        pulse.trigger()
        await asyncio.sleep(0)
    await until(lambda: beats[-1][1] == touched)
    assert beats[0][1] == 1
    assert 2 <= len(beats) <= 8
    assert all(after[0] - before[0] >= 0.045 for before, after in itertools.pairwise(beats))


async def test_a_stopped_pulse_is_silent() -> None:
    beats: list[int] = []
    loop = asyncio.get_running_loop()
    later = loop.create_future()
    pulse = Throttle(lambda: beats.append(1), interval=0.02)
    pulse.trigger()
    pulse.trigger()
    pulse.stop()
    loop.call_later(0.05, later.set_result, None)
    await later
    assert beats == [1]
