"""Progress for a client while its call runs: what the call shows, and a sign of life where it shows nothing."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable
from contextlib import suppress
from types import TracebackType
from typing import Self, TypeAlias

Report: TypeAlias = Callable[[float, float | None, str | None], Awaitable[None]]

_ALIVE = 5.0
"""Seconds of silence after which the last is said again: clients give up on a call that a person thinks about."""
_MOST = 32
"""Steps that may wait to be sent; the oldest goes."""


class Progress:
    """Counts up by one a step, for no call knows how far it has to go.  Nothing is sent once it is left."""

    def __init__(self, report: Report) -> None:
        self._report = report
        self._waiting: deque[str] = deque(maxlen=_MOST)
        self._woken = asyncio.Event()
        self._last = "runs"
        self._step = 0

    def hear(self, text: str) -> None:
        self._waiting.append(text)
        self._woken.set()

    async def __aenter__(self) -> Self:
        self._sender = asyncio.ensure_future(self._send())
        return self

    async def __aexit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self._sender.cancel()
        with suppress(asyncio.CancelledError):
            await self._sender
        if kind is None:
            await self._flush()

    async def _send(self) -> None:
        while True:
            with suppress(TimeoutError):
                async with asyncio.timeout(_ALIVE):
                    await self._woken.wait()
            self._woken.clear()
            if not self._waiting:
                self._waiting.append(self._last)
            await self._flush()

    async def _flush(self) -> None:
        while self._waiting:
            self._last = self._waiting.popleft()
            self._step += 1
            await self._report(self._step, None, self._last)
