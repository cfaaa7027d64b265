"""Displays the calls of MCP clients in the cell that serves them, below a list of pending approvals."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from nbtools.cards.hidden_characters import one_line
from nbtools.cards.phrases import clock
from nbtools.cards.tables import Sheet
from nbtools.core.call import FINISHED, AwaitingApprovalCall, CallEvent, OutputEvent
from nbtools.core.message import counted
from nbtools.notebook.display_target import AnswerMethod, DisplayTarget, Screen
from nbtools.notebook.grouped_screen import GroupedScreen
from nbtools.notebook.live_display import LiveDisplay

_NAME = 60
"""Largest length of a client's name."""


class ClientCallsView:
    """The cell of ``%tools serve``.  ``target`` is its display target,
    ``set_target`` sets the display target of a coming call.
    """

    def __init__(
        self,
        root: Path,
        target: DisplayTarget,
        cell: Screen,
        set_target: Callable[[str, DisplayTarget], None],
    ) -> None:
        self._root = root
        self._screen = GroupedScreen(cell, own=1)
        self._target = replace(target, screen=self._screen)
        self._head = LiveDisplay(self._target)
        self._set_target = set_target
        self._callers: dict[str, str] = {}
        self._waiting: dict[str, AwaitingApprovalCall] = {}
        self._clients = 0
        self._draw()

    def move(self, target: DisplayTarget, cell: Screen) -> None:
        """Moves all displays to another cell."""
        self._target = replace(target, screen=self._screen)
        self._screen.move(cell)

    def announce_call(self, call_id: str, client: str) -> None:
        """Announces a call by a client with this name."""
        self._callers[call_id] = one_line(client, _NAME)
        self._set_target(call_id, replace(self._target.another(), caller=self._callers[call_id]))

    def set_client_count(self, clients: int) -> None:
        """Sets the number of connected clients, each with a server process of its own."""
        self._clients = clients
        self._draw()

    def notice(self, event: CallEvent) -> None:
        """Updates the list of pending approvals; called in the session's loop."""
        if isinstance(event, OutputEvent) or event.request.id not in self._callers:
            return
        call_id = event.request.id
        was_waiting = self._waiting.pop(call_id, None) is not None
        if isinstance(event, AwaitingApprovalCall):
            self._waiting[call_id] = event
        if isinstance(event, FINISHED):
            del self._callers[call_id]
        if was_waiting or call_id in self._waiting:
            self._draw()

    def end(self, why: str) -> None:
        """Shows in the head that serving has ended, and why."""
        self._waiting.clear()
        self._head.finish(
            Sheet(
                f"{why} Clients of nbtools mcp continue without this notebook.",
                lines=("%tools serve starts serving again.",),
            ).bundle()
        )

    def _draw(self) -> None:
        columns = ("client", "tool", "call", "since") if self._waiting else ()
        self._head.show(
            Sheet(self._title(), self._rows(), self._lines(), columns, frozenset({1, 2})).bundle()
        )

    def _title(self) -> str:
        pending = (
            f"{counted(len(self._waiting), 'call')} {'waits' if len(self._waiting) == 1 else 'wait'} for your"
            " answer"
        )
        connected = f"{self._clients} connected" if self._clients else "no client connected"
        return f"{pending} below." if self._waiting else f"Serving MCP clients on {self._root}: {connected}."

    def _rows(self) -> tuple[tuple[str, ...], ...]:
        return tuple(
            (
                self._callers[call_id],
                call.request.spoken,
                one_line(call.plan.invocation.get_description(), 80),
                clock(call.at),
            )
            for call_id, call in self._waiting.items()
        )

    def _lines(self) -> tuple[str, ...]:
        if self._waiting:
            return ()
        warning = (
            ()
            if self._target.answer_method is AnswerMethod.WIDGET
            else (
                (
                    "Nobody can approve calls here, so those that need approval are denied. To change that:"
                    " %tools confirm auto"
                ),
            )
        )
        return (
            *warning,
            f'Command for MCP clients: nbtools mcp --workspace "{self._root}"',
            (
                "Calls and approval requests appear below. After reloading the page run this cell again. To"
                " stop: %tools serve off"
            ),
        )
