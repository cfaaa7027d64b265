"""Methods for a page's cards: cancel a call, undo it or make its change, and send the current card again."""

from __future__ import annotations

from typing import TYPE_CHECKING

from nbtools.cards.card_model import CardVerb, Wire
from nbtools.core.methods import method

if TYPE_CHECKING:
    from nbtools.notebook.runtime import NotebookRuntime
    from nbtools.workspace.history.undo import UndoMerge

_MERGES: dict[CardVerb, UndoMerge] = {"undo": False, "merge": True, "keep": "keep", "take_back": "take_back"}
"""Actions that undo a call, and what each does with later changes."""


class CancelParams(Wire):
    """Cancels a call, or stops an agent's run."""

    call: str


class ActParams(Wire):
    """Carries out an action of a card; ``id`` is that of a ``CardAction``."""

    verb: CardVerb
    id: str


class ShowParams(Wire):
    """Asks for the current cards of calls, which every page gets."""

    calls: tuple[str, ...]


class CardRequests:
    """The methods of cards.  They do not wait for the end of what they begin."""

    def __init__(self, runtime: NotebookRuntime) -> None:
        self._runtime = runtime

    @method("cards.cancel")
    def cancel(self, params: CancelParams) -> None:
        self._runtime.cancel(params.call)

    @method("cards.act")
    def act(self, params: ActParams) -> None:
        if params.verb == "apply":
            self._runtime.bridge.apply_at_card(params.id)
        else:
            self._runtime.bridge.undo_at_cards(params.id.split(), merge=_MERGES[params.verb])

    @method("cards.show")
    def show(self, params: ShowParams) -> None:
        for call in params.calls:
            self._runtime.bridge.redraw(call)
