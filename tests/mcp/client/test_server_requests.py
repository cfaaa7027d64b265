"""A server's forms, as questions and back."""

from __future__ import annotations

from typing import Any

import pytest

from nbtools.mcp.client.server_requests import ask_arguments, form_values
from nbtools.tools.ask import AskParams

SCHEMA: dict[str, Any] = {
    "type": "object",
    "required": ["name", "size"],
    "properties": {
        "name": {"type": "string", "description": "Who is it?"},
        "size": {"type": "integer", "minimum": 1, "maximum": 9},
        "share": {"type": "number", "default": 0.5},
        "sure": {"type": "boolean", "title": "Are you sure?"},
        "colour": {
            "type": "string",
            "oneOf": [{"const": "r", "title": "Red"}, {"const": "g", "title": "Green"}],
        },
        "days": {"type": "array", "items": {"type": "string", "enum": ["mon", "tue", "wed"]}},
        "old": {"type": "string", "enum": ["a", "b"], "enumNames": ["Ann", "Bob"]},
    },
}


def test_a_form_is_shown_with_four_questions_at_a_time() -> None:
    asked = [AskParams.model_validate(form) for form in ask_arguments("docs", "Order a cake", SCHEMA)]
    assert [len(form.questions) for form in asked] == [4, 3]
    kinds = [question.question.kind for form in asked for question in form.questions]
    assert kinds == ["text", "text", "text", "yesno", "choice", "choice", "choice"]
    assert asked[0].questions[0].text == "docs asks: Order a cake\nWho is it?"
    assert [question.text for question in asked[0].questions[1:]] == [
        "size\n(at least 1, at most 9)",
        "share",
        "Are you sure?",
    ]
    assert asked[1].questions[0].text == "docs asks: Order a cake"
    assert [question.default for question in asked[0].questions] == ["", "", "0.5", ""]
    assert [question.optional for question in asked[0].questions] == [False, False, True, True]
    assert [choice.label for choice in asked[1].questions[0].choices] == ["Red", "Green"]
    assert asked[1].questions[1].several


def test_answers_become_values() -> None:
    given, problem = form_values(SCHEMA, ("Ann", "3", "", "yes", "Green", "mon, wed", "Bob"))
    assert problem == ""
    assert given == {
        "name": "Ann",
        "size": 3,
        "share": 0.5,
        "sure": True,
        "colour": "g",
        "days": ["mon", "wed"],
        "old": "b",
    }


@pytest.mark.parametrize(
    ("answers", "message"),
    [
        (("", "3"), "name is required"),
        (("Ann", "3.5"), "size: '3.5' is not a whole number"),
        (("Ann", "10"), "size: 10 is out of range (at least 1, at most 9)"),
        (("Ann", "3", "", "", "Blue"), "colour: 'Blue' is not one of Red, Green"),
    ],
)
def test_invalid_answers_are_reported(answers: tuple[str, ...], message: str) -> None:
    given, problem = form_values(SCHEMA, answers)
    assert given == {}
    assert message in problem


def one(field: dict[str, Any], answer: str) -> tuple[Any, str]:
    """Returns the result of an answer to a form of this field."""
    content, problem = form_values(
        {"type": "object", "required": ["it"], "properties": {"it": field}}, [answer]
    )
    return content.get("it"), problem


@pytest.mark.parametrize(
    ("kind", "right", "wrong"),
    [
        ("email", "ann@example.org", "ann@home"),
        ("uri", "https://example.org/a?b=c", "example.org/a"),
        ("date", "2026-02-28", "2026-02-29"),
        ("date-time", "2026-02-28T10:30:00Z", "2026-02-28 10:30"),
    ],
)
def test_formats(kind: str, right: str, wrong: str) -> None:
    field = {"type": "string", "format": kind}
    assert one(field, right) == (right, "")
    assert one(field, wrong)[1].startswith(f"it: {wrong!r} does not have the form of ")


@pytest.mark.parametrize(
    ("field", "right", "wrong", "message"),
    [
        (
            {"type": "string", "minLength": 2, "maxLength": 3},
            "abc",
            "abcd",
            "4 characters are too many (at least 2 characters, at most 3",
        ),
        (
            {"type": "string", "pattern": "^[a-z]+$"},
            "abc",
            "ABC",
            "'ABC' does not match the pattern ^[a-z]+$",
        ),
        ({"type": "boolean"}, "yes", "perhaps", "'perhaps' is neither yes nor no"),
        ({"type": "number", "maximum": 2}, "1.5", "2.5", "2.5 is out of range (at most 2)"),
        (
            {"type": "array", "minItems": 1, "maxItems": 1, "items": {"enum": ["a", "b"]}},
            "a",
            "a, b",
            "2 selected, which is too many",
        ),
    ],
)
def test_limits(field: dict[str, Any], right: str, wrong: str, message: str) -> None:
    assert one(field, right)[1] == ""
    assert message in one(field, wrong)[1]


def test_a_pattern_that_is_none_forbids_nothing() -> None:
    assert one({"type": "string", "pattern": "("}, "x") == ("x", "")


def test_labels_with_commas_and_similar_labels_are_distinguished() -> None:
    field = {
        "type": "array",
        "items": {"anyOf": [{"const": "n", "title": "Nuts, chopped"}, {"const": "c", "title": "Cherry"}]},
    }
    assert one(field, "Nuts, chopped, Cherry") == (["n", "c"], "")
    twice = {"type": "string", "oneOf": [{"const": "1", "title": "Same"}, {"const": "2", "title": "Same"}]}
    (form,) = ask_arguments("docs", "m", {"properties": {"it": twice}})
    assert [choice.label for choice in AskParams.model_validate(form).questions[0].choices] == [
        "Same",
        "Same (2)",
    ]
    assert one(twice, "Same (2)") == ("2", "")


def test_many_choices_are_named_and_typed() -> None:
    field = {"type": "string", "enum": [f"c{number}" for number in range(50)]}
    (form,) = ask_arguments("docs", "m", {"properties": {"it": field}})
    (question,) = AskParams.model_validate(form).questions
    assert (question.question.kind, "c49" in question.text) == ("text", True)
    assert one(field, "c49") == ("c49", "")


def test_a_long_message_is_still_a_question() -> None:
    assert all(AskParams.model_validate(form) for form in ask_arguments("docs", "m" * 5_000, SCHEMA))
