"""A live display: one output of a cell that is updated in place."""

from __future__ import annotations

import asyncio
import logging
import math
import threading
import time
from collections.abc import Callable
from typing import TYPE_CHECKING

from nbtools.notebook.display_target import Bundle, DisplayTarget

if TYPE_CHECKING:
    from nbtools.cards.card_model import Card

INTERVAL = 0.1
"""Minimum seconds between two updates."""
_DRAWING_SHARE = 10
"""The interval is at least this many times the time that the last update took:
long content is updated less often.
"""
_TIMER_TOLERANCE = 0.01

_log = logging.getLogger(__name__)


class LiveDisplay:
    """One output of the cell of ``target``; usable in every thread, also after the cell has ended.

    ``update`` shows content at most once per ``interval`` seconds, and not within the ``first`` seconds.
    What it puts off is drawn by the caller's event loop or, if there is none or it is blocked, by the next
    ``update`` or ``finish``.  So ``finish`` belongs into a ``finally``: an interrupt must not leave an old
    state.  If not ``live``, updates are shown by ``finish`` only; by default, that is where displays cannot
    be updated.  Errors are logged, because a display must not fail the work that it shows.  If the output has
    been cleared, the frontend ignores all updates.
    """

    def __init__(
        self,
        target: DisplayTarget,
        *,
        live: bool | None = None,
        first: float = 0.0,
        interval: float = INTERVAL,
    ) -> None:
        self.target = target
        self.is_live = target.screen.updates if live is None else live
        self.is_shown = False
        self._interval = interval
        self._begin = self._next = time.monotonic() + first
        self._pending: Callable[[], Bundle] | None = None
        self._due = math.inf
        self._lock = threading.RLock()

    def show(self, bundle: Bundle) -> None:
        """Shows ``bundle`` now, in place of any pending update."""
        with self._lock:
            self._pending = lambda: bundle
            self._show()

    def show_card(self, card: Card) -> None:
        self.show(self.target.screen.draw(card))

    def update(self, draw: Callable[[], Bundle], after: float | None = None) -> None:
        """Shows the result of ``draw``, which may call ``update`` itself, as soon as the interval allows,
        or ``after`` seconds.

        If an update is pending, its time remains if it is earlier.
        """
        with self._lock:
            self._pending = draw
            now = time.monotonic()
            due = self._next if after is None else now + after
            if not self.is_live or due >= self._due > now:
                return
            self._due = min(due, self._due)
            if self._due <= now:
                self._show()
            else:
                self._start_timer(due - now)

    def flush(self) -> None:
        """Shows a pending update now."""
        with self._lock:
            if self._pending is not None:
                self._show()

    def finish(self, bundle: Bundle | None = None) -> None:
        """Shows ``bundle``, or else a pending update, as the last state;
        nothing if the ``first`` seconds have not passed.
        """
        with self._lock:
            if bundle is not None:
                self._pending = lambda: bundle
            if self.is_shown or time.monotonic() >= self._begin:
                self._show()
            self._pending, self._due, self.is_live = None, math.inf, False

    def remove(self) -> None:
        """Leaves an empty output, or none if nothing was shown."""
        with self._lock:
            self.finish({"text/plain": ""} if self.is_shown else None)

    def _start_timer(self, seconds: float) -> None:
        try:
            loop = asyncio.get_running_loop()
        except RuntimeError:
            return
        loop.call_later(seconds, self._on_timer)

    def _on_timer(self) -> None:
        with self._lock:
            if self._due <= time.monotonic() + _TIMER_TOLERANCE:
                self._show()

    def _show(self) -> None:
        draw, self._pending, self._due = self._pending, None, math.inf
        if draw is None:
            return
        began = time.monotonic()
        try:
            self.target.screen.show(draw(), self.target.display_id, self.is_shown)
            self.is_shown = True
        except Exception:  # noqa: BLE001 - the display edge
            _log.exception("A display could not be updated")
        now = time.monotonic()
        self._next = now + max(self._interval, _DRAWING_SHARE * (now - began))
