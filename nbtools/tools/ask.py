"""Asking the person."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, StringConstraints

from nbtools.core.confirmation import (
    Choice,
    Question,
    ToolAskConfirmationDetails,
    ToolConfirmationOutcome,
    ToolConfirmationPayload,
    nobody_to_answer,
)
from nbtools.core.declarative import BaseDeclarativeTool
from nbtools.core.errors import ErrorCode, ToolFailure
from nbtools.core.result import ToolResult
from nbtools.core.tool import BaseToolInvocation, Kind, UpdateOutput
from nbtools.workspace.workspace import Workspace

_Words = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1, max_length=2_000)]
_YES_OR_NO = {"y": "yes", "yes": "yes", "true": "yes", "n": "no", "no": "no", "false": "no"}


class ChoiceParams(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", use_attribute_docstrings=True)

    label: _Words
    """A few words; the answer is the label that was chosen."""
    description: str = ""
    """What choosing it means."""


class QuestionParams(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", use_attribute_docstrings=True)

    text: _Words
    """The whole question."""
    header: Annotated[str, Field(max_length=40)] = ""
    """Two or three words that say what it is about."""
    kind: Literal["choice", "text", "yesno"] | None = None
    """How it is answered. Left out: by a choice where there are choices, else with a text."""
    choices: Annotated[tuple[ChoiceParams, ...], Field(max_length=20)] = ()
    """What there is to choose from, two at least; the person can always answer in other words."""
    several: bool = False
    """Whether any number of choices may be chosen."""
    placeholder: str = ""
    """An example of an answer, shown where a text is typed."""
    default: str = ""
    """An answer that stands there already, to be kept or changed."""
    optional: bool = False
    """Whether it may be left without an answer."""

    @property
    def question(self) -> Question:
        kind = self.kind or ("choice" if self.choices else "text")
        choices = tuple(Choice(choice.label, choice.description) for choice in self.choices)
        return Question(self.text, self.header, kind, choices, self.several, self.placeholder, self.default, self.optional)


class AskParams(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", use_attribute_docstrings=True)

    questions: Annotated[tuple[QuestionParams, ...], Field(min_length=1, max_length=4)]
    """One to four questions, shown together."""


@dataclass(frozen=True, slots=True)
class Answers:
    """One answer a question, in their order: the chosen label, several joined by ``", "``, the text, yes or no; empty: not answered."""

    answers: tuple[str, ...]


class AskTool(BaseDeclarativeTool[AskParams]):
    """The question is the call: no mode and no rule answers it, and what the person said is the result.

    It waits for nobody: a call that is running, one of a server's, may be waiting for the answer.
    """

    name = "ask"
    description = (
        "Asks the person something that only they can decide: to choose, to write, or to say yes or no. Ask when a wrong guess is dear."
    )
    kind = Kind.THINK
    parameters = AskParams
    asks = "always"
    runs_beside = True

    def __init__(self, workspace: Workspace) -> None:
        self.workspace = workspace

    def validate_tool_param_values(self, params: AskParams) -> str | None:
        problems = ((number, _problem(asked.question)) for number, asked in enumerate(params.questions, 1))
        return next((f"ask: question {number} {problem}." for number, problem in problems if problem), None)

    def create_invocation(self, params: AskParams) -> AskInvocation:
        return AskInvocation(params)


class AskInvocation(BaseToolInvocation[AskParams]):
    __slots__ = ("answers", "questions")

    def __init__(self, params: AskParams) -> None:
        super().__init__(params)
        self.questions = tuple(asked.question for asked in params.questions)
        self.answers: tuple[str, ...] = ()

    def get_description(self) -> str:
        return " · ".join(question.header or question.text for question in self.questions)

    async def should_confirm_execute(self) -> ToolAskConfirmationDetails:
        return ToolAskConfirmationDetails("A question" if len(self.questions) == 1 else f"{len(self.questions)} questions", self.questions)

    async def on_confirm(self, outcome: ToolConfirmationOutcome, payload: ToolConfirmationPayload | None = None) -> None:
        if payload is None:
            return
        given = (*payload.answers, *[""] * len(self.questions))
        self.answers = tuple(understood(question, answer) for question, answer in zip(self.questions, given, strict=False))

    async def execute(self, update_output: UpdateOutput | None = None) -> ToolResult:
        """Raises ``ToolFailure`` (``confirmation_required``) where nobody was asked, or said nothing."""
        if not any(self.answers) and not (self.answers and all(question.optional for question in self.questions)):
            raise ToolFailure(ErrorCode.CONFIRMATION_REQUIRED, nobody_to_answer("ask"))
        said = "\n".join(map(_said, self.questions, self.answers))
        return ToolResult(said, said, summary=_short(", ".join(filter(None, self.answers)) or "(no answer)"), data=Answers(self.answers))


def understood(question: Question, answer: str) -> str:
    """``answer`` in the question's own words where it is one of those meant; other words stay as they are."""
    answer = answer.strip()
    match question.kind:
        case "yesno":
            return _YES_OR_NO.get(answer.casefold().rstrip(".!"), answer)
        case "choice" if question.several:
            return ", ".join(dict.fromkeys(_each(question, answer)))
        case "choice":
            return _label(question, answer) or answer
        case _:
            return answer


def _label(question: Question, words: str) -> str:
    return next((choice.label for choice in question.choices if choice.label.casefold() == words.casefold()), "")


def _each(question: Question, answer: str) -> Iterator[str]:
    """The answers that are joined in one, by commas; a label may have commas of its own."""
    labels = sorted((choice.label for choice in question.choices), key=len, reverse=True)
    while answer:
        label = next((one for one in labels if _begins(answer, one)), "")
        words = label or answer.partition(",")[0].strip()
        if words:
            yield words
        answer = (answer[len(label) :] if label else answer[len(answer.partition(",")[0]) :]).lstrip().removeprefix(",").strip()


def _begins(answer: str, label: str) -> bool:
    rest = answer[len(label) :].lstrip()
    return answer[: len(label)].casefold() == label.casefold() and (not rest or rest.startswith(","))


def _problem(question: Question) -> str:
    labels = [choice.label.casefold() for choice in question.choices]
    if question.kind == "choice":
        if len(labels) < 2:
            return "needs two choices at least"
        return "has the same choice twice" if len(set(labels)) < len(labels) else ""
    if labels or question.several:
        return f"is answered with {'a text' if question.kind == 'text' else 'yes or no'}, so it takes no choices"
    return ""


def _said(question: Question, answer: str) -> str:
    """One line; a text of several has the others indented below."""
    words = answer.replace("\n", "\n  ") or "(no answer)"
    return f"{' '.join(question.text.split())} {words}"


def _short(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= 60 else f"{line[:59]}…"
