"""Texts are found and replaced; what is around them stays."""

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from nbtools.core.errors import ErrorCode, ToolFailure
from nbtools.diff.patch_model import Replacement
from nbtools.diff.text_lines import displayable, with_lf
from nbtools.workspace.text.replace import apply_replacements as spliced_all
from nbtools.workspace.text.replace import smallest_replacement


def spliced(text, change, subject, **how):
    done = spliced_all(text, [change], subject, **how)
    return done.text, done.places


AROUND = st.text(alphabet="ab \r\n\udcff", max_size=20)


@given(
    AROUND,
    AROUND,
    st.lists(st.sampled_from(["x", "y", ""]), min_size=1, max_size=4),
    st.lists(st.sampled_from(["\n", "\r\n"]), min_size=4),
)
def test_everything_around_stays(before, after, lines, ends):
    middle = "Q" + "".join(line + end for line, end in zip(lines, ends, strict=False)) + "Q"
    text, places = spliced(before + middle + after, Replacement(with_lf(middle), "Q\nnew\nQ"), "f")
    assert places == 1
    assert text.startswith(before)
    assert text.endswith(after)
    assert with_lf(text[len(before) : len(text) - len(after)]) == "Q\nnew\nQ"


def test_the_exact_text_goes_before_the_like():
    assert spliced("a\r\nb\na\nb\n", Replacement("a\nb", "x"), "f") == ("a\r\nb\nx\n", 1)
    assert spliced("a\r\nb\r\na\r\nb\r\n", Replacement("a\nb", "x", None), "f") == ("x\r\nx\r\n", 2)


def test_inserted_lines_end_as_the_place_does():
    assert (
        spliced("a\r\nfoo()\r\nb\r\n", Replacement("foo()", "foo()\nbar()"), "f")[0]
        == "a\r\nfoo()\r\nbar()\r\nb\r\n"
    )
    assert spliced("a\r\nb\n", Replacement("b", "b\nc"), "f")[0] == "a\r\nb\nc\n"


def test_an_end_of_line_is_not_cut_in_two():
    assert spliced("a\r\nb\r\n", Replacement("\nb", "\nx\nb"), "f")[0] == "a\r\nx\r\nb\r\n"
    assert spliced("a\r\nb\r\n", Replacement("a\n", ""), "f")[0] == "b\r\n"


def test_line_ends_themselves_can_be_changed():
    assert spliced("a\r\nb\r\n", Replacement("a\r\n", "a\n"), "f")[0] == "a\nb\r\n"
    assert spliced("a\nb\n", Replacement("a\n", "a\r\n"), "f")[0] == "a\r\nb\n"


def test_undecodable_bytes_can_be_named_as_they_are_shown():
    assert spliced("x caf\udce9 y\n", Replacement("caf\ufffd y", "caf\ufffd z"), "f")[0] == "x caf\udce9 z\n"
    assert failure("a\udce9b", "a\ufffdb", "\ufffda")[0] is ErrorCode.EDIT_PREPARATION_FAILURE


def failure(text, old, new="new text here", count=1):
    with pytest.raises(ToolFailure) as caught:
        spliced(text, Replacement(old, new, count), "f.py")
    assert "Nothing was changed." in caught.value.message
    assert "\n" not in caught.value.message
    return caught.value.code, caught.value.message


def test_a_count_that_does_not_agree():
    code, message = failure("x\ny\nx\nx\n", "x")
    assert code is ErrorCode.EDIT_EXPECTED_OCCURRENCE_MISMATCH
    assert "lines 1, 3, 4" in message
    assert 'count="all"' in message
    assert "(line 1), not 3" in failure("x\n", "x", count=3)[1]
    assert ", …" in failure("x\n" * 100, "x")[1]
    assert spliced("x\ny\nx\n", Replacement("x", "z", 2), "f") == ("z\ny\nz\n", 2)
    assert spliced("x\ny\nx\n", Replacement("x", "z", None), "f") == ("z\ny\nz\n", 2)


def test_nothing_to_change():
    assert failure("a", "a", "a")[0] is ErrorCode.EDIT_NO_CHANGE
    assert failure("a\r\nb", "a\nb", "a\r\nb")[0] is ErrorCode.EDIT_NO_CHANGE


def test_text_that_does_not_occur_is_an_error():
    code, message = failure("def f():\n\treturn 1\n", "    return 1")
    assert code is ErrorCode.EDIT_NO_OCCURRENCE_FOUND
    assert "line 2" in message
    assert "indentation" in message
    assert "already there, in line 2" in failure("a\nnew text here\n", "old text", "new text here")[1]


LINES = st.lists(st.sampled_from(["a\n", "b\n", "c\n", "\n"]), min_size=1, max_size=12).map("".join)


@given(LINES, LINES, st.booleans())
def test_the_smallest_replacement_makes_the_proposed_text(original, proposed, cut):
    proposed = proposed[: -1 if cut else None]
    assume(original != proposed)
    change = smallest_replacement(original, proposed)
    assert original.count(change.old) == 1
    assert spliced(original, change, "f") == (proposed, 1)


@given(LINES, LINES)
def test_the_smallest_replacement_fits_a_file_with_other_ends(original, proposed):
    assume(original != proposed)
    crlf = original.replace("\n", "\r\n")
    assert with_lf(displayable(spliced(crlf, smallest_replacement(original, proposed), "f")[0])) == proposed
