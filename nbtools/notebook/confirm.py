"""Puts a question to the person the way their frontend can: buttons, a line of input, or not at all."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextlib import suppress

from nbtools.core.call import AwaitingApprovalCall
from nbtools.core.confirmation import Answer, Confirmation, how_to_allow, nobody_to_answer, nobody_to_confirm
from nbtools.core.errors import ErrorCode, ToolFailure
from nbtools.notebook.bundle import bundle
from nbtools.notebook.card import card_of, for_asker
from nbtools.notebook.cards import Cards, Drawing
from nbtools.notebook.places import Bundle, Errand, Loop, Way
from nbtools.notebook.prompt import Prompt
from nbtools.notebook.question_widget import WIDGET_MIME, QuestionWidget
from nbtools.policy.grants import can_be_allowed


class NotebookConfirmer:
    """Asks where the call stands.  Raises ``ToolFailure`` (``confirmation_required``) at once where nobody can answer."""

    def __init__(self, cards: Cards, prompt: Prompt, root: Callable[[], str]) -> None:
        self._cards = cards
        self._prompt = prompt
        self._root = root

    async def ask(self, confirmation: Confirmation) -> Answer:
        drawing = self._cards.drawing(confirmation.call_id)
        call, place = drawing.event, drawing.place
        if isinstance(call, AwaitingApprovalCall):
            if place.way is Way.WIDGET and place.loop is not None:
                return await self._by_widget(call, drawing, place.loop)
            if place.way is Way.PROMPT and place.errands is not None:
                return await self._by_prompt(call, place.errands)
        if confirmation.type == "ask":
            raise ToolFailure(ErrorCode.CONFIRMATION_REQUIRED, nobody_to_answer(confirmation.tool))
        raise ToolFailure(ErrorCode.CONFIRMATION_REQUIRED, _nobody(confirmation))

    async def _by_widget(self, call: AwaitingApprovalCall, drawing: Drawing, kernel: Loop) -> Answer:
        """The widget lives in the kernel's main loop; what it says comes back here.  Closed when this ends, however it ends."""
        place, reply = drawing.place, Reply()
        card = for_asker(card_of(call, root=self._root()), place.asker)
        widget = QuestionWidget(call, card, reply.give)
        still = bundle(card)

        def build() -> None:
            model_id = widget.build()
            live: Bundle = {WIDGET_MIME: {"version_major": 2, "version_minor": 0, "model_id": model_id}, **still}
            reply.in_loop(lambda: None if reply.given else drawing.present(live))

        kernel.call_soon_threadsafe(build, context=place.context.copy())
        try:
            return await reply.wait()
        finally:
            reply.refuse()
            with suppress(RuntimeError):  # the kernel is going down
                kernel.call_soon_threadsafe(widget.close, context=place.context.copy())

    async def _by_prompt(self, call: AwaitingApprovalCall, errands: Callable[[Errand], None]) -> Answer:
        """The thread that waits for the call asks, and answers here."""
        reply = Reply()
        errands(self._errand(call, reply))
        try:
            return await reply.wait()
        finally:
            reply.refuse()

    def _errand(self, call: AwaitingApprovalCall, reply: Reply) -> Errand:
        def ask() -> None:
            if not reply.given:
                reply.give(self._prompt.ask(call))

        return ask


class Reply:
    """One answer, given once from any thread and awaited in the loop that made it; what comes later is ignored."""

    def __init__(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._future: asyncio.Future[Answer] = self._loop.create_future()
        self._closed = False

    @property
    def given(self) -> bool:
        return self._closed or self._future.done()

    def give(self, answer: Answer) -> None:
        self.in_loop(lambda: None if self.given else self._future.set_result(answer))

    def refuse(self) -> None:
        """Takes no answer from now on."""
        self._closed = True

    async def wait(self) -> Answer:
        return await self._future

    def in_loop(self, work: Callable[[], None]) -> None:
        """Does something in the loop that awaits."""
        with suppress(RuntimeError):  # the session is closed
            self._loop.call_soon_threadsafe(work)


def _nobody(confirmation: Confirmation) -> str:
    """What to do where nobody can answer: nothing that would not help."""
    if not can_be_allowed(confirmation.decision):
        return nobody_to_confirm(confirmation.tool, confirmation.decision)
    return how_to_allow(confirmation.tool, confirmation.decision, confirmation.offers)
