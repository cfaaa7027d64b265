"""Work in the session's loop that a cell waits for and that is no call, with a sheet that says how far it is."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Coroutine
from typing import TYPE_CHECKING, Any, TypeVar

if TYPE_CHECKING:
    from nbtools.notebook.places import Place
    from nbtools.notebook.sheets import Sheet
    from nbtools.notebook.workbench import Workbench

T = TypeVar("T")
_log = logging.getLogger(__name__)


def attended(bench: Workbench, work: Callable[[Place], Coroutine[Any, Any, T]]) -> T:
    """Waits, and lets questions be answered meanwhile.  An interrupt cancels it and is raised."""
    under_way: list[Callable[[], object]] = []

    async def there(place: Place) -> T:
        loop, task = asyncio.get_running_loop(), asyncio.current_task()
        if task is not None:
            under_way.append(lambda: loop.call_soon_threadsafe(task.cancel))
        return await work(place)

    def stop() -> None:
        for cancel in under_way:
            cancel()

    return bench.bridge.attend(there, stop)


class SheetInPlace:
    """Drawn anew where it stands; where nothing can be taken back, only as it is at the end."""

    def __init__(self, place: Place, draw: Callable[[], Sheet]) -> None:
        self._place = place
        self._draw = draw
        self._stands = False

    def turn(self) -> None:
        if self._place.screen.updates:
            self._show()

    def finish(self) -> None:
        self._show()

    @property
    def stands(self) -> bool:
        return self._stands

    def _show(self) -> None:
        try:
            self._place.screen.show(self._draw().bundle(), self._place.display_id, self._stands)
            self._stands = True
        except Exception:  # noqa: BLE001 - the display edge: no sheet may break what it tells of
            _log.exception("A sheet could not be shown")
