"""A diff's rows are the two files."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from nbtools.cards.card_model import DiffBlock, Row
from nbtools.cards.diff_rows import FOLD_SENT, MAX_ROWS, diff_block, split
from nbtools.cards.highlighting import text_of
from tests.examples import examples

line = st.sampled_from(["", "a", "b = 1", "b = 2", "    return total", "    return sum", "x" * 40, "é <&>"])
texts = st.builds(
    lambda lines, end: "\n".join(lines) + end, st.lists(line, max_size=25), st.sampled_from(["", "\n"])
)


def rows(block: DiffBlock) -> list[Row]:
    return [row for hunk in block.hunks for row in hunk.rows]


@given(st.one_of(st.none(), texts), texts)
@settings(max_examples=examples(300), deadline=None)
def test_the_rows_are_both_files(old: str | None, new: str) -> None:
    block = diff_block("a.py", old, new)
    for side, text in (("old", old or ""), ("new", new)):
        shown = [found for row in rows(block) if (found := getattr(row, side)) is not None]
        assert [found.number for found in shown] == list(range(1, len(split(text)) + 1))
        told = [text_of(span for span in found.spans if "hidden" not in span[1].split()) for found in shown]
        assert told == [line.rstrip("\n") for line in split(text)]
    assert block.added == sum(row.new is not None for row in rows(block) if row.changed)
    assert block.removed == sum(row.old is not None for row in rows(block) if row.changed)
    assert block.created == (old is None)


@given(texts, texts)
@settings(deadline=None)
def test_folded_lines_are_unchanged(old: str, new: str) -> None:
    block = diff_block("a.txt", old, new)
    assert not any(row.changed for hunk in block.hunks if hunk.folded for row in hunk.rows)
    assert all(row.old is not None and row.new is not None for row in rows(block) if not row.changed)


def test_a_long_unchanged_stretch_is_only_counted() -> None:
    lines = [f"line {number}\n" for number in range(500)]
    block = diff_block("a.txt", "".join(lines), "".join([*lines[:250], "new\n", *lines[250:]]))
    assert [(hunk.folded, len(hunk.rows), hunk.hidden) for hunk in block.hunks] == [
        (True, 0, 247),
        (False, 7, 0),
        (True, 0, 247),
    ]


def test_a_short_one_travels_along() -> None:
    lines = [f"line {number}\n" for number in range(FOLD_SENT + 3)]
    block = diff_block("a.txt", "".join(lines), "".join([*lines, "new\n"]))
    assert [(hunk.folded, len(hunk.rows)) for hunk in block.hunks] == [(True, FOLD_SENT), (False, 4)]


def test_a_huge_change_is_bounded_and_counted() -> None:
    block = diff_block("a.txt", "", "x\n" * 5000)
    assert len(rows(block)) == MAX_ROWS
    assert (block.hunks[-1].folded, block.hunks[-1].hidden) == (False, 5000 - MAX_ROWS)
    assert block.added == 5000


def test_similar_lines_are_shown_side_by_side() -> None:
    old = "def total(items):\n    return sum(items)\n"
    new = "import decimal\nprint(1)\ndef total(items, tax):\n    return sum(items) * tax\n"
    pairs = [
        (row.old.number, row.new.number) for row in rows(diff_block("a.txt", old, new)) if row.old and row.new
    ]
    assert pairs == [(1, 3), (2, 4)]


def test_differences_within_a_line_are_marked() -> None:
    row = rows(diff_block("a.txt", "total = old_value\n", "total = new_value\n"))[0]
    assert row.new is not None
    assert ("new_value", "mark") in row.new.spans


def test_line_ends_that_differ_are_shown() -> None:
    row = rows(diff_block("a.txt", "a\r\n", "a\n"))[0]
    assert row.old is not None
    assert row.old.spans == (("a", ""), ("‹U+000D›", "hidden"))


def test_line_ends_that_are_the_same_everywhere_are_not() -> None:
    shown = rows(diff_block("a.txt", "a\r\nb\r\n", "a\r\nc\r\n"))
    assert not any(
        "hidden" in word for row in shown for side in (row.old, row.new) if side for _, word in side.spans
    )


def test_a_missing_end_of_the_last_line_is_shown() -> None:
    row = rows(diff_block("a.txt", "a\n", "a"))[0]
    assert row.new is not None
    assert row.new.spans[-1] == ("‹no line end›", "hidden")


def test_code_is_coloured() -> None:
    row = rows(diff_block("a.py", None, "def f(): pass\n"))[0]
    assert row.new is not None
    assert ("def", "k") in [(text.strip(), word) for text, word in row.new.spans]


def test_a_part_of_a_file_is_drawn_in_its_own_language_and_ends_where_it_ends() -> None:
    block = diff_block(
        "nb.ipynb", "def f():\n    return 1", "def f():\n    return 1\n\nf()", language="python"
    )
    assert [(row.changed, row.new is not None and row.new.number) for row in rows(block)] == [
        (False, 1),
        (False, 2),
        (True, 3),
        (True, 4),
    ]
    assert ("def ", "k") in [span for row in rows(block) if row.new for span in row.new.spans]
    assert all("hidden" not in span[1].split() for row in rows(block) if row.new for span in row.new.spans)
    heading = rows(diff_block("nb.ipynb", None, "# Title", language="markdown"))[0].new
    assert heading is not None
    assert heading.spans == (("# Title", "k"),)


def test_text_has_no_colours() -> None:
    (row,) = rows(diff_block("a.py", None, "def f(): ...", language="text"))
    assert row.new is not None
    assert row.new.spans == (("def f(): ...", ""),)
