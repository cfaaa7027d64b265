"""Shows every call as one card: drawn when there is something to see, replaced in place, and always left in its final state."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable
from dataclasses import replace

from nbtools.core.call import FINISHED, AwaitingApprovalCall, CallEvent, ExecutingCall, FinishedCall, OutputEvent
from nbtools.notebook.card import card_of, for_asker
from nbtools.notebook.places import Bundle, Place, Way
from nbtools.notebook.standing import Undoing, mergeable, undoable, undone
from nbtools.notebook.wire import Card
from nbtools.tools.undo import Undone

FIRST = 0.05
"""Seconds that a call may take before its card is shown; a quicker one is shown once, when it is done."""
QUESTION = 0.25
"""Seconds in which the buttons may come; only after that is the question shown without them."""
BETWEEN = 0.1
"""Seconds between two updates of one card."""
TICK = 1.0
"""Seconds after which a running card counts on."""

KEPT = 500
"""Finished cards that are kept: to draw them again, and to say what became of what they changed."""

_log = logging.getLogger(__name__)


class Cards:
    """The observer that draws.  Everything but ``open`` and ``place`` happens in the session's loop.

    ``elsewhere`` gives the place of a call that was made without ``open``; ``root`` is the workspace as seen from the notebook's folder.
    """

    def __init__(self, elsewhere: Callable[[], Place], root: Callable[[], str]) -> None:
        self._elsewhere = elsewhere
        self._root = root
        self._drawings: dict[str, Drawing] = {}
        self._finished: dict[str, Drawing] = {}
        self._about: dict[str, str] = {}
        self.can_be_undone: Callable[[str], bool] = lambda _: False

    def place_of(self, call_id: str) -> Place | None:
        """Where a call stands that is over, as long as that is known."""
        drawing = self._finished.get(self._about.get(call_id, call_id))
        return drawing.place if drawing else None

    def open(self, call_id: str, place: Place) -> None:
        """Says where the call of that id is to be shown; before it is made."""
        self._drawings[call_id] = Drawing(place, self._root())

    def drawing(self, call_id: str) -> Drawing:
        """The drawing of a call under way."""
        if call_id not in self._drawings:
            self.open(call_id, self._elsewhere())
        return self._drawings[call_id]

    def notice(self, event: CallEvent) -> None:
        call_id = (event.call if isinstance(event, OutputEvent) else event).request.id
        try:
            drawing = self.drawing(call_id)
            if isinstance(event, FINISHED):
                drawing.is_undoable = self._is_undoable(event)
            drawing.notice(event)
            if isinstance(event, FINISHED):
                self._keep(call_id, drawing, event)
        except Exception:  # noqa: BLE001 - the display edge: no card may break a call
            _log.exception("A card could not be shown")
        if isinstance(event, FINISHED):
            self._drawings.pop(call_id, None)

    def _is_undoable(self, call: FinishedCall) -> bool:
        """Whether it changed something that is kept; an undoing is undone at the card of what it undid."""
        last = call.last
        if not isinstance(last, ExecutingCall) or last.plan.kind.changes_nothing or isinstance(call.result.data, Undone):
            return False
        return self.can_be_undone(call.request.id)

    def _keep(self, call_id: str, drawing: Drawing, call: FinishedCall) -> None:
        """Keeps the card, and tells the card of a call that was undone by this one, or is in effect again."""
        self._finished[call_id] = drawing
        if len(self._finished) > KEPT:
            self._finished.pop(next(iter(self._finished)))
        if not isinstance(call.result.data, Undone):
            return
        if not call.result.ok:
            drawing.reveal()
            return
        changed = self._about[call_id] = self._about.get(call.result.data.call, call.result.data.call)
        if changed in self._finished:
            self._finished[changed].turn(Undoing(call_id, call.at))

    def draw_again(self, call_id: str) -> None:
        """Draws the card of a call for a page that may have missed its updates; a call that nobody knows has none."""
        drawing = self._drawings.get(call_id) or self._finished.get(call_id)
        if drawing is not None:
            drawing.draw_again()

    def forget(self, call_id: str) -> None:
        """Drops the drawing of a call that never began."""
        self._drawings.pop(call_id, None)


class Drawing:
    """One call's card."""

    def __init__(self, place: Place, root: str) -> None:
        self.place = place
        self.event: CallEvent | None = None
        self._root = root
        self._shown = 0.0
        self._asked = False
        self._live = False
        self._timer: asyncio.TimerHandle | None = None
        self.is_undoable = False
        self._undoing: Undoing | None = None

    def notice(self, event: CallEvent) -> None:
        answered = self._live
        self.event, self._live = event, False
        wait = self._delay(event, answered)
        if wait is None:
            return
        if wait <= 0:
            self._draw()
        elif self._timer is None or self._timer.when() > _now() + wait:
            self._draw_in(wait)

    def present(self, live: Bundle) -> None:
        """Shows a question's widget in the card's place; the next event takes it away."""
        self._show(live)
        self._live = True

    def turn(self, undoing: Undoing) -> None:
        """Says that what the call did was undone or, if it was already, that it is in effect again."""
        self._undoing = None if self._undoing else undoing
        self._draw()

    def draw_again(self) -> None:
        """Shows the card as it is now; the widget of a question that is open reaches pages by itself."""
        if self._shown and not self._live:
            self._draw()

    def reveal(self) -> None:
        """Shows the end of a call that was to be silent."""
        if self.place.silent:
            self._draw()

    def _delay(self, event: CallEvent, answered: bool) -> float | None:
        """Seconds until the event is to be seen; None: not at all."""
        if isinstance(event, AwaitingApprovalCall):
            # JupyterLab hides the place of a widget that is closed, and a second widget with it: something else goes between.
            return 0 if answered else self._delay_of_question()
        if self.place.silent and not self._asked:
            return None
        if isinstance(event, FINISHED) or answered:
            return 0
        if not self._shown and self.place.early and self.place.screen.updates:
            return 0
        if not self.place.watched:
            return None
        return max(0.0, self._shown + BETWEEN - _now()) if self._shown else FIRST

    def _delay_of_question(self) -> float | None:
        self._asked = True
        match self.place.way:
            case Way.WIDGET:
                return QUESTION
            case Way.PROMPT:
                return 0
            case Way.NOBODY:
                return None

    def _draw_in(self, seconds: float) -> None:
        self._stop_timer()
        self._timer = asyncio.get_running_loop().call_later(seconds, self._draw)

    def _draw(self) -> None:
        event = self.event
        if event is None:
            return
        self._show(self._bundle(event))
        if self.place.watched and isinstance(event, ExecutingCall | OutputEvent):
            self._draw_in(TICK)

    def _show(self, shown: Bundle) -> None:
        self._stop_timer()
        update = bool(self._shown)
        self._shown = _now()
        try:
            self.place.screen.show(shown, self.place.display_id, update)
        except Exception:  # noqa: BLE001 - the display edge: no card may break a call
            _log.exception("A card could not be shown")

    def _stop_timer(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _bundle(self, event: CallEvent) -> Bundle:
        try:
            return self.place.screen.draw(self._card(event))
        except Exception as bug:  # noqa: BLE001 - the display edge
            call = event.call if isinstance(event, OutputEvent) else event
            result = getattr(call, "result", None)
            return {"text/plain": f"{call.request.spoken}: {call.state} (its card could not be drawn: {bug!r})\n{result or ''}".rstrip()}

    def _card(self, event: CallEvent) -> Card:
        card = for_asker(card_of(event, root=self._root, now=time.time()), self.place.asker)
        if self._undoing is not None:
            return undone(card, self._undoing)
        if isinstance(event, FINISHED):
            return undoable(card) if self.is_undoable else mergeable(event, card)
        return card


def silently(place: Place, display_id: str) -> Place:
    """The same cell, for a call that shows nothing there unless it fails."""
    return replace(place, display_id=display_id, silent=True, early=False)


def _now() -> float:
    return asyncio.get_running_loop().time()
