"""Some of the hunks of a change can be taken, and the others left."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nbtools.cards.diff_rows import diff_block
from nbtools.diff.partial_change import count_hunks, take_hunks

LINES = st.lists(st.sampled_from(["a\n", "b\n", "c\r\n", "\n", "d\n"]), max_size=60).map("".join)
TEXTS = st.tuples(LINES, st.sampled_from(["", "end", "\r", "\u2028", "x\x0cy"])).map("".join)


@st.composite
def changes(draw: st.DrawFn) -> tuple[str, str]:
    """A text, and the same with some parts replaced."""
    old = draw(TEXTS)
    lines = old.splitlines(keepends=True)
    for at in sorted(draw(st.sets(st.integers(0, max(0, len(lines) - 1)), max_size=5)), reverse=True):
        lines[at : at + draw(st.integers(0, 2))] = draw(
            st.lists(st.sampled_from(["new\n", "a\n", "other\n"]), max_size=2)
        )
    return old, "".join(lines)


@given(changes(), st.data())
def test_all_hunks_are_the_proposal_and_none_the_original(pair: tuple[str, str], data: st.DataObject) -> None:
    old, new = pair
    count = count_hunks(old, new)
    assert take_hunks(old, new, [True] * count) == new
    assert take_hunks(old, new, [False] * count) == old
    taken = data.draw(st.lists(st.booleans(), min_size=count, max_size=count))
    some = take_hunks(old, new, taken)
    assert count_hunks(old, some) <= count
    assert set(some.split("\n")) <= {*old.split("\n"), *new.split("\n")}


@given(changes())
def test_one_hunk_more_is_one_step_of_the_way(pair: tuple[str, str]) -> None:
    old, new = pair
    count = count_hunks(old, new)
    steps = [take_hunks(old, new, [at < taken for at in range(count)]) for taken in range(count + 1)]
    assert steps[0] == old
    assert steps[-1] == new
    assert len(set(steps)) == count + 1


@given(changes())
def test_the_card_shows_as_many_hunks(pair: tuple[str, str]) -> None:
    old, new = pair
    shown = [hunk for hunk in diff_block("a.txt", old, new).hunks if any(row.changed for row in hunk.rows)]
    assert len(shown) == count_hunks(old, new)


def test_the_hunks_left_out_stay_as_they_are() -> None:
    old = "".join(f"line {number}\n" for number in range(40))
    new = old.replace("line 3\n", "three\n").replace("line 20\n", "").replace("line 36\n", "line 36\nmore\n")
    assert count_hunks(old, new) == 3
    assert take_hunks(old, new, [True, False, True]) == old.replace("line 3\n", "three\n").replace(
        "line 36\n", "line 36\nmore\n"
    )
    with pytest.raises(ValueError, match="shorter"):
        take_hunks(old, new, [True, False])


def test_a_last_line_without_an_end_gets_one_where_lines_follow() -> None:
    old = "a\nb"
    assert take_hunks(old, "a\nb\nc\n", [True]) == "a\nb\nc\n"
    old = "".join(f"{number}\n" for number in range(20)) + "last"
    new = "first\n" + old + "\nmore"
    assert take_hunks(old, new, [False, True]) == old + "\nmore"
