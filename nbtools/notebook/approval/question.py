"""An open question: what a front end shows of it, and the conversion of a front end's message into its answer."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Sequence
from functools import cached_property
from typing import Literal, TypeAlias

from nbtools.core.call import AwaitingApprovalCall
from nbtools.core.confirmation import (
    Answer,
    Confirmation,
    Question,
    ToolAskConfirmationDetails,
    ToolConfirmationOutcome,
    ToolConfirmationPayload,
    ToolEditConfirmationDetails,
)
from nbtools.core.errors import ErrorCode, ToolFailure
from nbtools.diff.partial_change import count_hunks, take_hunks
from nbtools.notebook.approval.labels import (
    ALWAYS_ALLOW,
    ANSWER,
    APPROVE_ONCE,
    DENY,
    MAX_TIP,
    MODIFY,
    SKIP,
    SKIP_TIP,
    UNTIL_COPY_ENDS,
    always_for,
    always_tip,
)
from nbtools.notebook.approval.model import AnswerMessage, ButtonChoice, EditableText, FieldOption, FormField, QuestionData
from nbtools.notebook.approval.proposal import Proposal, proposal_of
from nbtools.notebook.cards.diff_rows import diff_block
from nbtools.notebook.cards.model import Card, DiffBlock
from nbtools.notebook.hidden_characters import one_line, seen

_LANGUAGES = {"exec": "bash", "mcp": "json", "info": "json"}
"""Languages of the editable texts of other calls than edits."""
Always: TypeAlias = Literal["always", "folder", "server"]


class OpenQuestion:
    """A question that waits for a click.

    ``id`` is its own: a call that is modified is asked about again, with a new id.  ``cell_id`` is the cell that made the call, empty where
    no cell did.  ``give`` takes the answer, once, and can be called in any thread.  ``before`` is the text
    that the call proposed first, where the person has modified it since.
    """

    def __init__(
        self, call: AwaitingApprovalCall, card: Card, cell_id: str, give: Callable[[Answer], None], *, before: str | None = None
    ) -> None:
        self.id = uuid.uuid4().hex
        self.card = card
        self.cell_id = cell_id
        self.give = give
        self.before = before
        self._call = call

    @property
    def call_id(self) -> str:
        return self._call.request.id

    @cached_property
    def choices(self) -> tuple[ButtonChoice, ...]:
        """The buttons, in their order."""
        confirmation = self._call.confirmation
        if isinstance(confirmation.details, ToolAskConfirmationDetails):
            return ButtonChoice(role="answers", label=ANSWER), ButtonChoice(role="deny", label=SKIP, tip=SKIP_TIP)
        return (
            ButtonChoice(role="once", label=APPROVE_ONCE),
            *_always_choices(confirmation),
            ButtonChoice(role="modify", label=MODIFY),
            ButtonChoice(role="deny", label=DENY),
        )

    @cached_property
    def proposal(self) -> Proposal:
        """The part of the call that can be edited."""
        return proposal_of(self._call)

    @cached_property
    def hunks(self) -> int:
        """The number of hunks that can be taken or left one by one; 0 where the change is all or nothing.

        That is one change of one existing file, which a person can modify and of which the card shows every changed line.
        """
        shown = [block for block in self.card.blocks if isinstance(block, DiffBlock)]
        if not self.proposal.is_whole_file or len(shown) != 1 or (texts := self._texts()) is None:
            return 0
        changes = [hunk for hunk in shown[0].hunks if not hunk.folded]
        count = count_hunks(*texts)
        return count if count > 1 and count == len(changes) and not any(hunk.hidden for hunk in changes) else 0

    def _texts(self) -> tuple[str, str] | None:
        """Returns the file now and as proposed, None where it is created, emptied or changed with others.

        A part of a file, such as a cell, gets a line end, as in its diff.
        """
        details = self._call.confirmation.details
        if not isinstance(details, ToolEditConfirmationDetails) or details.others or not (details.original_content and details.new_content):
            return None
        end = "\n" if details.language else ""
        return details.original_content + end, details.new_content + end

    def data(self) -> QuestionData:
        """Returns what a front end draws."""
        details = self._call.confirmation.details
        fields = _fields(details.questions) if isinstance(details, ToolAskConfirmationDetails) else ()
        return QuestionData(
            id=self.id,
            card=self.card,
            choices=self.choices,
            fields=fields,
            hunks=self.hunks,
            changes=self._changes(),
            can_save=self._call.confirmation.can_save,
        )

    def _changes(self) -> DiffBlock | None:
        """Returns what the person has changed of the call: from the first proposal to the present one."""
        if self.before is None:
            return None
        details = self._call.confirmation.details
        path = (
            details.file_name if isinstance(details, ToolEditConfirmationDetails) and self.proposal.is_whole_file else self.proposal.label
        )
        return diff_block(path, self.before, self.proposal.text, language=_LANGUAGES.get(details.type, ""))

    def editable(self) -> EditableText:
        """Returns the text that *Modify* edits."""
        details, label, proposed = self._call.confirmation.details, one_line(self.proposal.label, 80), self.proposal.text
        if isinstance(details, ToolEditConfirmationDetails):
            return EditableText(label=label, path=details.file_path, original=details.original_content or "", proposed=proposed)
        return EditableText(label=label, path="", original="", proposed=proposed)

    def accept(self, message: AnswerMessage) -> Answer:
        """Returns the answer that a message stands for.

        Raises ``ToolFailure`` (``invalid_tool_params``) for an outcome that the question does not offer, for parts that do not belong to
        that outcome, and for a modification from which no call can be built.
        """
        if message.outcome not in {choice.role for choice in self.choices}:
            raise _refused(f"This question does not offer the answer {message.outcome!r}.")
        _check_parts(message)
        if message.remember and not self._call.confirmation.can_save:
            raise _refused("The answer cannot be remembered, because the call runs in a temporary copy.")
        match message.outcome:
            case "once":
                return self._approval(message)
            case "modify":
                return self.proposal.answer(message.text or "")
            case "deny":
                return Answer(ToolConfirmationOutcome.CANCEL, reason=message.reason.strip())
            case "answers":
                return Answer(ToolConfirmationOutcome.PROCEED_ONCE, ToolConfirmationPayload(answers=self._answers(message.answers or ())))
            case _:
                return self._always(message.outcome, save=message.remember)

    def _approval(self, message: AnswerMessage) -> Answer:
        if message.hunks is not None and len(message.hunks) != self.hunks:
            raise _refused(f"The answer has {len(message.hunks)} hunks; the question has {self.hunks}.")
        texts = self._texts()
        if message.hunks is None or all(message.hunks) or texts is None:
            return Answer(ToolConfirmationOutcome.PROCEED_ONCE)
        if not any(message.hunks):
            raise _refused("No change is selected. Select one, or deny the call.")
        details, text = self._call.confirmation.details, take_hunks(*texts, message.hunks)
        text = text.removesuffix("\n") if isinstance(details, ToolEditConfirmationDetails) and details.language else text
        return Answer(ToolConfirmationOutcome.PROCEED_ONCE, ToolConfirmationPayload(new_content=text))

    def _always(self, role: Always, *, save: bool) -> Answer:
        if role == "server":
            return Answer(ToolConfirmationOutcome.PROCEED_ALWAYS_SERVER, save=save)
        payload = ToolConfirmationPayload(rules=self._call.confirmation.narrower) if role == "folder" else None
        return Answer(ToolConfirmationOutcome.PROCEED_ALWAYS, payload, save=save)

    def _answers(self, answers: Sequence[str]) -> tuple[str, ...]:
        details = self._call.confirmation.details
        questions = details.questions if isinstance(details, ToolAskConfirmationDetails) else ()
        given = tuple(answer.strip() for answer in answers)
        if len(given) != len(questions):
            raise _refused(f"The message has {len(given)} answers; the form has {len(questions)} questions.")
        if not all(answer or question.optional for answer, question in zip(given, questions, strict=True)):
            raise _refused("A question has no answer yet.")
        return given


_PARTS = {"text": "modify", "hunks": "once", "answers": "answers"}
"""Parts of a message by the only outcome that has them."""


def _check_parts(message: AnswerMessage) -> None:
    """Refuses parts of a message that its outcome does not have: they would be ignored, against the intention of the person."""
    for part, outcome in _PARTS.items():
        if getattr(message, part) is not None and message.outcome != outcome:
            raise _refused(f"The answer {message.outcome!r} has no {part}.")
    if message.outcome == "modify" and message.text is None:
        raise _refused("The answer 'modify' needs a text.")
    if message.remember and message.outcome not in ("always", "folder", "server"):
        raise _refused(f"The answer {message.outcome!r} cannot be remembered.")


def _refused(message: str) -> ToolFailure:
    return ToolFailure(ErrorCode.INVALID_TOOL_PARAMS, message)


def _always_choices(confirmation: Confirmation) -> tuple[ButtonChoice, ...]:
    """Returns the "always allow" buttons, each with the rules that it adds."""
    details, offers = confirmation.details, confirmation.offers
    until = () if confirmation.can_save else (UNTIL_COPY_ENDS,)
    if details.type == "mcp" and details.rule and offers:
        tool = _always("always", "", offers, (*confirmation.covered, *until), "this tool")
        return tool, _always("server", "", (details.rule,), until, "this server")
    everywhere = (_always("always", always_for(offers), offers, (*confirmation.covered, *until)),) if offers else ()
    narrower = confirmation.narrower
    return (*everywhere, *((_always("folder", always_for(narrower), narrower, until),) if narrower else ()))


def _always(role: Always, scope: str, rules: tuple[str, ...], covered: Sequence[str], name: str = "") -> ButtonChoice:
    label = ALWAYS_ALLOW.format(scope or name)
    tip, covers = always_tip(rules, covered), one_line(" ".join(covered), MAX_TIP)
    return ButtonChoice(role=role, label=label, scope=scope, tip=tip, covers=covers, rules=tuple(map(one_line, rules)))


def _fields(questions: Sequence[Question]) -> tuple[FormField, ...]:
    """Returns the form's questions; a single one has no header, because the card's head shows it."""
    return tuple(_field(question, headed=len(questions) > 1) for question in questions)


def _field(question: Question, *, headed: bool) -> FormField:
    options = () if question.kind == "text" else tuple(_option(choice.label, choice.description) for choice in question.choices)
    if question.kind == "yesno":
        options = (FieldOption(value="yes", label="Yes"), FieldOption(value="no", label="No"))
    return FormField(
        header=one_line(question.header) if headed else "",
        text=seen(question.text, keep="\t\n"),
        options=options,
        several=question.several and question.kind == "choice",
        other=question.kind == "choice" and bool(options),
        placeholder=one_line(question.placeholder),
        default=question.default,
        optional=question.optional,
    )


def _option(label: str, description: str) -> FieldOption:
    return FieldOption(value=label, label=seen(label), description=one_line(description, 300))
