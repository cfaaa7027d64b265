"""Nothing hides in a text."""

from __future__ import annotations

from unicodedata import category

from hypothesis import given
from hypothesis import strategies as st

from nbtools.cards.hidden_characters import one_line, reveal, seen


@given(st.text())
def test_hidden_characters_are_shown_visibly(text: str) -> None:
    shown = seen(text)
    left = [
        character
        for character in shown
        if category(character) in ("Cc", "Cf", "Cs", "Zl", "Zp") and character != "\t"
    ]
    assert set(left) <= {"\u200d"}
    shown.encode("utf-8")


@given(st.text(st.characters(categories=["L", "N", "P"], exclude_characters="\u115f\u1160\u3164\uffa0")))
def test_visible_characters_stay(text: str) -> None:
    assert seen(text) == text


def test_a_bidirectional_override_is_spelled_out() -> None:
    assert reveal("a\u202eb", "k") == [("a", "k"), ("‹U+202E›", "k hidden"), ("b", "k")]


def test_an_emoji_keeps_its_shape_but_nothing_hides_behind_letters() -> None:
    assert seen("⚠\ufe0f") == "⚠\ufe0f"
    assert seen("a\ufe0f\u200db") == "a‹U+FE0F›‹U+200D›b"


def test_look_alike_blanks_are_spelled_out() -> None:
    assert seen("rm\u00a0x\u3164") == "rm‹U+00A0›x‹U+3164›"


def test_one_line_is_one_line() -> None:
    assert one_line("a\n  b\r\n") == "a ⏎ b"
    assert one_line("x" * 600) == "x" * 500 + "…"
