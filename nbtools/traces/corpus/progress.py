"""Displays the progress of an ingest: a bar in a notebook, a line in a terminal."""

from __future__ import annotations

import html
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, TypeAlias

_INTERVAL = 0.2
"""Minimum seconds between two updates."""
_LINE_WIDTH = 80
"""Characters of a line in a terminal, which must not wrap."""


@dataclass(frozen=True, repr=False)
class Progress:
    """Progress of an ingest: logs and bytes, done and in total; ``path`` is the last finished log, ``seconds`` the time since the start."""

    done: int
    total: int
    bytes_done: int
    bytes_total: int
    path: str
    seconds: float = 0.0

    @property
    def rate(self) -> float:
        """Bytes per second."""
        return self.bytes_done / self.seconds if self.seconds > 0 else 0.0

    @property
    def remaining(self) -> float | None:
        """Estimated seconds until the end at the current rate; None where there is no rate yet."""
        return (self.bytes_total - self.bytes_done) / self.rate if self.rate > 0 else None

    def __str__(self) -> str:
        counted = f"{self.done:,} of {self.total:,} logs, {self.bytes_done / 1e6:,.0f} of {self.bytes_total / 1e6:,.0f} MB"
        if self.done == self.total or self.remaining is None:
            return f"{counted} in {_duration(self.seconds)}"
        return f"{counted}, {self.rate / 1e6:,.1f} MB/s, {_duration(self.remaining)} to go"

    def __repr__(self) -> str:
        return str(self)

    def _repr_html_(self) -> str:
        bar = f'<progress max="{max(self.bytes_total, 1)}" value="{self.bytes_done}" style="width: 16em"></progress>'
        return f'<div title="{html.escape(self.path, quote=True)}">{bar} {html.escape(str(self))}</div>'


ProgressCallback: TypeAlias = Callable[[Progress], object]


@contextmanager
def progress_display(progress: ProgressCallback | bool | None) -> Iterator[ProgressCallback]:
    """Yields the function to call with each ``Progress``.

    ``progress`` may be that function; None displays progress in notebooks and terminals only, True everywhere, False nowhere.
    """
    if callable(progress):
        yield progress
        return
    display = None if progress is False else _display(always=progress is True)
    if display is None:
        yield lambda _: None
        return
    throttled = _Throttled(display)
    try:
        yield throttled
    finally:
        throttled.end()


def _display(*, always: bool) -> Callable[[Progress, bool], None] | None:
    """Returns the display for this environment. IPython is used where it is running, and not imported for this."""
    ipython = sys.modules.get("IPython")
    shell = ipython.get_ipython() if ipython is not None else None
    if shell is not None and hasattr(shell, "kernel"):
        return _CellOutput(ipython)
    return _write_line if always or sys.stderr.isatty() else None


class _Throttled:
    """Displays the first and the last update, and those between at most every ``_INTERVAL`` seconds."""

    def __init__(self, display: Callable[[Progress, bool], None]) -> None:
        self._display = display
        self._last: Progress | None = None
        self._next = 0.0

    def __call__(self, progress: Progress) -> None:
        self._last = progress
        if time.monotonic() >= self._next:
            self._display(progress, False)
            self._next = time.monotonic() + _INTERVAL

    def end(self) -> None:
        if self._last is not None:
            self._display(self._last, True)


class _CellOutput:
    """Displays progress in one output of the cell, which is updated in place."""

    def __init__(self, ipython: Any) -> None:
        self._ipython = ipython
        self._handle: Any = None

    def __call__(self, progress: Progress, last: bool) -> None:
        if self._handle is None:
            self._handle = self._ipython.display.display(progress, display_id=True)
        else:
            self._handle.update(progress)


def _write_line(progress: Progress, last: bool) -> None:
    sys.stderr.write(f"\r{str(progress)[:_LINE_WIDTH]:{_LINE_WIDTH}}" + ("\n" if last else ""))
    sys.stderr.flush()


def _duration(seconds: float) -> str:
    whole = round(seconds)
    if whole < 60:
        return f"{whole} s"
    minutes, rest = divmod(whole, 60)
    return f"{minutes} min {rest:02} s" if minutes < 60 else f"{minutes // 60} h {minutes % 60:02} min"
