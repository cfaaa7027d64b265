"""Questions, wherever they are shown: in a cell, in the panel, in a notification or on a page of widgets."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Generic, TypeVar

from playwright.async_api import Locator

Place = TypeVar("Place")


class QuestionButtons(ABC, Generic[Place]):
    """Answers questions by their buttons, as a person does: as soon as they are shown.

    A question is named by its place, the number of its cell or a word of its row,
    or it is given itself where several are in one place.
    """

    @abstractmethod
    def question(self, place: Place) -> Locator: ...

    def button(self, question: Place | Locator, label: str) -> Locator:
        node = question if isinstance(question, Locator) else self.question(question)
        return node.get_by_role("button", name=label)

    def approve_button(self, question: Place | Locator) -> Locator:
        return self.button(question, "Approve once")

    async def answer(self, question: Place | Locator, label: str) -> None:
        """Presses a button of the question."""
        await self.button(question, label).click()

    async def approve(self, question: Place | Locator) -> None:
        """Lets the call that waits run, this once."""
        await self.approve_button(question).click()

    async def deny(self, question: Place | Locator) -> None:
        await self.answer(question, "Deny")

    async def modify(self, question: Place | Locator) -> None:
        """Opens the editor of the proposal."""
        await self.answer(question, "Modify…")

    async def always(self, question: Place | Locator, what: str) -> None:
        """Lets the call run, and from now on whatever the button names."""
        await self.answer(question, f"Always allow {what}")
