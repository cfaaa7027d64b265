"""An exercise checks itself in plain words, whatever a learner wrote."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nbtools.lesson import check


def test_a_right_value_is_solved() -> None:
    found = check("The sum", 3, 3)
    assert (bool(found), found.ok, repr(found)) == (True, True, "✓ The sum: solved.")


def test_a_wrong_value_names_the_expected_and_the_actual_one_and_later_a_hint() -> None:
    first = check("The product", 5, 6, hint="Count the boxes.")
    assert repr(first) == "✗ The product: not yet.\n  Expected: 6\n  There is: 5"
    second = check("The product", 7, 6, hint="Count the boxes.")
    assert (second.tries, repr(second).splitlines()[-1]) == (2, "  Hint: Count the boxes.")
    assert check("The product", 6, 6)
    assert check("The product", 7, 6, hint="Count the boxes.").tries == 1


def test_dots_are_an_open_exercise() -> None:
    for _ in range(2):
        assert "Replace the dots" in repr(check("Open", ..., 3, hint="Count."))
    assert "Hint" not in repr(check("Open", 2, 3, hint="Count."))
    assert "Hint" in repr(check("Open", 2, 3, hint="Count."))


def test_a_condition_says_its_words() -> None:
    def even(value: int) -> bool:
        """An even number."""
        return value % 2 == 0

    assert check("Even", 4, even)
    assert "Expected: An even number." in repr(check("Even", 3, even))
    assert "Expected: half of it" in repr(check("Half", 3, lambda value: value == 2, words="half of it"))


def test_an_error_is_part_of_the_message() -> None:
    def broken() -> int:
        return {}["price"]  # type: ignore[no-any-return]

    assert "There is: an error, KeyError: 'price'" in repr(check("Price", broken, 3))
    assert "an error, TypeError" in repr(check("Compared", None, lambda value: value > 3))


@pytest.mark.parametrize(
    ("found", "expected", "words"),
    [
        ("a\nb\nc", "a\nx\nc", "The first difference is in line 2: expected 'x', there is 'b'."),
        (["read"], ["read", "edit"], "There are 1 items, expected 2."),
        (
            ["read", "shell"],
            ["read", "edit"],
            "The first difference is in item 2: expected 'edit', there is 'shell'.",
        ),
        ("3", 3, "The types differ: expected int, there is str."),
        (True, 1, "The types differ: expected int, there is bool."),
    ],
)
def test_a_difference_is_named(found: Any, expected: Any, words: str) -> None:
    assert repr(check("Differs", found, expected)).splitlines()[-1].strip() == words


class Hostile:
    def __eq__(self, _: object) -> bool:
        raise ValueError("never equal\n</pre><script>")

    def __repr__(self) -> str:
        raise ValueError("no words")

    __hash__ = None  # type: ignore[assignment]


def test_a_value_that_cannot_be_shown_is_named() -> None:
    assert "There is: a Hostile that cannot be shown (ValueError)" in repr(
        check("Unseen", Hostile(), lambda _: False, words="a number")
    )


def test_a_value_that_cannot_be_compared_is_a_failure_and_not_an_error() -> None:
    assert "an error, ValueError: never equal </pre><script>" in repr(check("Strange", Hostile(), Hostile()))


@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.text(),
        lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    )
)
def test_equal_values_are_solved_and_messages_are_short(value: Any) -> None:
    assert check("Same", value, value)
    wrong = check("Other", [value], "no")
    assert not wrong
    assert len(repr(wrong)) < 1_500
    assert len(repr(wrong).splitlines()) <= 20


def test_a_dictionary_says_which_key_differs() -> None:
    found = repr(check("Rules", {"read": "allow", "push": "ask"}, {"read": "allow", "push": "deny"}))
    assert "The first difference is at 'push': expected 'deny', there is 'ask'." in found
    assert "at 'push': expected 'deny', there is nothing." in repr(check("Rules", {}, {"push": "deny"}))
    assert "at 'pull': expected nothing, there is 'ask'." in repr(check("Rules", {"pull": "ask"}, {}))


def test_no_line_of_a_message_needs_a_scroll_bar() -> None:
    calls = {f"call {number}": "allow" for number in range(20)}
    message = check(
        "Rules",
        {},
        calls,
        hint="Look at the reason of each decision, and at which of the rules it names. " * 3,
    ).message
    assert max(map(len, message.splitlines())) <= 80
    assert all(line.startswith("  ") for line in message.splitlines()[1:])
