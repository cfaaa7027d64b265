"""The end of what a program complains of, however much that is."""

from __future__ import annotations

import asyncio
import os

_KEPT = 4_000
_CHUNK = 1 << 16
_PAUSE = 0.01
"""Seconds for which reading rests after each piece: one that complains without end is slowed, not the loop."""


class Tail:
    """A pipe: ``into`` is the end to be given to the program, and closed then."""

    def __init__(self) -> None:
        self._out, self.into = os.pipe()
        os.set_blocking(self._out, False)
        self._loop = asyncio.get_running_loop()
        self._loop.add_reader(self._out, self._readable)
        self._pause: asyncio.TimerHandle | None = None
        self._kept = b""

    @property
    def text(self) -> str:
        """As far as it is there."""
        if self._out >= 0:
            self._read()
        return self._kept.decode("utf-8", "replace").strip()

    def close(self) -> None:
        if self._pause is not None:
            self._pause.cancel()
        if self._out >= 0:
            self._loop.remove_reader(self._out)
            os.close(self._out)
            self._out = -1

    def _readable(self) -> None:
        self._loop.remove_reader(self._out)
        if self._read():
            self._pause = self._loop.call_later(_PAUSE, self._go_on)

    def _go_on(self) -> None:
        self._pause = None
        self._loop.add_reader(self._out, self._readable)

    def _read(self) -> bool:
        """Whether more may come."""
        try:
            chunk = os.read(self._out, _CHUNK)
        except BlockingIOError:
            return True
        self._kept = (self._kept + chunk)[-_KEPT:]
        return bool(chunk)
