"""Excerpts are one line around what a query finds, and say where its words are."""

from __future__ import annotations

import pytest

from nbtools.traces.query.excerpts import contains, match_spans, snippet


@pytest.mark.parametrize(
    ("query", "marked"),
    [
        ("two words", ["two words", "two"]),
        ("words two", ["two", "words", "two"]),
        ('"two words" two', ["two words", "two"]),
        ("TWO*", ["two", "two"]),
        ("words.two(", ["two", "words", "two"]),  # as no such code occurs, its words are marked
        ("nowhere", []),
        ("*", []),
        ("", []),
    ],
)
def test_the_longest_terms_are_marked_once_each(query: str, marked: list[str]) -> None:
    text = "a two words b, two"
    assert [text[start:end] for start, end in match_spans(text, query)] == marked


def test_a_snippet_shows_where_the_words_of_code_are() -> None:
    text = "x " * 100 + "read the parser " + "y " * 100
    assert "read the parser" in snippet(text, "Parser.read(")
    assert not contains(text, "Parser.read(")
    assert contains(text, "the PARSER")
