"""The open questions of a notebook, and the only way to answer them from a front end."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from pydantic import ValidationError

from nbtools.core.errors import ErrorCode, ToolFailure

if TYPE_CHECKING:
    from nbtools.notebook.approval.question import OpenQuestion
    from nbtools.notebook.approval.question_messages import AnswerMessage


class OpenQuestions:
    """The questions that wait for a click, oldest first; one collection for each runtime.  Thread-safe."""

    def __init__(self) -> None:
        self._questions: dict[str, OpenQuestion] = {}
        self._callbacks: list[Callable[[], None]] = []
        self._lock = threading.Lock()

    def add(self, question: OpenQuestion) -> None:
        with self._lock:
            self._questions[question.id] = question
        self._notify()

    def remove(self, question_id: str) -> None:
        """Closes a question.  One that is no longer open is ignored."""
        with self._lock:
            removed = self._questions.pop(question_id, None)
        if removed is not None:
            self._notify()

    def current(self) -> tuple[OpenQuestion, ...]:
        with self._lock:
            return tuple(self._questions.values())

    def answer(self, question_id: str, message: Mapping[str, Any]) -> bool:
        """Answers the open question with that id; returns False if there is none (any more).

        Raises ``ToolFailure`` (``invalid_tool_params``) if the message is malformed, is for another question,
        or has an answer that the question does not offer.  The question then stays open.
        """
        with self._lock:
            question = self._questions.get(question_id)
        if question is None:
            return False
        answer = question.accept(_parse(question_id, message))
        with self._lock:
            is_open = self._questions.pop(question_id, None) is not None
        if is_open:
            question.give(answer)
            self._notify()
        return is_open

    def subscribe(self, callback: Callable[[], None]) -> Callable[[], None]:
        """Calls ``callback`` after every change, in the thread that made it.
        Returns a function that ends this.
        """
        self._callbacks.append(callback)

        def unsubscribe() -> None:
            with suppress(ValueError):
                self._callbacks.remove(callback)

        return unsubscribe

    def _notify(self) -> None:
        for callback in tuple(self._callbacks):
            callback()


def _parse(question_id: str, message: Mapping[str, Any]) -> AnswerMessage:
    from nbtools.notebook.approval.question_messages import (  # noqa: PLC0415 - most sessions ask nothing by a widget
        AnswerMessage,
    )

    try:
        parsed = AnswerMessage.model_validate(message)
    except ValidationError as error:
        first, *_ = error.errors(include_input=False, include_url=False)
        place = ".".join(map(str, first["loc"])) or "message"
        raise ToolFailure(
            ErrorCode.INVALID_TOOL_PARAMS, f"The answer is not valid: {place[:100]}: {first['msg'][:200]}."
        ) from None
    if parsed.question != question_id:
        raise ToolFailure(ErrorCode.INVALID_TOOL_PARAMS, "The answer is for another question.")
    return parsed
