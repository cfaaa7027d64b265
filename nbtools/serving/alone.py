"""A session of the server's own, for as long as no notebook serves: the rules decide, and nobody can be asked."""

from __future__ import annotations

from pathlib import Path

from nbtools.core.confirmation import Answer, Confirmation, nobody_to_answer, nobody_to_confirm
from nbtools.core.errors import ErrorCode, ToolFailure
from nbtools.core.settings import Settings
from nbtools.policy.grants import can_be_allowed
from nbtools.session import Session

ABOUT = (
    "No notebook serves this workspace, so nobody can be asked: a call runs where the person's or the project's rules allow it, and is "
    "denied at once otherwise, with the reason."
)


def open_alone(root: Path) -> Session:
    """A session on ``root`` with the rules that are kept for it.  Raises ``NbtoolsError`` when that is no folder."""
    session = Session(root, confirmer=Nobody(root), settings=Settings(plugins=True, record=True))
    session.layers = session.store.layers()
    return session


class Nobody:
    """Refuses at once, and says how the call could be allowed."""

    def __init__(self, root: Path) -> None:
        self._root = root

    async def ask(self, confirmation: Confirmation) -> Answer:
        raise ToolFailure(ErrorCode.CONFIRMATION_REQUIRED, f"{_why(confirmation)} {self._how(confirmation)}")

    def _how(self, confirmation: Confirmation) -> str:
        there = f"To be asked, the person runs %tools serve in a notebook on {self._root}"
        if confirmation.type == "ask" or not can_be_allowed(confirmation.decision):
            return f"{there}."
        rules = " ".join(f'"{rule}"' for rule in confirmation.offers or (confirmation.tool,))
        return f"{there}; to let it run unasked, %tools allow --save {rules} there."


def _why(confirmation: Confirmation) -> str:
    tool, decision = confirmation.tool, confirmation.decision
    if confirmation.type == "ask":
        return nobody_to_answer(tool)
    if not can_be_allowed(decision):
        return nobody_to_confirm(tool, decision)
    return f"{tool} needs a yes and no notebook is there to ask in ({decision.reason}). Nothing has happened."
