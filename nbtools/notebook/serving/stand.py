"""Where the calls of MCP clients stand in the notebook: below a head that says what waits for the person."""

from __future__ import annotations

import logging
import uuid
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from nbtools.core.call import FINISHED, AwaitingApprovalCall, CallEvent, OutputEvent
from nbtools.notebook.phrases import clock, counted
from nbtools.notebook.places import KernelScreen, Place, Way
from nbtools.notebook.serving.screen import ServedScreen
from nbtools.notebook.sheets import Sheet
from nbtools.notebook.visible import one_line

_log = logging.getLogger(__name__)
_NAME = 60
"""Characters of what a client calls itself."""


class Stand:
    """The cell of ``%tools serve``.  ``place`` is where that cell stands, ``show_at`` says where a call to come is shown."""

    def __init__(self, root: Path, place: Place, cell: KernelScreen, show_at: Callable[[str, Place], None]) -> None:
        self._root = root
        self._head = uuid.uuid4().hex
        self._screen = ServedScreen(cell, self._head)
        self._place = replace(place, screen=self._screen)
        self._show_at = show_at
        self._callers: dict[str, str] = {}
        self._waiting: dict[str, AwaitingApprovalCall] = {}
        self._clients = 0
        self._draw()

    def move(self, place: Place, cell: KernelScreen) -> None:
        """Goes to another cell, with all that stands there."""
        self._place = replace(place, screen=self._screen)
        self._screen.move(cell)

    def expect(self, call_id: str, client: str) -> None:
        """A call is about to be made by a client that calls itself so."""
        self._callers[call_id] = one_line(client, _NAME)
        self._show_at(call_id, replace(self._place, display_id=uuid.uuid4().hex, asker=self._callers[call_id]))

    def count(self, clients: int) -> None:
        """So many clients are connected, each by a server of its own."""
        self._clients = clients
        self._draw()

    def notice(self, event: CallEvent) -> None:
        """Keeps the list of what waits; in the session's loop."""
        if isinstance(event, OutputEvent) or event.request.id not in self._callers:
            return
        call_id = event.request.id
        waited = self._waiting.pop(call_id, None) is not None
        if isinstance(event, AwaitingApprovalCall):
            self._waiting[call_id] = event
        if isinstance(event, FINISHED):
            del self._callers[call_id]
        if waited or call_id in self._waiting:
            self._draw()

    def end(self, why: str) -> None:
        """Says in the head that nothing more comes."""
        self._waiting.clear()
        self._show(Sheet(f"{why} Clients of nbtools mcp go on without this notebook.", lines=("%tools serve serves again.",)))

    def _draw(self) -> None:
        self._show(
            Sheet(self._title(), self._rows(), self._lines(), ("who", "tool", "what", "since") if self._waiting else (), frozenset({1, 2}))
        )

    def _title(self) -> str:
        waits = f"{counted(len(self._waiting), 'call')} {'waits' if len(self._waiting) == 1 else 'wait'} for your answer"
        connected = f"{self._clients} connected" if self._clients else "none is connected"
        return f"{waits} below." if self._waiting else f"Serving MCP clients on {self._root}: {connected}."

    def _rows(self) -> tuple[tuple[str, ...], ...]:
        return tuple(
            (self._callers[call_id], call.request.spoken, one_line(call.plan.invocation.get_description(), 80), clock(call.at))
            for call_id, call in self._waiting.items()
        )

    def _lines(self) -> tuple[str, ...]:
        if self._waiting:
            return ()
        nobody = () if self._place.way is Way.WIDGET else ("Nobody can be asked here: what must be asked is denied. %tools confirm auto.",)
        return (
            *nobody,
            f'A client starts: nbtools mcp --workspace "{self._root}"',
            "Calls appear below, and what must be asked is asked there. After a reload run this cell again; %tools serve off ends it.",
        )

    def _show(self, sheet: Sheet) -> None:
        try:
            self._screen.show(sheet.bundle(), self._head, update=False)
        except Exception:  # noqa: BLE001 - the display edge: no call may break because its list cannot be drawn
            _log.exception("The list of clients' calls could not be shown")
