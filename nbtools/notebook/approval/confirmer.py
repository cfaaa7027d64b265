"""The notebook's confirmer: asks for approval with buttons, with a line of input,
or fails where nobody can answer.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextlib import ExitStack, suppress

from nbtools.cards.card import bundle, card_of, in_place, with_caller
from nbtools.core.call import AwaitingApprovalCall
from nbtools.core.confirmation import (
    Answer,
    Confirmation,
    ToolConfirmationOutcome,
    answer_unavailable_message,
    approval_unavailable_message,
    confirmation_unavailable_message,
)
from nbtools.core.errors import ErrorCode, ToolFailure
from nbtools.notebook.approval.open_questions import OpenQuestions
from nbtools.notebook.approval.prompt import Prompt
from nbtools.notebook.display_target import AnswerMethod, Bundle, Callback, Loop
from nbtools.notebook.live_cards import LiveCard, LiveCards
from nbtools.policy.grants import can_be_allowed


class NotebookConfirmer:
    """Asks where the call is displayed.  Raises ``ToolFailure`` (``confirmation_required``) at once where
    nobody can answer.
    """

    def __init__(
        self, cards: LiveCards, prompt: Prompt, root: Callable[[], str], questions: OpenQuestions
    ) -> None:
        self._cards = cards
        self._questions = questions
        self._prompt = prompt
        self._root = root

    async def ask(self, confirmation: Confirmation) -> Answer:
        card = self._cards.card(confirmation.call_id)
        call, target = card.event, card.target
        if isinstance(call, AwaitingApprovalCall):
            if target.answer_method is AnswerMethod.WIDGET and target.loop is not None:
                return await self._ask_by_widget(call, card, target.loop)
            if target.answer_method is AnswerMethod.PROMPT and target.post is not None:
                return await self._ask_by_prompt(call, target.post)
        if confirmation.type == "ask":
            raise ToolFailure(ErrorCode.CONFIRMATION_REQUIRED, answer_unavailable_message(confirmation.tool))
        tool, decision = confirmation.tool, confirmation.decision
        if can_be_allowed(decision):
            why = approval_unavailable_message(tool, decision, confirmation.offers)
        else:
            why = confirmation_unavailable_message(tool, decision)
        raise ToolFailure(ErrorCode.CONFIRMATION_REQUIRED, why)

    async def _ask_by_widget(self, call: AwaitingApprovalCall, card: LiveCard, kernel: Loop) -> Answer:
        """Asks with a widget in the kernel's main loop, and always closes it at the end."""
        from nbtools.notebook.approval.question import (  # noqa: PLC0415 - most sessions ask nothing by a widget
            OpenQuestion,
        )
        from nbtools.notebook.approval.widget import WIDGET_MIME, open_widget  # noqa: PLC0415 - as above

        target, reply, close = card.target, Reply(), ExitStack()
        drawn = in_place(with_caller(card_of(call, root=self._root()), target.caller), target.place)
        question = OpenQuestion(call, drawn, target.cell_id, reply.set, before=card.proposal_before)
        static = bundle(drawn)

        def build() -> None:
            if reply.is_closed:
                return
            try:
                model_id = close.enter_context(open_widget(question, self._questions))
            except Exception as error:  # noqa: BLE001 - a call must not wait for a question that cannot be shown
                reply.fail(
                    ToolFailure(ErrorCode.CONFIRMATION_REQUIRED, f"The question could not be shown. {error}")
                )
                return
            live: Bundle = {
                WIDGET_MIME: {"version_major": 2, "version_minor": 0, "model_id": model_id},
                **static,
            }
            reply.call_in_loop(lambda: None if reply.is_closed else card.show_widget(live))

        self._questions.add(question)
        try:
            kernel.call_soon_threadsafe(build, context=target.context.copy())
            answer = await reply.wait()
        finally:
            reply.close()
            self._questions.remove(question.id)
            with suppress(RuntimeError):  # the kernel is going down
                kernel.call_soon_threadsafe(close.close, context=target.context.copy())
        if answer.outcome is not ToolConfirmationOutcome.MODIFY_WITH_EDITOR:
            card.proposal_before = None
        elif card.proposal_before is None and not (answer.payload and answer.payload.files):
            card.proposal_before = question.proposal.text
        return answer

    async def _ask_by_prompt(self, call: AwaitingApprovalCall, post: Callable[[Callback], None]) -> Answer:
        """Asks in the thread that waits for the call."""
        reply = Reply()

        def ask() -> None:
            if reply.is_closed:
                return
            try:
                reply.set(self._prompt.ask(call))
            except Exception as error:  # noqa: BLE001 - the call waits for the reply, whatever happens to the prompt
                reply.fail(error)

        post(ask)
        try:
            return await reply.wait()
        finally:
            reply.close()


class Reply:
    """An answer that is set once, from any thread, and awaited in the loop that created it.
    Later answers are ignored.
    """

    def __init__(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._future: asyncio.Future[Answer] = self._loop.create_future()
        self._closed = False

    @property
    def is_closed(self) -> bool:
        return self._closed or self._future.done()

    def set(self, answer: Answer) -> None:
        self.call_in_loop(lambda: None if self.is_closed else self._future.set_result(answer))

    def fail(self, failure: Exception) -> None:
        """Raises ``failure`` in ``wait``."""
        self.call_in_loop(lambda: None if self.is_closed else self._future.set_exception(failure))

    def close(self) -> None:
        """Ignores all answers from now on."""
        self._closed = True

    async def wait(self) -> Answer:
        return await self._future

    def call_in_loop(self, work: Callable[[], None]) -> None:
        """Calls ``work`` in the loop that awaits the answer."""
        with suppress(RuntimeError):  # the session is closed
            self._loop.call_soon_threadsafe(work)
