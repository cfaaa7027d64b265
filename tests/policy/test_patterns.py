"""Regular expressions in rules: none that a text can hang."""

from __future__ import annotations

import re
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nbtools.core.errors import PolicyError
from nbtools.policy.patterns import TextTooLong, expression, matches_pieces


@pytest.mark.parametrize(
    "text",
    [
        "(a+)+",
        "(a*)*b",
        "(?:a|a)*",
        "(x{2,})+",
        "((a+)b)*",
        r"(a)\1",
        "(?P<n>a)(?P=n)",
        "(a|b){2,}",
        "(?:a+)*?",
    ],
)
def test_nested_repetition_in_a_pattern_is_refused(text: str) -> None:
    with pytest.raises(PolicyError, match="endless"):
        expression(text)


@pytest.mark.parametrize(
    "text",
    [r"git (log|status)( .*)?$", r"rm\s+-[rf]+", r"[)(*+]+x", r"\(a\+\)+", "(?:abc)+", r"(a|b)?c*", "a{3}"],
)
def test_plain_ones_are_taken(text: str) -> None:
    assert expression(text).pattern.pattern == text


@pytest.mark.parametrize("text", ["a*a*a*a*b", ".*x.*y.*z", "(?:a*)?a*a*c", r"\s*\s*\s*$"])
def test_none_takes_long(text: str) -> None:
    started = time.process_time()
    for size in (10, 100, 400, 1_000, 10_000, 100_000):
        for letter in ("a", "x", " "):
            try:
                expression(text).matches_anywhere(letter * size)
            except TextTooLong:
                continue
    assert time.process_time() - started < 60


@given(
    pieces=st.lists(st.text("ab", max_size=3), min_size=1, max_size=4).map(tuple),
    word=st.text("ab", max_size=8),
)
def test_stars_stand_for_anything(pieces: tuple[str, ...], word: str) -> None:
    assert matches_pieces(pieces, word) == bool(re.fullmatch(".*".join(pieces), word))
