"""Cards and approvals of a session that works in a temporary copy."""

from __future__ import annotations

from typing import TYPE_CHECKING

from nbtools.notebook.approval.confirmer import NotebookConfirmer
from nbtools.notebook.approval.prompt import Prompt
from nbtools.notebook.live_cards import LiveCards

if TYPE_CHECKING:
    from nbtools.notebook.display_target import DisplayTarget
    from nbtools.notebook.runtime import NotebookRuntime
    from nbtools.session import Session


def show_calls(runtime: NotebookRuntime, session: Session) -> LiveCards:
    """Shows the calls of ``session`` in this notebook, and asks for their approval here.

    File names in the cards are no links, because the front end opens none below an absolute root:
    the copy's files are soon deleted.
    """

    def default_target() -> DisplayTarget:
        return runtime.frontend.display_target(None, early=True)

    def root() -> str:
        return str(session.workspace.root)

    cards = LiveCards(default_target, root, "in a temporary copy")
    session.confirmer = NotebookConfirmer(cards, Prompt(runtime.frontend), root, runtime.questions)
    session.observe(cards)
    return cards
