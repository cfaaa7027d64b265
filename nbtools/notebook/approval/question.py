"""An open question: what a front end shows of it,
and the conversion of a front end's message into its answer.
"""

from __future__ import annotations

import uuid
from collections.abc import Callable, Sequence
from functools import cached_property
from typing import Literal, TypeAlias, cast

from nbtools.cards.card_model import Card, DiffBlock
from nbtools.cards.diff_rows import diff_block
from nbtools.cards.hidden_characters import one_line, seen
from nbtools.core.call import AwaitingApprovalCall
from nbtools.core.confirmation import (
    Answer,
    Confirmation,
    FileChoice,
    Question,
    ToolAskConfirmationDetails,
    ToolConfirmationOutcome,
    ToolConfirmationPayload,
    ToolEditConfirmationDetails,
    takes_nothing,
)
from nbtools.core.errors import ErrorCode, ToolFailure
from nbtools.core.result import FileDiff
from nbtools.core.tool import SelectableInvocation
from nbtools.diff.partial_change import count_hunks, take_hunks
from nbtools.notebook.approval.labels import (
    LABELS,
    MAX_TIP,
    SKIP_TIP,
    UNTIL_COPY_ENDS,
    always_for,
    always_tip,
)
from nbtools.notebook.approval.proposal import Proposal, proposal_of
from nbtools.notebook.approval.question_messages import (
    AnswerMessage,
    ButtonChoice,
    EditableText,
    FieldOption,
    FormField,
    QuestionData,
    SelectableFile,
    TakenFile,
)

_LANGUAGES = {"exec": "bash", "mcp": "json", "info": "json"}
"""Languages of the editable texts of other calls than edits."""
Always: TypeAlias = Literal["always", "folder", "server"]


class OpenQuestion:
    """A question that waits for a click.

    ``id`` is its own: a call that is modified is asked about again, with a new id.  ``cell_id`` is the cell
    that made the call, empty where no cell did.  ``give`` takes the answer, once, and can be called in any
    thread.  ``before`` is the text that the call proposed first, where the person has modified it since.
    """

    def __init__(
        self,
        call: AwaitingApprovalCall,
        card: Card,
        cell_id: str,
        give: Callable[[Answer], None],
        *,
        before: str | None = None,
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
            return ButtonChoice(role="answers", label=LABELS["answers"]), ButtonChoice(
                role="deny", label=LABELS["skip"], tip=SKIP_TIP
            )
        return (
            ButtonChoice(role="once", label=LABELS["once"]),
            *_always_choices(confirmation),
            ButtonChoice(role="modify", label=LABELS["modify"]),
            ButtonChoice(role="deny", label=LABELS["deny"]),
        )

    @cached_property
    def proposal(self) -> Proposal:
        """The part of the call that can be edited."""
        return proposal_of(self._call)

    @cached_property
    def files(self) -> tuple[SelectableFile, ...]:
        """The parts of each file that the card shows, to take or leave out;
        empty where the change is all or nothing.

        Of several files each can be left out, and of each its hunks, if the card shows every changed line.
        """
        details = self._call.confirmation.details
        shown = [block for block in self.card.blocks if isinstance(block, DiffBlock)]
        if not isinstance(details, ToolEditConfirmationDetails):
            return ()
        if self.proposal.is_whole_file and len(shown) == 1 and (texts := self._texts()) is not None:
            hunks = _hunks_shown(shown[0], count_hunks(*texts))
            return (SelectableFile(hunks=hunks),) if hunks else ()
        if len(details.parts) != len(shown):
            return ()
        several = len(shown) > 1
        pairs = zip(shown, details.parts, strict=True)
        files = tuple(
            SelectableFile(hunks=_hunks_shown(block, part.hunks), can_modify=several and part.is_text)
            for block, part in pairs
        )
        return files if several or files[0].hunks else ()

    def _texts(self) -> tuple[str, str] | None:
        """Returns the file now and as proposed, None where it is created, emptied or changed with others.

        A part of a file, such as a cell, gets a line end, as in its diff.
        """
        details = self._call.confirmation.details
        if (
            not isinstance(details, ToolEditConfirmationDetails)
            or details.others
            or not (details.original_content and details.new_content)
        ):
            return None
        end = "\n" if details.language else ""
        return details.original_content + end, details.new_content + end

    def data(self) -> QuestionData:
        """Returns what a front end draws."""
        details = self._call.confirmation.details
        questions = details.questions if isinstance(details, ToolAskConfirmationDetails) else ()
        return QuestionData(
            id=self.id,
            card=self.card,
            choices=self.choices,
            # A single question has no header: the card's head shows it.
            fields=tuple(_field(question, headed=len(questions) > 1) for question in questions),
            files=self.files,
            changes=self._changes(),
            can_save=self._call.confirmation.can_save,
        )

    def _changes(self) -> DiffBlock | None:
        """Returns what the person has changed of the call: from the first proposal to the present one."""
        if self.before is None:
            return None
        details = self._call.confirmation.details
        path = (
            details.file_name
            if isinstance(details, ToolEditConfirmationDetails) and self.proposal.is_whole_file
            else self.proposal.label
        )
        return diff_block(path, self.before, self.proposal.text, language=_LANGUAGES.get(details.type, ""))

    def editable(self, file: int | None = None) -> EditableText:
        """Returns the text that *Modify* edits: of the call, or of one of its files.
        Raises ``ToolFailure`` if there is no such text.
        """
        details = self._call.confirmation.details
        if file is not None:
            diff = self._diff(file)
            label = one_line(f"{diff.file_name}, proposed content", 80)
            return EditableText(
                label=label,
                path=diff.file_name,
                original=diff.original_content or "",
                proposed=diff.new_content,
            )
        label, proposed = one_line(self.proposal.label, 80), self.proposal.text
        if isinstance(details, ToolEditConfirmationDetails) and self.proposal.is_whole_file:
            return EditableText(
                label=label,
                path=details.file_path,
                original=details.original_content or "",
                proposed=proposed,
            )
        return EditableText(label=label, path="", original="", proposed=proposed)

    def _diff(self, file: int) -> FileDiff:
        """Returns the change of a file whose text can be modified.
        Raises ``ToolFailure`` for another number.
        """
        details = self._call.confirmation.details
        if (
            not isinstance(details, ToolEditConfirmationDetails)
            or file >= len(self.files)
            or not self.files[file].can_modify
        ):
            raise _refused(f"The text of file {file + 1} cannot be modified here.")
        return details.diffs[file]

    def accept(self, message: AnswerMessage) -> Answer:
        """Returns the answer that a message stands for.

        Raises ``ToolFailure`` (``invalid_tool_params``) for an outcome that the question does not offer, for
        parts that do not belong to that outcome, and for a modification from which no call can be built.
        """
        if message.outcome not in {choice.role for choice in self.choices}:
            raise _refused(f"This question does not offer the answer {message.outcome!r}.")
        _check_parts(message)
        if message.remember and not self._call.confirmation.can_save:
            raise _refused("The answer cannot be remembered, because the call runs in a temporary copy.")
        match message.outcome:
            case "once":
                return self._approval(message)
            case "modify" if message.file is not None:
                return self._modified_file(message.file, message.text or "", message.files)
            case "modify":
                return self.proposal.answer(message.text or "")
            case "deny":
                return Answer(ToolConfirmationOutcome.CANCEL, reason=message.reason.strip())
            case "answers":
                return Answer(
                    ToolConfirmationOutcome.PROCEED_ONCE,
                    ToolConfirmationPayload(answers=self._answers(message.answers or ())),
                )
            case _:
                return self._always(message.outcome, save=message.remember)

    def _approval(self, message: AnswerMessage) -> Answer:
        choices = self._choices_of(message.files)
        if all(choice is True for choice in choices):
            return Answer(ToolConfirmationOutcome.PROCEED_ONCE)
        details = self._call.confirmation.details
        if not isinstance(details, ToolEditConfirmationDetails) or not self._takes_something(choices):
            raise _refused("No change is selected. Select one, or deny the call.")
        if details.parts:
            return self._selected(ToolConfirmationOutcome.PROCEED_ONCE, choices)
        texts, (choice,) = self._texts(), choices
        if texts is None or not isinstance(choice, tuple):
            raise _refused("The change is approved or denied as a whole.")
        text = take_hunks(*texts, choice)
        text = text.removesuffix("\n") if details.language else text
        return Answer(ToolConfirmationOutcome.PROCEED_ONCE, ToolConfirmationPayload(new_content=text))

    def _modified_file(self, file: int, text: str, files: Sequence[TakenFile] | None) -> Answer:
        if text == self._diff(file).new_content:
            raise _refused("The text is the proposed one. Change it, or go back.")
        choices = self._choices_of(files) or [True] * len(self.files)
        return self._selected(
            ToolConfirmationOutcome.MODIFY_WITH_EDITOR, [*choices[:file], text, *choices[file + 1 :]]
        )

    def _selected(self, outcome: ToolConfirmationOutcome, choices: Sequence[FileChoice]) -> Answer:
        """Returns the answer with these choices.
        Raises ``ToolFailure`` if they do not fit: the question then stays open.
        """
        cast("SelectableInvocation", self._call.plan.invocation).select(choices)
        return Answer(outcome, ToolConfirmationPayload(files=tuple(choices)))

    def _choices_of(self, files: Sequence[TakenFile] | None) -> list[FileChoice]:
        """Returns the choices that a message stands for; empty without any.
        Raises ``ToolFailure`` for those of another question.
        """
        if files is None:
            return []
        if [len(taken.hunks) for taken in files] != [file.hunks for file in self.files]:
            raise _refused("The answer is about other files and changes than the question.")
        return [taken.taken if not taken.taken or all(taken.hunks) else taken.hunks for taken in files]

    def _takes_something(self, choices: Sequence[FileChoice]) -> bool:
        details = self._call.confirmation.details
        parts = details.parts if isinstance(details, ToolEditConfirmationDetails) else ()
        if parts:
            return not all(map(takes_nothing, choices, parts))
        return any(choice is True or (isinstance(choice, tuple) and any(choice)) for choice in choices)

    def _always(self, role: Always, *, save: bool) -> Answer:
        if role == "server":
            return Answer(ToolConfirmationOutcome.PROCEED_ALWAYS_SERVER, save=save)
        payload = (
            ToolConfirmationPayload(rules=self._call.confirmation.narrower) if role == "folder" else None
        )
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


_PARTS = {"text": ("modify",), "file": ("modify",), "files": ("once", "modify"), "answers": ("answers",)}
"""Parts of a message by the outcomes that have them."""


def _check_parts(message: AnswerMessage) -> None:
    """Refuses parts of a message that its outcome does not have:
    they would be ignored, against the intention of the person.
    """
    for part, outcomes in _PARTS.items():
        if getattr(message, part) is not None and message.outcome not in outcomes:
            raise _refused(f"The answer {message.outcome!r} has no {part}.")
    if message.outcome == "modify" and message.text is None:
        raise _refused("The answer 'modify' needs a text.")
    if message.remember and message.outcome not in ("always", "folder", "server"):
        raise _refused(f"The answer {message.outcome!r} cannot be remembered.")


def _hunks_shown(block: DiffBlock, count: int) -> int:
    """Returns the number of hunks to choose from:
    ``count`` if there are several and the diff shows every changed line, else 0.
    """
    changes = [hunk for hunk in block.hunks if not hunk.folded]
    return count if count > 1 and count == len(changes) and not any(hunk.hidden for hunk in changes) else 0


def _refused(message: str) -> ToolFailure:
    return ToolFailure(ErrorCode.INVALID_TOOL_PARAMS, message)


def _always_choices(confirmation: Confirmation) -> tuple[ButtonChoice, ...]:
    """Returns the "always allow" buttons, each with the rules that it adds."""
    details, offers = confirmation.details, confirmation.offers
    until = () if confirmation.can_save else (UNTIL_COPY_ENDS,)
    if details.type == "mcp" and details.rule and offers:
        tool = _always("always", "", offers, (*confirmation.covered, *until), LABELS["tool"])
        return tool, _always("server", "", (details.rule,), until, LABELS["server"])
    everywhere = (
        (_always("always", always_for(offers), offers, (*confirmation.covered, *until)),) if offers else ()
    )
    narrower = confirmation.narrower
    return (*everywhere, *((_always("folder", always_for(narrower), narrower, until),) if narrower else ()))


def _always(
    role: Always, scope: str, rules: tuple[str, ...], covered: Sequence[str], label: str = LABELS["always"]
) -> ButtonChoice:
    tip, covers = always_tip(rules, covered), one_line(" ".join(covered), MAX_TIP)
    return ButtonChoice(
        role=role,
        label=label.replace("%1", scope),
        scope=scope,
        tip=tip,
        covers=covers,
        rules=tuple(map(one_line, rules)),
    )


def _field(question: Question, *, headed: bool) -> FormField:
    options = tuple(
        FieldOption(
            value=choice.label, label=seen(choice.label), description=one_line(choice.description, 300)
        )
        for choice in (() if question.kind == "text" else question.choices)
    )
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
