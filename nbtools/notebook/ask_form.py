"""The questions of a call as ipywidgets to fill in, each with room for an answer in other words."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from html import escape
from typing import Any

from nbtools.core.confirmation import Choice, Question
from nbtools.notebook.markup import with_links
from nbtools.notebook.visible import one_line, seen

Make = Callable[..., Any]
"""Makes a widget: its kind, its role, its traits."""


class AskForm:
    """``widgets`` stand one below the other; ``answers`` reads them.  ``changed`` is called when an answer was given or taken back."""

    def __init__(self, questions: Sequence[Question], make: Make, changed: Callable[[], None]) -> None:
        alone = len(questions) == 1
        self._fields = [_field(question, make, headed=not alone) for question in questions]
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
    def told(self) -> str:
        """What sending it would say, as it has come here: the front end waits for that before it sends."""
        return f"Sends: {' · '.join(filter(None, self.answers)) or 'nothing'}" if self.complete else "There is a question without an answer"


class Field:
    """One question in its box: what can be changed, and what it says now (empty: nothing yet)."""

    def __init__(self, question: Question, make: Make, controls: Sequence[Any], answer: Callable[[], str], *, headed: bool) -> None:
        self.box = make("VBox", "ask-field", children=[_heading(question, make, headed=headed), *controls])
        self.controls = controls
        self.answer = answer
        self.optional = question.optional


def _field(question: Question, make: Make, *, headed: bool) -> Field:
    if question.kind == "text" or (question.kind == "choice" and not question.choices):
        return _text(question, make, headed=headed)
    if question.kind == "yesno":
        return _yes_or_no(question, make, headed=headed)
    return (_several if question.several else _one)(question, make, headed=headed)


def _heading(question: Question, make: Make, *, headed: bool) -> Any:
    header = f"<b>{escape(seen(question.header))}</b> · " if question.header and headed else ""
    text = with_links(seen(question.text, keep="\t\n"))
    return make("HTML", "ask-question", value=f'<span class="nbt-asked">{header}{text}</span>')


def _text(question: Question, make: Make, *, headed: bool) -> Field:
    hint = question.placeholder or "Your answer"
    tip = one_line(question.text)
    area = make("Textarea", "ask-text", placeholder=hint, tooltip=tip, continuous_update=True, rows=2, value=question.default)
    return Field(question, make, (area,), lambda: str(area.value).strip(), headed=headed)


def _yes_or_no(question: Question, make: Make, *, headed: bool) -> Field:
    buttons = make("RadioButtons", "ask-choices", options=[("Yes", "yes"), ("No", "no")], value=_chosen(question, ("yes", "no")))
    return Field(question, make, (buttons,), lambda: buttons.value or "", headed=headed)


def _one(question: Question, make: Make, *, headed: bool) -> Field:
    """A choice or other words: the one given last takes the place of the other."""
    options = [(_labelled(choice), choice.label) for choice in question.choices]
    buttons = make("RadioButtons", "ask-choices", options=options, value=_chosen(question, [label for _, label in options]))
    other = _other(make)

    def chosen(change: Any) -> None:
        if change["new"] is not None:
            other.value = ""

    def written(change: Any) -> None:
        if change["new"].strip():
            buttons.value = None

    buttons.observe(chosen, names="value")
    other.observe(written, names="value")
    return Field(question, make, (buttons, other), lambda: other.value.strip() or buttons.value or "", headed=headed)


def _several(question: Question, make: Make, *, headed: bool) -> Field:
    before = f", {question.default}, "
    boxes = [
        make("Checkbox", "ask-box", description=_labelled(choice), indent=False, value=f", {choice.label}, " in before)
        for choice in question.choices
    ]
    other = _other(make)

    def answer() -> str:
        chosen = [choice.label for choice, box in zip(question.choices, boxes, strict=True) if box.value]
        return ", ".join([*chosen, *([other.value.strip()] if other.value.strip() else [])])

    return Field(question, make, (*boxes, other), answer, headed=headed)


def _chosen(question: Question, answers: Sequence[str]) -> str | None:
    """The one that is chosen before anybody chooses."""
    return question.default if question.default in answers else None


def _labelled(choice: Choice) -> str:
    """The label, and in a line of its own what it means."""
    label, about = seen(choice.label), one_line(choice.description, 300)
    return f"{label}:\n{about}" if about else label


def _other(make: Make) -> Any:
    return make("Text", "ask-other", placeholder="Something else", tooltip="Something else", continuous_update=True)
