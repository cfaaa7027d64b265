"""How far an ingest is, told to whoever waits for it: a bar in a notebook, a line in a terminal."""

from __future__ import annotations

import html
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, TypeAlias

_PAUSE = 0.2
"""Seconds between two pictures."""
_FEW = 80
"""Characters of a line in a terminal, which must not wrap."""


@dataclass(frozen=True, repr=False)
class Progress:
    """How far an ingest is: logs and bytes, done and in all; ``path`` is the log that was done last, ``seconds`` since it began."""

    done: int
    total: int
    bytes_done: int
    bytes_total: int
    path: str
    seconds: float = 0.0

    @property
    def rate(self) -> float:
        """Bytes a second."""
        return self.bytes_done / self.seconds if self.seconds > 0 else 0.0

    @property
    def remaining(self) -> float | None:
        """Seconds, as fast as it has been; None where that cannot be said."""
        return (self.bytes_total - self.bytes_done) / self.rate if self.rate > 0 else None

    def __str__(self) -> str:
        counted = f"{self.done:,} of {self.total:,} logs, {self.bytes_done / 1e6:,.0f} of {self.bytes_total / 1e6:,.0f} MB"
        if self.done == self.total or self.remaining is None:
            return f"{counted} in {_span(self.seconds)}"
        return f"{counted}, {self.rate / 1e6:,.1f} MB/s, {_span(self.remaining)} to go"

    def __repr__(self) -> str:
        return str(self)

    def _repr_html_(self) -> str:
        bar = f'<progress max="{max(self.bytes_total, 1)}" value="{self.bytes_done}" style="width: 16em"></progress>'
        return f'<div title="{html.escape(self.path, quote=True)}">{bar} {html.escape(str(self))}</div>'


Told: TypeAlias = Callable[[Progress], object]


@contextmanager
def watched(progress: Told | bool | None) -> Iterator[Told]:
    """What is to be told.  None: it is shown in a notebook and in a terminal, and nowhere else; True: everywhere; False: not at all."""
    if callable(progress):
        yield progress
        return
    shown = None if progress is False else _shown(always=progress is True)
    if shown is None:
        yield lambda _: None
        return
    paced = _Paced(shown)
    try:
        yield paced
    finally:
        paced.end()


def _shown(*, always: bool) -> Callable[[Progress, bool], None] | None:
    """IPython is asked where it runs already; it is not loaded for this."""
    ipython = sys.modules.get("IPython")
    shell = ipython.get_ipython() if ipython is not None else None
    if shell is not None and hasattr(shell, "kernel"):
        return _Displayed(ipython)
    return _line if always or sys.stderr.isatty() else None


class _Paced:
    """The first, the last, and of those between one now and then."""

    def __init__(self, shown: Callable[[Progress, bool], None]) -> None:
        self._shown = shown
        self._last: Progress | None = None
        self._next = 0.0

    def __call__(self, progress: Progress) -> None:
        self._last = progress
        if time.monotonic() >= self._next:
            self._shown(progress, False)
            self._next = time.monotonic() + _PAUSE

    def end(self) -> None:
        if self._last is not None:
            self._shown(self._last, True)


class _Displayed:
    """One output of a cell, which changes."""

    def __init__(self, ipython: Any) -> None:
        self._ipython = ipython
        self._handle: Any = None

    def __call__(self, progress: Progress, last: bool) -> None:
        if self._handle is None:
            self._handle = self._ipython.display.display(progress, display_id=True)
        else:
            self._handle.update(progress)


def _line(progress: Progress, last: bool) -> None:
    sys.stderr.write(f"\r{str(progress)[:_FEW]:{_FEW}}" + ("\n" if last else ""))
    sys.stderr.flush()


def _span(seconds: float) -> str:
    whole = round(seconds)
    if whole < 60:
        return f"{whole} s"
    minutes, rest = divmod(whole, 60)
    return f"{minutes} min {rest:02} s" if minutes < 60 else f"{minutes // 60} h {minutes % 60:02} min"
