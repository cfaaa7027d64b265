"""Waits for calls, in this process."""

from __future__ import annotations

import asyncio
import signal
from collections.abc import Callable
from concurrent.futures import Future
from threading import Thread
from typing import Any

import pytest

from nbtools.notebook.waits import CELLS, LoopWait, ThreadWait


class InterruptedFuture(Future[int]):
    """A future whose lock this thread holds when an interrupt arrives."""

    def add_done_callback(self, fn: Callable[[Future[int]], Any]) -> None:
        with self._condition:
            signal.raise_signal(signal.SIGINT)
            self._done_callbacks.append(fn)


@pytest.fixture(autouse=True)
def handler():
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


def ended_by_a_thread(future: Future[int]) -> Callable[[], None]:
    """A function that ends the call as the session's thread does, which needs the lock."""
    thread = Thread(target=future.set_result, args=(1,), daemon=True)

    def stop() -> None:
        thread.start()
        thread.join(10)
        assert not thread.is_alive(), "the lock is free"

    return stop


def test_an_interrupt_while_a_blocking_wait_begins_stops_the_call():
    future = InterruptedFuture()
    with pytest.raises(KeyboardInterrupt):
        ThreadWait().wait(future, ended_by_a_thread(future))
    assert future.result(0) == 1


def test_an_interrupt_while_an_awaiting_wait_begins_stops_the_call():
    future = InterruptedFuture()

    async def cell() -> None:
        CELLS.note()
        signal.signal(signal.SIGINT, signal.default_int_handler)  # instead of the one of asyncio.run
        with pytest.raises(KeyboardInterrupt):
            await LoopWait().wait(future, ended_by_a_thread(future))

    asyncio.run(cell())
    assert future.result(0) == 1
