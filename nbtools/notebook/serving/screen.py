"""The output of the cell that serves, which goes on after the cell has ended."""

from __future__ import annotations

import threading
from itertools import islice

from nbtools.notebook.places import Bundle, KernelScreen
from nbtools.notebook.question_widget import WIDGET_MIME
from nbtools.notebook.wire import Card

MOST, KEPT = 60, 30
"""Cards that may stand there, and how many of them stay when the earlier ones are taken away."""


class ServedScreen:
    """Everything below one head, newest last.  The earliest cards go once there are many, though never while a question is open."""

    updates = True

    def __init__(self, cell: KernelScreen, head: str) -> None:
        """``head`` is the display that stays at the top."""
        self._cell = cell
        self._head = head
        self._shown: dict[str, Bundle] = {}
        self._lock = threading.Lock()

    def draw(self, card: Card) -> Bundle:
        return self._cell.draw(card)

    def show(self, bundle: Bundle, display_id: str, update: bool) -> None:
        with self._lock:
            known = display_id in self._shown
            if known or not update:
                self._shown[display_id] = bundle
            self._cell.show(bundle, display_id, known or update)
            if len(self._shown) > MOST and not any(WIDGET_MIME in one for one in self._shown.values()):
                self._forget_earlier()

    def move(self, cell: KernelScreen) -> None:
        """Shows all of it in another cell, and from now on there."""
        with self._lock:
            self._cell = cell
            self._show_all()

    def _forget_earlier(self) -> None:
        earlier = len(self._shown) - KEPT
        for display_id in [one for one in islice(self._shown, earlier) if one != self._head]:
            del self._shown[display_id]
        self._cell.clear()
        self._show_all()

    def _show_all(self) -> None:
        for display_id, bundle in self._shown.items():
            self._cell.show(bundle, display_id, False)
