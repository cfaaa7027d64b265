"""The card of a call that could not even be made: its line was no call."""

from __future__ import annotations

from nbtools.core.errors import ToolFailure
from nbtools.notebook.phrases import FAILED
from nbtools.notebook.places import Place
from nbtools.notebook.wire import Card, TextBlock


def show_refusal(name: str, rest: str, failure: ToolFailure, place: Place) -> None:
    block = TextBlock(text=failure.message, tone="error")
    card = Card(
        id="", state="error", tool=name[:100], icon="hammer", subject=rest.strip()[:200], status=FAILED[failure.code], blocks=(block,)
    )
    place.screen.show(place.screen.draw(card), place.display_id, update=False)
