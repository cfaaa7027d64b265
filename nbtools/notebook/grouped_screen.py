"""Keeps the outputs of one cell few: finished parts share an output,
and what runs or waits for an answer has one of its own at the end.

JupyterLab shows the first 50 outputs of a cell and a link to the others,
so that an open question after 50 cards would be hidden.
"""

from __future__ import annotations

import contextvars
import sys
import threading
import uuid
from collections.abc import Mapping
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from nbtools.notebook.display_target import AnswerMethod, Bundle, DisplayTarget, Screen
from nbtools.notebook.live_display import LiveDisplay

if TYPE_CHECKING:
    from nbtools.cards.card_model import Card

OWN = 10
"""Number of parts of a cell that have an output of their own, in their order with what the cell prints."""
MAX_OPEN = 20
"""Number of parts that run or wait and are displayed at once;
further ones are displayed when one of these has finished.
"""
MAX_PARTS = 30
MAX_CHARACTERS = 200_000
"""Size of the first group, after which another one begins;
each is twice as large as the one before, because it is sent as a whole.
"""
MAX_DOUBLINGS = 6
KEPT = 1_000
"""Number of parts that can still be updated."""

WIDGET_MIME = "application/vnd.jupyter.widget-view+json"
_UNFINISHED = {"validating", "scheduled", "awaiting_approval", "executing"}


class GroupedScreen:
    """A screen for all parts of one cell's run: cards, messages and tables, each known by its display id.
    Thread-safe.

    The first ``own`` parts have an output each.  Later ones are displayed at the end until another one comes,
    and then join a group, where cards of calls that changed nothing are folded.  Groups are redrawn a few
    times a second; ``flush`` draws them at once.
    """

    def __init__(self, screen: Screen, own: int = OWN) -> None:
        self._screen = screen
        self._own = own if screen.updates else sys.maxsize
        self._outputs: dict[str, _Output] = {}
        """The output of each part, by the part's display id."""
        self._groups: list[_Output] = []
        self._forgotten = 0
        """Number of groups that are not updated any more."""
        self._tail: list[_Output] = []
        """The outputs after the groups, with one part each."""
        self._waiting: dict[str, Bundle] = {}
        self._lock = threading.RLock()

    @property
    def updates(self) -> bool:
        return self._screen.updates

    @property
    def ungrouped(self) -> Screen:
        """The screen for displays that are never grouped."""
        return self._screen

    def draw(self, card: Card) -> Bundle:
        return self._screen.draw(card if self._own > 0 else _folded(card))

    def show(self, bundle: Bundle, display_id: str, update: bool) -> None:
        with self._lock:
            output = self._outputs.get(display_id)
            if output is not None:
                output.parts[display_id] = bundle
                output.draw(self._screen, at_once=output not in self._groups)
            elif display_id in self._waiting or not update:
                self._waiting[display_id] = bundle
            for waiting in tuple(self._waiting):
                if not self._add(waiting, self._waiting[waiting]):
                    break
                del self._waiting[waiting]
            self._forget()

    def flush(self) -> None:
        """Draws what was put off."""
        with self._lock:
            for group in self._groups:
                group.flush()

    def move(self, screen: Screen) -> None:
        """Displays everything in another cell, and all later parts too."""
        with self._lock:
            self._screen = screen
            for output in dict.fromkeys(self._outputs.values()):
                output.is_shown = False
                output.draw(screen)

    def _add(self, display_id: str, bundle: Bundle) -> bool:
        """Displays a new part; returns False where too many are open."""
        if self._own > 0:
            self._own -= 1
            self._outputs[display_id] = output = _Output(display_id, bundle)
            output.draw(self._screen)
            return True
        settled = [output for output in self._tail if not output.is_open]
        if not settled and len(self._tail) >= MAX_OPEN:
            return False
        place = self._make_place(settled) if settled else None
        if place is None:
            place = _Output(display_id, bundle)
            self._tail.append(place)
        place.parts = {display_id: bundle}
        self._outputs[display_id] = place
        place.draw(self._screen)
        return True

    def _make_place(self, settled: list[_Output]) -> _Output | None:
        """Moves the earliest finished part into a group and the others up;
        returns the last output, None if a new one is needed.
        """
        first = settled[0]
        if not self._groups or self._groups[-1].is_full(self._forgotten + len(self._groups) - 1):
            self._tail.remove(first)
            self._groups.append(first)
            return None
        self._take(self._groups[-1], first)
        self._groups[-1].draw(self._screen, at_once=False)
        for output, following in pairwise(settled):
            output.parts = {}
            self._take(output, following)
            output.draw(self._screen)
        return settled[-1]

    def _take(self, output: _Output, other: _Output) -> None:
        output.parts.update(other.parts)
        self._outputs.update(dict.fromkeys(other.parts, output))

    def _forget(self) -> None:
        """Forgets the earliest parts once there are many:
        they stay displayed and are not updated any more.
        """
        while len(self._outputs) > KEPT and len(self._groups) > 1:
            group = self._groups.pop(0)
            group.flush()
            self._forgotten += 1
            for display_id in group.parts:
                self._outputs.pop(display_id, None)


class _Output:
    """One output of the cell, with one part or with a group of them."""

    def __init__(self, display_id: str, bundle: Bundle) -> None:
        self.id = uuid.uuid4().hex
        self.parts: dict[str, Bundle] = {display_id: bundle}
        self.is_shown = False
        self._display: LiveDisplay | None = None

    @property
    def is_open(self) -> bool:
        return any(map(_is_open, self.parts.values()))

    def is_full(self, number: int) -> bool:
        """Whether the group with this number, from 0, takes no more parts."""
        factor = 1 << min(number, MAX_DOUBLINGS)
        return (
            len(self.parts) >= MAX_PARTS * factor
            or sum(map(_size, self.parts.values())) >= MAX_CHARACTERS * factor
        )

    def draw(self, screen: Screen, *, at_once: bool = True) -> None:
        if at_once:
            screen.show(self._bundle(), self.id, self.is_shown)
            self.is_shown = True
            return
        if self._display is None or self._display.target.screen is not screen:
            target = DisplayTarget(screen, self.id, True, AnswerMethod.NOBODY, contextvars.copy_context())
            self._display = LiveDisplay(target, live=True)
            self._display.is_shown = self.is_shown
        self._display.update(self._bundle)

    def flush(self) -> None:
        if self._display is not None:
            self._display.flush()

    def _bundle(self) -> Bundle:
        from nbtools.cards.card_model import GROUP_MIME  # noqa: PLC0415 - loaded with the first card

        bundles = tuple(self.parts.values())
        if len(bundles) == 1:
            return bundles[0]
        return {
            GROUP_MIME: {"id": self.id, "parts": list(map(_without_html, bundles))},
            "text/html": "\n".join(str(one["text/html"]) for one in bundles if "text/html" in one),
            "text/plain": "\n".join(str(bundle.get("text/plain", "")) for bundle in bundles),
        }


def _is_open(bundle: Bundle) -> bool:
    """Whether a part is a question, or the card of a call that has not finished."""
    from nbtools.cards.card_model import MIME  # noqa: PLC0415 - loaded with the first card

    card = bundle.get(MIME)
    return WIDGET_MIME in bundle or bool(isinstance(card, Mapping) and card.get("state") in _UNFINISHED)


def _size(bundle: Bundle) -> int:
    """Returns the characters of the part's HTML and text, which grow with its other formats."""
    return sum(len(str(bundle.get(name, ""))) for name in ("text/html", "text/plain"))


def _without_html(bundle: Bundle) -> dict[str, Any]:
    """Returns a part for our renderer, which needs HTML only where there is no other format."""
    others = {name: value for name, value in bundle.items() if name != "text/html"}
    return others if len(others) > 1 else dict(bundle)


def _folded(card: Card) -> Card:
    """Returns the card of a successful call that changed nothing as one line that can be unfolded."""
    if card.state != "success" or card.record or card.deeds or card.folded or not card.blocks:
        return card
    return card.model_copy(update={"folded": True, "unfold": card.unfold or "show"})
