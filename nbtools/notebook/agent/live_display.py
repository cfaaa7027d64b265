"""A live display in a cell, updated at a limited rate; its last state is always shown."""

from __future__ import annotations

import asyncio
import logging
import time
import uuid
from collections.abc import Callable
from dataclasses import replace

from nbtools.notebook.agent.representations import Part, bundle
from nbtools.notebook.display_target import Place

MIN_INTERVAL = 0.1
"""Shortest time between two updates of a display, in seconds."""
_MIN_FACTOR = 10
"""The time between two updates is at least so many times the time to draw one: long content is updated less often."""

_log = logging.getLogger(__name__)


def is_live(place: Place) -> bool:
    """Returns whether somebody is watching a display that can be updated."""
    return place.watched and place.screen.updates


def another_display(place: Place) -> Place:
    """Returns a display target for another display in the same cell."""
    return replace(place, display_id=uuid.uuid4().hex)


class ThrottledDisplay:
    """A display that is updated at a limited rate.  Used in the session's event loop only."""

    def __init__(self, place: Place) -> None:
        self._place = another_display(place)
        self._live = is_live(place)
        self._draw: Callable[[], Part] | None = None
        self._last_update = 0.0
        self._interval = MIN_INTERVAL
        self._timer: asyncio.TimerHandle | None = None

    def update(self, draw: Callable[[], Part]) -> None:
        """Shows the result of ``draw``, now or a moment later.  If displays cannot be updated, only ``flush`` shows it."""
        self._draw = draw
        if self._live and self._timer is None:
            loop = asyncio.get_running_loop()
            wait = self._last_update + self._interval - loop.time() if self._last_update else 0
            if wait <= 0:
                self._show()
            else:
                self._timer = loop.call_later(wait, self._show)

    def flush(self) -> None:
        """Shows the pending state at once."""
        if self._draw is not None:
            self._show()

    def _show(self) -> None:
        draw, self._draw = self._draw, None
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        if draw is None:
            return
        began = time.perf_counter()
        try:
            self._place.screen.show(bundle(draw()), self._place.display_id, bool(self._last_update))
        except Exception:  # noqa: BLE001 - a display error must not end the run
            _log.exception("Could not display a part of an agent run")
        self._last_update = asyncio.get_running_loop().time()
        self._interval = max(MIN_INTERVAL, _MIN_FACTOR * (time.perf_counter() - began))
