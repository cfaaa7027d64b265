"""Where a call shows itself and who can answer there: a notebook's cell, a terminal, or nobody's log."""

from __future__ import annotations

import contextvars
import os
import shutil
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias

if TYPE_CHECKING:
    from nbtools.notebook.wire import Card

Bundle: TypeAlias = Mapping[str, Any]
"""MIME types to their content; ``text/plain`` is always among them."""

STATUS = "text/x-status"
"""A line that the next one replaces, in a terminal."""

Errand: TypeAlias = Callable[[], None]
"""Something to be done in the thread that waits for a call."""


class Way(StrEnum):
    """How a question reaches somebody."""

    WIDGET = "widget"
    PROMPT = "prompt"
    NOBODY = "nobody"


class Screen(Protocol):
    """Shows bundles; safe in any thread.  Where ``updates`` says so, ``update`` replaces what was shown under the same id."""

    @property
    def updates(self) -> bool: ...

    def draw(self, card: Card) -> Bundle: ...

    def show(self, bundle: Bundle, display_id: str, update: bool) -> None: ...


class Loop(Protocol):
    """The kernel's main event loop, as far as widgets need it."""

    def call_soon_threadsafe(self, callback: Callable[[], None], *, context: contextvars.Context | None = None) -> Any: ...


@dataclass(frozen=True, slots=True)
class Place:
    """One call's place.

    ``watched`` says whether somebody looks on; where nobody does, only the end is shown.  ``early`` shows the card before the
    call is through, however quick it is.  ``silent`` shows nothing unless somebody must be asked.  ``errands`` hands work to the thread
    that waits for the call, and is None where no thread waits.  ``asker`` is who makes the call, where that is not the notebook.
    """

    screen: Screen
    display_id: str
    watched: bool
    way: Way
    context: contextvars.Context
    loop: Loop | None = None
    errands: Callable[[Errand], None] | None = None
    early: bool = False
    silent: bool = False
    asker: str = ""


class TerminalScreen:
    """Prints the plain text.  A terminal cannot take back what it has shown, except its last line: there a running call counts on."""

    updates = False

    def __init__(self) -> None:
        self._status = ""

    def draw(self, card: Card) -> Bundle:
        from nbtools.notebook.text import card_text  # noqa: PLC0415 - drawing cards is not loaded before there is one

        width = min(120, shutil.get_terminal_size((100, 24)).columns)
        if card.state in _PASSING:
            return {STATUS: card_text(card.model_copy(update={"blocks": ()}), width=width - 1).split("\n", 1)[0]}
        return {"text/plain": card_text(card, colour=is_colourful(), width=width)}

    def show(self, bundle: Bundle, display_id: str, update: bool) -> None:
        cleared = "\r\x1b[K" if self._status else ""
        self._status = bundle.get(STATUS, "")
        sys.stdout.write(cleared + (self._status or f"{bundle['text/plain']}\n"))
        sys.stdout.flush()


_PASSING = {"validating", "scheduled", "executing"}


def is_live_terminal() -> bool:
    """Whether standard output is a terminal that can erase a line."""
    return sys.stdout.isatty() and os.environ.get("TERM", "dumb") != "dumb"


def is_colourful() -> bool:
    """Whether the terminal shows colours and nobody has asked for none (https://no-color.org)."""
    return is_live_terminal() and not os.environ.get("NO_COLOR")


class CapturedScreen:
    """Shows into what ``%%capture`` has put in the publisher's place."""

    updates = False

    def __init__(self, publisher: Any) -> None:
        self._publisher = publisher

    def draw(self, card: Card) -> Bundle:
        from nbtools.notebook.bundle import bundle  # noqa: PLC0415 - drawing cards is not loaded before there is one

        return bundle(card)

    def show(self, bundle: Bundle, display_id: str, update: bool) -> None:
        self._publisher.publish(dict(bundle), {}, transient={"display_id": display_id}, update=update)


class KernelScreen(CapturedScreen):
    """Publishes under the request that made the call, whatever else the kernel is doing meanwhile."""

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

    def clear(self) -> None:
        """Takes away what the request has shown, as soon as something else is shown."""
        token = self._publisher.set_thread_parent(self._parent)
        try:
            self._publisher.clear_output(wait=True)
        finally:
            self._publisher.reset_thread_parent(token)
