"""Texts that are not in a file as given: found by the least loose step, in one place, and said so."""

import ast
import re
import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nbtools.core.errors import ErrorCode, ToolFailure
from nbtools.diff.patch_model import Replacement
from nbtools.workspace.text.match import TextIndex
from nbtools.workspace.text.match_errors import Occurrences
from nbtools.workspace.text.replace import apply_replacements
from tests.examples import examples


def changed(text, old, new, match="close"):
    """The text after, and how old was found."""
    done = apply_replacements(text, [Replacement(old, new)], "f", match=match)
    return done.text, done.loose[0].how if done.loose else "exact"


def failure(text, old, new="new text here", match="close"):
    with pytest.raises(ToolFailure) as caught:
        changed(text, old, new, match)
    assert "Nothing was changed." in caught.value.message
    assert "\n" not in caught.value.message
    return caught.value


TABBED = "\tdef f():\n\t\treturn 1\n"
DEEPER = "\tdef f():\n\t\tif x:\n\t\t\treturn 2\n\t\treturn 1\n"
NARROW = "  if a:\n    b()\n"


@pytest.mark.parametrize(
    ("text", "old", "new", "after", "how"),
    [
        ("a\r\nb\r\n", "a\nb", "a\nc", "a\r\nc\r\n", "exact"),
        (
            "foo()  \nbar()\t\nbaz\n",
            "foo()\nbar()\n",
            "foo()\nqux()\n",
            "foo()  \nqux()\t\nbaz\n",
            "whitespace",
        ),
        ("x = foo() \nbar(1)\n", "foo()\nbar(", "foo()\nqux(", "x = foo() \nqux(1)\n", "whitespace"),
        ("foo()\nbar()", "foo()\nbar()\n", "foo()\nqux()\n", "foo()\nqux()", "whitespace"),
        (
            TABBED,
            "def f():\n    return 1\n",
            "def f():\n    if x:\n        return 2\n    return 1\n",
            DEEPER,
            "indentation",
        ),
        (
            "    a()\r\n\r\n    b()\r\n",
            "a()\n\nb()\n",
            "a()\n\nc()\nb()\n",
            "    a()\r\n\r\n    c()\r\n    b()\r\n",
            "indentation",
        ),
        ("\tif a:\n\t\tb()\n", "        if a:\n            b()\n", "    b()\n", "b()\n", "indentation"),
        ("x = 'don\u2019t \u2013 stop'\n", "x = 'don't - stop'", "x = 1", "x = 1\n", "look-alike characters"),
        (
            "# kept as it is\nresult = value * other + self.offset\n",
            "# kept as it si\nresult = value * other + self.offset\n",
            "# kept as it si\nresult = value * other\n",
            "# kept as it is\nresult = value * other\n",
            "close match",
        ),
    ],
)
def test_each_step(text, old, new, after, how):
    assert changed(text, old, new) == (after, how)


def test_an_earlier_step_is_enough_where_no_more_is_allowed():
    assert failure("\ta = 1\n", "    a = 1", match="exact").code is ErrorCode.EDIT_NO_OCCURRENCE_FOUND
    assert changed("\ta = 1\n", "    a = 1", "    a = 2", "blanks")[0] == "\ta = 2\n"
    assert (
        failure("result = self.value + 1\n", "result = self.vlaue + 1", match="blanks").code
        is ErrorCode.EDIT_NO_OCCURRENCE_FOUND
    )


def test_a_loose_step_wants_one_place_and_none_after_it_is_tried():
    failed = failure("\ta = 1\n\tif x:\n\t\ta = 1\n", "    a = 1")
    assert failed.code is ErrorCode.EDIT_EXPECTED_OCCURRENCE_MISMATCH
    assert "with other indentation it is there 2 times (lines 1, 3)" in failed.message
    assert failed.data == Occurrences(1, 2, (1, 3))
    with pytest.raises(ToolFailure):
        apply_replacements("\ta = 1\n", [Replacement("    a = 1", "b", None)], "f", match="close")


@pytest.mark.parametrize(
    ("text", "old"),
    [
        ("def test_load_1():\n    assert load(1) == 1\n", "def test_load_2():\n    assert load(2) == 2\n"),
        ("short = 1\n", "shirt = 1"),
        ("result = compute(a, b)  # and what nobody may lose\n", "result = comptue(a, b)"),
        (
            "a = first_value\nb = 2\nc = a + b\nd = third_one\n",
            "a = first_value\nb = completely(other)\nc = a + b\nd = third_one\n",
        ),
        ("", "result = self.value + 1"),
    ],
)
def test_similar_but_different_text_is_not_matched(text, old):
    assert failure(text, old).code is ErrorCode.EDIT_NO_OCCURRENCE_FOUND


def test_two_places_about_as_like_are_both_named():
    text = "value = compute(first, second)\nother\nvalue = compute(first, sekond)\n"
    message = failure(text, "value = compute(first, secund)").message
    assert "line 1 (97%) and line 3 (93%) are both similar to it" in message
    assert (
        changed(text.replace("sekond", "thirtieth"), "value = compute(first, secund)", "x")[1]
        == "close match"
    )


def test_a_change_that_is_already_made_is_not_applied_to_similar_text():
    message = failure(
        "value = compute(first, third)\n", "value = compute(first, thirt)", "value = compute(first, third)"
    ).message
    assert "already there, in line 1" in message


def test_blanks_alone_are_not_looked_for_loosely():
    assert failure("a\n\nb\n", "  \n \n").code is ErrorCode.EDIT_NO_OCCURRENCE_FOUND


def test_invisible_characters_alone_are_not_looked_for_loosely():
    assert failure("a\n\nb\n", "\u200b\u200b\n").code is ErrorCode.EDIT_NO_OCCURRENCE_FOUND


def test_bytes_that_are_no_characters():
    assert changed("x caf\udce9 y\n", "caf\ufffd y", "caf\ufffd z")[0] == "x caf\udce9 z\n"
    assert changed("\tx caf\udce9\n\ty\n", "x caf\ufffd\ny", "x caf\ufffd\nz")[0] == "\tx caf\udce9\n\tz\n"
    assert TextIndex("caf\u00e9").find("caf\ufffd", "exact").spans == ()
    assert TextIndex("caf\u00e9").find("caf\ufffd\ufffd", "exact").spans == ()
    assert changed("\tx caf\udce9 a\n", "  x caf\ufffd a", "  x caf\ufffd b")[0] == "\tx caf\udce9 b\n"
    assert (
        failure("\tx caf\udce9\n", "  x caf\ufffd", "  \ufffd x").code is ErrorCode.EDIT_PREPARATION_FAILURE
    )


@pytest.mark.parametrize(
    ("text", "old", "new", "after"),
    [
        # One step for all lines: characters added or removed.
        ("    a()\n    b()\n", "a()\nb()\n", "if c:\n    a()\nb()\n", "    if c:\n        a()\n    b()\n"),
        ("    a()\n    b()\n", "a()\nb()\n", "if c:\n  a()\nb()\n", "    if c:\n      a()\n    b()\n"),
        ("a()\nb()\n", "    a()\n    b()\n", "    c(d,\n       e)\n", "c(d,\n   e)\n"),
        ("\ta(b,\n\t  c)\n", "a(b,\n  c)\n", "d(b,\n  c,\n  e)\n", "\td(b,\n\t  c,\n\t  e)\n"),
        ("\ta()\n\tb()\n", "a()\nb()\n", "c()\n", "\tc()\n"),
        # Levels: tabs on one side, spaces on the other.
        ("\ta()\n\tb()\n", "  a()\n  b()\n", "  if c:\n    a()\n", "\tif c:\n\t\ta()\n"),
        ("\t\ta()\n", "        a()\n", "        if c:\n            a()\n", "\t\tif c:\n\t\t\ta()\n"),
        (
            "if x:\n  a()\n",
            "\tif x:\n\t\ta()\n",
            "\tif x:\n\t\tif y:\n\t\t\ta()\n",
            "if x:\n  if y:\n    a()\n",
        ),
        # Levels: wide and narrow units.
        (
            NARROW,
            "    if a:\n        b()\n",
            "    if a:\n        if c:\n            b()\n",
            "  if a:\n    if c:\n      b()\n",
        ),
        (
            "if a:\n    b()\n",
            "if a:\n  b()\n",
            "if a:\n  if c:\n    b()\n",
            "if a:\n    if c:\n        b()\n",
        ),
        # No units fit every line: deeper lines move as a block.
        ("    a()\n", "  a()\n", "  if c:\n    a()\n", "    if c:\n        a()\n"),
        ("\ta()\n", "  a()\n", "  a(b,\n    c,\n     d)\n", "\ta(b,\n\t  c,\n\t   d)\n"),
        ("\t\ta()\n", "    a()\n", "    if c:\n        a()\n", "\t\tif c:\n\t\t    a()\n"),
        (
            "def f():\n    r(1)\n",
            "def f():\n  r(1)\n",
            "def f():\n  r(1,\n    " + "     2)\n",
            "def f():\n    r(1,\n           2)\n",
        ),
        # Lines that are the same, or only removed, need no step.
        (NARROW, "    if a:\n        b()\n", "        b()\n", "    b()\n"),
    ],
)
def test_new_lines_move_as_a_block(text, old, new, after):
    assert changed(text, old, new, "blanks") == (after, "indentation")


@pytest.mark.parametrize(
    ("text", "old", "new"),
    [
        ("  a()\n b()\n", "a()\nb()\n", "a()\nc()\n"),
        ("a()\n", "    a()\n", "    a()\nb()\n"),
        ("\ta()\n    b()\n", "a()\nb()\n", "c()\n"),
        ("\ta()\n", "    a()\n", "b()\n\ta()\n"),
        ("    a()\n", "\u00a0\u00a0a()\n", "\u00a0\u00a0b()\n"),
    ],
)
def test_lines_with_an_uncertain_indentation_are_not_changed(text, old, new):
    assert failure(text, old, new).code in {
        ErrorCode.EDIT_PREPARATION_FAILURE,
        ErrorCode.EDIT_NO_OCCURRENCE_FOUND,
    }


LINES = st.lists(
    st.sampled_from(["alpha()", "beta(1)", "", "gamma = delta", "if epsilon:"]), min_size=2, max_size=6
)
UNITS = st.sampled_from(["\t", " ", "  ", "    ", "        "])
DEPTHS = st.lists(st.integers(0, 3), min_size=14, max_size=14)


def widths(text):
    return [len(line) - len(line.lstrip(" \t")) for line in text.split("\n") if line.strip()]


@settings(max_examples=examples(400))
@given(LINES, DEPTHS, UNITS, UNITS, st.sampled_from(["\n", "\r\n"]), st.integers(0, 2), st.data())
def test_a_loose_edit_keeps_other_lines_and_relative_indentation(
    lines, depths, unit, given_unit, end, shift, data
):
    """A block given with another indentation:
    other lines keep their bytes, new ones their depth relative to each other.
    """
    lines = [*lines, "last_of_all()"]
    there = [unit * (depth + shift) * bool(line) + line for depth, line in zip(depths, lines, strict=False)]
    asked = [given_unit * depth * bool(line) + line for depth, line in zip(depths, lines, strict=False)]
    fresh = [
        given_unit * depth + f"new({depth})"
        for depth in data.draw(st.lists(st.integers(0, 4), min_size=1, max_size=4))
    ]
    place = data.draw(st.integers(0, len(asked)))
    old, wanted = "\n".join(asked), "\n".join([*asked[:place], *fresh, *asked[place:-1]])
    before, after = f"head \t{end}", f"{end}tail  {end}\t"
    try:
        text, how = changed(before + end.join(there) + after, old, wanted, "blanks")
    except ToolFailure:  # the units differ, and how they correspond is not certain
        assert unit != given_unit
        return
    assert text.startswith(before)
    assert text.endswith(after)
    made = text[len(before) : len(text) - len(after)].replace("\r\n", "\n")
    assert [line.strip() for line in made.split("\n")] == [line.strip() for line in wanted.split("\n")]
    were, are = widths(wanted), widths(made)
    steps = {
        (one - other, new - old)
        for one, new in zip(were, are, strict=True)
        for other, old in zip(were, are, strict=True)
    }
    assert unit != given_unit or len({step for step, _ in steps}) == len(steps)
    assert how == "exact" or all((step > 0) == (moved > 0) for step, moved in steps)


def test_a_part_of_an_indentation_is_no_place_for_several_lines():
    """The old text is in the file as a part of the indentation and the rest of the line;
    the block moves as a whole.
    """
    assert changed("    a()\n", "  a()", "  if c:\n    a()") == ("    if c:\n        a()\n", "indentation")
    assert changed("    a()\n", "  a()", "  b()") == ("    b()\n", "exact")
    assert changed("    a() + 1\n", "  a()", "  c(\n    d)") == ("    c(\n    d) + 1\n", "exact")
    assert changed("    a()\n    b()\n", "  a()\n    b()\n", "  c()\n    d()\n") == (
        "    c()\n    d()\n",
        "exact",
    )
    assert changed("    a()\n", "a()", "if c:\n        a()") == ("    if c:\n        a()\n", "exact")


@st.composite
def trees(draw, depth=0):
    """Statements of Python, as (first line, body or lines that continue it, nested)."""
    count = draw(st.integers(1, 3))
    return [
        (f"{draw(st.sampled_from(['if', 'while']))} name_{draw(st.integers(0, 99))}:", draw(trees(depth + 1)))
        if depth < 3 and draw(st.booleans())
        else (f"name_{draw(st.integers(0, 99))} = call({draw(st.integers(0, 99))})", [])
        for _ in range(count)
    ]


def code(tree, unit, depth):
    return [line for head, body in tree for line in (unit * depth + head, *code(body, unit, depth + 1))]


@st.composite
def changed_trees(draw, tree):
    """Draws the same statements, with some more of them at any depth,
    some of these with continuation lines.
    """
    result = []
    for head, body in tree:
        for _ in range(draw(st.integers(0, 1))):
            result += draw(trees(2))
        result.append((head, draw(changed_trees(body)) if body else body))
    if draw(st.booleans()):
        return [("if wrapped:", result)]
    return result


@settings(max_examples=examples(400), deadline=None)
@given(st.data(), trees(), UNITS, UNITS, st.integers(0, 2), st.integers(0, 2))
def test_python_code_means_the_same_in_whatever_indentation_it_is_given(
    data, tree, unit, given_unit, depth, given_depth
):
    new = data.draw(changed_trees(tree))
    above, below = (
        [f"{unit * k}if level_{k}:" for k in range(depth)],
        [f"{unit * k}end_{k} = 0" for k in reversed(range(depth + 1))],
    )
    before, after = ("\n".join([*above, *code(one, unit, depth), *below, ""]) for one in (tree, new))
    old_text, new_text = ("\n".join([*code(one, given_unit, given_depth), ""]) for one in (tree, new))
    try:
        done = apply_replacements(before, [Replacement(old_text, new_text)], "f", match="blanks")
    except (
        ToolFailure
    ):  # it is there several times, is the same, or the units differ, and how they correspond is not certain
        return
    if not done.loose and not given_depth:
        return  # the old text is a part of a line, exactly: the new one is inserted as it is
    assert ast.dump(ast.parse(done.text)) == ast.dump(ast.parse(after))


def test_a_large_file_is_searched_in_time():
    text = "".join(f"value_{i} = compute(value, {i})\n" for i in range(50_000))
    started = time.process_time()
    assert (
        changed(text, "value_40000 = compute(valeu, 40000)\nvalue_40001 = compute(valeu, 40001)", "x")[1]
        == "close match"
    )
    assert "it contains no similar text" in failure(text, "something else entirely, not here").message
    assert time.process_time() - started < 30


def test_a_long_line_with_many_places_is_searched_once():
    spans = TextIndex("a b " * 100_000).find("a  b", "close", one=True).spans
    assert spans == tuple((start, start + 3) for start in range(0, 400_000, 4))


@given(st.text("ab \t\u00a0", max_size=14))
def test_the_place_of_a_word_in_other_whitespace_is_the_word(line):
    for word in re.finditer(r"\S+ \S+", " ".join(line.split())):
        text = f"{line}\n"
        for start, end in TextIndex(text).find(word[0].replace(" ", "\t \t"), "blanks", one=True).spans:
            assert text[start:end].split() == word[0].split()
            assert not text[start].isspace()
            assert not text[end - 1].isspace()
