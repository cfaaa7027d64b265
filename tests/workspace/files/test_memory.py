"""Adding a line to a memory file."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nbtools.core.errors import ToolFailure
from nbtools.workspace.files.memory import added_fact, one_line, user_file, with_fact


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("", "## Remembered\n\n- new\n"),
        ("# Mine\n\ntext", "# Mine\n\ntext\n\n## Remembered\n\n- new\n"),
        ("# Mine\r\n", "# Mine\r\n\r\n## Remembered\r\n\r\n- new\r\n"),
        ("## Remembered\n\n- old\n", "## Remembered\n\n- old\n- new\n"),
        ("## Remembered\n\n- old", "## Remembered\n\n- old\n- new\n"),
        ("## Remembered", "## Remembered\n\n- new\n"),
        ("## Remembered\n- old\n\n\n## Other\n- new\n", "## Remembered\n- old\n- new\n\n\n## Other\n- new\n"),
        ("## Remembered\n- a\n### Part\n- b\n# End", "## Remembered\n- a\n### Part\n- b\n- new\n# End"),
        ("## Remembered\n- new\n", "## Remembered\n- new\n"),
    ],
)
def test_a_new_line_is_inserted_in_its_section(before, after):
    assert with_fact(before, "new") == after


FILES = st.lists(
    st.sampled_from(["## Remembered", "## Other", "- a", "", "text  ", "# x"]), max_size=8
).flatmap(
    lambda lines: st.sampled_from(["\n", "\r\n"]).map(lambda end: "".join(line + end for line in lines))
)


@given(FILES, st.sampled_from(["a", "b c", "# x"]))
def test_one_line_more_and_every_other_byte_stays(text, fact):
    once = with_fact(text, fact)
    assert with_fact(once, fact) == once
    rest = iter(once)
    assert all(character in rest for character in text)
    assert f"- {fact}" in once.splitlines()


@given(FILES, st.sampled_from(["b c", "one `two`", "ä"]))
def test_the_fact_is_found_again(text, fact):
    assert added_fact(text, with_fact(text, fact).replace("\r\n", "\n")) == fact


def test_a_person_may_change_the_new_line_alone():
    assert added_fact("## Remembered\n- a\n", "## Remembered\n- a\n- b\n- c\n") == "b c"
    with pytest.raises(ToolFailure, match="Only the new line"):
        added_fact("## Remembered\n- a\n", "## Remembered\n- changed\n- b\n")
    with pytest.raises(ToolFailure, match="no new line"):
        added_fact("## Remembered\n- a\n", "## Remembered\n- a\n")


def test_a_fact_is_one_line():
    assert one_line("- use\n  tabs\r\n* and  spaces ") == "use tabs and spaces"


def test_the_user_file_is_where_their_system_keeps_such_things(monkeypatch, tmp_path):
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    assert user_file().name == "memory.md"
    assert user_file().parent.name == "nbtools"
