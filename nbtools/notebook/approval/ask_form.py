"""A form of ipywidgets with the questions of a call; every choice also accepts a free text."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from nbtools.core.confirmation import Choice, Question
from nbtools.notebook.approval.labels import ANSWER_MISSING, ANSWERS_SENT
from nbtools.notebook.cards.markup import render
from nbtools.notebook.hidden_characters import one_line, seen

Make = Callable[..., Any]
"""Creates a widget from its kind, its role and its traits."""


class AskForm:
    """A form: ``widgets`` from top to bottom, and the current ``answers``.  ``changed`` is called whenever an answer changes."""

    def __init__(self, questions: Sequence[Question], make: Make, changed: Callable[[], None]) -> None:
        several = len(questions) > 1
        self._fields = [_field(question, make, headed=several) for question in questions]
        self.widgets: list[Any] = [field.box for field in self._fields]
        for field in self._fields:
            for control in field.controls:
                control.observe(lambda _: changed(), names="value")

    @property
    def answers(self) -> tuple[str, ...]:
        return tuple(field.answer() for field in self._fields)

    @property
    def complete(self) -> bool:
        return all(field.answer() or field.optional for field in self._fields)

    @property
    def answer_tooltip(self) -> str:
        """The tooltip of the Answer button: the answers that the kernel has received, or that one is missing."""
        # The front end reads this tooltip, and sends the form only when it shows what was typed last.
        return ANSWERS_SENT.format(" · ".join(filter(None, self.answers)) or "nothing") if self.complete else ANSWER_MISSING


class Field:
    """One question in its box: ``controls`` take the answer, ``answer()`` returns it (empty: none yet)."""

    def __init__(self, question: Question, make: Make, controls: Sequence[Any], answer: Callable[[], str], *, headed: bool) -> None:
        self.box = make("VBox", "ask-field", children=[_heading(question, make, headed=headed), *controls])
        self.controls = controls
        self.answer = answer
        self.optional = question.optional


def _field(question: Question, make: Make, *, headed: bool) -> Field:
    if question.kind == "text" or (question.kind == "choice" and not question.choices):
        return _text_field(question, make, headed=headed)
    if question.kind == "yesno":
        return _yes_no_field(question, make, headed=headed)
    return (_checkbox_field if question.several else _radio_field)(question, make, headed=headed)


def _heading(question: Question, make: Make, *, headed: bool) -> Any:
    html = render("approval/question", header=question.header if headed else "", text=question.text)
    return make("HTML", "ask-question", value=html)


def _text_field(question: Question, make: Make, *, headed: bool) -> Field:
    hint = question.placeholder or "Your answer"
    tip = one_line(question.text)
    area = make("Textarea", "ask-text", placeholder=hint, tooltip=tip, continuous_update=True, rows=2, value=question.default)
    return Field(question, make, (area,), lambda: str(area.value).strip(), headed=headed)


def _yes_no_field(question: Question, make: Make, *, headed: bool) -> Field:
    buttons = make("RadioButtons", "ask-choices", options=[("Yes", "yes"), ("No", "no")], value=_preselected(question, ("yes", "no")))
    return Field(question, make, (buttons,), lambda: buttons.value or "", headed=headed)


def _radio_field(question: Question, make: Make, *, headed: bool) -> Field:
    """Returns a field with radio buttons and a free text; using one clears the other."""
    options = [(_option_text(choice), choice.label) for choice in question.choices]
    buttons = make("RadioButtons", "ask-choices", options=options, value=_preselected(question, [label for _, label in options]))
    other = _free_text(make)

    def on_choice(change: Any) -> None:
        if change["new"] is not None:
            other.value = ""

    def on_text(change: Any) -> None:
        if change["new"].strip():
            buttons.value = None

    buttons.observe(on_choice, names="value")
    other.observe(on_text, names="value")
    return Field(question, make, (buttons, other), lambda: other.value.strip() or buttons.value or "", headed=headed)


def _checkbox_field(question: Question, make: Make, *, headed: bool) -> Field:
    default = f", {question.default}, "
    boxes = [
        make("Checkbox", "ask-box", description=_option_text(choice), indent=False, value=f", {choice.label}, " in default)
        for choice in question.choices
    ]
    other = _free_text(make)

    def answer() -> str:
        chosen = [choice.label for choice, box in zip(question.choices, boxes, strict=True) if box.value]
        return ", ".join([*chosen, *([other.value.strip()] if other.value.strip() else [])])

    return Field(question, make, (*boxes, other), answer, headed=headed)


def _preselected(question: Question, answers: Sequence[str]) -> str | None:
    """Returns the preselected answer: the question's default, where it is one of ``answers``."""
    return question.default if question.default in answers else None


def _option_text(choice: Choice) -> str:
    """Returns the label and, on a second line, the description."""
    label, about = seen(choice.label), one_line(choice.description, 300)
    return f"{label}:\n{about}" if about else label


def _free_text(make: Make) -> Any:
    return make("Text", "ask-other", placeholder="Something else", tooltip="Something else", continuous_update=True)
