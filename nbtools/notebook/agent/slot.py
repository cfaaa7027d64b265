"""One display of a cell that grows: drawn at a bounded rate, and always left in its last state."""

from __future__ import annotations

import asyncio
import logging
import time
import uuid
from collections.abc import Callable
from dataclasses import replace

from nbtools.notebook.agent.bundle import Part, bundle
from nbtools.notebook.places import Place

BETWEEN = 0.1
"""Seconds between two pictures of one display."""
_SHARE = 10
"""So many times as long as a picture took to draw, at least, nothing is drawn: what is long is drawn less often."""

_log = logging.getLogger(__name__)


def is_live(place: Place) -> bool:
    """Whether somebody looks on while something changes."""
    return place.watched and place.screen.updates


def beside(place: Place) -> Place:
    """Another display in the same cell."""
    return replace(place, display_id=uuid.uuid4().hex)


class Slot:
    """Used in the session's loop only."""

    def __init__(self, place: Place) -> None:
        self._place = beside(place)
        self._live = is_live(place)
        self._draw: Callable[[], Part] | None = None
        self._shown = 0.0
        self._between = BETWEEN
        self._timer: asyncio.TimerHandle | None = None

    def turn(self, draw: Callable[[], Part]) -> None:
        """Shows what ``draw`` gives, now or a moment later; where nothing can be replaced, only ``settle`` shows it."""
        self._draw = draw
        if self._live and self._timer is None:
            loop = asyncio.get_running_loop()
            wait = self._shown + self._between - loop.time() if self._shown else 0
            if wait <= 0:
                self._show()
            else:
                self._timer = loop.call_later(wait, self._show)

    def settle(self) -> None:
        """Shows what was last to be shown, at once."""
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
            self._place.screen.show(bundle(draw()), self._place.display_id, bool(self._shown))
        except Exception:  # noqa: BLE001 - the display edge: nothing shown may break a run
            _log.exception("A part of a run could not be shown")
        self._shown = asyncio.get_running_loop().time()
        self._between = max(BETWEEN, _SHARE * (time.perf_counter() - began))
