"""Two changes of one text: what git would make of them, and never a line lost."""

import shutil
import subprocess
import time

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from nbtools.diff.merge import merge
from nbtools.diff.text_lines import split_lines
from tests.examples import examples

ANY = st.lists(st.sampled_from(["a", "b", "", "c\r", "}"]), max_size=14).map("\n".join) | st.text(
    alphabet="ab\n\r", max_size=40
)
needs_git = pytest.mark.skipif(shutil.which("git") is None, reason="git is not installed")


@st.composite
def changed(draw, lines):
    """Some lines replaced, deleted or added;
    the two sides draw new lines from the same few, so that they often add the same.
    """
    made = []
    for line in [*lines, None]:
        what = draw(st.sampled_from(["keep"] * 6 + ["add", "replace", "delete"]))
        if what in ("add", "replace"):
            made += draw(st.lists(st.sampled_from(["new 1", "new 2", "new 3"]), min_size=1, max_size=2))
        if line is not None and what in ("keep", "add"):
            made.append(line)
    return made


@st.composite
def threes(draw):
    """A base whose lines all differ, so that there is one way only to compare it with others."""
    base = [f"line {number}" for number in range(draw(st.integers(0, 12)))]
    ends = draw(st.sampled_from(["\n", "\r\n"]))
    last = st.sampled_from([ends, ends, ""])
    sides = [base, draw(changed(base)), draw(changed(base))]
    return [ends.join(side) + (draw(last) if side else "") for side in sides]


def by_git(folder, base, ours, theirs):
    for name, text in (("base", base), ("ours", ours), ("theirs", theirs)):
        (folder / name).write_bytes(text.encode())
    done = subprocess.run(
        ["git", "merge-file", "-p", "ours", "base", "theirs"], cwd=folder, capture_output=True, check=False
    )
    assert 0 <= done.returncode < 128, done.stderr
    return done.stdout.decode(), done.returncode


@needs_git
@settings(max_examples=examples(300), deadline=None)
@given(threes())
@example(["a\nb\n", "a\nB\n", "A\nb\n"])
@example(["a\nb\nc\n", "a\nb\nC\n", "A\nb\nc\n"])
@example(["a", "a\n", "a\nb"])
@example(["", "x\n", "x\n"])
def test_clean_where_git_is_clean_and_then_the_same(tmp_path_factory, texts):
    text, conflicts = by_git(tmp_path_factory.mktemp("merge"), *texts)
    merged = merge(*texts)
    assert merged.clean == (conflicts == 0)
    if merged.clean:
        assert merged.text == text


@given(ANY, ANY)
def test_one_side_alone_is_taken_whole(base, other):
    assert merge(base, other, base).text == other
    assert merge(base, base, other).text == other
    both = merge(base, other, other)
    assert (both.text, both.clean) == (other, True)


@given(ANY, ANY, ANY)
def test_sides_are_equal_but_for_order(base, ours, theirs):
    one, other = merge(base, ours, theirs), merge(base, theirs, ours)
    assert one.clean == other.clean
    assert [(c.base, c.ours, c.theirs) for c in one.conflicts] == [
        (c.base, c.theirs, c.ours) for c in other.conflicts
    ]
    if one.clean:
        assert one.text == other.text


@given(ANY, ANY, ANY)
def test_conflicts_name_their_lines(base, ours, theirs):
    merged = merge(base, ours, theirs)
    lines, mine, yours = split_lines(merged.text), split_lines(ours), split_lines(theirs)
    for conflict in merged.conflicts:
        block = lines[slice(*conflict.merged)]
        assert block[0].rstrip() == "<<<<<<< ours"
        assert block[-1].rstrip() == ">>>>>>> theirs"
        middle = conflict.ours[1] - conflict.ours[0] + 1
        assert block[middle].rstrip() == "======="
        assert ended(block[1:middle]) == ended(mine[slice(*conflict.ours)])
        assert ended(block[middle + 1 : -1]) == ended(yours[slice(*conflict.theirs)])
        assert mine[slice(*conflict.ours)] != yours[slice(*conflict.theirs)]


def ended(lines):
    return [line.removesuffix("\n").removesuffix("\r") for line in lines]


@pytest.mark.parametrize("seed", range(40))
def test_applying_only_one_sides_half_of_a_clean_merge_is_the_other_side(seed):
    """A clean merge has every line that either side added, and none that either took away."""
    base = [f"{number}\n" for number in range(40)]
    ours, theirs = list(base), list(base)
    ours[seed % 20] = "ours\n"
    theirs[21 + seed % 19] = "theirs\n"
    merged = merge("".join(base), "".join(ours), "".join(theirs))
    assert merged.clean
    assert [line for line in split_lines(merged.text) if line not in base] == ["ours\n", "theirs\n"]
    assert len(split_lines(merged.text)) == 40


def test_markers_are_labelled_and_end_as_the_lines_do():
    merged = merge(
        "a\r\nb\r\nc\r\n",
        "a\r\nX\r\nc\r\n",
        "a\r\nY\r\nc\r\n",
        our_label="before",
        their_label="the file now",
    )
    assert merged.text == "a\r\n<<<<<<< before\r\nX\r\n=======\r\nY\r\n>>>>>>> the file now\r\nc\r\n"
    assert [(c.base, c.ours, c.theirs, c.merged) for c in merged.conflicts] == [
        ((1, 2), (1, 2), (1, 2), (1, 6))
    ]


def test_a_last_line_without_an_end_gets_one_before_a_marker():
    assert merge("a", "b", "c").text == "<<<<<<< ours\nb\n=======\nc\n>>>>>>> theirs\n"
    assert merge("a\nb", "a\nb", "x\nb").text == "x\nb"


def test_large_texts_take_a_moment():
    base = [f"line {number}\n" for number in range(50_000)]
    ours, theirs = list(base), list(base)
    for place in range(0, 50_000, 200):
        ours[place + 50] = f"ours {place}\n"
        theirs[place + 150] = f"theirs {place}\n"
    texts = ["".join(side) for side in (base, ours, theirs)]
    start = time.process_time()
    merged = merge(*texts)
    assert time.process_time() - start < 60
    assert merged.clean
    assert sum(line.startswith(("ours", "theirs")) for line in split_lines(merged.text)) == 500
