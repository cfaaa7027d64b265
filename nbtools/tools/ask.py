"""The `ask` tool: puts questions to the person."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Annotated, Literal

from pydantic import Field, StringConstraints

from nbtools.core.confirmation import (
    Choice,
    Question,
    ToolAskConfirmationDetails,
    ToolConfirmationOutcome,
    ToolConfirmationPayload,
    answer_unavailable_message,
)
from nbtools.core.errors import ErrorCode, ToolFailure
from nbtools.core.message import CalledTool, Message, Parameter
from nbtools.core.result import ToolResult
from nbtools.core.schema.documented_model import ParameterModel
from nbtools.core.tool import BaseToolInvocation, Example, Kind, UpdateOutput
from nbtools.tools.workspace_tool import WorkspaceTool

_Words = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1, max_length=2_000)]
_YES_OR_NO = {"y": "yes", "yes": "yes", "true": "yes", "n": "no", "no": "no", "false": "no"}


class ChoiceParams(ParameterModel):
    label: _Words
    """The choice in a few words; the chosen label is the answer."""
    description: str = ""
    """What choosing it means."""


class QuestionParams(ParameterModel):
    text: _Words
    """The whole question."""
    header: Annotated[str, Field(max_length=40)] = ""
    """The topic in two or three words."""
    kind: Literal["choice", "text", "yesno"] | None = None
    """How the question is answered. Default: choice if there are choices, otherwise text."""
    choices: Annotated[tuple[ChoiceParams, ...], Field(max_length=20)] = ()
    """The choices, at least two; the person can always answer with other text."""
    several: bool = False
    """Whether more than one choice may be selected."""
    placeholder: str = ""
    """An example answer, shown in the empty text field."""
    default: str = ""
    """The answer that is filled in beforehand; the person can keep or change it."""
    optional: bool = False
    """Whether the question may be left unanswered."""

    @property
    def question(self) -> Question:
        kind = self.kind or ("choice" if self.choices else "text")
        choices = tuple(Choice(choice.label, choice.description) for choice in self.choices)
        return Question(
            self.text, self.header, kind, choices, self.several, self.placeholder, self.default, self.optional
        )


class AskParams(ParameterModel):
    questions: Annotated[tuple[QuestionParams, ...], Field(min_length=1, max_length=4)]
    """One to four questions, shown together."""


@dataclass(frozen=True, slots=True)
class Answers:
    """The answers, one for each question, in order.

    An answer is the chosen label (several are joined by ``", "``), the text, ``yes`` or ``no``;
    empty if not answered.
    """

    answers: tuple[str, ...]


class AskTool(WorkspaceTool[AskParams]):
    """Asks the person questions and returns the answers.

    The approval request is the question itself, so no permission mode and no rule can answer it.
    """

    name = "ask"
    description = (
        "Asks the person questions that only they can decide: a choice, a text, or yes or no. Ask when a"
        " wrong guess would be costly."
    )
    kind = Kind.THINK
    parameters = AskParams
    examples = (
        Example("Asks for a text.", {"questions": [{"text": "Which folder?"}]}),
        Example("Asks yes or no.", {"questions": [{"text": "Delete the old logs?", "kind": "yesno"}]}),
    )
    asks = "always"
    runs_beside = True  # another running call, such as one of an MCP server, may be waiting for the answer

    def validate_tool_param_values(self, params: AskParams) -> str | None:
        problems = ((number, _problem(item.question)) for number, item in enumerate(params.questions, 1))
        return next(
            (
                Message.of(CalledTool("ask"), f": question {number} ", problem, ".")
                for number, problem in problems
                if problem
            ),
            None,
        )

    def create_invocation(self, params: AskParams) -> AskInvocation:
        return AskInvocation(params)


class AskInvocation(BaseToolInvocation[AskParams]):
    __slots__ = ("answers", "questions")

    def __init__(self, params: AskParams) -> None:
        super().__init__(params)
        self.questions = tuple(question.question for question in params.questions)
        self.answers: tuple[str, ...] = ()

    def get_description(self) -> str:
        return " · ".join(question.header or question.text for question in self.questions)

    async def should_confirm_execute(self) -> ToolAskConfirmationDetails:
        return ToolAskConfirmationDetails(
            "A question" if len(self.questions) == 1 else f"{len(self.questions)} questions", self.questions
        )

    async def on_confirm(
        self, outcome: ToolConfirmationOutcome, payload: ToolConfirmationPayload | None = None
    ) -> None:
        if payload is None or outcome is ToolConfirmationOutcome.CANCEL:
            return
        if not payload.answers and not all(
            question.optional for question in self.questions
        ):  # approved by a program, not answered
            return
        padded = (*payload.answers, *[""] * len(self.questions))
        self.answers = tuple(
            normalize_answer(question, answer)
            for question, answer in zip(self.questions, padded, strict=False)
        )

    async def execute(self, update_output: UpdateOutput | None = None) -> ToolResult:
        """Returns the answers, of which a person may leave all open.

        Raises ``ToolFailure`` (``confirmation_required``) if nobody was asked.
        """
        if not self.answers:
            raise ToolFailure(ErrorCode.CONFIRMATION_REQUIRED, answer_unavailable_message("ask"))
        text = "\n".join(map(_question_and_answer, self.questions, self.answers))
        return ToolResult(
            text,
            text,
            summary=_short(", ".join(filter(None, self.answers)) or "(no answer)"),
            data=Answers(self.answers),
        )


def normalize_answer(question: Question, answer: str) -> str:
    """Returns ``answer`` with choices and yes/no in their canonical spelling; other text is unchanged."""
    answer = answer.strip()
    match question.kind:
        case "yesno":
            return _YES_OR_NO.get(answer.casefold().rstrip(".!"), answer)
        case "choice" if question.several:
            return ", ".join(dict.fromkeys(_split_answer(question, answer)))
        case "choice":
            return _label(question, answer) or answer
        case _:
            return answer


def _label(question: Question, answer: str) -> str:
    return next(
        (choice.label for choice in question.choices if choice.label.casefold() == answer.casefold()), ""
    )


def _split_answer(question: Question, answer: str) -> Iterator[str]:
    """Splits an answer at commas, except at those inside a label."""
    labels = sorted((choice.label for choice in question.choices), key=len, reverse=True)
    while answer:
        label = next((candidate for candidate in labels if _starts_with_label(answer, candidate)), "")
        part = label or answer.partition(",")[0].strip()
        if part:
            yield part
        answer = (
            (answer[len(label) :] if label else answer[len(answer.partition(",")[0]) :])
            .lstrip()
            .removeprefix(",")
            .strip()
        )


def _starts_with_label(answer: str, label: str) -> bool:
    rest = answer[len(label) :].lstrip()
    return answer[: len(label)].casefold() == label.casefold() and (not rest or rest.startswith(","))


def _problem(question: Question) -> str:
    labels = [choice.label.casefold() for choice in question.choices]
    if question.kind == "choice":
        if len(labels) < 2:
            return "needs at least two choices"
        return "has duplicate choices" if len(set(labels)) < len(labels) else ""
    if labels or question.several:
        kind = "text" if question.kind == "text" else "yes or no"
        return Message.of(
            f"is answered with {kind}; remove ", Parameter("choices"), " and ", Parameter("several")
        )
    return ""


def _question_and_answer(question: Question, answer: str) -> str:
    """Returns question and answer on one line; further lines of the answer are indented."""
    indented = answer.replace("\n", "\n  ") or "(no answer)"
    return f"{' '.join(question.text.split())} {indented}"


def _short(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= 60 else f"{line[:59]}…"
