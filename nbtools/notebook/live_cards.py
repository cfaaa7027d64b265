"""Displays every call as one card, updates it in place, and always leaves it in its final state."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from nbtools.cards.card import card_of, in_place, with_caller
from nbtools.cards.card_model import Card
from nbtools.cards.decision_text import Undoing, mergeable, superseded, undoable, undone
from nbtools.core.call import (
    FINISHED,
    AwaitingApprovalCall,
    CallEvent,
    ExecutingCall,
    FinishedCall,
    OutputEvent,
)
from nbtools.core.result_data import UndoData
from nbtools.notebook.change_preview import applicable, arguments_to_apply
from nbtools.notebook.display_target import AnswerMethod, Bundle, DisplayTarget
from nbtools.notebook.live_display import LiveDisplay

FIRST = 0.05
"""Seconds before the card of a running call is shown; a faster call is shown once, when it has finished."""
QUESTION = 0.25
"""Seconds to wait for the buttons of a question before it is shown without them."""
TICK = 1.0
"""Seconds between updates of a running card's elapsed time."""

MAX_FINISHED = 500
"""Number of finished cards that can still be redrawn, for example after an undo."""

_log = logging.getLogger(__name__)


class LiveCards:
    """The observer that displays calls as cards.
    Everything except ``open`` and ``target_of`` runs in the session's loop.

    ``default_target`` returns the display target of a call without ``open``; ``root`` is the workspace
    relative to the notebook's folder, ``place`` where the calls work, if not in that workspace.
    """

    def __init__(
        self, default_target: Callable[[], DisplayTarget], root: Callable[[], str], place: str = ""
    ) -> None:
        self._place = place
        self._default_target = default_target
        self._root = root
        self._running: dict[str, LiveCard] = {}
        self._finished: dict[str, LiveCard] = {}
        self._undone_calls: dict[str, str] = {}
        self._applying: dict[str, str] = {}
        self._refused_undos: dict[str, list[LiveCard]] = {}
        """The cards of refused undos, by the call that they would have undone."""
        self.can_be_undone: Callable[[str], bool] = lambda _: False

    def target_of(self, call_id: str) -> DisplayTarget | None:
        """Returns the display target of a finished call, or None when it is no longer known."""
        card = self._finished.get(self._undone_calls.get(call_id, call_id))
        return card.target if card else None

    def cell_of(self, call_id: str) -> str:
        """Returns the id of the cell that shows a call; empty if there is none."""
        card = self._running.get(call_id) or self._finished.get(call_id)
        return card.target.cell_id if card else ""

    def apply(self, preview: str, call_id: str) -> Mapping[str, Any] | None:
        """Opens a display below the card of a preview for the call that makes its change,
        and returns that call's arguments.

        Returns None if the call ``preview`` has no change to make, or is being applied already.
        """
        card = self._finished.get(preview)
        event = card.event if card is not None else None
        arguments = arguments_to_apply(event) if isinstance(event, FINISHED) else None
        if card is None or arguments is None or card.is_applied or preview in self._applying.values():
            return None
        self._applying[call_id] = preview
        self.open(call_id, replace(card.target.another(), post=None, early=True, silent=False))
        return arguments

    def open(self, call_id: str, target: DisplayTarget, display: LiveDisplay | None = None) -> None:
        """Sets where the call with that id is displayed, by default in a new display;
        called before the call is made.
        """
        self._running[call_id] = LiveCard(replace(target, place=self._place), self._root(), display)

    def card(self, call_id: str) -> LiveCard:
        """Returns the card of a call in progress."""
        if call_id not in self._running:
            self.open(call_id, self._default_target())
        return self._running[call_id]

    def notice(self, event: CallEvent) -> None:
        call_id = (event.call if isinstance(event, OutputEvent) else event).request.id
        try:
            card = self.card(call_id)
            if isinstance(event, FINISHED):
                card.is_undoable = self._is_undoable(event)
            card.notice(event)
            if isinstance(event, FINISHED):
                self._store(call_id, card, event)
        except Exception:  # noqa: BLE001 - the display edge: no card may break a call
            _log.exception("A card could not be displayed")
        if isinstance(event, FINISHED):
            self._running.pop(call_id, None)

    def _is_undoable(self, call: FinishedCall) -> bool:
        """Whether the journal can undo the call.
        An undo itself is undone at the card of the call that it undid.
        """
        last = call.last
        if (
            not isinstance(last, ExecutingCall)
            or last.plan.kind.changes_nothing
            or isinstance(call.result.data, UndoData)
        ):
            return False
        return self.can_be_undone(call.request.id)

    def _store(self, call_id: str, card: LiveCard, call: FinishedCall) -> None:
        """Stores the finished card, and updates the card of the call that this one undid or redid."""
        self._finished[call_id] = card
        if len(self._finished) > MAX_FINISHED:
            self._finished.pop(next(iter(self._finished)))
        preview = self._finished.get(self._applying.pop(call_id, ""))
        if preview is not None and call.result.ok:
            preview.set_applied()
        if not isinstance(call.result.data, UndoData):
            return
        if not call.result.ok:
            card.reveal()
            self._refused_undos.setdefault(call.result.data.call, []).append(card)
            return
        for refused in self._refused_undos.pop(call.result.data.call, ()):
            refused.set_superseded(Undoing(call_id, call.at))
        changed = self._undone_calls[call_id] = self._undone_calls.get(
            call.result.data.call, call.result.data.call
        )
        if changed in self._finished:
            self._finished[changed].set_undoing(Undoing(call_id, call.at, call.result.data.unsaved))

    def redraw(self, call_id: str) -> None:
        """Displays the card of a call again, for a page that may have missed updates.
        Unknown calls are ignored.
        """
        card = self._running.get(call_id) or self._finished.get(call_id)
        if card is not None:
            card.redraw()

    def forget(self, call_id: str) -> None:
        """Discards the card of a call that never started."""
        self._running.pop(call_id, None)
        self._applying.pop(call_id, None)


class LiveCard:
    """The card of one call: its latest state, and when to show it.
    ``display`` is where; by default, a display of its own.
    """

    def __init__(self, target: DisplayTarget, root: str, display: LiveDisplay | None = None) -> None:
        self.target = target
        self.event: CallEvent | None = None
        self.is_undoable = False
        self.is_applied = False
        self.proposal_before: str | None = None
        """The text that the call proposed before the person changed it; None while nothing is changed."""
        self._display = display or LiveDisplay(target, live=True)
        self._root = root
        self._had_question = False
        self._has_widget = False
        self._undoing: Undoing | None = None
        self._superseded: Undoing | None = None

    def notice(self, event: CallEvent) -> None:
        had_widget, self.event, self._has_widget = self._has_widget, event, False
        is_early = self.target.early and self.target.screen.updates and not self._display.is_shown
        if isinstance(event, AwaitingApprovalCall):
            # JupyterLab hides the output of a closed widget, and a second widget in it too,
            # unless something else is shown in between.
            self._show_question(at_once=had_widget or self.target.answer_method is AnswerMethod.PROMPT)
        elif self.target.silent and not self._had_question:
            return
        elif isinstance(event, FINISHED) or had_widget or is_early:
            self._show()
        elif self.target.watched:
            self._display.update(self._draw, after=None if self._display.is_shown else FIRST)

    def show_widget(self, widget: Bundle) -> None:
        """Shows a question's widget in place of the card, until the next event."""
        self._display.show(widget)
        self._has_widget = True

    def set_undoing(self, undoing: Undoing) -> None:
        """Marks the call as undone or, if it already is, as redone."""
        self._undoing = None if self._undoing else undoing
        self._show()

    def set_superseded(self, undoing: Undoing) -> None:
        """Marks a refused undo as done by a later one."""
        self._superseded = undoing
        self._show()

    def set_applied(self) -> None:
        """Removes the action that makes a previewed change."""
        self.is_applied = True
        self._show()

    def redraw(self) -> None:
        """Displays the current card.  The widget of an open question is restored by ipywidgets itself."""
        if self._display.is_shown and not self._has_widget:
            self._show()

    def reveal(self) -> None:
        """Displays the result of a silent call."""
        if self.target.silent:
            self._show()

    def _show_question(self, *, at_once: bool) -> None:
        self._had_question = True
        if at_once:
            self._show()
        elif self.target.answer_method is AnswerMethod.WIDGET:
            self._display.update(self._draw, after=QUESTION)

    def _show(self) -> None:
        self._display.update(self._draw, after=0)

    def _draw(self) -> Bundle:
        event = self.event
        if event is None:
            return {"text/plain": ""}
        if self.target.watched and isinstance(event, ExecutingCall | OutputEvent):
            self._display.update(self._draw, after=TICK)
        try:
            return self.target.screen.draw(self._card(event))
        except Exception as bug:  # noqa: BLE001 - the display edge
            call = event.call if isinstance(event, OutputEvent) else event
            result = getattr(call, "result", None)
            return {
                "text/plain": (
                    f"{call.request.spoken}: {call.state} (its card could not be displayed:"
                    f" {bug!r})\n{result or ''}".rstrip()
                )
            }

    def _card(self, event: CallEvent) -> Card:
        card = in_place(
            with_caller(card_of(event, root=self._root, now=time.time()), self.target.caller),
            self.target.place,
        )
        if self._undoing is not None:
            return undone(card, self._undoing)
        if self._superseded is not None:
            return superseded(card, self._superseded)
        if isinstance(event, FINISHED):
            card = card if self.is_applied else applicable(event, card)
            return undoable(card) if self.is_undoable else mergeable(event, card)
        return card
