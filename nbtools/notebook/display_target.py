"""Display targets: where a call's card is shown and how its questions can be answered there."""

from __future__ import annotations

import contextvars
import os
import shutil
import sys
import uuid
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias

if TYPE_CHECKING:
    from nbtools.cards.card_model import Card

Bundle: TypeAlias = Mapping[str, Any]
"""A MIME bundle: MIME types and their content, always including ``text/plain``."""

STATUS = "text/x-status"
"""The MIME type of a terminal line that the next output replaces."""

Callback: TypeAlias = Callable[[], None]
"""A function to run in the thread that waits for a call."""


class AnswerMethod(StrEnum):
    """The way to answer a question: with a widget, at a prompt, or not at all."""

    WIDGET = "widget"
    PROMPT = "prompt"
    NOBODY = "nobody"


class Screen(Protocol):
    """Displays MIME bundles; thread-safe.  If ``updates``,
    ``update`` replaces the display with the same id.
    """

    @property
    def updates(self) -> bool: ...

    def draw(self, card: Card) -> Bundle: ...

    def show(self, bundle: Bundle, display_id: str, update: bool) -> None: ...


class Loop(Protocol):
    """The part of the kernel's main event loop that widgets need."""

    def call_soon_threadsafe(
        self, callback: Callable[[], None], *, context: contextvars.Context | None = None
    ) -> Any: ...


@dataclass(frozen=True, slots=True)
class DisplayTarget:
    """The display target of one call.

    ``watched`` says whether somebody is watching; otherwise only the final state is shown.  ``early`` shows
    the card before the call has finished, however fast it is.  ``silent`` shows the card only if the call
    needs an answer.  ``post`` runs functions in the thread that waits for the call; None if no thread does.
    ``caller`` names the program that makes the call, if that is not the notebook.  ``cell_id`` is the id of
    the cell, as the front end sent it; empty outside a notebook.  ``place`` says where the call works, such
    as ``in a temporary copy``; empty for the notebook's workspace.
    """

    screen: Screen
    display_id: str
    watched: bool
    answer_method: AnswerMethod
    context: contextvars.Context
    loop: Loop | None = None
    post: Callable[[Callback], None] | None = None
    early: bool = False
    silent: bool = False
    caller: str = ""
    cell_id: str = ""
    place: str = ""

    @property
    def is_live(self) -> bool:
        """Whether somebody is watching a display that can be updated."""
        return self.watched and self.screen.updates

    def another(self) -> DisplayTarget:
        """Returns a target for another display in the same cell."""
        return replace(self, display_id=uuid.uuid4().hex)


class TerminalScreen:
    """Prints plain text.  Only the last line of a terminal can be replaced;
    it shows the progress of a running call.
    """

    updates = False

    def __init__(self) -> None:
        self._status = ""

    def draw(self, card: Card) -> Bundle:
        from nbtools.cards.text import card_text  # noqa: PLC0415 - loaded with the first card

        width = min(120, shutil.get_terminal_size((100, 24)).columns)
        if card.state in _TRANSIENT:
            return {
                STATUS: card_text(card.model_copy(update={"blocks": ()}), width=width - 1).split("\n", 1)[0]
            }
        return {"text/plain": card_text(card, colour=is_colourful(), width=width)}

    def show(self, bundle: Bundle, display_id: str, update: bool) -> None:
        cleared = "\r\x1b[K" if self._status else ""
        self._status = bundle.get(STATUS, "")
        sys.stdout.write(cleared + (self._status or f"{bundle['text/plain']}\n"))
        sys.stdout.flush()


_TRANSIENT = {"validating", "scheduled", "executing"}


def is_live_terminal() -> bool:
    """Whether standard output is a terminal that can erase a line."""
    return sys.stdout.isatty() and os.environ.get("TERM", "dumb") != "dumb"


def is_colourful() -> bool:
    """Whether the terminal supports colours and ``NO_COLOR`` is not set (https://no-color.org)."""
    return is_live_terminal() and not os.environ.get("NO_COLOR")


class CapturedScreen:
    """Displays into the publisher that ``%%capture`` has installed."""

    updates = False

    def __init__(self, publisher: Any) -> None:
        self._publisher = publisher

    def draw(self, card: Card) -> Bundle:
        from nbtools.cards.card import bundle  # noqa: PLC0415 - loaded with the first card

        return bundle(card)

    def show(self, bundle: Bundle, display_id: str, update: bool) -> None:
        self._publisher.publish(dict(bundle), {}, transient={"display_id": display_id}, update=update)


class KernelScreen(CapturedScreen):
    """Publishes as output of the request that made the call, whatever request the kernel is handling now."""

    updates = True

    def __init__(self, publisher: Any, parent: Mapping[str, Any]) -> None:
        super().__init__(publisher)
        self._parent = parent

    def show(self, bundle: Bundle, display_id: str, update: bool) -> None:
        token = self._publisher.set_thread_parent(self._parent)
        try:
            super().show(bundle, display_id, update)
        finally:
            self._publisher.reset_thread_parent(token)


class ConsoleScreen(KernelScreen):
    """Publishes for a front end that ignores updates of displays, such as ``jupyter console``:
    every state is an output of its own.

    Passing states are not shown, because they could not be replaced.
    """

    updates = False

    def draw(self, card: Card) -> Bundle:
        return {} if card.state in _TRANSIENT else super().draw(card)

    def show(self, bundle: Bundle, display_id: str, update: bool) -> None:
        if bundle:
            super().show(bundle, display_id, update=False)
