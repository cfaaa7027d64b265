"""Lines of spans."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from nbtools.cards.highlighting import MAX_COLUMNS, line_spans, overlay, text_of

spans = st.lists(
    st.tuples(st.text("ab ", min_size=1, max_size=6), st.sampled_from(["", "k", "s"])), max_size=6
)
starts = st.lists(st.tuples(st.integers(0, 30), st.integers(1, 5)), max_size=3)


@given(spans, starts)
def test_a_mark_covers_its_columns_and_changes_no_text(
    line: list[tuple[str, str]], found: list[tuple[int, int]]
) -> None:
    ranges, position = [], 0
    for gap, length in found:
        ranges.append((position + gap, position + gap + length))
        position += gap + length
    marked = overlay(line, ranges, "mark")
    text = text_of(line)
    assert text_of(marked) == text
    covered = [word for part, words in marked for word in ["mark" in words.split()] * len(part)]
    assert covered == [any(start <= column < stop for start, stop in ranges) for column in range(len(text))]


def test_a_long_line_is_cut_and_says_so() -> None:
    shown = line_spans([("x" * 2000, "")])
    assert shown == (("x" * MAX_COLUMNS, ""), ("‹1,500 more characters›", "hidden"))


def test_a_long_line_is_cut_around_what_matters() -> None:
    shown = line_spans([("x" * 1500 + "needle" + "x" * 500, "")], [(1500, 1506)], "hit")
    assert shown[0] == ("‹1,400 characters›", "hidden")
    assert ("needle", "hit") in shown
