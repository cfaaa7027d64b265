"""One place in a cell's output that shows one thing after the other."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from nbtools.notebook.places import Bundle, Place

if TYPE_CHECKING:
    from nbtools.notebook.frontend import Kernel, Terminal
    from nbtools.notebook.wire import Card


class Spot:
    """A ``Screen`` whose every display takes the place of the one before, where the frontend can do that."""

    def __init__(self, frontend: Kernel | Terminal) -> None:
        place = frontend.place(None)
        self.watched = place.watched
        self._screen = place.screen
        self._id = place.display_id
        self._shown = False

    @property
    def updates(self) -> bool:
        return self._screen.updates

    def draw(self, card: Card) -> Bundle:
        return self._screen.draw(card)

    def show(self, bundle: Bundle, display_id: str = "", update: bool = False) -> None:
        """``display_id`` and ``update`` count for nothing: there is one place."""
        self._screen.show(bundle, self._id, update=self._shown)
        self._shown = True

    def put(self, card: Card) -> None:
        self.show(self.draw(card))

    def frame(self, place: Place) -> Place:
        """The place of a call that is to be shown here; where nothing can be replaced, it is seen only when it has a question."""
        return replace(place, screen=self, display_id=self._id) if self.updates else replace(place, silent=True)
