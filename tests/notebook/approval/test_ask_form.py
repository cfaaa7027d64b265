"""Questions as widgets: what is filled in is what is answered."""

from __future__ import annotations

import ipywidgets
import pytest

from nbtools.core.confirmation import Choice, Question
from nbtools.notebook.approval.ask_form import AskForm

COLOURS = (Choice("red", "like a rose"), Choice("blue"))


@pytest.fixture
def made():
    """Widgets by their role, in the order they were made."""
    return {}


@pytest.fixture
def form(made):
    told = []

    def build(*questions):
        def make(kind, role, **traits):
            widget = getattr(ipywidgets, kind)(**traits)
            made.setdefault(role, []).append(widget)
            return widget

        return AskForm(questions, make, lambda: told.append(1)), told

    yield build
    for widgets in made.values():
        for widget in widgets:
            widget.close()


def test_a_choice_or_other_words(form, made):
    asked, told = form(Question("Which?", "Colour", choices=COLOURS))
    assert not asked.complete
    assert [label for label, _ in made["ask-choices"][0].options] == ["red:\nlike a rose", "blue"]
    made["ask-choices"][0].value = "blue"
    assert asked.complete
    assert asked.answers == ("blue",)
    made["ask-other"][0].value = " green "
    assert asked.answers == ("green",)
    assert made["ask-choices"][0].value is None
    assert len(told) == 3
    made["ask-choices"][0].value = "red"
    assert asked.answers == ("red",)
    assert made["ask-other"][0].value == ""


def test_several_choices_in_their_order_and_other_words_last(form, made):
    asked, _ = form(Question("Which?", choices=COLOURS, several=True))
    made["ask-other"][0].value = "green"
    for box in made["ask-box"]:
        box.value = True
    assert asked.answers == ("red, blue, green",)


def test_text_and_yes_or_no(form, made):
    asked, _ = form(Question("Name?", kind="text", placeholder="e.g. x"), Question("Sure?", kind="yesno"))
    assert made["ask-text"][0].placeholder == "e.g. x"
    made["ask-text"][0].value = "me"
    assert not asked.complete
    assert asked.answer_tooltip == "A question has no answer yet"
    made["ask-choices"][0].value = "no"
    assert asked.answers == ("me", "no")
    assert asked.answer_tooltip == "Sends: me · no"


def test_what_is_asked_is_no_markup(form, made):
    form(Question("<img src=x onerror=alert(1)>", "<b>"), Question("\u202eSure?"))
    assert "<img" not in made["ask-question"][0].value
    assert "&lt;b&gt;" in made["ask-question"][0].value
    assert "‹U+202E›" in made["ask-question"][1].value


def test_the_header_of_a_single_question_stands_in_the_head_alone(form, made):
    form(Question("Which?", "Colour", choices=COLOURS))
    assert "Colour" not in made["ask-question"][0].value


def test_defaults_stand_there_and_what_is_optional_may_be_left_out(form, made):
    asked, _ = form(
        Question("Which?", choices=COLOURS, default="blue"),
        Question("Which ones?", choices=COLOURS, several=True, default="red, blue"),
        Question("Sure?", kind="yesno", default="no"),
        Question("Why?", kind="text", default="because"),
        Question("And?", kind="text", optional=True),
    )
    assert asked.answers == ("blue", "red, blue", "no", "because", "")
    assert asked.complete
    made["ask-text"][0].value = ""
    assert not asked.complete
