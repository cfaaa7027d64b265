"""Asks for approval with a line of text, in a terminal and in frontends without widgets."""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

from nbtools.cards.hidden_characters import one_line, seen
from nbtools.core.call import AwaitingApprovalCall
from nbtools.core.confirmation import (
    Answer,
    Confirmation,
    Question,
    ToolAskConfirmationDetails,
    ToolConfirmationOutcome,
    ToolConfirmationPayload,
)
from nbtools.core.errors import ToolFailure
from nbtools.notebook.approval.labels import always_for
from nbtools.notebook.approval.proposal import Proposal, proposal_of
from nbtools.notebook.frontend import Kernel, Terminal

_OUTCOMES = {
    "y": ToolConfirmationOutcome.PROCEED_ONCE,
    "a": ToolConfirmationOutcome.PROCEED_ALWAYS,
    "f": ToolConfirmationOutcome.PROCEED_ALWAYS,
    "s": ToolConfirmationOutcome.PROCEED_ALWAYS_SERVER,
    "n": ToolConfirmationOutcome.CANCEL,
}
_MAX_TRIES = 5


class Prompt:
    """Asks in the thread that waits for the call, after its card was shown.
    A closed input or five invalid answers deny the call.
    """

    def __init__(self, frontend: Kernel | Terminal, write: Callable[[str], None] = print) -> None:
        self._frontend = frontend
        self._write = write

    def ask(self, call: AwaitingApprovalCall) -> Answer:
        """Returns the answer.  Raises ``KeyboardInterrupt``."""
        with _interruptible():
            try:
                return self._ask(call)
            except EOFError:
                return Answer(ToolConfirmationOutcome.CANCEL, reason="the input was closed")

    def _ask(self, call: AwaitingApprovalCall) -> Answer:
        details = call.confirmation.details
        if isinstance(details, ToolAskConfirmationDetails):
            return self._answers(details.questions)
        choices = _choices(call.confirmation)
        for _ in range(_MAX_TRIES):
            typed = self._frontend.read_line(f"{' / '.join(choices.values())}: ").strip().casefold()
            letter = typed[:1]
            if letter == "m" and (answer := self._modified(call)) is not None:
                return answer
            if letter in choices and letter != "m":
                rules = ToolConfirmationPayload(rules=call.confirmation.narrower) if letter == "f" else None
                return Answer(_OUTCOMES[letter], rules, save=letter in "afs" and typed == 2 * letter)
        return Answer(ToolConfirmationOutcome.CANCEL, reason=f"no valid answer in {_MAX_TRIES} attempts")

    def _answers(self, questions: Sequence[Question]) -> Answer:
        """Asks for an answer to each question.
        An empty line means the default; without one, it skips the call unless optional.
        """
        answers: list[str] = []
        for question in questions:
            typed = self._frontend.read_line(
                f"{one_line(question.header or 'Answer')}{_hint(question)}: "
            ).strip()
            typed = typed or question.default
            if not typed and not question.optional:
                return Answer(ToolConfirmationOutcome.CANCEL, reason="a question was not answered")
            answers.append(_with_labels(question, typed))
        return Answer(ToolConfirmationOutcome.PROCEED_ONCE, ToolConfirmationPayload(answers=tuple(answers)))

    def _modified(self, call: AwaitingApprovalCall) -> Answer | None:
        """Returns an answer with the modified call, or None to ask again."""
        proposal = proposal_of(call)
        text = self._edited(proposal)
        if text is None or text == proposal.text:
            return None
        try:
            return proposal.answer(text)
        except ToolFailure as failure:
            self._write(seen(failure.message, keep="\t\n"))
            return None

    def _edited(self, proposal: Proposal) -> str | None:
        if proposal.one_line and "\n" not in proposal.text:
            return self._frontend.read_line(f"{one_line(proposal.label)}: ", proposal.text).strip() or None
        text = self._frontend.edit(proposal.text)
        if text is None:
            self._write(
                "No editor is available to modify this. Set EDITOR in a terminal, or deny the call and make"
                " it again with your changes."
            )
        return text


def _choices(confirmation: Confirmation) -> dict[str, str]:
    always, narrower = always_for(confirmation.offers), always_for(confirmation.narrower)
    save = " (aa: remember for this project)" if confirmation.can_save else ""
    return {
        "y": "[y]es once",
        **({"a": f"[a]lways allow {always}{save}"} if always else {}),
        **({"f": f"[f] always allow {narrower}"} if narrower else {}),
        **(
            {"s": "always allow this [s]erver"}
            if confirmation.details.type == "mcp" and confirmation.details.rule and always
            else {}
        ),
        "m": "[m]odify",
        "n": "[n]o",
    }


def _hint(question: Question) -> str:
    if question.default:
        return f"{_format_hint(question)}; default: {one_line(question.default)}"
    return f"{_format_hint(question)}; optional" if question.optional else _format_hint(question)


def _format_hint(question: Question) -> str:
    if question.kind == "yesno":
        return " (yes or no)"
    if not question.choices:
        return ""
    last = len(question.choices)
    return f" (1–{last}{', several separated by commas' if question.several else ''}, or your own text)"


def _with_labels(question: Question, typed: str) -> str:
    """Returns the typed answer with the numbers of choices replaced by their labels."""
    if question.kind == "yesno":
        return {"y": "yes", "n": "no"}.get(typed.casefold()[:1], typed)
    words = [word.strip() for word in typed.split(",")] if question.several else [typed]
    labels = dict(enumerate((choice.label for choice in question.choices), 1))
    return ", ".join(labels.get(int(word), word) if word.isdecimal() else word for word in words if word)


@contextmanager
def _interruptible() -> Iterator[None]:
    """Raises interrupts here while input is read, whatever handler a wait has set."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
