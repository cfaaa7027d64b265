"""The plain text says the same, in a width."""

from __future__ import annotations

import re
from typing import Any

import pytest

from nbtools.cards.card import card_of
from nbtools.cards.text import card_text
from nbtools.core.result import FileText, Match, Matches
from nbtools.diff.line_diff import file_diff
from tests.cards.calls import AT, approval, asking, done, edit_details, edit_plan, every_state, exec_details


@pytest.mark.parametrize("event", every_state(), ids=lambda event: type(event).__name__)
def test_colour_changes_nothing_but_colour(event: Any) -> None:
    card = card_of(event, now=AT + 1)
    plain = card_text(card)
    assert "\x1b" not in plain
    assert re.sub(r"\x1b\[[0-9;]*m", "", card_text(card, colour=True)) == plain


def test_a_diff_has_signs_and_numbers_on_both_sides() -> None:
    lines = card_text(card_of(asking(edit_details("a\nb\n", "a\nc\nd\n")))).split("\n")
    assert lines[1:5] == ["  1 1   a", "  2   - b", "    2 + c", "    3 + d"]


def test_a_command_is_shown_in_parts() -> None:
    text = card_text(card_of(asking(exec_details("git add -A && rm x"))))
    assert "  git add -A   changes the git index\n  && rm x   ⚠ deletes files\n" in text


def test_an_approved_edit_takes_two_lines() -> None:
    card = card_of(done(file_diff("src/a.py", "a\n", "b\n"), edit_plan(), approval()))
    assert len(card_text(card).split("\n")) == 2


def test_the_read_text_is_shown_where_nothing_unfolds() -> None:
    card = card_of(done(FileText("a.txt", 7, tuple(f"line {number}" for number in range(20)), 20)))
    assert "   7  line 0\n" in card_text(card)


def test_lines_keep_to_the_width() -> None:
    matches = Matches((Match("a.py", 3, "x" * 400),), 1, 1)
    card = card_of(done(matches, summary="1 match in 1 file"))
    assert all(len(line) <= 60 for line in card_text(card, width=60).split("\n"))
