"""Displays every call as one card, updates it in place, and always leaves it in its final state."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable
from dataclasses import replace

from nbtools.core.call import FINISHED, AwaitingApprovalCall, CallEvent, ExecutingCall, FinishedCall, OutputEvent
from nbtools.notebook.cards.card import card_of, for_asker
from nbtools.notebook.cards.decision_text import Undoing, mergeable, undoable, undone
from nbtools.notebook.cards.model import Card
from nbtools.notebook.display_target import Bundle, Place, Way
from nbtools.tools.undo import UndoData

FIRST = 0.05
"""Seconds before the card of a running call is shown; a faster call is shown once, when it has finished."""
QUESTION = 0.25
"""Seconds to wait for the buttons of a question before it is shown without them."""
BETWEEN = 0.1
"""Minimum seconds between two updates of a card."""
TICK = 1.0
"""Seconds between updates of a running card's elapsed time."""

KEPT = 500
"""Number of finished cards that can still be redrawn, for example after an undo."""

_log = logging.getLogger(__name__)


class Cards:
    """The observer that displays calls as cards.  Everything except ``set_target`` and ``target_of`` runs in the session's loop.

    ``elsewhere`` returns the display target of a call without ``set_target``; ``root`` is the workspace relative to the notebook's folder.
    """

    def __init__(self, elsewhere: Callable[[], Place], root: Callable[[], str]) -> None:
        self._elsewhere = elsewhere
        self._root = root
        self._drawings: dict[str, Drawing] = {}
        self._finished: dict[str, Drawing] = {}
        self._undone_calls: dict[str, str] = {}
        self.can_be_undone: Callable[[str], bool] = lambda _: False

    def place_of(self, call_id: str) -> Place | None:
        """Returns the display target of a finished call, or None when it is no longer known."""
        drawing = self._finished.get(self._undone_calls.get(call_id, call_id))
        return drawing.place if drawing else None

    def open(self, call_id: str, place: Place) -> None:
        """Sets where the call with that id is displayed; called before the call is made."""
        self._drawings[call_id] = Drawing(place, self._root())

    def drawing(self, call_id: str) -> Drawing:
        """Returns the view of a call in progress."""
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
                self._store(call_id, drawing, event)
        except Exception:  # noqa: BLE001 - the display edge: no card may break a call
            _log.exception("A card could not be displayed")
        if isinstance(event, FINISHED):
            self._drawings.pop(call_id, None)

    def _is_undoable(self, call: FinishedCall) -> bool:
        """Whether the journal can undo the call.  An undo itself is undone at the card of the call that it undid."""
        last = call.last
        if not isinstance(last, ExecutingCall) or last.plan.kind.changes_nothing or isinstance(call.result.data, UndoData):
            return False
        return self.can_be_undone(call.request.id)

    def _store(self, call_id: str, drawing: Drawing, call: FinishedCall) -> None:
        """Stores the finished card, and updates the card of the call that this one undid or redid."""
        self._finished[call_id] = drawing
        if len(self._finished) > KEPT:
            self._finished.pop(next(iter(self._finished)))
        if not isinstance(call.result.data, UndoData):
            return
        if not call.result.ok:
            drawing.reveal()
            return
        changed = self._undone_calls[call_id] = self._undone_calls.get(call.result.data.call, call.result.data.call)
        if changed in self._finished:
            self._finished[changed].turn(Undoing(call_id, call.at))

    def draw_again(self, call_id: str) -> None:
        """Displays the card of a call again, for a page that may have missed updates.  Unknown calls are ignored."""
        drawing = self._drawings.get(call_id) or self._finished.get(call_id)
        if drawing is not None:
            drawing.draw_again()

    def forget(self, call_id: str) -> None:
        """Discards the view of a call that never started."""
        self._drawings.pop(call_id, None)


class Drawing:
    """The displayed card of one call: its latest state, where it is shown, and when to update it."""

    def __init__(self, place: Place, root: str) -> None:
        self.place = place
        self.event: CallEvent | None = None
        self._root = root
        self._displayed_at = 0.0
        self._had_question = False
        self._has_widget = False
        self._timer: asyncio.TimerHandle | None = None
        self.is_undoable = False
        self._undoing: Undoing | None = None

    def notice(self, event: CallEvent) -> None:
        was_question = self._has_widget
        self.event, self._has_widget = event, False
        wait = self._delay(event, was_question)
        if wait is None:
            return
        if wait <= 0:
            self._draw()
        elif self._timer is None or self._timer.when() > _now() + wait:
            self._draw_in(wait)

    def present(self, widget: Bundle) -> None:
        """Shows a question's widget in place of the card, until the next event."""
        self._show(widget)
        self._has_widget = True

    def turn(self, undoing: Undoing) -> None:
        """Marks the call as undone or, if it already is, as redone."""
        self._undoing = None if self._undoing else undoing
        self._draw()

    def draw_again(self) -> None:
        """Displays the current card.  The widget of an open question is restored by ipywidgets itself."""
        if self._displayed_at and not self._has_widget:
            self._draw()

    def reveal(self) -> None:
        """Displays the result of a silent call."""
        if self.place.silent:
            self._draw()

    def _delay(self, event: CallEvent, was_question: bool) -> float | None:
        """Returns the seconds until the event is displayed; None if it is not."""
        if isinstance(event, AwaitingApprovalCall):
            # JupyterLab hides the output of a closed widget, and a second widget in it too, unless something else is shown in between.
            return 0 if was_question else self._delay_of_question()
        if self.place.silent and not self._had_question:
            return None
        if isinstance(event, FINISHED) or was_question:
            return 0
        if not self._displayed_at and self.place.early and self.place.screen.updates:
            return 0
        if not self.place.watched:
            return None
        return max(0.0, self._displayed_at + BETWEEN - _now()) if self._displayed_at else FIRST

    def _delay_of_question(self) -> float | None:
        self._had_question = True
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

    def _show(self, bundle: Bundle) -> None:
        self._stop_timer()
        update = bool(self._displayed_at)
        self._displayed_at = _now()
        try:
            self.place.screen.show(bundle, self.place.display_id, update)
        except Exception:  # noqa: BLE001 - the display edge: no card may break a call
            _log.exception("A card could not be displayed")

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
            return {
                "text/plain": f"{call.request.spoken}: {call.state} (its card could not be displayed: {bug!r})\n{result or ''}".rstrip()
            }

    def _card(self, event: CallEvent) -> Card:
        card = for_asker(card_of(event, root=self._root, now=time.time()), self.place.asker)
        if self._undoing is not None:
            return undone(card, self._undoing)
        if isinstance(event, FINISHED):
            return undoable(card) if self.is_undoable else mergeable(event, card)
        return card


def silently(place: Place, display_id: str) -> Place:
    """Returns a target in the same cell for a call that is displayed only if it fails."""
    return replace(place, display_id=display_id, silent=True, early=False)


def _now() -> float:
    return asyncio.get_running_loop().time()
