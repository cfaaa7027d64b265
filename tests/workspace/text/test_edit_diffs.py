"""Several edits of a file, and the diff that is displayed."""

import re
import subprocess
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nbtools.core.errors import ErrorCode, ToolFailure
from nbtools.diff.line_diff import LineDiff
from nbtools.diff.patch_model import Replacement
from nbtools.workspace.text.file_edit import MAX_WHOLE_DIFF_BYTES, excerpt_parts, plan_edit
from nbtools.workspace.text.replace import apply_replacements
from tests.examples import examples

WORDS = st.lists(st.sampled_from(["a", "b", "\n", "\r\n", " ", "\u00e4"]), max_size=30)
CHANGES = st.lists(
    st.tuples(st.sampled_from(["", "x", "y\n", "\nz\n", "\u00df"]), st.integers(0, 30)),
    min_size=1,
    max_size=5,
)


@st.composite
def plans(draw):
    """A text with numbered marks in it, each to be replaced by something."""
    words = draw(WORDS)
    news = []
    for number, (new, place) in enumerate(draw(CHANGES)):
        words.insert(min(place, len(words)), f"<{number}>")
        news.append(Replacement(f"<{number}>", new))
    return "".join(words), news


@given(plans(), st.randoms())
def test_edits_in_any_order_make_the_same_file(plan, chance):
    text, changes = plan
    shuffled = [*changes]
    chance.shuffle(shuffled)
    done = apply_replacements(text, changes, "f")
    assert apply_replacements(text, shuffled, "f") == done
    assert apply_replacements(text, changes, "f", in_turn=True).text == done.text


@given(plans(), st.booleans())
def test_everything_between_the_places_stays(plan, in_turn):
    text, changes = plan
    after = apply_replacements(text, changes, "f", in_turn=in_turn).text
    news = {change.old: change.new for change in changes}
    parts = re.split(r"(<\d>)", text)
    place = 0
    for part in parts:
        if part in news:
            place += len(with_endings_of(news[part], after[place:]))
        else:
            assert after.startswith(part, place)
            place += len(part)
    assert place == len(after)


def with_endings_of(new, after):
    """The new text with the line endings that it has in the file."""
    return new if after.startswith(new) else new.replace("\n", "\r\n")


@settings(max_examples=examples(300))
@given(plans(), st.booleans())
def test_the_hunks_lead_from_one_text_to_the_other(plan, in_turn):
    """Applied line by line, as ``patch`` does."""
    text, changes = plan
    change = plan_edit(Path("f"), "f", text.encode(), changes, in_turn=in_turn)
    diff, hunks = change.compared()
    old, made, at = text.split("\n"), [], 0
    for hunk in hunks:
        start = max(hunk.old_start - (hunk.old_lines > 0), at)
        made += old[at:start]
        assert len(made) == hunk.new_start - (hunk.new_lines > 0)
        lines = [line for line in hunk.lines if not line.startswith("\\")]
        assert [line[1:] for line in lines if line[0] != "+"] == old[start : start + hunk.old_lines]
        made += [line[1:] for line in lines if line[0] != "-"]
        at = start + hunk.old_lines
    assert [line for line in [*made, *old[at:]] if line] == [
        line for line in change.proposed.split("\n") if line
    ]
    added, removed, *_ = LineDiff(text, change.proposed).counts()
    assert diff.diff_stat.model_added_lines - diff.diff_stat.model_removed_lines == added - removed


@settings(max_examples=examples(20), deadline=None)
@given(plan=plans())
def test_the_diff_is_one_that_git_applies(plan, tmp_path_factory):
    text, changes = plan
    folder = tmp_path_factory.mktemp("diff")
    (folder / "f").write_bytes(text.encode())
    change = plan_edit(folder / "f", "f", text.encode(), changes)
    diff, _ = change.compared()
    (folder / "d").write_bytes(diff.file_diff.encode())
    if text.strip("\r\n") and change.after:
        subprocess.run(
            ["git", "apply", "--whitespace=nowarn", "d"], cwd=folder, check=True, capture_output=True
        )
        assert (folder / "f").read_bytes() == change.after


def large(lines):
    return "".join(
        f"line {number} of many, which are all as long as this one\n" for number in range(lines)
    ).encode()


def test_only_the_changes_of_a_large_file_are_stored(tmp_path):
    before = large(MAX_WHOLE_DIFF_BYTES // 50)
    changes = [Replacement(f"line {number} of many", f"line {number}") for number in (5, 6, 40_000)]
    change = plan_edit(tmp_path / "f", "f", before, changes)
    diff, hunks = change.compared()
    assert [(hunk.old_start, hunk.new_start) for hunk in hunks] == [(3, 3), (39_998, 39_998)]
    assert diff.file_diff.count("\n+") == 4
    assert change.first_line() == 6
    assert len(diff.new_content) < 2_000
    assert "⋯ lines 11 to 39,997 are not shown ⋯\nline 39997 of" in diff.original_content
    parts, news = excerpt_parts(diff.original_content), excerpt_parts(diff.new_content)
    assert (len(parts), len(news)) == (4, 4)
    assert all(part.encode() in before for part in parts)
    assert diff.original_content == change.original


def test_the_shown_part_is_bounded_and_the_count_is_complete(tmp_path):
    before = large(MAX_WHOLE_DIFF_BYTES // 50)
    change = plan_edit(tmp_path / "f", "f", before, [Replacement("0 of many", "0 of a few", None)])
    diff, _ = change.compared()
    assert max(len(diff.new_content), len(diff.file_diff)) < 1_200_000
    assert diff.diff_stat.model_added_lines == diff.diff_stat.model_removed_lines == 10_000
    assert "are not shown" in diff.new_content


def test_an_overlap_is_refused_with_its_lines():
    text = "a\nb\nc\nd\n"
    with pytest.raises(ToolFailure) as caught:
        apply_replacements(
            text, [Replacement("b\nc", "x"), Replacement("d", "y"), Replacement("c\n", "z")], "f"
        )
    assert caught.value.code is ErrorCode.EDIT_PREPARATION_FAILURE
    assert "edit 1 and edit 3 overlap at line 3" in caught.value.message
    assert (
        apply_replacements(text, [Replacement("a\n", "x\n"), Replacement("b\n", "y\n")], "f").text
        == "x\ny\nc\nd\n"
    )


def test_an_edit_that_fails_is_named_by_its_number():
    with pytest.raises(ToolFailure) as caught:
        apply_replacements("a\nb\n", [Replacement("a", "x"), Replacement("nowhere", "y")], "f")
    assert caught.value.message.startswith("f, edit 2 of 2: the old text is not in it")
