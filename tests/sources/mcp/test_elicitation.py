"""A server's forms, as questions and back."""

from __future__ import annotations

from typing import Any

import pytest

from nbtools.sources.mcp.elicitation import forms, values
from nbtools.tools.ask import AskParams

SCHEMA: dict[str, Any] = {
    "type": "object",
    "required": ["name", "size"],
    "properties": {
        "name": {"type": "string", "description": "Who is it?"},
        "size": {"type": "integer", "minimum": 1, "maximum": 9},
        "share": {"type": "number", "default": 0.5},
        "sure": {"type": "boolean", "title": "Are you sure?"},
        "colour": {"type": "string", "oneOf": [{"const": "r", "title": "Red"}, {"const": "g", "title": "Green"}]},
        "days": {"type": "array", "items": {"type": "string", "enum": ["mon", "tue", "wed"]}},
        "old": {"type": "string", "enum": ["a", "b"], "enumNames": ["Ann", "Bob"]},
    },
}


def test_a_form_is_asked_four_questions_at_a_time() -> None:
    asked = [AskParams.model_validate(form) for form in forms("docs", "Order a cake", SCHEMA)]
    assert [len(form.questions) for form in asked] == [4, 3]
    kinds = [question.question.kind for form in asked for question in form.questions]
    assert kinds == ["text", "text", "text", "yesno", "choice", "choice", "choice"]
    assert asked[0].questions[0].text == "docs asks: Order a cake\nWho is it?"
    assert asked[0].questions[2].placeholder == "0.5"
    assert [choice.label for choice in asked[1].questions[0].choices] == ["Red", "Green"]
    assert asked[1].questions[1].several


def test_answers_become_values() -> None:
    given, problem = values(SCHEMA, ("Ann", "3", "", "yes", "Green", "mon, wed", "Bob"))
    assert problem == ""
    assert given == {"name": "Ann", "size": 3, "share": 0.5, "sure": True, "colour": "g", "days": ["mon", "wed"], "old": "b"}


@pytest.mark.parametrize(
    ("answers", "said"),
    [
        (("", "3"), "name is needed"),
        (("Ann", "3.5"), "size: '3.5' is no whole number"),
        (("Ann", "10"), "size: '10' is no whole number in its limits"),
        (("Ann", "3", "", "", "Blue"), "colour: 'Blue' is no answer"),
    ],
)
def test_what_does_not_fit_is_said(answers: tuple[str, ...], said: str) -> None:
    given, problem = values(SCHEMA, answers)
    assert given == {}
    assert said in problem
