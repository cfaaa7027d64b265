"""Runs work in the session's loop while a cell waits for it, with a live table of its progress."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Coroutine
from typing import TYPE_CHECKING, Any, TypeVar

if TYPE_CHECKING:
    from nbtools.notebook.cards.tables import Sheet
    from nbtools.notebook.display_target import Place
    from nbtools.notebook.runtime import Workbench

T = TypeVar("T")
_log = logging.getLogger(__name__)


def attended(runtime: Workbench, work: Callable[[Place], Coroutine[Any, Any, T]]) -> T:
    """Runs ``work`` and waits; questions can be answered meanwhile.  An interrupt cancels the work and is raised."""
    cancellers: list[Callable[[], object]] = []

    async def run(place: Place) -> T:
        loop, task = asyncio.get_running_loop(), asyncio.current_task()
        if task is not None:
            cancellers.append(lambda: loop.call_soon_threadsafe(task.cancel))
        return await work(place)

    def stop() -> None:
        for cancel in cancellers:
            cancel()

    return runtime.bridge.attend(run, stop)


class SheetInPlace:
    """A table that is updated in place; where displays cannot be updated, only its final state is shown."""

    def __init__(self, place: Place, draw: Callable[[], Sheet]) -> None:
        self._place = place
        self._draw = draw
        self._displayed = False

    def turn(self) -> None:
        if self._place.screen.updates:
            self._show()

    def finish(self) -> None:
        self._show()

    @property
    def is_displayed(self) -> bool:
        return self._displayed

    def _show(self) -> None:
        try:
            self._place.screen.show(self._draw().bundle(), self._place.display_id, self._displayed)
            self._displayed = True
        except Exception:  # noqa: BLE001 - the display edge: no table may break the work it reports
            _log.exception("A table could not be displayed")
