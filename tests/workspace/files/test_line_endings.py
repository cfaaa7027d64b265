"""Line ends follow the place."""

from hypothesis import given
from hypothesis import strategies as st

from nbtools.diff.text_lines import displayable, with_lf
from nbtools.workspace.files.line_endings import ending_at, main_ending, with_original_endings

MIXED = st.text(alphabet="ab\r\n\udcff", max_size=30)


@given(MIXED, st.sampled_from(["\n", "\r\n"]))
def test_unchanged_lines_stay_byte_for_byte(text, ending):
    assert with_original_endings(text, displayable(with_lf(text)), ending) == text


@given(MIXED, st.text(alphabet="abc\n", max_size=30), st.sampled_from(["\n", "\r\n"]))
def test_text_with_adopted_line_endings_says_the_proposed_lines(text, proposed, ending):
    assert displayable(with_lf(with_original_endings(text, proposed, ending))) == with_lf(proposed)


def test_new_lines_end_as_their_neighbours():
    assert with_original_endings("a\r\nb\nc", "a\nnew\nb\nc", "\n") == "a\r\nnew\r\nb\nc"
    assert with_original_endings("a", "a\nb", "\r\n") == "a\r\nb"
    assert with_original_endings("a\r\nb\r\n", "x\ny\nz\n", "\n") == "x\r\ny\r\nz\r\n"
    assert with_original_endings("a\nb\r\n", "x\ny\nz\n", "\n") == "x\ny\r\nz\r\n"


def test_undecodable_bytes_beside_a_change_stay():
    assert with_original_endings("caf\udce9 one\n", "caf\ufffd two\n", "\n") == "caf\udce9 two\n"


def test_the_main_and_the_nearest_ending():
    assert (main_ending("a\r\nb\r\nc\n"), main_ending("a\nb\r\n"), main_ending("")) == ("\r\n", "\n", "\n")
    assert ending_at("a\nb\r\nc", 2) == "\r\n"
    assert ending_at("a\nb\r\nc", 5) == "\r\n"
    assert ending_at("a", 0) == "\n"
