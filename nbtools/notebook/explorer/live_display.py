"""A display in a cell's output whose content is replaced in place."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from nbtools.notebook.display_target import Bundle, Place

if TYPE_CHECKING:
    from nbtools.notebook.cards.model import Card
    from nbtools.notebook.frontend import Kernel, Terminal


class LiveDisplay:
    """A ``Screen`` that shows every bundle in one display; each replaces the one before if the frontend supports updates."""

    def __init__(self, frontend: Kernel | Terminal) -> None:
        place = frontend.place(None)
        self.watched = place.watched
        self._screen = place.screen
        self._id = place.display_id
        self._displayed = False

    @property
    def updates(self) -> bool:
        return self._screen.updates

    def draw(self, card: Card) -> Bundle:
        return self._screen.draw(card)

    def show(self, bundle: Bundle, display_id: str = "", update: bool = False) -> None:
        """Shows ``bundle``.  ``display_id`` and ``update`` are ignored: there is only one display."""
        self._screen.show(bundle, self._id, update=self._displayed)
        self._displayed = True

    def show_card(self, card: Card) -> None:
        self.show(self.draw(card))

    def target_for(self, place: Place) -> Place:
        """Returns the display target of a call shown here.

        If displays cannot be updated, the call is shown only when it has a question.
        """
        return replace(place, screen=self, display_id=self._id) if self.updates else replace(place, silent=True)
